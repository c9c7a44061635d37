"""Each defect that is known of libraries of this kind, once by name."""

import copy
from typing import Annotated, Any, Literal

import msgspec
import pytest
import trio
from trio.testing import MockClock

from agent.errors import ModelFailed
from agent.ports.model import CallDelta, Finish, ModelMessage, NamedTool, TextDelta, ToolChoice, Usage
from agent.structured.extract import Extractor
from agent.structured.outcome import Doc, Extraction
from agent.testing.replies import Answer, ScriptedLanguageModel, calls, says


class Ticket(msgspec.Struct):
    """A fault that somebody reports."""

    subject: str
    priority: Literal["low", "high"]


LOOKUP = {
    "name": "lookup",
    "description": "Finds something.",
    "parameters": {
        "type": "object",
        "properties": {
            "word": {"type": "string", "minLength": 2},
            "limit": {"type": "integer", "maximum": 5},
        },
        "required": ["word"],
    },
}
GOOD = '{"subject": "Fire", "priority": "high"}'
BAD = '{"subject": "Fire", "priority": "urgent"}'


def patch(call: str, *operations: dict[str, Any]) -> tuple[str, str]:
    return "repair", msgspec.json.encode({"call": call, "operations": operations}).decode()


def edit(doc: str | None, *operations: dict[str, Any]) -> tuple[str, str]:
    named = {} if doc is None else {"doc": doc}
    return "edit", msgspec.json.encode({**named, "operations": operations}).decode()


def replace(path: str, value: Any) -> dict[str, Any]:
    return {"op": "replace", "path": path, "value": value}


async def run(
    *answers: Answer, tools: Any = (Ticket, LOOKUP), **options: Any
) -> tuple[Extraction, ScriptedLanguageModel]:
    model = ScriptedLanguageModel(*answers)
    outcome = await Extractor(model, tools=tools, **options).extract("The printer burns")
    assert outcome.attempts == model.opened == model.closed
    return outcome, model


async def change(
    *answers: Answer, docs: dict[str, Doc], attempts: int = 3, **options: Any
) -> tuple[Extraction, ScriptedLanguageModel]:
    model = ScriptedLanguageModel(*answers)
    extractor = Extractor(model, tools=[Ticket, LOOKUP], max_attempts=attempts)
    outcome = await extractor.update("It can wait", docs, **options)
    assert outcome.attempts == model.opened == model.closed
    return outcome, model


def said(model: ScriptedLanguageModel, request: int = -1) -> str:
    return "\n".join(message.text for message in model.requests[request].messages)


async def test_a_constraint_that_is_known_at_run_time_only_counts() -> None:
    """maximum, minLength and format of a mapping's schema are checked, and so are msgspec's of a type."""
    outcome, _ = await run(calls(("lookup", '{"word": "x", "limit": 9}')), max_attempts=1)
    assert outcome.status == "exhausted"
    assert {problem.pointer for problem in outcome.calls[0].problems} == {"/limit", "/word"}

    class Short(msgspec.Struct):
        code: Annotated[str, msgspec.Meta(max_length=3)]

    outcome, _ = await run(calls(("Short", '{"code": "long"}')), tools=[Short], max_attempts=1)
    assert outcome.status == "exhausted"
    dated = {"name": "at", "parameters": {"properties": {"day": {"type": "string", "format": "date"}}}}
    outcome, _ = await run(calls(("at", '{"day": "someday"}')), tools=[dated], max_attempts=1)
    assert [problem.found for problem in outcome.calls[0].problems] == ['"someday"']


async def test_a_patch_that_fails_is_told_and_changes_nothing() -> None:
    """The first operation that fails is named with its reason, and nothing of its patch is applied."""
    outcome, model = await run(
        calls(("Ticket", BAD)),
        calls(patch("c1", replace("/subject", "Lost"), replace("/nowhere", 1))),
        calls(patch("c1", replace("/priority", "low"))),
    )
    assert outcome.values == (Ticket("Fire", "low"),)
    assert 'operation 1: there is no "nowhere"' in said(model)


async def test_a_repair_without_an_id_does_not_loop() -> None:
    """It is taken where one call can be meant; else it is told, and the rounds have an end."""
    outcome, _ = await run(
        calls(("Ticket", BAD)),
        calls(("repair", '{"operations": [{"op": "replace", "path": "/priority", "value": "low"}]}')),
    )
    assert outcome.values == (Ticket("Fire", "low"),)
    lost = calls(("repair", '{"operations": []}'))
    outcome, model = await run(calls(("Ticket", BAD), ("Ticket", BAD)), lost, max_attempts=5)
    assert (outcome.status, outcome.attempts) == ("exhausted", 5)
    assert "call is one of c1, c2" in said(model)


async def test_a_round_of_repair_without_a_call_goes_on() -> None:
    """Prose in place of a repair costs a round and loses nothing."""
    outcome, _ = await run(
        calls(("Ticket", BAD)), says("I am sorry."), calls(patch("c1", replace("/priority", "low")))
    )
    assert (outcome.values, outcome.attempts) == ((Ticket("Fire", "low"),), 3)


async def test_an_error_of_the_provider_is_told() -> None:
    """Its kind and its delay reach the caller, and what held before is kept."""
    failed = ModelFailed("the server is busy", "rate", 7.0)
    outcome, _ = await run([CallDelta(0, "x", "Ticket", '{"subj'), failed])
    assert (outcome.status, outcome.fault, outcome.retry_after) == ("provider_error", "rate", 7.0)
    assert [(call.name, call.status, call.value) for call in outcome.calls] == [("Ticket", "truncated", None)]
    outcome, _ = await run(calls(("Ticket", GOOD), ("Ticket", BAD)), [failed])
    assert outcome.status == "provider_error"
    assert [(call.status, call.value) for call in outcome.calls] == [
        ("ok", Ticket("Fire", "high")),
        ("invalid", msgspec.json.decode(BAD)),
    ]
    assert "the server is busy" in outcome.errors[-1]
    outcome, _ = await run([TextDelta("It beg")])
    assert (outcome.status, outcome.fault) == ("provider_error", "cut")


async def test_two_patches_to_one_document_are_both_applied() -> None:
    """In order, in an update and in a repair."""
    docs = {"t1": Doc("Ticket", Ticket("Fire", "high"))}
    outcome, _ = await change(
        calls(edit("t1", replace("/subject", "Smoke")), edit("t1", replace("/priority", "low"))), docs=docs
    )
    assert outcome.documents == {"t1": Ticket("Smoke", "low")}
    wrong = '{"subject": 1, "priority": 2}'
    outcome, _ = await run(
        calls(("Ticket", wrong)),
        calls(patch("c1", replace("/subject", "Smoke")), patch("c1", replace("/priority", "low"))),
    )
    assert outcome.values == (Ticket("Smoke", "low"),)


async def test_calls_with_one_id_stay_apart() -> None:
    """A service's ids may repeat: calls are told apart by ours, and are repeated to it under ids of their own."""
    twice: Answer = [
        CallDelta(0, "x", "Ticket", BAD),
        CallDelta(1, "x", "lookup", '{"word": "y"}'),
        Finish("calls"),
    ]
    outcome, model = await run(
        twice, calls(patch("c2", replace("/word", "yes")), patch("c1", replace("/priority", "low")))
    )
    assert outcome.values == (Ticket("Fire", "low"), {"word": "yes"})
    repeated = [call.id for message in model.requests[1].messages for call in message.calls]
    answered = [message.call_id for message in model.requests[1].messages if message.role == "tool"]
    assert repeated == answered == ["x", "x_2"]


async def test_an_empty_object_and_null_are_documents() -> None:
    """As arguments, as a document that is edited, and as what an edit makes."""
    anything: dict[str, Any] = {"name": "any", "parameters": {}}
    outcome, _ = await run(calls(("any", "{}"), ("any", "null")), tools=[anything])
    assert outcome.values == ({}, None)
    model = ScriptedLanguageModel(
        calls(edit("a", {"op": "add", "path": "/x", "value": 1}), edit("b", replace("", {})))
    )
    docs = {"a": Doc("any", {}), "b": Doc("any", None), "c": Doc("any", None)}
    updated = await Extractor(model, tools=[anything]).update("?", docs)
    assert updated.documents == {"a": {"x": 1}, "b": {}, "c": None}


async def test_what_the_caller_gave_is_not_changed() -> None:
    """Messages, tools and documents are the same afterwards, whatever the rounds said."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": "Fire"}]}]
    tool, ticket = copy.deepcopy(LOOKUP), {"word": "yes"}
    before = copy.deepcopy((messages, tool, ticket))
    model = ScriptedLanguageModel(
        calls(("lookup", "{}")), calls(patch("c1", {"op": "add", "path": "/word", "value": "ab"}))
    )
    extractor = Extractor(model, tools=[tool])
    assert (await extractor.extract(messages)).values == ({"word": "ab"},)
    editing = ScriptedLanguageModel(calls(edit("w", replace("/word", "no"))))
    assert (
        await Extractor(editing, tools=[tool]).update(messages, {"w": Doc("lookup", ticket)})
    ).status == "ok"
    assert (messages, tool, ticket) == before
    assert len(model.requests[0].messages) == 1


async def test_an_update_keeps_to_the_choice() -> None:
    """The request carries it, only what it allows is offered, and anything else is an error of that call."""
    docs = {"t1": Doc("Ticket", Ticket("Fire", "high"))}
    outcome, model = await change(calls(("Ticket", GOOD)), docs=docs, choice=NamedTool("edit"), attempts=1)
    assert model.requests[0].choice == NamedTool("edit")
    assert [tool.name for tool in model.requests[0].tools] == ["edit"]
    assert [(call.id, call.status) for call in outcome.calls] == [("t1", "ok"), ("c1", "invalid")]
    outcome, model = await change(says("Nothing to do."), docs=docs, choice=ToolChoice.AUTO)
    assert (outcome.status, outcome.calls[0].change, outcome.text) == ("ok", "same", "Nothing to do.")
    assert (await change(says(""), docs=docs, choice=ToolChoice.NONE))[0].status == "invalid"


async def test_a_call_that_was_cut_is_neither_mended_nor_taken() -> None:
    """It is asked for again once, with more room; not mended even where that would give a valid call."""
    cut: Answer = [
        CallDelta(0, "x", "lookup", '{"word": "delete all but the'),
        Finish("length", Usage(1, 2)),
    ]
    outcome, model = await run(cut, calls(("lookup", '{"word": "these"}')))
    assert outcome.values == ({"word": "these"},)
    assert [request.max_tokens for request in model.requests] == [1024, 2048]
    assert model.requests[0].messages == model.requests[1].messages
    outcome, model = await run(cut, cut, calls(("lookup", '{"word": "these"}')))
    assert (outcome.status, outcome.attempts) == ("truncated", 2)
    assert [(call.name, call.status, call.value) for call in outcome.calls] == [("lookup", "truncated", None)]
    whole: Answer = [CallDelta(0, "x", "lookup", '{"word": "these"}'), Finish("length")]
    assert (await run(whole, max_attempts=1))[0].status == "truncated"


async def test_partials_stream_while_a_call_is_written(autojump_clock: MockClock) -> None:
    """They grow, are plain mappings, and come before the answer has ended."""
    pieces = ['{"subject": "The li', 'ft is stuck", "prio', 'rity": "high"}']
    model = ScriptedLanguageModel(
        [
            CallDelta(0, "x", "Ticket", pieces[0]),
            1.0,
            *(CallDelta(0, "", "", each) for each in pieces[1:]),
            Finish("calls"),
        ]
    )
    async with Extractor(model, tools=[Ticket]).stream("The lift is stuck") as partials:
        first = await anext(partials)
        assert (first.id, first.name, first.value) == ("c1", "Ticket", {"subject": "The li"})
        with pytest.raises(RuntimeError):
            _ = partials.outcome
        rest = [partial.value async for partial in partials]
    assert rest == [
        {"subject": "The lift is stuck"},
        {"subject": "The lift is stuck", "priority": "high"},
    ]
    assert partials.outcome.values == (Ticket("The lift is stuck", "high"),)


async def test_a_call_that_stays_invalid_is_told() -> None:
    """Beside the valid ones, with its best state; an unknown tool and unreadable arguments too."""
    made = calls(("Ticket", GOOD), ("Ticket", BAD), ("nothing", "{}"), ("lookup", "no json"))
    outcome, _ = await run(made, calls(patch("c2", replace("/subject", 5))), max_attempts=2)
    assert [(call.id, call.name, call.status, call.value) for call in outcome.calls] == [
        ("c1", "Ticket", "ok", Ticket("Fire", "high")),
        ("c2", "Ticket", "invalid", msgspec.json.decode(BAD)),
        ("c3", "nothing", "invalid", {}),
        ("c4", "lookup", "invalid", None),
    ]
    assert all(call.problems for call in outcome.calls[1:])


async def test_attempts_are_exact_on_every_path() -> None:
    """One for each time that the model was asked; `run` compares them with the model's own count."""
    cut: Answer = [Finish("length")]
    bad = calls(("Ticket", BAD))
    mend = calls(patch("c1", replace("/priority", "low")))
    paths: list[tuple[str, int, list[Answer]]] = [
        ("ok", 1, [calls(("Ticket", GOOD))]),
        ("ok", 2, [bad, mend]),
        ("ok", 2, [cut, calls(("Ticket", GOOD))]),
        ("ok", 3, [says("Hm."), bad, mend]),
        ("ok", 3, [cut, bad, mend]),
        ("exhausted", 3, [bad]),
        ("exhausted", 3, [says("Hm.")]),
        ("truncated", 2, [cut]),
        ("truncated", 3, [bad, cut]),
        ("refused", 1, [[Finish("refusal")]]),
        ("refused", 2, [bad, [Finish("filtered")]]),
        ("provider_error", 1, [[ModelFailed("x")]]),
        ("provider_error", 3, [bad, bad, [ModelFailed("x")]]),
    ]
    for status, attempts, answers in paths:
        outcome, model = await run(*answers)
        assert (outcome.status, outcome.attempts) == (status, attempts)
        assert outcome.usage.read <= 10 * attempts
        assert len(model.requests) == attempts
    outcome, model = await run(bad, tools=[{"name": "x", "parameters": {"type": "foo"}}])
    assert (outcome.status, outcome.attempts) == ("invalid", 0)


async def test_a_cancel_closes_the_stream_of_the_model(autojump_clock: MockClock) -> None:
    """At once, and also when a reader leaves the partials early."""
    model = ScriptedLanguageModel([CallDelta(0, "x", "Ticket", '{"subject": "x"'), 100.0])
    extractor = Extractor(model, tools=[Ticket])
    before = trio.current_time()
    with trio.move_on_after(1) as scope:
        await extractor.extract("?")
    assert scope.cancelled_caught
    assert trio.current_time() == before + 1
    assert (model.opened, model.closed) == (1, 1)
    async with extractor.stream("?") as partials:
        await anext(partials)
    assert (model.opened, model.closed) == (2, 2)
    assert model.requests[0].messages == (ModelMessage("user", "?"),)
