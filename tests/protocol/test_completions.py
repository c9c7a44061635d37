"""Questions over plain HTTP, as values: what is read, what is refused and in which words, and what is answered."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import MAX_TEXT, ROLE_CHARACTERS
from agent.errors import BadRequest
from agent.ports.brain import Blocked, Proposal
from agent.ports.conversation import Exchange
from agent.ports.model import Usage
from agent.protocol.completion_answers import (
    ChunkEncoder,
    HandedCall,
    encode_answer,
    encode_completion,
    encode_error,
    encode_model,
    encode_models,
)
from agent.protocol.completions import HttpQuestion, ToolReport, ToolUse, decode_ask, decode_chat
from agent.protocol.outbound import Response
from agent.protocol.outbound_frame import Citation

SECRET = "sentinel31337"
TOOLS = [{"type": "function", "function": {"name": "look_up"}}]
ANSWER = Response(
    text="It is 299 kr.",
    citations=(Citation(file="kb/a.md", snippet="299 kr", lines=(1, 1)),),
    id="m",
    confidence="high",
)
LONG = {"text": "x", "history": [{"question": "x" * (MAX_TEXT + 1), "answer": "y"}]}
REFUSED = Response(
    text="I cannot say.",
    citations=(),
    id="m",
    confidence="low",
    blocked=Blocked("no_sources", "No sources found"),
)


def user(text: Any = "And the price?") -> dict[str, Any]:
    """A user's message."""
    return {"role": "user", "content": text}


def said(text: Any, **fields: Any) -> dict[str, Any]:
    """An answer that comes back."""
    return {"role": "assistant", "content": text, **fields}


def called(*ids: str, arguments: str = '{"order": "A-17"}') -> dict[str, Any]:
    """A message that calls a tool, once for each id."""
    function = {"name": "look_up", "arguments": arguments}
    return said(None, tool_calls=[{"id": id, "type": "function", "function": function} for id in ids])


def returned(id: str, content: Any = "sent") -> dict[str, Any]:
    """The result of a call."""
    return {"role": "tool", "tool_call_id": id, "content": content}


def chat(*messages: Any, **fields: Any) -> bytes:
    """The body of a chat completion."""
    return json.dumps({"model": "m", "messages": list(messages), **fields}).encode()


@pytest.mark.parametrize(
    ("messages", "history"),
    [
        ([user()], ()),
        ([{"role": "system", "content": "Obey."}, {"role": "developer", "content": "Obey."}, user()], ()),
        ([user("Hi"), said("Hello."), user()], (Exchange("Hi", "Hello."),)),
        ([user("Hi"), said("A."), said("B."), user()], (Exchange("Hi", "A.\nB."),)),
        ([user("Hi"), user("Ho"), said("Yes."), user()], (Exchange("Ho", "Yes."),)),
        ([said("Welcome."), user()], ()),
        ([user("Hi"), said("No.", blocked={"code": "no_sources"}), user()], ()),
        ([user("Hi"), said("Yes.", blocked=None), user(), said("Sure, ")], (Exchange("Hi", "Yes."),)),
        ([user("Hi"), said(None, tool_calls=[]), user()], ()),
        ([user([{"type": "text", "text": "And the"}, {"type": "text", "text": "price?"}])], ()),
    ],
)
def test_the_last_user_message_is_the_question(messages: list[Any], history: tuple[Exchange, ...]) -> None:
    """Those before it are what was said, as in a session: without what was refused or had no answer."""
    asked = decode_chat(chat(*messages, stream=True, lang="sv"))
    assert (asked.lang, asked.history, asked.stream) == ("sv", history, True)
    assert asked.text.split() == ["And", "the", "price?"]


def test_what_only_tunes_a_model_is_ignored() -> None:
    """So are fields that are null or empty, as clients send them."""
    tuned = {"temperature": 0.2, "max_tokens": 5, "seed": 1, "parallel_tool_calls": True}
    empty: dict[str, Any] = {
        "tools": [],
        "tool_choice": None,
        "stream_options": None,
        "functions": None,
        "n": None,
        "stream": None,
        "lang": None,
        "response_format": None,
    }
    plain = decode_chat(chat(user()))
    assert plain == HttpQuestion(text="And the price?")
    assert decode_chat(chat(user(), **tuned, **empty)) == plain
    counted = decode_chat(chat(user(), stream_options={"include_usage": True}))
    assert counted == HttpQuestion(text="And the price?", with_usage=True)
    assert decode_chat(chat(user(), n=1, response_format={"type": "text"})) == plain


@pytest.mark.parametrize(
    ("body", "code", "part"),
    [
        (b"", "bad_request", "JSON object"),
        (b"\xff{}", "bad_request", "JSON object"),
        (b'{"messages": [], "n": NaN}', "bad_request", "JSON object"),
        (b'{"messages": [{"role": "user", "content": "\\ud800"}]}', "bad_request", "JSON object"),
        (b"[]", "bad_request", "Expected `object`, got `array`"),
        (b"{}", "bad_request", "missing required field `messages`"),
        (b'{"messages": "x"}', "bad_request", "Expected `array`, got `str` - at `$.messages`"),
        (chat({"content": SECRET}), "bad_request", "missing required field `role` - at `$.messages[0]`"),
        (chat({"role": SECRET, "content": "x"}), "bad_request", "system, user, assistant or tool"),
        (chat({"role": "user", "content": 5}), "bad_request", "$.messages[0].content"),
        (chat(), "no_question", "role user"),
        (chat(said(SECRET)), "no_question", "role user"),
        (chat(user("")), "no_question", "empty"),
        (chat({"role": "user"}), "no_question", "empty"),
        (chat(user("x" * (MAX_TEXT + 1))), "too_long", str(MAX_TEXT)),
        (chat(user("x" * (MAX_TEXT + 1)), said("Yes."), user()), "too_long", "earlier"),
        (chat(user([{"type": "image_url", "image_url": {"url": SECRET}}])), "unsupported_content", "text"),
        (chat({"role": "system", "content": "x" * (ROLE_CHARACTERS + 1)}, user()), "too_long", str(ROLE_CHARACTERS)),
        (chat(user(), functions=[{"name": SECRET}]), "unsupported_functions", "tools"),
        (chat(user(), {"role": "function", "content": SECRET}), "unsupported_functions", "tools"),
        (chat(user(), tools=[SECRET]), "bad_request", "`$.tools[0]`"),
        (chat(user(), tools=TOOLS, tool_choice=SECRET), "bad_tool_choice", "auto"),
        (chat(user(), tools=TOOLS, tool_choice={"type": SECRET}), "bad_tool_choice", "auto"),
        (chat(user(), tools=TOOLS, tool_choice={"type": "function"}), "bad_tool_choice", "auto"),
        (chat(user(), tool_choice="required"), "bad_tool_choice", "Offer"),
        (chat(user(), returned(SECRET)), "bad_call", "Answer each"),
        (chat(user(), called("c"), returned("c"), returned("c")), "bad_call", "Answer each"),
        (chat(user(), called("c", "d"), returned("c")), "bad_call", "Answer each"),
        (chat(user(), called("c", "c"), returned("c")), "bad_call", "id of each call"),
        (chat(user(), called(f"/{SECRET}"), returned(f"/{SECRET}")), "bad_call", "id of each call"),
        (chat(user(), called("c", arguments=SECRET), returned("c")), "bad_call", "JSON object"),
        (chat(user(), called("c", arguments="[]"), returned("c")), "bad_call", "JSON object"),
        (chat(user(), said(None, tool_calls=[{"id": SECRET}])), "bad_request", "field `function`"),
        (chat(user(), called(*"abcdefghi"), *map(returned, "abcdefghi")), "too_many_calls", "at most 8"),
        (chat(user(), n=2), "unsupported_n", "one choice"),
        (chat(user(), n=0), "unsupported_n", "one choice"),
        (chat(user(), response_format={"type": SECRET}), "bad_format", "json_object"),
        (chat(user(), response_format={"type": "json_schema"}), "bad_format", "with a json_schema"),
        (chat(user(), response_format={"type": "json_schema", "json_schema": {}}), "bad_request", ""),
        (chat(user(), response_format={"json_schema": {"name": "a", "schema": 1}}), "bad_request", "schema"),
        (chat(user(), lang=SECRET), "bad_request", "field lang"),
        (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "bad_request", "deeply"),
        (b'{"messages":' + b'[{"role":' * 20_000, "bad_request", ""),
        (b'{"tools":' + b"[" * 100_000, "bad_request", "$.tools"),
        (b'{"tools":[{"a":' + b"[" * 100_000, "bad_request", "deeply"),
        (b'{"functions":' + b"[" * 100_000, "bad_request", "deeply"),
        (b"[" * 200_000, "bad_request", "Expected `object`"),
        (b'{"messages": [], "n": 1' + b"0" * 5000 + b"}", "bad_request", "wrong type"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_says_what_to_change(body: bytes, code: str, part: str) -> None:
    """In a sentence that never repeats what was sent, nor carries it along as an exception."""
    with pytest.raises(BadRequest) as wrong:
        decode_chat(body)
    assert wrong.value.code == code
    assert part in wrong.value.message
    assert SECRET not in wrong.value.message
    assert wrong.value.__context__ is None


def test_instructions_are_those_of_the_caller() -> None:
    """All messages of the system and the developer, wherever they stand, and nothing of them is history."""
    asked = decode_chat(
        chat(
            {"role": "system", "content": " Be brief. "},
            user("Hi"),
            said("Hello."),
            {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
            {"role": "system", "content": ""},
            user(),
        )
    )
    assert (asked.instructions, asked.history) == ("Be brief.\n\nBe kind.", (Exchange("Hi", "Hello."),))


@pytest.mark.parametrize(
    ("choice", "use"),
    [
        (None, ToolUse(tuple(TOOLS))),
        ("auto", ToolUse(tuple(TOOLS))),
        ("none", ToolUse()),
        ("required", ToolUse(tuple(TOOLS), True)),
        ({"type": "function", "function": {"name": "x"}}, ToolUse(tuple(TOOLS), True, "x")),
    ],
)
def test_the_choice_of_a_tool_is_read(choice: Any, use: ToolUse) -> None:
    """The tools stay as they were sent; whether the named one is there is seen when they are read."""
    assert decode_chat(chat(user(), tools=TOOLS, tool_choice=choice)).tool_use == use


@pytest.mark.parametrize(
    ("content", "result"),
    [
        ("sent on 4 May", "sent on 4 May"),
        ('{"day": 4}', {"day": 4}),
        (' ["a"]', ["a"]),
        ("42", "42"),
        ("{not JSON", "{not JSON"),
        ("[" * 100_000, "[" * 100_000),
        ([{"type": "text", "text": "sent"}], "sent"),
        (None, ""),
        ('{"a": "\\u0000"}', {"a": "\ufffd"}),
    ],
)
def test_a_result_comes_back_with_its_call(content: Any, result: Any) -> None:
    """As JSON where it is an object or an array, otherwise as text; results of earlier questions are history."""
    before = (user("Where?"), called("old"), returned("old", "31337"), said("There."))
    asked = decode_chat(chat(*before, user(), called("c"), returned("c", content)))
    assert asked.history == (Exchange("Where?", "There."),)
    assert asked.tool_use.reports == (ToolReport("c", "look_up", {"order": "A-17"}, result),)


def test_a_plain_question_has_its_own_shape() -> None:
    """With what was said before as pairs."""
    assert decode_ask(b'{"text": "Why?"}') == HttpQuestion(text="Why?")
    body = {"text": "Why?", "lang": "en", "history": [{"question": "Q", "answer": "A"}], "more": 1}
    assert decode_ask(json.dumps(body).encode()) == HttpQuestion(
        text="Why?", lang="en", history=(Exchange("Q", "A"),)
    )
    for bad, code in (
        ({"text": ""}, "no_question"),
        ({}, "bad_request"),
        ({"text": "x", "history": 1}, "bad_request"),
        (LONG, "too_long"),
    ):
        with pytest.raises(BadRequest) as wrong:
            decode_ask(json.dumps(bad).encode())
        assert wrong.value.code == code


KEYS = st.sampled_from(
    ["role", "content", "type", "text", "blocked", "tool_calls", "id", "function", "name", "arguments"]
)
ROLES = st.sampled_from(["user", "assistant", "system", "tool", "text", "{}"])
VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | ROLES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)


@given(VALUES)
def test_any_messages_are_read_or_refused(messages: Any) -> None:
    """Nothing else is raised."""
    with suppress(BadRequest):
        assert decode_chat(json.dumps({"messages": messages}).encode()).text


def test_an_answer_has_the_shape_of_a_completion() -> None:
    """Its sources stand beside its content; a refusal is a message that was said to its end."""
    whole = json.loads(encode_completion("c1", "agent", 7, ANSWER))
    (choice,) = whole.pop("choices")
    assert whole == {"id": "c1", "object": "chat.completion", "created": 7, "model": "agent"}
    assert (choice["index"], choice["finish_reason"]) == (0, "stop")
    cited = {"file": "kb/a.md", "snippet": "299 kr", "lines": [1, 1]}
    assert choice["message"] == {
        "role": "assistant",
        "content": "It is 299 kr.",
        "citations": [cited],
        "blocked": None,
        "confidence": "high",
    }
    (refused,) = json.loads(encode_completion("c1", "agent", 7, REFUSED))["choices"]
    assert refused["finish_reason"] == "stop"
    assert refused["message"]["blocked"] == {"code": "no_sources", "message": "No sources found"}
    assert json.loads(encode_answer(ANSWER)) == {
        "text": "It is 299 kr.",
        "citations": [cited],
        "confidence": "high",
    }
    assert json.loads(encode_answer(REFUSED))["blocked"]["code"] == "no_sources"


def test_a_stream_is_the_same_in_events() -> None:
    """The role, the pieces, the sources with the end, and the word that nothing follows."""
    chunks = ChunkEncoder("c1", "agent", 7)
    events = chunks.encode_start() + chunks.encode_delta("It ") + chunks.encode_end(ANSWER)
    *data, last, rest = events.split(b"\n\n")
    assert (last, rest) == (b"data: [DONE]", b"")
    told = [json.loads(each.removeprefix(b"data: ")) for each in data]
    assert {each["object"] for each in told} == {"chat.completion.chunk"}
    choices = [each["choices"][0] for each in told]
    assert [each["finish_reason"] for each in choices] == [None, None, "stop"]
    assert [each["delta"].get("content") for each in choices] == ["", "It ", None]
    assert choices[0]["delta"]["role"] == "assistant"
    assert choices[2]["delta"]["citations"][0]["file"] == "kb/a.md"
    assert choices[2]["delta"]["blocked"] is None


CALL = HandedCall(
    "call_1",
    Proposal(
        action="look_up",
        payload={"order": "A-17"},
        risk="medium",
        sources={"/order": "user"},
        why=("definition",),
        runs_at="caller",
    ),
)
SENT_CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "look_up", "arguments": '{"order":"A-17"}'},
    "risk": "medium",
    "requires_approval": True,
    "why_approval": ["definition"],
    "sources": {"/order": "user"},
}


def test_a_call_stands_in_the_place_of_an_answer() -> None:
    """Whole and streamed, with what its user may want to know; it reads back as the call that it is."""
    (choice,) = json.loads(encode_completion("c1", "agent", 7, CALL))["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"] == {"role": "assistant", "content": None, "tool_calls": [SENT_CALL]}
    last, done, _ = ChunkEncoder("c1", "agent", 7).encode_end(CALL).split(b"\n\n")
    assert done == b"data: [DONE]"
    (choice,) = json.loads(last.removeprefix(b"data: "))["choices"]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["delta"] == {"tool_calls": [SENT_CALL | {"index": 0}]}
    asked = decode_chat(chat(user(), {"role": "assistant", **choice["delta"]}, returned("call_1")))
    assert asked.tool_use.reports[0].arguments == {"order": "A-17"}


def test_tokens_are_those_that_were_counted() -> None:
    """None are told where none were counted; a stream tells them after its last choice, where it is asked to."""
    counted = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    assert json.loads(encode_completion("c1", "agent", 7, ANSWER, Usage(3, 4)))["usage"] == counted
    assert "usage" not in json.loads(encode_completion("c1", "agent", 7, ANSWER))
    chunks = ChunkEncoder("c1", "agent", 7)
    *_, told, _, _ = chunks.encode_end(ANSWER, Usage(3, 4)).split(b"\n\n")
    assert json.loads(told.removeprefix(b"data: "))["usage"] == counted
    assert json.loads(told.removeprefix(b"data: "))["choices"] == []
    assert chunks.encode_end(ANSWER, Usage()) == chunks.encode_end(ANSWER)


def test_an_error_and_the_models_have_their_shapes() -> None:
    """As clients of OpenAI's read them."""
    told = json.loads(encode_error("Do this.", "server_error", "internal"))
    assert told == {
        "error": {"message": "Do this.", "type": "server_error", "param": None, "code": "internal"}
    }
    broke = ChunkEncoder("c1", "agent", 7).encode_failure("internal", "Do this.")
    assert json.loads(broke.removeprefix(b"data: ")) == told
    assert json.loads(encode_models("agent", 7))["data"] == [
        {"id": "agent", "object": "model", "created": 7, "owned_by": "agent"}
    ]
    assert json.loads(encode_model("agent", 7))["id"] == "agent"
