"""Questions over plain HTTP, as values: what is read, what is refused and in which words, and what is answered."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import MAX_TEXT
from agent.errors import BadRequest
from agent.ports.brain import Blocked
from agent.ports.conversation import Exchange
from agent.protocol.completions import (
    ChunkEncoder,
    HttpQuestion,
    decode_ask,
    decode_chat,
    encode_answer,
    encode_completion,
    encode_error,
    encode_models,
)
from agent.protocol.outbound import Citation, Response

SECRET = "sentinel31337"
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
    assert asked == HttpQuestion(asked.text, "sv", history, True)
    assert asked.text.split() == ["And", "the", "price?"]


def test_what_only_tunes_a_model_is_ignored() -> None:
    """So are fields that are null or empty, as clients send them."""
    tuned = {"temperature": 0.2, "max_tokens": 5, "seed": 1, "stream_options": {"include_usage": True}}
    empty: dict[str, Any] = {
        "tools": [],
        "functions": None,
        "n": None,
        "stream": None,
        "lang": None,
        "response_format": None,
    }
    plain = decode_chat(chat(user()))
    assert plain == HttpQuestion("And the price?", None, ())
    assert decode_chat(chat(user(), **tuned, **empty)) == plain
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
        (chat({"role": SECRET, "content": "x"}), "bad_request", "system, user or assistant"),
        (chat({"role": "user", "content": 5}), "bad_request", "$.messages[0].content"),
        (chat(), "no_question", "role user"),
        (chat(said(SECRET)), "no_question", "role user"),
        (chat(user("")), "no_question", "empty"),
        (chat({"role": "user"}), "no_question", "empty"),
        (chat(user("x" * (MAX_TEXT + 1))), "too_long", str(MAX_TEXT)),
        (chat(user("x" * (MAX_TEXT + 1)), said("Yes."), user()), "too_long", "earlier"),
        (chat(user([{"type": "image_url", "image_url": {"url": SECRET}}])), "unsupported_content", "text"),
        (chat(user(), tools=[{"type": "function", "function": {"name": SECRET}}]), "unsupported_tools", "WebSocket"),
        (chat(user(), functions=[{"name": SECRET}]), "unsupported_tools", "WebSocket"),
        (chat(user(), {"role": "tool", "content": SECRET}), "unsupported_tools", "WebSocket"),
        (chat(user(), n=2), "unsupported_n", "one choice"),
        (chat(user(), n=0), "unsupported_n", "one choice"),
        (chat(user(), response_format={"type": "json_object"}), "unsupported_format", "plain text"),
        (chat(user(), lang=SECRET), "bad_request", "field lang"),
        (b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "bad_request", "deeply"),
        (b'{"messages":' + b'[{"role":' * 20_000, "bad_request", ""),
        (b'{"tools":' + b"[" * 100_000, "bad_request", "deeply"),
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


def test_a_plain_question_has_its_own_shape() -> None:
    """With what was said before as pairs."""
    assert decode_ask(b'{"text": "Why?"}') == HttpQuestion("Why?", None, ())
    body = {"text": "Why?", "lang": "en", "history": [{"question": "Q", "answer": "A"}], "more": 1}
    assert decode_ask(json.dumps(body).encode()) == HttpQuestion("Why?", "en", (Exchange("Q", "A"),))
    for bad, code in (
        ({"text": ""}, "no_question"),
        ({}, "bad_request"),
        ({"text": "x", "history": 1}, "bad_request"),
        (LONG, "too_long"),
    ):
        with pytest.raises(BadRequest) as wrong:
            decode_ask(json.dumps(bad).encode())
        assert wrong.value.code == code


KEYS = st.sampled_from(["role", "content", "type", "text", "blocked"])
ROLES = st.sampled_from(["user", "assistant", "text"])
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


def test_an_error_and_the_models_have_their_shapes() -> None:
    """As clients of OpenAI's read them."""
    told = json.loads(encode_error("Do this.", "server_error", "internal"))
    assert told == {
        "error": {"message": "Do this.", "type": "server_error", "param": None, "code": "internal"}
    }
    assert ChunkEncoder("c1", "agent", 7).encode_failure(b"{}") == b"data: {}\n\n"
    assert json.loads(encode_models("agent", 7))["data"] == [
        {"id": "agent", "object": "model", "created": 7, "owned_by": "agent"}
    ]
