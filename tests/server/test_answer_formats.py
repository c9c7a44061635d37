"""Answers to plain questions in JSON, by the `response_format` of their requests, in memory."""

import json
from typing import Any

import pytest
import trio.testing

from agent.compose.adapters import Adapters
from agent.ports.decide import Act, Ask, Noop
from agent.testing.network import Network, network

from .test_api import KNOWLEDGE, QUIET, SENTINEL, exchange, nothing_is_left, quiet
from .test_question_tools import ACT, STREAMS, adapters, answered, chat, result

ORDER = {
    "type": "object",
    "properties": {"order": {"type": "string"}, "days": {"type": ["integer", "null"]}},
    "required": ["order"],
    "additionalProperties": False,
}
ASKED = {"role": "user", "content": "Order A-17 comes within 3 days."}


def form(schema: Any = ORDER, name: str = "Order") -> dict[str, Any]:
    """Return the field that asks for JSON by `schema`."""
    return {"response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}}


async def formed(net: Network, *messages: Any, stream: bool = False, **fields: Any) -> Any:
    """Return the message of an answer in JSON, without tools unless they are given."""
    return await answered(net, *messages, stream=stream, **({"tools": []} | form() | fields))


@STREAMS
async def test_an_answer_is_json_by_its_schema(stream: bool, autojump_clock: trio.testing.MockClock) -> None:
    """Its values have sources; it is no call, and leaves nothing behind."""
    async with network(QUIET, adapters(Act("Order", {"order": "A-17", "days": 3}))) as net:
        message = await formed(net, ASKED, stream=stream)
        assert json.loads(message["content"]) == {"order": "A-17", "days": 3}
        assert (message["finish"], message["sources"]) == ("stop", {"/order": "user", "/days": "user"})
        assert not {"tool_calls", "refusal"} & set(message)
        await trio.testing.wait_all_tasks_blocked()
        nothing_is_left(net)


@STREAMS
async def test_a_number_without_a_source_is_in_no_json(
    stream: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """Its user is asked for it, in the field that clients show as a refusal; its key counts as a value does."""
    for invented in ({"order": SENTINEL}, {"order": "A-17", "days": int(SENTINEL)}):
        async with network(QUIET, adapters(Act("Order", invented, f"It is {SENTINEL}."))) as net:
            message = await formed(net, ASKED, stream=stream)
            assert SENTINEL not in json.dumps(message)
            assert message["content"] is None
            assert message["refusal"].startswith("To do that I also need to know")
    async with network(QUIET, adapters(Act("answer", {f"key {SENTINEL}": True}))) as net:
        message = await formed(net, ASKED, stream=stream, response_format={"type": "json_object"})
        assert SENTINEL not in json.dumps(message)
        assert message["refusal"]


async def test_any_object_may_be_asked_for(autojump_clock: trio.testing.MockClock) -> None:
    """Where the format has no schema; but it is never empty."""
    for format in ({"type": "json_object"}, {"type": "json_schema", "json_schema": {"name": "answer"}}):
        async with network(QUIET, adapters(Act("answer", {"delivery": {"days": 3}}))) as net:
            message = await formed(net, ASKED, response_format=format)
            assert json.loads(message["content"]) == {"delivery": {"days": 3}}
    async with network(QUIET, adapters(Act("answer", {}), Act("answer", {}))) as net:
        assert (await formed(net, ASKED, response_format={"type": "json_object"}))["refusal"]


async def test_a_model_that_gives_no_valid_json_is_asked_again(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Once; then the answer is a refusal, and never text in the place of JSON."""
    right = Act("Order", {"order": "A-17"})
    for wrong in (Noop("No."), Act("Order", {"order": 17})):
        async with network(QUIET, adapters(wrong, right)) as net:
            assert json.loads((await formed(net, ASKED))["content"]) == {"order": "A-17"}
    for ask in (Noop("No."), Ask("Which order?")):
        async with network(QUIET, adapters(ask, ask)) as net:
            message = await formed(net, ASKED)
            assert (message["content"], message["finish"]) == (None, "stop")
            assert "tell me a little more" in message["refusal"] or message["refusal"] == "Which order?"


async def test_tools_are_called_before_the_answer_is_given(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A value of the answer may come from a result, also of the last call that a question may make."""
    plays = (ACT, Act("Order", {"order": "A-17", "days": 9}))
    async with network(quiet(rounds=1), adapters(*plays)) as net:
        call = {"id": "c", "function": {"name": "look_up_order", "arguments": '{"order": "A-17"}'}}
        asked = {"role": "user", "content": "Look up order A-17, please."}
        message = await answered(net, **form())
        assert message["tool_calls"][0]["function"]["name"] == "look_up_order"
        message = await answered(net, asked, *result(call, "9 days"), **form())
        assert (json.loads(message["content"])["days"], message["sources"]["/days"]) == (9, "result")


async def test_a_server_that_quotes_takes_the_values_from_the_question(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It has no model that could write them; it asks for a value that is missing."""
    async with network(QUIET, Adapters(knowledge=KNOWLEDGE)) as net:
        message = await formed(net, {"role": "user", "content": "order: A-17"})
        assert json.loads(message["content"]) == {"order": "A-17"}
        assert "order" in (await formed(net, {"role": "user", "content": "Well?"}))["refusal"]


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        (form({"type": "array"}), "must be object"),
        (form(name="1"), "must be a letter"),
        (form(name="memory.propose_add"), "server's own"),
        (form(name="look_up_order"), "a name that no tool has"),
        (form({"type": "object", "$ref": "https://example.com/schema"}), "Change the schema"),
        (form({"type": "object", "properties": {"a": {"enum": ["x" * 20_000]}}}), "are the most"),
    ],
)
async def test_a_format_that_cannot_be_used_is_refused(
    fields: Any, part: str, autojump_clock: trio.testing.MockClock
) -> None:
    """With the place in the schema; no model is asked."""
    async with network(QUIET, adapters()) as net:
        status, _, body = await exchange(net, chat(**fields))
        error = json.loads(body)["error"]
        assert (status, error["code"]) == (400, "bad_format")
        assert part in error["message"]
