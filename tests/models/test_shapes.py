"""How requests are written for each service, and how its answers are read."""

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import ModelFailed
from agent.models.anthropic import Anthropic, MessageAnswerReader
from agent.models.cli import CliAnswerReader
from agent.models.encoding import decode, encode
from agent.models.openai import ChatAnswerReader, OpenAI
from agent.models.settings import MODEL_CALLS
from agent.models.shape import AnswerReader
from agent.ports.model import (
    CallDelta,
    Finish,
    ModelMessage,
    ModelRequest,
    NamedTool,
    Piece,
    TextDelta,
    Tool,
    ToolCall,
    ToolChoice,
    Usage,
)

TALK = (
    ModelMessage("system", "Rules."),
    ModelMessage("system", "Facts."),
    ModelMessage("user", "Hi"),
    ModelMessage("assistant", "Look:", (ToolCall("c1", "find", '{"q": "x"}'), ToolCall("c2", "find", "{"))),
    ModelMessage("tool", "nothing", call_id="c1"),
    ModelMessage("tool", "a lot", call_id="c2"),
    ModelMessage("user", " \n"),
    ModelMessage("user", "So?"),
)
TOOL = Tool("find", "Finds.", {"type": "object"})


def test_openai_is_asked_as_it_wants() -> None:
    """Messages with calls and their answers, tools, the form of the text, and usage at the end."""
    body = OpenAI("m", "http://h/v1/").make_body(
        ModelRequest(
            messages=TALK, tools=(TOOL,), choice=NamedTool("find"), form={"type": "array"}, max_tokens=9
        )
    )
    assert body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Rules."},
            {"role": "system", "content": "Facts."},
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": "Look:",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "x"}'}},
                    {"id": "c2", "type": "function", "function": {"name": "find", "arguments": "{"}},
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "nothing"},
            {"role": "tool", "tool_call_id": "c2", "content": "a lot"},
            {"role": "user", "content": " \n"},
            {"role": "user", "content": "So?"},
        ],
        "max_tokens": 9,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {"name": "find", "description": "Finds.", "parameters": {"type": "object"}},
            }
        ],
        "tool_choice": {"type": "function", "function": {"name": "find"}},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "array"}},
        },
    }


def test_the_cloud_is_told_the_newer_name_of_the_limit() -> None:
    """Its newest models refuse the older, which is the one that other servers know."""
    assert "max_completion_tokens" in OpenAI("m").make_body(ModelRequest(messages=TALK))
    assert "max_tokens" not in OpenAI("m").make_body(ModelRequest(messages=TALK))
    assert "max_tokens" in OpenAI("m", "http://127.0.0.1/v1").make_body(ModelRequest(messages=TALK))


def test_anthropic_is_asked_as_it_wants() -> None:
    """System texts apart, one message for neighbours of a role, no blank text, and the stable part marked once."""
    body = Anthropic("m").make_body(
        ModelRequest(
            messages=TALK,
            tools=(TOOL,),
            choice=ToolChoice.REQUIRED,
            form={"type": "array"},
            max_tokens=9,
            stable=2,
        )
    )
    assert body == {
        "model": "m",
        "max_tokens": 9,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Look:"},
                    {"type": "tool_use", "id": "c1", "name": "find", "input": {"q": "x"}},
                    {"type": "tool_use", "id": "c2", "name": "find", "input": {"not_an_object": "{"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "nothing"},
                    {"type": "tool_result", "tool_use_id": "c2", "content": "a lot"},
                    {"type": "text", "text": "So?"},
                ],
            },
        ],
        "stream": True,
        "system": [
            {"type": "text", "text": "Rules."},
            {"type": "text", "text": "Facts.", "cache_control": {"type": "ephemeral"}},
        ],
        "tools": [{"name": "find", "description": "Finds.", "input_schema": {"type": "object"}}],
        "tool_choice": {"type": "any"},
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "array"}}},
    }


@pytest.mark.parametrize(
    ("choice", "openai", "anthropic"),
    [
        (ToolChoice.AUTO, "auto", {"type": "auto"}),
        (ToolChoice.NONE, "none", {"type": "none"}),
        (ToolChoice.REQUIRED, "required", {"type": "any"}),
        (NamedTool("f"), {"type": "function", "function": {"name": "f"}}, {"type": "tool", "name": "f"}),
    ],
)
def test_each_choice_has_its_word(choice: ToolChoice | NamedTool, openai: Any, anthropic: Any) -> None:
    """And none is sent where there are no tools, which services refuse."""
    request = ModelRequest(messages=TALK, tools=(TOOL,), choice=choice)
    assert OpenAI("m").make_body(request)["tool_choice"] == openai
    assert Anthropic("m").make_body(request)["tool_choice"] == anthropic
    for body in (
        OpenAI("m").make_body(ModelRequest(messages=TALK)),
        Anthropic("m").make_body(ModelRequest(messages=TALK)),
    ):
        assert not {"tools", "tool_choice", "output_config", "response_format"} & set(body)


@pytest.mark.parametrize(
    "url", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/", "http://h:1/v1/messages"]
)
def test_addresses_may_be_the_base_or_the_whole(url: str) -> None:
    """As each service's manuals show them."""
    assert Anthropic("m", url).address.url == "http://h:1/v1/messages"
    assert OpenAI("m", "http://h/v1").address.url == OpenAI("m", "http://h/v1/chat/completions/").address.url
    assert OpenAI("m", "http://h/v1").address.url == "http://h/v1/chat/completions"


def test_a_key_is_shown_nowhere() -> None:
    """Neither it nor the address, which may hold a password."""
    for shape in (
        OpenAI("m", "http://u:SECRET@h/v1", "SECRET"),
        Anthropic("m", "http://u:SECRET@h", "SECRET"),
    ):
        assert "SECRET" not in f"{shape!r} {shape.address!r}"
        assert any("SECRET" in value for value in shape.address.headers.values())


def read(answer: AnswerReader, events: Iterable[Any]) -> list[Piece]:
    """Return the pieces of events, given as values or as text."""
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return [piece for text in texts for piece in answer.read_event(text)]


def chunk(reason: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def called(id: str | None = None, index: int | None = 0, name: str | None = None, arguments: str = "") -> Any:
    function = {"name": name, "arguments": arguments}
    return chunk(tool_calls=[{"index": index, "id": id, "function": function}])


def test_servers_that_number_calls_in_their_own_way() -> None:
    """All 0; no number at all; the id again in every piece; a name that comes later: two calls are two calls."""
    end = (chunk("tool_calls"), "[DONE]")
    two = [
        [called("a", 0, "f", "1"), called("b", 0, "g", "2")],
        [called("a", None, "f", "1"), called("b", None, "g", "2")],
        [called("a", 7, "f"), called("a", 7, "f", "1"), called("b", 3, None), called("b", 3, "g", "2")],
        [called("x", 0, "f", "1"), called("x", 1, "g", "2")],
    ]
    for events in two:
        pieces = read(ChatAnswerReader(), [*events, *end])
        calls = [piece for piece in pieces if isinstance(piece, CallDelta)]
        for index, name, arguments in ((0, "f", "1"), (1, "g", "2")):
            mine = [call for call in calls if call.index == index]
            assert [call.name for call in mine if call.name] == [name]
            assert len([call for call in mine if call.id]) == 1
            assert "".join(call.arguments for call in mine) == arguments
        assert pieces[-1] == Finish("calls")


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([chunk("stop", content="x")], "stop"),
        ([called("a", 0, "f"), chunk("stop")], "calls"),
        ([chunk("tool_calls")], "stop"),
        ([called("a", 0, "f"), chunk("length")], "length"),
        ([chunk(refusal="I can not"), chunk("stop")], "refusal"),
        ([chunk("content_filter")], "filtered"),
    ],
)
def test_openai_s_reasons(events: list[Any], reason: str) -> None:
    """Whatever a server calls it, calls are `calls` if there were any, and a refusal is one."""
    usage = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 6}}
    assert read(ChatAnswerReader(), [*events, usage, "[DONE]"])[-1] == Finish(reason, Usage(5, 6))  # type: ignore[arg-type]


def block(kind: str, at: int = 0, **more: Any) -> dict[str, Any]:
    return {"type": f"content_block_{kind}", "index": at, **more}


def ended(reason: str | None) -> list[dict[str, Any]]:
    return [
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 6}},
        {"type": "message_stop"},
    ]


def test_anthropic_s_blocks() -> None:
    """Thinking is no text; a call without arguments has the empty object; what is cached was read too."""
    usage = {
        "input_tokens": 1,
        "cache_read_input_tokens": 10,
        "cache_creation_input_tokens": 100,
        "output_tokens": 1,
    }
    use = {"type": "tool_use", "id": "t1", "name": "now", "input": {}}
    events = [
        {"type": "message_start", "message": {"usage": usage}},
        block("start", content_block={"type": "thinking", "thinking": ""}),
        block("delta", delta={"type": "thinking_delta", "thinking": "SECRET"}),
        block("delta", delta={"type": "signature_delta", "signature": "x"}),
        block("stop"),
        block("start", 1, content_block={"type": "text", "text": "He"}),
        block("delta", 1, delta={"type": "text_delta", "text": "llo"}),
        block("stop", 1),
        block("start", 2, content_block=use),
        block("stop", 2),
        {"type": "something_new", "index": None} | {"index": 3},
        *ended("tool_use"),
    ]
    assert read(MessageAnswerReader(), events) == [
        TextDelta("He"),
        TextDelta("llo"),
        CallDelta(0, "t1", "now"),
        CallDelta(0, arguments="{}"),
        Finish("calls", Usage(111, 6)),
    ]


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("tool_use", "calls"),
        ("refusal", "refusal"),
    ],
)
def test_anthropic_s_reasons(word: str, reason: str) -> None:
    """Each of them."""
    assert read(MessageAnswerReader(), ended(word)) == [Finish(reason, Usage(0, 6))]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "events", "kind"),
    [
        (ChatAnswerReader, ["{"], "protocol"),
        (ChatAnswerReader, ["[1]"], "protocol"),
        (ChatAnswerReader, ['{"choices": 1}'], "protocol"),
        (ChatAnswerReader, [chunk(content=5)], "protocol"),
        (ChatAnswerReader, ['{"a":' * 100_000], "protocol"),
        (ChatAnswerReader, ['"\\ud800"'], "protocol"),
        (ChatAnswerReader, [chunk("paused")], "protocol"),
        (ChatAnswerReader, [chunk(content="x"), "[DONE]"], "cut"),
        (ChatAnswerReader, [{"error": {"code": 429, "message": "SECRET"}}], "rate"),
        (ChatAnswerReader, [{"error": {"code": "401"}}], "auth"),
        (ChatAnswerReader, [{"error": {"code": "context_length"}}], "server"),
        (ChatAnswerReader, [{"error": "SECRET"}], "server"),
        (ChatAnswerReader, [called(f"i{n}", n, "f") for n in range(MODEL_CALLS + 1)], "protocol"),
        (MessageAnswerReader, ["{}"], "protocol"),
        (MessageAnswerReader, ["null"], "protocol"),
        (MessageAnswerReader, ended("pause_turn"), "protocol"),
        (MessageAnswerReader, ended(None), "cut"),
        (MessageAnswerReader, [{"type": "message_stop"}], "cut"),
        (
            MessageAnswerReader,
            [block("delta", delta={"type": "input_json_delta", "partial_json": "{"})],
            "protocol",
        ),
        (
            MessageAnswerReader,
            [{"type": "error", "error": {"type": "overloaded_error", "message": "SECRET"}}],
            "server",
        ),
        (MessageAnswerReader, [{"type": "error", "error": {"type": "rate_limit_error"}}], "rate"),
        (MessageAnswerReader, [{"type": "error"}], "server"),
        (
            MessageAnswerReader,
            [block("start", n, content_block={"type": "tool_use"}) for n in range(MODEL_CALLS + 1)],
            "protocol",
        ),
    ],
)
def test_what_is_no_answer_fails(answer: type[AnswerReader], events: list[Any], kind: str) -> None:
    """By its kind, in words of our own."""
    with pytest.raises(ModelFailed) as failed:
        read(answer(), events)
    assert failed.value.kind == kind
    assert "SECRET" not in str(failed.value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "type", "index", "content_block", "tool_calls", "id", "error", "event"]
            )
            | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=15)
@given(
    st.sampled_from([ChatAnswerReader, MessageAnswerReader, CliAnswerReader]),
    st.lists(JSON | st.text(max_size=20), max_size=4),
)
def test_any_events_are_pieces_or_one_of_our_failures(answer: Any, events: list[Any]) -> None:
    """Nothing else comes of what a service may send."""
    made = answer()
    with suppress(ModelFailed):
        for event in events:
            text = event if isinstance(event, str) else json.dumps(event)
            for piece in made.read_event(
                text.encode("utf-8", "replace") if answer is CliAnswerReader else text
            ):
                assert isinstance(piece, TextDelta | CallDelta | Finish)


@settings(max_examples=15)
@given(JSON)
def test_what_is_encoded_is_json(value: Any) -> None:
    """Whatever it holds, it is UTF-8 and can be read again."""
    decode(encode({"a": value}), object)


def test_a_value_nested_without_end_is_a_failure() -> None:
    """As is one that JSON does not know."""
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for value in (deep, {"a": object()}, {"a": 1j}, {(1, 2): 3}):
        with pytest.raises(ModelFailed) as failed:
            encode(value)
        assert failed.value.kind == "request"
