"""Tools of plain questions, in memory: a call is the answer, and the next request brings its result."""

import json
from typing import Any

import pytest
import trio
import trio.testing

from agent.compose.adapters import Adapters
from agent.config import ROUNDS_MOST
from agent.llm.script import ScriptEntry, ScriptModel
from agent.ports.decide import Act, Ask, Briefing, Decider, Decision, Noop
from agent.testing.fakes import ScriptedDecider
from agent.testing.network import Network, network

from .test_api import (
    KNOWLEDGE,
    QUIET,
    SENTINEL,
    events,
    exchange,
    nothing_is_left,
    quiet,
    request,
    told,
    unchunked,
)

LOOK_UP = {
    "type": "function",
    "function": {
        "name": "look_up_order",
        "description": "Looks an order up.",
        "parameters": {
            "type": "object",
            "properties": {"order": {"type": "string"}},
            "required": ["order"],
            "additionalProperties": False,
        },
        "strict": True,
    },
}
CANCEL = {"name": "cancel_order", "parameters": LOOK_UP["function"]["parameters"], "risk": "high"}  # type: ignore[index]
ASKED = {"role": "user", "content": "Look up order A-17, please."}
ACT = Act("look_up_order", {"order": "A-17"})
STREAMS = pytest.mark.parametrize("stream", [False, True])


def adapters(*plays: Decision | Exception | float, decider: Decider | None = None) -> Adapters:
    """The parts of a server that decides so, and drafts a number that no source holds."""
    drafter = ScriptModel((ScriptEntry(match="", text=f"It costs {SENTINEL} kr."),))
    return Adapters(knowledge=KNOWLEDGE, model=drafter, decider=decider or ScriptedDecider(*plays))


def chat(*messages: Any, **fields: Any) -> bytes:
    """A request for a chat completion with a tool."""
    body = {"model": "x", "messages": [ASKED, *messages], "tools": [LOOK_UP]} | fields
    return request("/v1/chat/completions", json.dumps(body).encode())


async def answered(net: Network, *messages: Any, stream: bool = False, **fields: Any) -> Any:
    """Return the message of an answer with its `finish_reason`, whole or put together."""
    if not stream:
        (choice,) = (await told(net, chat(*messages, **fields)))["choices"]
        return choice["message"] | {"finish": choice["finish_reason"]}
    status, _, body = await exchange(net, chat(*messages, stream=True, **fields))
    assert status == 200
    *chunks, done = events(unchunked(body))
    assert done == "[DONE]"
    message: dict[str, Any] = {}
    for each in chunks:
        (choice,) = each["choices"]
        words = message.get("content") or ""
        message |= choice["delta"] | {"finish": choice["finish_reason"]}
        message["content"] = (words + choice["delta"].get("content", "")) or None
    return message


def result(call: Any, content: Any) -> tuple[Any, Any]:
    """Return the messages that bring the result of a call."""
    return (
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": content},
    )


@STREAMS
async def test_a_call_is_handed_to_its_caller_and_its_result_is_cited(
    stream: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """The server runs nothing; a number of the result may be said, with the call as its source."""
    async with network(QUIET, adapters(ACT, Noop("It was sent on 4 May."))) as net:
        message = await answered(net, stream=stream)
        assert (message["finish"], message["content"], message["role"]) == ("tool_calls", None, "assistant")
        (call,) = message["tool_calls"]
        assert call.pop("index", 0) == 0
        assert call["function"] == {"name": "look_up_order", "arguments": '{"order":"A-17"}'}
        assert (call["type"], call["sources"]) == ("function", {"/order": "user"})
        assert (call["requires_approval"], call["why_approval"]) == (True, ["definition"])
        message = await answered(net, *result(call, '{"sent": "4 May"}'), stream=stream)
        assert (message["finish"], message["content"]) == ("stop", "It was sent on 4 May.")
        (cited,) = message["citations"]
        assert (cited["file"], cited["snippet"]) == (f"tool/{call['id']}", "sent: 4 May")
        assert net.app.registry.armed_count == 0
        figures = net.app.metrics.text()
        assert b"agent_suggestions_total{" not in figures
        assert b"agent_actions_total{" not in figures
        await trio.testing.wait_all_tasks_blocked()
        nothing_is_left(net)


@STREAMS
async def test_a_number_without_a_source_is_in_neither_call_nor_answer(
    stream: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """Its user is asked for the argument; an answer that the result does not hold is refused."""
    invented = Act("look_up_order", {"order": SENTINEL}, f"I look up {SENTINEL}.")
    async with network(QUIET, adapters(invented, Noop(f"It was sent on {SENTINEL} May."))) as net:
        message = await answered(net, stream=stream)
        assert (message["finish"], "tool_calls" in message) == ("stop", False)
        assert message["content"] == "To do that I also need to know: order."
        assert SENTINEL not in json.dumps(message)
        call = {
            "id": "c",
            "function": {"name": "look_up_order", "arguments": json.dumps({"order": SENTINEL})},
        }
        message = await answered(net, *result(call, "sent on 4 May"), stream=stream)
        assert SENTINEL not in json.dumps(message)
        assert message["blocked"]["code"] == "number_mismatch"


async def test_arguments_that_are_not_by_the_schema_are_decided_again_or_asked_for(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """As in a thread; so is a tool that was not offered."""
    wrong = Act("look_up_order", {"order": "A-17", "more": True})
    for plays, finish in (
        ((wrong, ACT), "tool_calls"),
        ((wrong, wrong), "stop"),
        ((Act("other", {}),), "stop"),
    ):
        async with network(QUIET, adapters(*plays)) as net:
            assert (await answered(net))["finish"] == finish


async def test_an_identifier_that_only_a_result_holds_is_marked(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Its caller learns that its user did not say it, and can ask before the call runs."""
    plays = (Act("cancel_order", {"order": "B-99"}),)
    async with network(QUIET, adapters(*plays)) as net:
        call = {"id": "c", "function": {"name": "look_up_order", "arguments": '{"order": "A-17"}'}}
        message = await answered(net, *result(call, "replaced by B-99"), tools=[LOOK_UP, CANCEL])
        (call,) = message["tool_calls"]
        assert (call["risk"], call["sources"]) == ("high", {"/order": "result"})
        assert "provenance" in call["why_approval"]


class Notes:
    """Answers, and keeps what it was told."""

    def __init__(self) -> None:
        self.briefings: list[Briefing] = []

    async def decide(self, briefing: Briefing, problems: Any = ()) -> Decision:
        self.briefings.append(briefing)
        await trio.lowlevel.checkpoint()
        return ACT if problems and briefing.tools else Noop()


async def test_the_choice_of_a_tool_holds(autojump_clock: trio.testing.MockClock) -> None:
    """None is called where none may be, one where one must be, and the one that is named where there are several."""
    notes = Notes()
    async with network(QUIET, adapters(decider=notes)) as net:
        assert (await answered(net, tool_choice="none"))["finish"] == "stop"
        assert not notes.briefings
        assert (await answered(net, tool_choice="auto"))["finish"] == "stop"
        assert (await answered(net, tool_choice="required"))["finish"] == "tool_calls"
        named = {"type": "function", "function": {"name": "look_up_order"}}
        message = await answered(net, tools=[LOOK_UP, CANCEL], tool_choice=named)
        assert message["tool_calls"][0]["function"]["name"] == "look_up_order"
        assert [(each.must_call, len(each.tools)) for each in notes.briefings] == [
            (False, 1), (True, 1), (True, 1), (True, 1), (True, 1)
        ]  # fmt: skip
        call = {"id": "c", "function": {"name": "look_up_order", "arguments": "{}"}}
        notes.briefings.clear()
        await answered(net, *result(call, "sent"), tool_choice="none")
        assert [each.tools for each in notes.briefings] == [()]


async def test_where_a_call_must_be_and_has_no_arguments_its_user_is_asked(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A model that will not call, too: a call is never made up, and a greeting is no way out."""
    for plays in ((Noop("No."), Noop("No.")), (Ask("Which order?"),)):
        async with network(QUIET, adapters(*plays)) as net:
            greeting = {"role": "user", "content": "Hello!"}
            message = await answered(net, greeting, tool_choice="required")
            assert (message["finish"], "tool_calls" in message) == ("stop", False)
            assert "No." not in message["content"]
            assert message["blocked"] is None


async def test_calls_of_one_question_come_to_an_end(autojump_clock: trio.testing.MockClock) -> None:
    """A model that only calls is asked without tools after so many results, and then its user is asked."""
    async with network(quiet(rounds=2), adapters(ACT)) as net:
        messages: list[Any] = []
        for number in range(2):
            message = await answered(net, *messages)
            messages += result(message["tool_calls"][0], f"{number}")
        assert (await answered(net, *messages))["finish"] == "stop"
        assert (await answered(net, *messages, tool_choice="required"))["finish"] == "stop"
    assert ROUNDS_MOST > 2


async def test_instructions_reach_the_model_and_are_no_source(autojump_clock: trio.testing.MockClock) -> None:
    """As a project's role statement does; they hold for their own request."""
    notes = Notes()
    async with network(QUIET, adapters(decider=notes)) as net:
        system = {"role": "system", "content": f"Say that it costs {SENTINEL} kr."}
        message = await answered(net, system)
        await answered(net)
    assert [each.charter.role for each in notes.briefings] == [system["content"], ""]
    assert SENTINEL not in json.dumps(message)


@STREAMS
async def test_a_client_that_leaves_ends_its_decision(
    stream: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """Nothing of it is left, whether it decides or drafts."""
    for plays in ((1000.0, ACT), (Noop(), 1000.0)):
        async with network(QUIET, adapters(*plays)) as net:
            end = net.open()
            end.feed(chat(stream=stream))
            await trio.testing.wait_all_tasks_blocked()
            end.reset()
            await trio.testing.wait_all_tasks_blocked()
            nothing_is_left(net)


async def test_without_a_model_the_named_tool_is_called_with_the_words(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A server that only quotes fills its one tool from the message, or asks for what is missing."""
    plain = Adapters(knowledge=KNOWLEDGE)
    named = {"type": "function", "function": {"name": "look_up_order"}}
    async with network(QUIET, plain) as net:
        (call,) = (await answered(net, {"role": "user", "content": "order: A-17"}, tool_choice=named))[
            "tool_calls"
        ]
        assert json.loads(call["function"]["arguments"]) == {"order": "A-17"}
        message = await answered(net, *result(call, '{"sent": "4 May"}'), tools=[])
        assert "sent: 4 May" in message["content"]
        message = await answered(net, {"role": "user", "content": "Well?"}, tool_choice=named)
        assert (message["finish"], message["content"][-1]) == ("stop", "?")
