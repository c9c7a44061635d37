"""The shapes of questions over plain HTTP: OpenAI's chat completions, and `/ask`; pure.

    POST /v1/chat/completions  {"messages": [{"role": "user", "content": "..."}], "stream": false, "lang": "en"}
      the last `user` message is the question; the `user` and `assistant` messages before it are what was said: context
      for the model and for the search, never a source. `content` is a string, or a list of text parts.
    -> {"id", "object": "chat.completion", "created", "model", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content", "citations", "blocked", "confidence"}}]}
    -> with `"stream": true` events (`data: ` and a JSON object of type `chat.completion.chunk`): a delta with the role;
       deltas with content; one with `citations`, `blocked` and `confidence`, and the finish_reason; then `[DONE]`.
       A line that begins with a colon says only that the server is still there.
    GET /v1/models -> {"object": "list", "data": [{"id", "object": "model", "created", "owned_by"}]}
    POST /ask  {"text": "...", "lang": "en", "history": [{"question", "answer"}]}
    -> {"text", "citations", "confidence", "blocked"}, the last only where the question was refused; "without_memory" is
       true where some of what is remembered could not be read
    an error, of any of these -> {"error": {"message", "type", "param", "code"}}, in a stream as its last event

A refusal is a normal message whose `blocked` says why, and its finish_reason is `stop`: it was said to its end. The
other choice, `content_filter`, would say that content was left out, and clients drop such a message, which is the one
that tells what can be asked.

What cannot be honoured and would change what an answer is, is an error: tools, several choices, a format of the answer.
What only tunes a model (temperature, max_tokens, model, ...) is ignored, and so are `system` messages: the rules here
are the server's own.

Strategy: one strict msgspec call, whose complaints name places and types and never repeat what was sent. What is not
needed is skipped, not built, so that no body within the limits takes long: nesting ends in RecursionError, not in a
scan of its own, which would take longer than all the rest.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from ..config import MAX_TEXT
from ..errors import BadRequest
from ..lang import LANGUAGES, Lang, either
from ..ports.conversation import Exchange
from .nul import json_without_nul
from .outbound import Blocked, Citation, Response

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_NO_TOOLS = (
    "Tools are not supported over HTTP: leave out tools, functions and their messages. Actions are suggested and "
    "confirmed over the WebSocket only."
)
_JSON = "Send a JSON object in UTF-8; this body could not be read as one."
_DEEP = "Nest arrays and objects less deeply."
_NULL = Raw(b"null")
_PLACE = re.compile(
    r"Expected [^'\"]*|Object missing required field `(?:messages|text|question|answer|role|type)`.*"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it came over HTTP, and what was said before it, oldest first. stream: tell it as it stands."""

    text: str
    lang: Lang | None
    history: tuple[Exchange, ...]
    stream: bool = False


class _Part(msgspec.Struct, frozen=True):
    type: str
    text: str | None = None


class _Message(msgspec.Struct, frozen=True):
    role: str
    content: str | list[_Part] | None = None
    blocked: Raw = _NULL  # of an answer of ours that comes back


class _Format(msgspec.Struct, frozen=True):
    type: str = "text"


class _Chat(msgspec.Struct, frozen=True):
    messages: list[_Message]
    stream: bool | None = None
    lang: str | None = None
    n: int | None = None
    tools: list[Raw] | None = None
    functions: list[Raw] | None = None
    response_format: _Format | None = None


class _Exchange(msgspec.Struct, frozen=True):
    question: str
    answer: str


class _Ask(msgspec.Struct, frozen=True):
    text: str
    lang: str | None = None
    history: list[_Exchange] = []


class Answered(msgspec.Struct, frozen=True, omit_defaults=True):
    """What `/ask` answers."""

    text: str
    citations: tuple[Citation, ...]
    confidence: str | None = None
    blocked: Blocked | None = None
    without_memory: bool = False


_chat = msgspec.json.Decoder(_Chat, strict=True)
_ask = msgspec.json.Decoder(_Ask, strict=True)
_encode = msgspec.json.Encoder().encode


def decode_chat(body: bytes) -> Asked:
    """Return the question of a chat completion. Raises `agent.errors.BadRequest`, which never repeats what was sent."""
    chat = _decoded(_chat, body)
    if chat.tools or chat.functions or any(each.role in ("tool", "function") for each in chat.messages):
        raise BadRequest("unsupported_tools", _NO_TOOLS)
    if chat.n not in (None, 1):
        raise BadRequest("unsupported_n", "Ask for one choice: leave out n, or set it to 1.")
    if chat.response_format is not None and chat.response_format.type != "text":
        raise BadRequest("unsupported_format", "Answers are plain text: leave out response_format.")
    if not all(each.role in _ROLES for each in chat.messages):
        raise BadRequest("bad_request", "Set the role of each message to system, user or assistant.")
    asked = [number for number, each in enumerate(chat.messages) if each.role == "user"]
    if not asked:
        raise BadRequest("no_question", "Send at least one message with the role user: the question.")
    text = _question("content of the last user message", _text(chat.messages[asked[-1]]))
    history = _exchanges(chat.messages[: asked[-1]])
    return Asked(text, _lang(chat.lang), history, bool(chat.stream))


def decode_ask(body: bytes) -> Asked:
    """Return the question of `/ask`. Raises `agent.errors.BadRequest`, which never repeats what was sent."""
    ask = _decoded(_ask, body)
    history = tuple(Exchange(_earlier(each.question), each.answer) for each in ask.history)
    return Asked(_question("field text", ask.text), _lang(ask.lang), history)


def completion(id: str, model: str, created: int, answer: Response) -> bytes:
    """Return a whole answer as a `chat.completion`. created: Unix seconds."""
    message = {"role": "assistant", "content": answer.text, **_sources(answer)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return _encode(_object("chat.completion", id, model, created, choice))


def answered(answer: Response) -> bytes:
    """Return a whole answer as `/ask` gives it."""
    return _encode(
        Answered(answer.text, answer.citations, answer.confidence, answer.blocked, answer.without_memory)
    )


def models(model: str, created: int) -> bytes:
    """Return the list of the one model. created: Unix seconds."""
    one = {"id": model, "object": "model", "created": created, "owned_by": "agent"}
    return _encode({"object": "list", "data": [one]})


def error(message: str, kind: str, code: str) -> bytes:
    """Return an error: a sentence that says what to do, OpenAI's type, and our word for it."""
    return _encode({"error": {"message": message, "type": kind, "param": None, "code": code}})


@dataclass(frozen=True, slots=True)
class Chunks:
    """Makes the events of one streamed answer. created: Unix seconds."""

    id: str
    model: str
    created: int

    def begin(self) -> bytes:
        """Return the event that says who speaks."""
        return self._event({"role": "assistant", "content": ""})

    def say(self, delta: str) -> bytes:
        """Return the event of a piece of the text."""
        return self._event({"content": delta})

    def end(self, answer: Response) -> bytes:
        """Return what follows the last piece: the sources, and the end."""
        return self._event(_sources(answer), "stop") + _event(b"[DONE]")

    def fail(self, content: bytes) -> bytes:
        """Return the last event of a stream that broke: an error, as `error` makes it."""
        return _event(content)

    def _event(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _event(_encode(_object("chat.completion.chunk", self.id, self.model, self.created, choice)))


STILL_HERE = b":\n\n"
"""A comment among the events: keeps proxies from giving up on a stream in which nothing is said."""


def _event(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


def _object(kind: str, id: str, model: str, created: int, choice: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": id, "object": kind, "created": created, "model": model, "choices": [choice]}


def _sources(answer: Response) -> dict[str, Any]:
    unread = {"without_memory": True} if answer.without_memory else {}
    return {
        "citations": answer.citations,
        "blocked": answer.blocked,
        "confidence": answer.confidence,
        **unread,
    }


def _decoded(decoder: "msgspec.json.Decoder[Any]", body: bytes) -> Any:
    try:
        return decoder.decode(json_without_nul(body))
    except RecursionError:
        message = _DEEP
    except msgspec.ValidationError as wrong:
        found = _PLACE.fullmatch(str(wrong))
        message = (
            f"Change the request: {found[0]}." if found else "Change the request: a field has the wrong type."
        )
    except (msgspec.DecodeError, UnicodeDecodeError):
        message = _JSON
    # Raised out here so that an exception which quotes the body does not travel along as context.
    raise BadRequest("bad_request", message)


def _question(where: str, text: str) -> str:
    if not text:
        raise BadRequest("no_question", f"Do not leave the {where} empty: it is the question.")
    if len(text) > MAX_TEXT:
        raise BadRequest("too_long", f"Shorten the {where} to at most {MAX_TEXT} characters.")
    return text


def _earlier(text: str) -> str:
    """Check a question that was asked before: a search may look for it too, so it is no longer than another."""
    if len(text) > MAX_TEXT:
        raise BadRequest("too_long", f"Shorten each earlier question to at most {MAX_TEXT} characters.")
    return text


def _lang(lang: str | None) -> Lang | None:
    if lang is None:
        return None
    found = next((each for each in LANGUAGES if each == lang), None)
    if found is None:
        raise BadRequest("bad_request", f"Set the field lang to {either()}, or leave it out.")
    return found


def _text(message: _Message) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    if not all(part.type == "text" and part.text is not None for part in message.content):
        raise BadRequest("unsupported_content", "Send text only: a string, or parts of the type text.")
    return "\n".join(part.text for part in message.content if part.text is not None)


def _exchanges(messages: Sequence[_Message]) -> tuple[Exchange, ...]:
    """Return what was asked and answered; as in a session, neither what got no answer nor what was refused."""
    found: list[Exchange] = []
    question, answers, refused = "", list[str](), False
    for message in (*messages, _Message("user")):
        if message.role == "assistant":
            answers.append(_text(message))
            refused = refused or bytes(message.blocked) != b"null"
        elif message.role == "user":
            answer = "\n".join(filter(None, answers))
            if question and answer and not refused:
                found.append(Exchange(question, answer))
            question, answers, refused = _earlier(_text(message)), [], False
    return tuple(found)
