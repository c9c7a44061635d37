"""Questions of clients of the Responses API, in memory: answers, streams, tools, JSON, faults and leaving."""

import json
from typing import Any

import pytest
import trio
import trio.testing

from agent.compose.adapters import Adapters
from agent.ports.decide import Act, Noop
from agent.testing.network import Network, network

from .test_answer_formats import ORDER
from .test_api import (
    ADAPTERS,
    FOREVER,
    QUIET,
    SAID,
    SENTINEL,
    STANDARD,
    Breaks,
    chat,
    exchange,
    nothing_is_left,
    quiet,
    request,
    told,
    unchunked,
)
from .test_question_tools import ACT, LOOK_UP, STREAMS, adapters

TOOL = {"type": "function", **LOOK_UP["function"]}  # type: ignore[dict-item]
FORM = {"format": {"type": "json_schema", "name": "Order", "schema": ORDER, "strict": True}}
LOOK = "Look up order A-17, please."


def respond(input: Any = STANDARD, **fields: Any) -> bytes:
    """A request for a response."""
    return request("/v1/responses", json.dumps({"model": "x", "input": input, **fields}).encode())


async def events(net: Network, sent: bytes) -> list[Any]:
    """Return the events of a stream."""
    status, headers, body = await exchange(net, sent)
    assert (status, headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    every = [each for each in unchunked(body).split(b"\n\n")[:-1] if each != b":"]
    return [json.loads(each.partition(b"\ndata: ")[2]) for each in every]


async def answered(net: Network, *items: Any, stream: bool = False, **fields: Any) -> Any:
    """Return the one item of an answer, whole or streamed; its text is that of the pieces."""
    if not stream:
        (item,) = (await told(net, respond([*items], **fields)))["output"]
        return item
    every = await events(net, respond([*items], stream=True, **fields))
    (item,) = every[-1]["response"]["output"]
    pieces = "".join(each["delta"] for each in every if "delta" in each)
    (part,) = item.get("content", [item])
    assert pieces == part.get("text", part.get("refusal", part.get("arguments")))
    return item


def user(text: str) -> dict[str, str]:
    """A message of the user."""
    return {"role": "user", "content": text}


async def test_a_question_is_answered_as_in_a_chat_completion(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The same text with the same sources, under the server's name; and the turn counts like any other."""
    async with network(quiet(name="Helper"), ADAPTERS) as net:
        whole = await told(net, respond(instructions="Be brief."))
        assert (whole["object"], whole["status"], whole["model"]) == ("response", "completed", "Helper")
        (item,) = whole["output"]
        message = (await told(net, chat()))["choices"][0]["message"]
        assert item["content"][0]["text"] == message["content"] == SAID
        assert item["citations"] == message["citations"]
        follow = [user(STANDARD), item, user("And what does the premium one cost?")]
        assert (await answered(net, *follow))["role"] == "assistant"
        await trio.testing.wait_all_tasks_blocked()
        nothing_is_left(net)
        assert b'agent_turns_total{outcome="answered"} 3.0' in net.app.metrics.text()


async def test_a_stream_tells_an_answer_word_by_word(autojump_clock: trio.testing.MockClock) -> None:
    """At the pace, from `response.created` to `response.completed`."""
    async with network(quiet(pace_ms=20), ADAPTERS) as net:
        every = await events(net, respond(stream=True))
        assert trio.current_time() == pytest.approx(0.02 * (len(SAID.split()) - 1))
    deltas = [each["delta"] for each in every if each["type"] == "response.output_text.delta"]
    assert ("".join(deltas), len(deltas)) == (SAID, len(SAID.split()))
    assert (every[0]["type"], every[-1]["type"]) == ("response.created", "response.completed")
    assert [each["sequence_number"] for each in every] == list(range(len(every)))
    assert every[-1]["response"]["output"][0]["citations"][0]["file"] == "kb/pricing.md"


@STREAMS
async def test_a_number_that_no_source_holds_is_not_told(
    stream: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """The refusal is a message, which says why; neither instructions nor earlier words are a source."""
    async with network(QUIET, ADAPTERS) as net:
        claim = f"The Standard plan costs {SENTINEL} kr a month."
        before = (user("What is it?"), {"role": "assistant", "content": claim})
        item = await answered(net, *before, user(f"{STANDARD} Do lie."), instructions=claim, stream=stream)
        assert SENTINEL not in json.dumps(item)
        assert (item["type"], item["blocked"]["code"]) == ("message", "number_mismatch")


@STREAMS
async def test_a_call_is_handed_to_its_caller_and_its_result_is_cited(
    stream: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """The server runs nothing; an argument without a source is asked for."""
    async with network(QUIET, adapters(ACT, Noop("It was sent on 4 May."))) as net:
        call = await answered(net, user(LOOK), tools=[TOOL], stream=stream)
        assert (call["type"], call["name"], call["arguments"]) == (
            "function_call", "look_up_order", '{"order":"A-17"}'
        )  # fmt: skip
        result = {"type": "function_call_output", "call_id": call["call_id"], "output": '{"sent": "4 May"}'}
        item = await answered(net, user(LOOK), call, result, tools=[TOOL], stream=stream)
        assert item["content"][0]["text"] == "It was sent on 4 May."
        assert item["citations"][0]["file"] == f"tool/{call['call_id']}"
        assert net.app.registry.armed_count == 0
    async with network(QUIET, adapters(Act("look_up_order", {"order": SENTINEL}))) as net:
        item = await answered(net, user(LOOK), tools=[TOOL], stream=stream)
        assert SENTINEL not in json.dumps(item)
        assert item["content"][0]["text"] == "To do that I also need to know: order."


@STREAMS
async def test_an_answer_is_json_by_its_schema(stream: bool, autojump_clock: trio.testing.MockClock) -> None:
    """Its values have sources; for a value that has none the user is asked, in a refusal."""
    async with network(QUIET, adapters(Act("Order", {"order": "A-17", "days": 3}))) as net:
        item = await answered(net, user("Order A-17 comes within 3 days."), text=FORM, stream=stream)
        assert json.loads(item["content"][0]["text"]) == {"order": "A-17", "days": 3}
        assert item["sources"] == {"/order": "user", "/days": "user"}
    async with network(QUIET, adapters(Act("Order", {"order": SENTINEL}))) as net:
        item = await answered(net, user(LOOK), text=FORM, stream=stream)
        assert SENTINEL not in json.dumps(item)
        (part,) = item["content"]
        assert part["type"] == "refusal"
        assert part["refusal"].startswith("To do that I also need to know")


async def test_what_is_refused_says_why_as_clients_read_it(autojump_clock: trio.testing.MockClock) -> None:
    """In the form of OpenAI's errors, and no turn begins."""
    unfit = {"format": {"type": "json_schema", "name": "Order", "schema": {"type": "array"}}}
    async with network(QUIET, ADAPTERS) as net:
        for fields, code in (
            ({"previous_response_id": "resp_1"}, "unsupported_state"),
            ({"tools": [{"type": "file_search"}]}, "unsupported_tools"),
            ({"tools": [TOOL | {"parameters": {"type": "array"}}]}, "bad_tool"),
            ({"tools": [TOOL], "tool_choice": {"type": "function", "name": "other"}}, "bad_tool_choice"),
            ({"text": unfit}, "bad_format"),
        ):
            status, _, body = await exchange(net, respond(**fields))
            assert (status, json.loads(body)["error"]["code"]) == (400, code)
        for path in ("/v1/responses/resp_1", "/v1/responses/"):
            assert (await exchange(net, request(path, method="GET")))[0] == 404
        assert b"agent_messages_total 0.0" in net.app.metrics.text()


async def test_a_fault_is_the_end_of_its_stream(autojump_clock: trio.testing.MockClock) -> None:
    """As the failure of the response, never an end that says all is well; with a status where there can be one."""
    async with network(QUIET, Adapters(brain=Breaks())) as net:
        assert (await exchange(net, respond()))[0] == 500
        *_, last = await events(net, respond(stream=True))
        assert (last["type"], last["response"]["status"]) == ("response.failed", "failed")
        assert (last["response"]["error"]["code"], SENTINEL in json.dumps(last)) == ("internal", False)


@STREAMS
async def test_a_client_that_leaves_ends_its_turn(
    stream: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """At once, and nothing of it is left."""
    async with network(quiet(pace_ms=1000, turn_timeout=1000), ADAPTERS) as net:
        end = net.open()
        end.feed(respond(STANDARD if stream else FOREVER, stream=stream))
        await trio.sleep(2.5)
        assert (end.take().count(b"response.output_text.delta\n") == 3) == stream
        end.reset()
        await trio.testing.wait_all_tasks_blocked()
        assert b'agent_turns_total{outcome="disconnected"} 1.0' in net.app.metrics.text()
        nothing_is_left(net)
