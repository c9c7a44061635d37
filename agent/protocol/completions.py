"""Reads questions over plain HTTP: OpenAI's chat completions, and `/ask`; pure.

    POST /v1/chat/completions  {"messages": [{"role": "user", "content": "..."}], "stream": false, "lang": "en"}
      the last `user` message is the question; the `user` and `assistant` messages before it are the history: context
      for the model and for the search, never a source. `content` is a string, or a list of text parts. `system` and
      `developer` messages are instructions, as a project's role statement is: part of the prompt, and no source.
    {..., "response_format": {"type": "json_schema", "json_schema": {"name", "schema"}}}
      the answer is a JSON object by that schema; the type `json_object` takes any object that is not empty.
    {..., "tools": [...], "tool_choice": "auto"}
      the tools run at the caller. The `assistant` messages with `tool_calls` and the `tool` messages behind the
      question bring the results of its calls, which an answer may cite.
    POST /ask  {"text": "...", "lang": "en", "history": [{"question", "answer"}]}

`agent.protocol.completion_answers` makes the answers.

A field that cannot be honoured and would change the meaning of an answer is an error, such as several choices. Fields
that only tune a model (`temperature`, `max_tokens`, `model`, ...) are ignored.

Strategy: one strict msgspec call, whose complaints name places and types and never repeat a value that was sent. Fields
that are not needed are skipped, not built, so that no body within the limits takes long: nesting ends in
`RecursionError`, not in a scan of its own, which would take longer than all the rest.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from ..config import MAX_ID, MAX_TEXT, ROLE_CHARACTERS, ROUNDS_MOST
from ..errors import BadRequest
from ..lang import LANGUAGES, Lang, either
from ..ports.conversation import Exchange
from .completion_answers import CompletionCall
from .nul import json_without_nul

_ROLES = ("system", "developer", "user", "assistant", "tool")
_INSTRUCTIONS = ("system", "developer")
_TEXT_TYPES = ("text", "input_text", "output_text")  # the last two of the Responses API
_FUNCTIONS = "Offer tools in place of functions, and answer their calls with messages of the role tool."
_FORMAT = (
    "Set the type of the answer's format to text, json_object or json_schema, the last with a json_schema, "
    "or in text.format with a name and a schema."
)
# The description of a form where its sender gives none.
_FORM = "Gives the answer in this form, once no other tool needs to be called."
_ANY_OBJECT = {"type": "object", "minProperties": 1, "additionalProperties": True}
_CHOICE = "Set tool_choice to none, auto, required, or an object that names one function of tools."
_NO_CHOICE = "Offer the tools that tool_choice asks for."
_ANSWER_EACH = (
    "Answer each call with one result behind it, under the id of the call: a message of the role tool with its "
    "tool_call_id, or a function_call_output with its call_id."
)
_CALL_ID = f"Send the id of each call as it came: at most {MAX_ID} letters, digits, and the marks . _ ~ -"
_ARGUMENTS = "Send the arguments of each call as they came: a JSON object in a string."
_JSON = "Send a JSON object in UTF-8; this body could not be read as one."
_DEEP = "Nest arrays and objects less deeply."
_PLACE = re.compile(
    r"Expected [^'\"]*|"
    r"Object missing required field `(?:messages|input|text|question|answer|role|type|id|function|name|arguments)`.*"
)
_ID = re.compile(rf"[A-Za-z0-9._~-]{{1,{MAX_ID}}}")


@dataclass(frozen=True, slots=True)
class ToolReport:
    """The result of a call that the caller has run. `result`: a JSON value, or the text that was no JSON."""

    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    result: Any


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The tools of a question. `definitions`: as they were sent, () where none may be called.

    `must_call`: a call is wanted in place of an answer. `named`: the one tool that may be called, "" for any.
    `reports`: the results of the question's calls, oldest first. `form`: the tool whose arguments are the answer, as it
    would be sent; None where the answer is text.
    """

    definitions: tuple[Mapping[str, Any], ...] = ()
    must_call: bool = False
    named: str = ""
    reports: tuple[ToolReport, ...] = ()
    form: Mapping[str, Any] | None = None


NO_TOOLS = ToolUse()


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpQuestion:
    """A question over HTTP. `history` is oldest first. `instructions`: the caller's, "" for none.

    `stream` asks for the answer as events while it is made, `with_usage` for the tokens at their end.
    """

    text: str
    lang: Lang | None = None
    history: tuple[Exchange, ...] = ()
    instructions: str = ""
    tool_use: ToolUse = NO_TOOLS
    stream: bool = False
    with_usage: bool = False


class TextPart(msgspec.Struct, frozen=True):
    """A part of a message; only text is taken, of the type `text`, or as the Responses API names it."""

    type: str
    text: str | None = None


class CompletionMessage(msgspec.Struct, frozen=True):
    """A message of the role `system`, `developer`, `user`, `assistant` or `tool`."""

    role: str
    content: str | list[TextPart] | None = None
    tool_calls: list[CompletionCall] | None = None
    tool_call_id: str | None = None
    blocked: Any = None  # of an answer of ours that comes back


class JsonSchemaFormat(msgspec.Struct, frozen=True):
    """A JSON Schema for an answer, under a name. It is always enforced, whatever `strict` says."""

    name: str
    description: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None


class AnswerFormat(msgspec.Struct, frozen=True, kw_only=True):
    """The format of an answer: of the type `text`, `json_object` or `json_schema`.

    The last has a `json_schema`, or its fields beside the type, as in the Responses API.
    """

    type: str = "text"
    json_schema: JsonSchemaFormat | None = None
    name: str | None = None
    description: str | None = None
    schema: dict[str, Any] | None = None
    strict: bool | None = None


class FunctionName(msgspec.Struct, frozen=True):
    """The name of a tool."""

    name: str


class NamedFunction(msgspec.Struct, frozen=True):
    """The choice of one tool, of the type `function`, by its `function`; in the Responses API by its `name`."""

    type: str
    function: FunctionName | None = None
    name: str | None = None


class StreamOptions(msgspec.Struct, frozen=True):
    """Options of a stream. `include_usage`: send the tokens that a language model counted, as the last event."""

    include_usage: bool = False


class CompletionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A question in the form of OpenAI's chat completions. Fields that tune a model are taken, and ignored."""

    messages: list[CompletionMessage]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    lang: str | None = None
    n: int | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: str | NamedFunction | None = None
    functions: list[Raw] | None = None
    response_format: AnswerFormat | None = None


class AskExchange(msgspec.Struct, frozen=True):
    """An earlier question with its answer."""

    question: str
    answer: str


class AskRequest(msgspec.Struct, frozen=True):
    """A question of `/ask`, with the exchanges before it, oldest first."""

    text: str
    lang: str | None = None
    history: list[AskExchange] = []


_chat = msgspec.json.Decoder(CompletionRequest, strict=True)
_ask = msgspec.json.Decoder(AskRequest, strict=True)


def decode_chat(body: bytes) -> HttpQuestion:
    """Return the question of a chat completion. Raises `agent.errors.BadRequest`, which never repeats a value of
    `body`.
    """
    return read_question(decode_request(_chat, body))


def read_question(chat: CompletionRequest) -> HttpQuestion:
    """Return the question of the request for a chat completion. Raises `agent.errors.BadRequest`, as `decode_chat`."""
    if chat.functions or any(message.role == "function" for message in chat.messages):
        raise BadRequest("unsupported_functions", _FUNCTIONS)
    if chat.n not in (None, 1):
        raise BadRequest("unsupported_n", "Ask for one choice: leave out n, or set it to 1.")
    if not all(message.role in _ROLES for message in chat.messages):
        raise BadRequest("bad_request", "Set the role of each message to system, user, assistant or tool.")
    questions = [place for place, message in enumerate(chat.messages) if message.role == "user"]
    if not questions:
        raise BadRequest("no_question", "Send at least one message with the role user: the question.")
    before, behind = chat.messages[: questions[-1]], chat.messages[questions[-1] + 1 :]
    return HttpQuestion(
        text=_check_question("content of the last user message", _text_of(chat.messages[questions[-1]])),
        lang=_check_lang(chat.lang),
        history=_pair_exchanges(before),
        instructions=_join_instructions(chat.messages),
        tool_use=_choose_tools(
            chat.tools or (), chat.tool_choice, _collect_reports(behind), _read_form(chat.response_format)
        ),
        stream=bool(chat.stream),
        with_usage=chat.stream_options is not None and chat.stream_options.include_usage,
    )


def decode_ask(body: bytes) -> HttpQuestion:
    """Return the question of `/ask`. Raises `agent.errors.BadRequest`, which never repeats a value of `body`."""
    ask = decode_request(_ask, body)
    history = tuple(
        Exchange(_check_earlier_question(earlier.question), earlier.answer) for earlier in ask.history
    )
    text = _check_question("field text", ask.text)
    return HttpQuestion(text=text, lang=_check_lang(ask.lang), history=history)


def decode_request(decoder: "msgspec.json.Decoder[Any]", body: bytes) -> Any:
    """Return the value of a body. Raises `agent.errors.BadRequest`, which never repeats a value of `body`."""
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


def _read_form(given: AnswerFormat | None) -> Mapping[str, Any] | None:
    """Return the tool whose arguments are an answer in the format `given`; None for text."""
    if given is None or given.type == "text":
        return None
    if given.type == "json_object":
        return {"name": "answer", "description": _FORM, "parameters": _ANY_OBJECT}
    named = given if given.json_schema is None else given.json_schema
    if given.type != "json_schema" or named.name is None:
        raise BadRequest("bad_format", _FORMAT)
    schema = _ANY_OBJECT if named.schema is None else named.schema
    return {"name": named.name, "description": named.description or _FORM, "parameters": schema}


def _choose_tools(
    tools: Sequence[Mapping[str, Any]],
    choice: str | NamedFunction | None,
    reports: tuple[ToolReport, ...],
    form: Mapping[str, Any] | None,
) -> ToolUse:
    if choice == "none":
        return ToolUse(must_call=form is not None, reports=reports, form=form)
    if choice is None or choice == "auto":
        return ToolUse(tuple(tools), form is not None, reports=reports, form=form)
    named = ""
    if isinstance(choice, NamedFunction) and choice.type == "function":
        named = (choice.name or "") if choice.function is None else choice.function.name
    if not named and choice != "required":
        raise BadRequest("bad_tool_choice", _CHOICE)
    if not tools:
        raise BadRequest("bad_tool_choice", _NO_CHOICE)
    return ToolUse(tuple(tools), True, named, reports, form)


def _text_of(message: CompletionMessage) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    parts = [part for part in message.content if part.type != "refusal"]  # of an answer that comes back
    if not all(part.type in _TEXT_TYPES and part.text is not None for part in parts):
        raise BadRequest("unsupported_content", "Send text only: a string, or parts of the type text.")
    return "\n".join(part.text for part in parts if part.text is not None)


def _join_instructions(messages: Sequence[CompletionMessage]) -> str:
    parts = [_text_of(message).strip() for message in messages if message.role in _INSTRUCTIONS]
    text = "\n\n".join(filter(None, parts))
    if len(text) > ROLE_CHARACTERS:
        shorten = (
            f"Shorten the instructions (system and developer messages too) to at most {ROLE_CHARACTERS} characters "
            "together."
        )
        raise BadRequest("too_long", shorten)
    return text


def _pair_exchanges(messages: Sequence[CompletionMessage]) -> tuple[Exchange, ...]:
    """Return the exchanges of a history; as in a session, neither unanswered questions nor refused ones."""
    exchanges: list[Exchange] = []
    question, answers, refused = "", list[str](), False
    for message in (*messages, CompletionMessage("user")):
        if message.role == "assistant":
            answers.append(_text_of(message))
            refused = refused or message.blocked is not None
        elif message.role == "user":
            answer = "\n".join(filter(None, answers))
            if question and answer and not refused:
                exchanges.append(Exchange(question, answer))
            question, answers, refused = _check_earlier_question(_text_of(message)), [], False
    return tuple(exchanges)


def _collect_reports(messages: Sequence[CompletionMessage]) -> tuple[ToolReport, ...]:
    """Return the results of the calls in the `messages` behind the question; each call has one."""
    calls: dict[str, CompletionCall] = {}
    reports: dict[str, ToolReport] = {}
    for message in messages:
        for call in (message.tool_calls or ()) if message.role == "assistant" else ():
            if _ID.fullmatch(call.id) is None or call.id in calls:
                raise BadRequest("bad_call", _CALL_ID)
            calls[call.id] = call
        if message.role == "tool":
            answered = calls.get(message.tool_call_id or "")
            if answered is None or answered.id in reports:
                raise BadRequest("bad_call", _ANSWER_EACH)
            reports[answered.id] = _make_report(answered, _text_of(message))
    if len(calls) > ROUNDS_MOST:
        most = f"Bring the results of at most {ROUNDS_MOST} calls of one question, the newest ones."
        raise BadRequest("too_many_calls", most)
    if len(reports) < len(calls):
        raise BadRequest("bad_call", _ANSWER_EACH)
    return tuple(reports.values())


def _make_report(call: CompletionCall, content: str) -> ToolReport:
    arguments = _parse_json(call.function.arguments)
    if not isinstance(arguments, dict) or len(call.function.name) > MAX_ID:
        raise BadRequest("bad_call", _ARGUMENTS)
    result = _parse_json(content) if content.lstrip()[:1] in ("{", "[") else content
    return ToolReport(call.id, call.function.name, arguments, content if result is None else result)


def _parse_json(text: str) -> Any:
    """Return the value of a JSON `text`; None for any other text."""
    with suppress(msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return msgspec.json.decode(json_without_nul(text))
    return None
