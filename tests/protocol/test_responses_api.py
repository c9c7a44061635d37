"""Questions in the form of the Responses API, as values: what is read, what is refused, and what is answered."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given

from agent.config import MAX_TEXT, ROLE_CHARACTERS
from agent.errors import BadRequest
from agent.ports.conversation import Exchange
from agent.ports.model import Usage
from agent.protocol.completion_answers import JsonAnswer
from agent.protocol.completions import HttpQuestion, ToolReport, ToolUse, decode_chat
from agent.protocol.responses_api import ResponseEncoder, decode_response_request

from .test_completions import ANSWER, CALL, REFUSED, SECRET, VALUES, chat, user

LOOK_UP: dict[str, Any] = {
    "type": "function",
    "name": "look_up",
    "parameters": {"type": "object"},
    "strict": True,
}
SCHEMA = {"type": "object", "properties": {"order": {"type": "string"}}}


def asked(input: Any = "And the price?", **fields: Any) -> bytes:
    """The body of a request."""
    return json.dumps({"model": "m", "input": input, **fields}).encode()


def called(id: str = "c", arguments: str = '{"order": "A-17"}') -> dict[str, Any]:
    """A call that comes back."""
    return {"type": "function_call", "call_id": id, "name": "look_up", "arguments": arguments}


def returned(id: str = "c", output: Any = "sent") -> dict[str, Any]:
    """The result of a call."""
    return {"type": "function_call_output", "call_id": id, "output": output}


def said(text: str, **fields: Any) -> dict[str, Any]:
    """An answer that comes back."""
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "id": "msg_1", "content": [part], **fields}


def test_a_question_is_that_of_a_chat_completion() -> None:
    """A text alone, or the last message of its user; instructions stand apart, or in messages of their own."""
    plain = decode_response_request(asked())
    assert plain == HttpQuestion(text="And the price?", with_usage=True)
    assert plain == decode_chat(chat(user(), stream_options={"include_usage": True}))
    parts = [{"type": "input_text", "text": "And the price?"}]
    for message in (user(), user(parts), user() | {"type": "message"}):
        assert decode_response_request(asked([message])) == plain
    tuned = {
        "temperature": 0,
        "max_output_tokens": 5,
        "store": True,
        "include": [],
        "reasoning": {"effort": "low"},
    }
    empty: dict[str, Any] = {
        "previous_response_id": None,
        "tools": [],
        "text": {"verbosity": "low"},
        "background": False,
    }
    assert decode_response_request(asked(**tuned, **empty)) == plain
    whole = asked([user("Hi"), said("Hello."), user()], instructions="Be brief.", stream=True, lang="sv")
    read = decode_response_request(whole)
    assert (read.history, read.instructions) == ((Exchange("Hi", "Hello."),), "Be brief.")
    assert (read.stream, read.lang) == (True, "sv")
    developer = {"role": "developer", "content": "Be kind."}
    assert decode_response_request(asked([developer, user()], instructions="Be brief.")).instructions == (
        "Be brief.\n\nBe kind."
    )
    blocked = said("No.", blocked={"code": "no_sources"})
    refusal = said("") | {"content": [{"type": "refusal", "refusal": "Which order?"}]}
    for unanswered in (blocked, refusal):
        assert decode_response_request(asked([user("Hi"), unanswered, user()])).history == ()


def test_tools_and_their_results_are_read() -> None:
    """The results of calls stand behind the question; those of earlier questions are no longer told."""
    before = (user("Where?"), called("old"), returned("old", "31337"), said("There."))
    behind = (
        called(),
        called("d"),
        returned(output='{"day": 4}'),
        returned("d", [{"type": "input_text", "text": "x"}]),
    )
    read = decode_response_request(asked([*before, user(), *behind], tools=[LOOK_UP]))
    assert read.history == (Exchange("Where?", "There."),)
    assert read.tool_use.definitions == (LOOK_UP,)
    assert read.tool_use.reports == (
        ToolReport("c", "look_up", {"order": "A-17"}, {"day": 4}),
        ToolReport("d", "look_up", {"order": "A-17"}, "x"),
    )
    for choice, use in (
        ("none", ToolUse()),
        ("required", ToolUse((LOOK_UP,), True)),
        ({"type": "function", "name": "look_up"}, ToolUse((LOOK_UP,), True, "look_up")),
    ):
        assert decode_response_request(asked(tools=[LOOK_UP], tool_choice=choice)).tool_use == use
    form = {"type": "json_schema", "name": "Order", "schema": SCHEMA, "strict": True}
    read = decode_response_request(asked(text={"format": form}))
    assert read.tool_use == decode_chat(
        chat(user(), response_format={"type": "json_schema", "json_schema": {"name": "Order", "schema": SCHEMA}})
    ).tool_use  # fmt: skip
    assert read.tool_use.form is not None
    assert decode_response_request(asked(text={"format": {"type": "text"}})).tool_use == ToolUse()


@pytest.mark.parametrize(
    ("body", "code", "part"),
    [
        (b"{}", "bad_request", "missing required field `input`"),
        (asked(5), "bad_request", "$.input"),
        (asked([{"content": SECRET}]), "unsupported_item", "function_call_output"),
        (asked([user(), {"type": "reasoning", "summary": []}]), "unsupported_item", "function_call_output"),
        (asked([{"type": "item_reference", "id": SECRET}]), "unsupported_item", "function_call_output"),
        (asked([user(), {"type": "function_call", "call_id": "c"}]), "unsupported_item", "with their fields"),
        (asked([{"role": SECRET, "content": "x"}]), "bad_request", "role"),
        (asked(""), "no_question", "empty"),
        (asked([]), "no_question", "role user"),
        (asked("x" * (MAX_TEXT + 1)), "too_long", str(MAX_TEXT)),
        (asked(instructions="x" * (ROLE_CHARACTERS + 1)), "too_long", "instructions"),
        (asked([user([{"type": "input_image", "image_url": SECRET}])]), "unsupported_content", "text"),
        (asked(previous_response_id=SECRET), "unsupported_state", "whole conversation"),
        (asked(conversation={"id": SECRET}), "unsupported_state", "whole conversation"),
        (asked(prompt={"id": SECRET}), "unsupported_state", "instructions"),
        (asked(background=True), "unsupported_background", "background"),
        (asked(tools=[{"type": "web_search"}]), "unsupported_tools", "function"),
        (asked(tools=[{"name": SECRET}]), "unsupported_tools", "function"),
        (asked(tools=[LOOK_UP], tool_choice={"type": "web_search"}), "bad_tool_choice", "auto"),
        (asked(tools=[LOOK_UP], tool_choice={"type": "function"}), "bad_tool_choice", "auto"),
        (asked([user(), called(), called("d"), returned()]), "bad_call", "function_call_output"),
        (asked([user(), returned(SECRET)]), "bad_call", "function_call_output"),
        (asked([user(), called(arguments=SECRET), returned()]), "bad_call", "JSON object"),
        (asked(text={"format": {"type": SECRET}}), "bad_format", "json_object"),
        (asked(text={"format": {"type": "json_schema", "schema": SCHEMA}}), "bad_format", "with a name"),
        (asked(lang=SECRET), "bad_request", "field lang"),
        (b'{"input":' + b"[" * 200_000, "bad_request", ""),
        (b'{"prompt":' + b"[" * 200_000, "bad_request", "deeply"),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_says_what_to_change(body: bytes, code: str, part: str) -> None:
    """In a sentence that never repeats what was sent."""
    with pytest.raises(BadRequest) as wrong:
        decode_response_request(body)
    assert wrong.value.code == code
    assert part in wrong.value.message
    assert SECRET not in wrong.value.message


@given(VALUES)
def test_any_input_is_read_or_refused(input: Any) -> None:
    """Nothing else is raised."""
    with suppress(BadRequest):
        assert decode_response_request(asked(input)).text


def encoder() -> ResponseEncoder:
    """Return the encoder of an answer."""
    return ResponseEncoder("q1", "agent", 7)


def events(data: bytes) -> list[Any]:
    """Return the events of a stream, whose names are their types and whose numbers count them."""
    every: list[Any] = []
    for each in data.split(b"\n\n")[:-1]:
        name, _, value = each.partition(b"\n")
        every.append(json.loads(value.removeprefix(b"data: ")))
        assert name.decode() == f"event: {every[-1]['type']}"
    assert [each["sequence_number"] for each in every] == list(range(len(every)))
    return every


def test_an_answer_is_a_response_with_one_message() -> None:
    """Its sources stand in the message; what was refused says why, and tokens are those that were counted."""
    whole = json.loads(encoder().encode_whole(ANSWER, Usage(3, 4)))
    (message,) = whole.pop("output")
    assert (whole["id"], whole["object"], whole["status"], whole["created_at"]) == (
        "resp_q1", "response", "completed", 7
    )  # fmt: skip
    assert [whole["usage"][f"{kind}_tokens"] for kind in ("input", "output", "total")] == [3, 4, 7]
    assert (message["type"], message["role"], message["status"]) == ("message", "assistant", "completed")
    assert message["content"] == [
        {"type": "output_text", "text": "It is 299 kr.", "annotations": [], "logprobs": []}
    ]
    assert (message["citations"][0]["file"], message["blocked"]) == ("kb/a.md", None)
    refused = json.loads(encoder().encode_whole(REFUSED, Usage()))
    assert (refused["output"][0]["blocked"]["code"], refused["usage"]) == ("no_sources", None)
    again = decode_response_request(asked([user("Hi"), message, user("Ho"), *refused["output"], user()]))
    assert again.history == (Exchange("Hi", "It is 299 kr."),)


def test_a_stream_tells_the_same_in_events() -> None:
    """Each item and each part is opened and closed around its pieces."""
    writer = encoder()
    told = events(
        writer.encode_start()
        + writer.encode_delta("It ")
        + writer.encode_delta("is 299 kr.")
        + writer.encode_end(ANSWER, Usage())
    )
    assert [each["type"].removeprefix("response.") for each in told] == [
        *("created", "in_progress", "output_item.added", "content_part.added"),
        *("output_text.delta", "output_text.delta"),
        *("output_text.done", "content_part.done", "output_item.done", "completed"),
    ]
    assert (told[0]["response"]["status"], told[0]["response"]["output"]) == ("in_progress", [])
    assert (told[2]["item"]["status"], told[2]["item"]["content"]) == ("in_progress", [])
    assert told[6]["text"] == "It is 299 kr."
    assert told[9]["response"] == json.loads(encoder().encode_whole(ANSWER, Usage()))
    assert told[9]["response"]["output"] == [told[8]["item"]]
    assert {each["item_id"] for each in told if "item_id" in each} == {told[2]["item"]["id"]}


def test_a_call_and_a_refusal_stand_in_the_place_of_a_text() -> None:
    """Whole and streamed; a call reads back as the call that it is."""
    (call,) = json.loads(encoder().encode_whole(CALL, Usage()))["output"]
    assert (call["type"], call["call_id"], call["arguments"]) == (
        "function_call", "call_1", '{"order":"A-17"}'
    )  # fmt: skip
    assert (call["sources"], call["why_approval"]) == ({"/order": "user"}, ["definition"])
    assert (call["risk"], call["requires_approval"]) == ("medium", True)
    told = events(encoder().encode_end(CALL, Usage()))
    assert [each["type"].removeprefix("response.") for each in told] == [
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done"),
        *("output_item.done", "completed"),
    ]
    assert told[0]["item"]["arguments"] == ""
    assert told[1]["delta"] == told[2]["arguments"] == told[3]["item"]["arguments"] == call["arguments"]
    read = decode_response_request(asked([user(), call, returned("call_1")]))
    assert read.tool_use.reports[0].arguments == {"order": "A-17"}
    asks = JsonAnswer(REFUSED)
    (message,) = json.loads(encoder().encode_whole(asks, Usage()))["output"]
    assert message["content"] == [{"type": "refusal", "refusal": "I cannot say."}]
    told = events(encoder().encode_end(asks, Usage()))
    assert [each["type"].removeprefix("response.") for each in told] == [
        *("output_item.added", "content_part.added", "refusal.delta", "refusal.done"),
        *("content_part.done", "output_item.done", "completed"),
    ]
    assert told[2]["delta"] == told[3]["refusal"] == "I cannot say."


def test_an_answer_in_json_is_one_piece() -> None:
    """It is sent when it is valid, with the origin of each value."""
    made = JsonAnswer(CALL.proposal)
    (message,) = json.loads(encoder().encode_whole(made, Usage()))["output"]
    assert (message["content"][0]["text"], message["sources"]) == ('{"order":"A-17"}', {"/order": "user"})
    told = events(encoder().encode_end(made, Usage()))
    assert [each["delta"] for each in told if "delta" in each] == ['{"order":"A-17"}']
    assert told[-1]["response"]["output"] == [message]


def test_a_stream_that_broke_ends_with_its_failure() -> None:
    """As a response without an answer."""
    (failed,) = events(encoder().encode_failure("timeout", "Ask again."))
    assert (failed["type"], failed["response"]["status"]) == ("response.failed", "failed")
    assert (failed["response"]["output"], failed["response"]["error"]["code"]) == ([], "timeout")
    assert failed["response"]["error"]["message"] == "Ask again."
