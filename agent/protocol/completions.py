"""Reads and writes questions over plain HTTP: OpenAI's chat completions, and `/ask`; pure.

    POST /v1/chat/completions  {"messages": [{"role": "user", "content": "..."}], "stream": false, "lang": "en"}
      the last `user` message is the question; the `user` and `assistant` messages before it are the history: context
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

A refusal is a normal message whose `blocked` has the reason, and its `finish_reason` is `stop`: it was sent to its end.
The other choice, `content_filter`, would say that content was left out, and clients drop such a message, which is the
one that tells the user what to ask instead.

A field that cannot be honoured and would change the meaning of an answer is an error: tools, several choices, a format
of the answer. Fields that only tune a model (`temperature`, `max_tokens`, `model`, ...) are ignored, and so are
`system` messages: the server has its own rules.

Strategy: one strict msgspec call, whose complaints name places and types and never repeat a value that was sent. Fields
that are not needed are skipped, not built, so that no body within the limits takes long: nesting ends in
`RecursionError`, not in a scan of its own, which would take longer than all the rest.
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
from ..ports.brain import Blocked
from ..ports.conversation import Exchange
from .nul import json_without_nul
from .outbound import Citation, Response

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
class HttpQuestion:
    """A question over HTTP. `history` is oldest first. `stream` asks for the answer as events while it is made."""

    text: str
    lang: Lang | None
    history: tuple[Exchange, ...]
    stream: bool = False


class _TextPart(msgspec.Struct, frozen=True):
    type: str
    text: str | None = None


class _CompletionMessage(msgspec.Struct, frozen=True):
    role: str
    content: str | list[_TextPart] | None = None
    blocked: Raw = _NULL  # of an answer of ours that comes back


class _ResponseFormat(msgspec.Struct, frozen=True):
    type: str = "text"


class _CompletionRequest(msgspec.Struct, frozen=True, kw_only=True):
    messages: list[_CompletionMessage]
    stream: bool | None = None
    lang: str | None = None
    n: int | None = None
    tools: list[Raw] | None = None
    functions: list[Raw] | None = None
    response_format: _ResponseFormat | None = None


class _AskExchange(msgspec.Struct, frozen=True):
    question: str
    answer: str


class _AskRequest(msgspec.Struct, frozen=True):
    text: str
    lang: str | None = None
    history: list[_AskExchange] = []


class AskAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer of `/ask`."""

    text: str
    citations: tuple[Citation, ...]
    confidence: str | None = None
    blocked: Blocked | None = None
    without_memory: bool = False


_chat = msgspec.json.Decoder(_CompletionRequest, strict=True)
_ask = msgspec.json.Decoder(_AskRequest, strict=True)
_encode = msgspec.json.Encoder().encode


def decode_chat(body: bytes) -> HttpQuestion:
    """Return the question of a chat completion. Raises `agent.errors.BadRequest`, which never repeats a value of
    `body`.
    """
    chat = _decode(_chat, body)
    if chat.tools or chat.functions or any(message.role in ("tool", "function") for message in chat.messages):
        raise BadRequest("unsupported_tools", _NO_TOOLS)
    if chat.n not in (None, 1):
        raise BadRequest("unsupported_n", "Ask for one choice: leave out n, or set it to 1.")
    if chat.response_format is not None and chat.response_format.type != "text":
        raise BadRequest("unsupported_format", "Answers are plain text: leave out response_format.")
    if not all(message.role in _ROLES for message in chat.messages):
        raise BadRequest("bad_request", "Set the role of each message to system, user or assistant.")
    questions = [place for place, message in enumerate(chat.messages) if message.role == "user"]
    if not questions:
        raise BadRequest("no_question", "Send at least one message with the role user: the question.")
    text = _check_question("content of the last user message", _text_of(chat.messages[questions[-1]]))
    history = _pair_exchanges(chat.messages[: questions[-1]])
    return HttpQuestion(text, _check_lang(chat.lang), history, bool(chat.stream))


def decode_ask(body: bytes) -> HttpQuestion:
    """Return the question of `/ask`. Raises `agent.errors.BadRequest`, which never repeats a value of `body`."""
    ask = _decode(_ask, body)
    history = tuple(
        Exchange(_check_earlier_question(earlier.question), earlier.answer) for earlier in ask.history
    )
    return HttpQuestion(_check_question("field text", ask.text), _check_lang(ask.lang), history)


def encode_completion(id: str, model: str, created: int, answer: Response) -> bytes:
    """Return a whole answer as a `chat.completion`. `created` is in Unix seconds."""
    message = {"role": "assistant", "content": answer.text, **_source_fields(answer)}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    return _encode(_make_object("chat.completion", id, model, created, choice))


def encode_answer(answer: Response) -> bytes:
    """Return a whole answer in the form of `/ask`."""
    return _encode(
        AskAnswer(answer.text, answer.citations, answer.confidence, answer.blocked, answer.without_memory)
    )


def encode_models(model: str, created: int) -> bytes:
    """Return the list of the one model. `created` is in Unix seconds."""
    one = {"id": model, "object": "model", "created": created, "owned_by": "agent"}
    return _encode({"object": "list", "data": [one]})


def encode_error(message: str, kind: str, code: str) -> bytes:
    """Return an error: `message` says how to mend the request, `kind` is OpenAI's type, `code` the project's word for
    it.
    """
    return _encode({"error": {"message": message, "type": kind, "param": None, "code": code}})


@dataclass(frozen=True, slots=True)
class ChunkEncoder:
    """Makes the events of one streamed answer. `created` is in Unix seconds."""

    id: str
    model: str
    created: int

    def encode_start(self) -> bytes:
        """Return the first event, which names the role of the speaker."""
        return self._event({"role": "assistant", "content": ""})

    def encode_delta(self, delta: str) -> bytes:
        """Return the event of a piece of the text."""
        return self._event({"content": delta})

    def encode_end(self, answer: Response) -> bytes:
        """Return the events after the last piece: the sources, and the end."""
        return self._event(_source_fields(answer), "stop") + _format_event(b"[DONE]")

    def encode_failure(self, content: bytes) -> bytes:
        """Return the last event of a stream that broke: an error, as `encode_error` makes it."""
        return _format_event(content)

    def _event(self, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _format_event(
            _encode(_make_object("chat.completion.chunk", self.id, self.model, self.created, choice))
        )


STILL_HERE = b":\n\n"
"""A comment among the events: it keeps proxies from closing a stream in which nothing is sent for a while."""


def _format_event(data: bytes) -> bytes:
    return b"data: " + data + b"\n\n"


def _make_object(kind: str, id: str, model: str, created: int, choice: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": id, "object": kind, "created": created, "model": model, "choices": [choice]}


def _source_fields(answer: Response) -> dict[str, Any]:
    unread = {"without_memory": True} if answer.without_memory else {}
    return {
        "citations": answer.citations,
        "blocked": answer.blocked,
        "confidence": answer.confidence,
        **unread,
    }


def _decode(decoder: "msgspec.json.Decoder[Any]", body: bytes) -> Any:
    try:
        return decoder.decode(json_without_nul(body))
    except RecursionError:
        message = _DEEP
    except msgspec.ValidationError as error:
        place = _PLACE.fullmatch(str(error))
        message = (
            f"Change the request: {place[0]}." if place else "Change the request: a field has the wrong type."
        )
    except (msgspec.DecodeError, UnicodeDecodeError):
        message = _JSON
    # Raised out here so that an exception which quotes the body does not travel along as context.
    raise BadRequest("bad_request", message)


def _check_question(where: str, text: str) -> str:
    if not text:
        raise BadRequest("no_question", f"Do not leave the {where} empty: it is the question.")
    if len(text) > MAX_TEXT:
        raise BadRequest("too_long", f"Shorten the {where} to at most {MAX_TEXT} characters.")
    return text


def _check_earlier_question(text: str) -> str:
    """Check an earlier question: a search may look for it too, so it is no longer than any other."""
    if len(text) > MAX_TEXT:
        raise BadRequest("too_long", f"Shorten each earlier question to at most {MAX_TEXT} characters.")
    return text


def _check_lang(lang: str | None) -> Lang | None:
    if lang is None:
        return None
    known = next((code for code in LANGUAGES if code == lang), None)
    if known is None:
        raise BadRequest("bad_request", f"Set the field lang to {either()}, or leave it out.")
    return known


def _text_of(message: _CompletionMessage) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    if not all(part.type == "text" and part.text is not None for part in message.content):
        raise BadRequest("unsupported_content", "Send text only: a string, or parts of the type text.")
    return "\n".join(part.text for part in message.content if part.text is not None)


def _pair_exchanges(messages: Sequence[_CompletionMessage]) -> tuple[Exchange, ...]:
    """Return the exchanges of a history; as in a session, neither unanswered questions nor refused ones."""
    exchanges: list[Exchange] = []
    question, answers, refused = "", list[str](), False
    for message in (*messages, _CompletionMessage("user")):
        if message.role == "assistant":
            answers.append(_text_of(message))
            refused = refused or bytes(message.blocked) != b"null"
        elif message.role == "user":
            answer = "\n".join(filter(None, answers))
            if question and answer and not refused:
                exchanges.append(Exchange(question, answer))
            question, answers, refused = _check_earlier_question(_text_of(message)), [], False
    return tuple(exchanges)
