"""Whatever a model answers: nothing raises, nothing valid is lost, and what was asked is counted.

Documents, what is wrong with them, patches and whole answers are drawn. What a patch may touch is computed here from
its pointers alone, by other means than the code does.
"""

import os
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from agent.errors import ModelFailed
from agent.ports.model import CallDelta, Finish, ModelMessage, ModelRequest, TextDelta, ToolChoice, Usage
from agent.structured.decode import ParsedJson, parse_strictly
from agent.structured.extract import Extractor
from agent.structured.outcome import Doc, Extraction
from agent.structured.patch import PatchFailed, apply_patch
from agent.structured.plan import ExistingDocument, OwnToolNames, Plan
from agent.structured.pointer import FOUND_CHARACTERS, make_pointer, parse_pointer
from agent.structured.reply import ModelReply, ReplyFailure, WrittenCall
from agent.structured.rounds import Rounds
from agent.structured.schema import ToolShape, make_tool_shape
from agent.testing.network import inline
from agent.testing.replies import ScriptedLanguageModel

FEW, MANY = 12, 200

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)
keys = st.sampled_from(["a", "b", "", "0", "1", "~", "/", "a/b", "å"])
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)


def written(value: Any) -> bytes:
    """A value as bytes: two that differ in a type or in the order of keys differ."""
    return msgspec.json.encode(value)


def places(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, str(key)))


def touched(operations: list[Any]) -> list[tuple[str, ...]]:
    """The places that operations may change, whatever becomes of them; of an array's element the whole array."""
    found = []
    for operation in operations:
        for member in ("path", "from"):
            text = operation.get(member) if isinstance(operation, dict) else None
            path = tuple(parse_pointer(text) or ()) if isinstance(text, str) else None
            if path is not None:
                found.append(path[:-1] if path and (path[-1].isdigit() or path[-1] == "-") else path)
    return found


def untouched(document: Any, operations: list[Any]) -> dict[tuple[str, ...], bytes]:
    """What must be as it was: places that no operation names, nor anything above or below them."""
    named = touched(operations)
    return {
        path: written(value)
        for path, value in places(document)
        if not any(path[: len(each)] == each or each[: len(path)] == path for each in named)
    }


@st.composite
def patches(draw: st.DrawFn, document: Any) -> list[Any]:
    """Operations on a document, most of which can be applied."""
    there = [path for path, _ in places(document)]
    holders = [path for path, value in places(document) if isinstance(value, (dict, list))] or [()]
    path = st.sampled_from(there[1:] or there).map(make_pointer)
    place = path | st.builds(
        lambda each, part: make_pointer((*each, part)), st.sampled_from(holders), keys | st.just("-")
    )
    operation = st.one_of(
        st.fixed_dictionaries({"op": st.sampled_from(["add", "replace"]), "path": place, "value": documents}),
        st.fixed_dictionaries({"op": st.just("remove"), "path": path}),
        st.fixed_dictionaries({"op": st.sampled_from(["move", "copy"]), "from": path, "path": place}),
        st.sampled_from(list(places(document))).map(
            lambda at: {"op": "test", "path": make_pointer(at[0]), "value": at[1]}
        ),
    )
    bad = st.sampled_from(
        [None, {}, {"op": "remove", "path": "/x/y"}, {"op": "add", "path": "a", "value": 1}]
    )
    operations = draw(st.lists(operation, max_size=4))
    return [*operations, draw(bad)] if draw(st.integers(0, 3)) == 0 else operations


def check_patch(data: st.DataObject) -> None:
    document = data.draw(documents)
    operations = data.draw(patches(document))
    before = written([document, operations])
    try:
        after = apply_patch(document, operations)
    except PatchFailed as failed:
        index = failed.index
        apply_patch(
            document, operations[: max(index, 0)]
        )  # all before it can be applied: it is the first that fails
        with pytest.raises(PatchFailed):
            apply_patch(document, operations[: index + 1])
        assert written([document, operations]) == before
        return
    assert written([document, operations]) == before
    found = dict(places(after))
    for path, value in untouched(document, operations).items():
        assert written(found[path]) == value
    asked = touched(operations)
    for path, value in places(document):  # the order of keys that are there before and after
        if isinstance(value, dict) and not any(path[: len(each)] == each for each in asked):
            below = [each for each in asked if each[: len(path)] == path]
            kept = [key for key in value if not any(each[len(path)] == key for each in below)]
            assert [key for key in found[path] if key in kept] == kept


@settings(max_examples=FEW)
@given(data=st.data())
def test_a_patch_changes_what_it_names_only(data: st.DataObject) -> None:
    """In value, type and order; one that fails changes nothing, and all before its first failure can be applied."""
    check_patch(data)


FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "a": {"type": "integer", "maximum": 9},
        "b": {"type": "string", "minLength": 2},
        "~": {"type": "array", "items": {"type": "boolean"}},
        "/": {"type": "object", "required": ["a"]},
    },
    "required": ["a", "b"],
}
RIGHT = {
    "a": st.integers(-9, 9),
    "b": st.text("xyz", min_size=2, max_size=4),
    "~": st.lists(st.booleans(), max_size=3),
    "/": st.dictionaries(keys, documents, max_size=3).map(lambda each: {**each, "a": 1}),
}
WRONG: dict[str, st.SearchStrategy[Any]] = {
    "a": st.sampled_from([10, 1.5, "1", None, True]),
    "b": st.sampled_from(["", "x", 5, None]),
    "~": st.sampled_from([[1], {}, [True, None]]),
    "/": st.sampled_from([{}, [], {"b": 1}]),
}
forms = st.fixed_dictionaries(
    {"a": RIGHT["a"], "b": RIGHT["b"]},
    optional={"~": RIGHT["~"], "/": RIGHT["/"], "å": documents, "": documents},
)
spoilt = st.builds(lambda form, wrong: {**form, "a": wrong}, forms, WRONG["a"]) | st.fixed_dictionaries(
    {"a": RIGHT["a"], "b": WRONG["b"], "~": RIGHT["~"], "/": RIGHT["/"]}
)
SHAPES = {
    shape.name: shape
    for shape in (make_tool_shape({"name": "form", "parameters": FORM}), make_tool_shape({"name": "any"}))
}


def planned(shapes: dict[str, ToolShape], attempts: int, **rest: Any) -> Plan:
    tools = tuple(shape.tool for shape in shapes.values())
    return Plan(
        messages=(ModelMessage("user", "?"),),
        shapes=shapes,
        allowed=tuple(shapes),
        tools=tools,
        names=OwnToolNames(),
        max_attempts=attempts,
        **rest,
    )


def call(name: str, arguments: Any, id: str = "x") -> WrittenCall:
    text = written(arguments).decode()
    return WrittenCall(id, name, text, parse_strictly(text))


def check_diligent(data: st.DataObject) -> None:
    right = data.draw(st.lists(forms, min_size=1, max_size=3))
    sent, spoils = [], []
    for each in right:
        names = data.draw(st.lists(st.sampled_from(sorted(set(each) & set(WRONG))), unique=True))
        spoils.append(names)
        sent.append({**each, **{name: data.draw(WRONG[name]) for name in names}})
    rounds = Rounds(planned(SHAPES, 5))
    step = rounds.feed_reply(ModelReply(calls=tuple(call("form", each) for each in sent)))
    attempts, bungled = 1, data.draw(st.booleans())
    while isinstance(step, ModelRequest):
        told = step.messages[-1].text
        failing = [at for at, names in enumerate(spoils) if names]
        assert [f"c{at + 1} (form):" in told for at in range(len(right))] == [bool(names) for names in spoils]
        repairs = []
        for at in failing:
            operations = [
                {"op": "replace", "path": make_pointer([name]), "value": right[at][name]}
                for name in spoils[at]
            ]
            if bungled:
                operations.append({"op": "remove", "path": "/nowhere"})
            repairs.append(call("repair", {"call": f"c{at + 1}", "operations": operations}))
        step = rounds.feed_reply(ModelReply(calls=tuple(repairs)))
        attempts += 1
        if bungled:
            assert isinstance(step, ModelRequest)
            assert step.messages[-1].text.count('there is no "nowhere"') == len(failing)
            bungled = False
    assert step.status == "ok"
    assert step.attempts == attempts
    assert written(list(step.values)) == written(right)


@settings(max_examples=FEW)
@given(data=st.data())
def test_a_diligent_model_gets_exactly_what_it_means(data: st.DataObject) -> None:
    """Each wrong call is told, mended by the operations, and equal to the last byte; the valid ones are as they came.

    A patch whose last operation fails is told for each call and changes nothing, so that the same one passes later.
    """
    check_diligent(data)


@st.composite
def replies(draw: st.DrawFn, drawn: list[Any]) -> ModelReply:
    """Any answer. drawn: the documents of the first calls, whose ids and places are used often."""
    if draw(st.integers(0, 9)) == 0:
        return ModelReply(failure=ReplyFailure("it broke", "cut"))
    at = draw(st.integers(0, max(len(drawn) - 1, 0)))
    base = drawn[at] if drawn else {}
    ids = st.just(f"c{at + 1}") | st.sampled_from(["c1", "c2", None, 5, "zz"])
    repair = st.fixed_dictionaries({"call": ids, "operations": patches(base)})
    names = st.sampled_from(["form", "any", "no", ""])
    made = st.one_of(
        st.tuples(st.just("repair"), repair),
        st.tuples(st.just("repair"), repair),
        st.tuples(st.just("repair"), st.fixed_dictionaries({"call": ids, "operations": scalars})),
        st.tuples(st.just("rename"), st.fixed_dictionaries({"call": ids, "name": names | st.just(3)})),
        st.tuples(names, documents | forms),
    )
    calls = [call(name, arguments) for name, arguments in draw(st.lists(made, max_size=3))]
    if draw(st.integers(0, 5)) == 0:
        calls.append(WrittenCall("x", "form", "{", parse_strictly("{")))
    reason = draw(st.sampled_from([*["calls", "stop", "length"] * 3, "refusal", "filtered"]))
    read = draw(st.none() | documents.map(ParsedJson))
    return ModelReply(text="text", calls=tuple(calls), reason=reason, usage=Usage(1, 1), parsed=read)  # type: ignore[arg-type]


def check_rounds(data: st.DataObject) -> None:
    some = st.tuples(st.just("form"), forms | spoilt) | st.tuples(st.sampled_from(["any", "no"]), documents)
    first = data.draw(st.lists(some, max_size=3))
    attempts = data.draw(st.integers(1, 5))
    choice = data.draw(st.sampled_from([ToolChoice.REQUIRED, ToolChoice.AUTO]))
    rounds = Rounds(planned(SHAPES, attempts, choice=choice, native=data.draw(st.booleans())))
    request, fed, asked = rounds.next_request(), 0, 0
    step: ModelRequest | Extraction = request
    valid: dict[str, bytes] = {}
    operations: list[Any] = []
    replaced = False
    history = [document for _, document in first]
    while isinstance(step, ModelRequest):
        assert step.messages[: request.stable] == request.messages
        request = step
        answer = (
            data.draw(replies(history)) if fed else ModelReply(calls=tuple(call(*each) for each in first))
        )
        step = rounds.feed_reply(answer)
        fed += 1
        asked += answer.usage.read
        if fed > 1:
            for made in answer.calls:
                if made.name == "repair" and isinstance(made.parsed, ParsedJson):
                    asked_for = made.parsed.document["operations"]
                    operations += asked_for if isinstance(asked_for, list) else []
            replaced = (
                replaced or answer.parsed is not None or any(made.name in SHAPES for made in answer.calls)
            )
        for slot in rounds._calls.slots.values():
            if not slot.is_failing and slot.final is None and slot.state is not None:
                valid.setdefault(slot.id, written(slot.state.document))
    assert isinstance(step, Extraction)
    assert 1 <= step.attempts == fed <= attempts
    assert step.usage == Usage(asked, asked)
    by_id = {each.id: each for each in step.calls}
    assert len(by_id) == len(step.calls)
    for id, document in valid.items():
        assert by_id[id].status == "ok"
        assert written(by_id[id].value) == document
    for at, (name, document) in enumerate(first):
        kept = by_id[f"c{at + 1}"]
        assert kept.problems or kept.status == "ok"
        if not replaced and kept.name == name:
            found = dict(places(kept.value))
            for path, value in untouched(document, operations).items():
                assert written(found[path]) == value
    assert (step.status == "ok") <= all(each.status in ("ok", "surplus") for each in step.calls)
    assert step.status == "ok" or step.errors
    assert all(len(problem.found) <= FOUND_CHARACTERS for each in step.calls for problem in each.problems)


@settings(max_examples=FEW)
@given(data=st.data())
def test_no_answers_lose_what_holds(data: st.DataObject) -> None:
    """Random answers: every call is told once, what held stays to the byte, and what none names; rounds are exact."""
    check_rounds(data)


def check_update(data: st.DataObject) -> None:
    given = {f"t{at}": data.draw(documents) for at in range(data.draw(st.integers(1, 3)))}
    held = {id: ExistingDocument(Doc("any", each), SHAPES["any"], each) for id, each in given.items()}
    rounds = Rounds(planned(SHAPES, 3, held=held, edits=True, deletes=True))
    ids = st.sampled_from([*given, None, "zz", 5])
    named: dict[str, list[Any]] = {id: [] for id in given}
    fed, step = 0, cast(ModelRequest | Extraction, rounds.next_request())
    while isinstance(step, ModelRequest):
        made = []
        for _ in range(data.draw(st.integers(1, 3))):
            id: Any = data.draw(ids)
            operations = data.draw(patches(given.get(id)))
            name, key = data.draw(st.sampled_from([("edit", "doc"), ("repair", "call"), ("remove", "doc")]))
            for meant in given if id is None else {id} & given.keys():
                named[meant] += [{"path": ""}] if name == "remove" else operations
            arguments = {"operations": operations} if id is None else {key: id, "operations": operations}
            made.append(call(name, arguments))
        step = rounds.feed_reply(ModelReply(calls=tuple(made)))
        fed += 1
    assert step.attempts == fed <= 3
    for (id, document), kept in zip(given.items(), step.calls, strict=False):
        assert kept.id == id
        if kept.change == "same":
            assert written(kept.value) == written(document)
        if kept.change != "removed":
            found = dict(places(kept.value))
            for path, value in untouched(document, named[id]).items():
                assert written(found[path]) == value


@settings(max_examples=FEW)
@given(data=st.data())
def test_an_update_changes_what_it_names_only(data: st.DataObject) -> None:
    """Random edits, removals and repairs: documents keep their order, and what none names is as it was given."""
    check_update(data)


pieces = st.lists(
    st.one_of(
        st.builds(
            TextDelta, st.sampled_from(["{", "}", '{"a": 1, "b": "xx"}', "```json\n", "Hm. ", "\ud800", "["])
        ),
        st.builds(
            CallDelta,
            st.integers(0, 2),
            st.sampled_from(["", "x"]),
            st.sampled_from(["", "form", "any", "repair", "edit", "no", "\ud800"]),
            st.sampled_from(
                [
                    "",
                    "{",
                    '{"a": 1, "b": "xx"}',
                    "{'a': 5,",
                    '"call": "c1", "operations": [',
                    "NaN",
                    "}",
                    "\ud800",
                ]
            ),
        ),
        st.builds(Finish, st.sampled_from(["stop", "calls", "length", "refusal", "filtered"])),
        st.builds(ModelFailed, st.just("it broke")),
        st.just(0.5),
    ),
    max_size=6,
)


def check_streams(answers: list[Any], update: bool, patience: float, native: bool) -> None:
    async def scenario() -> None:
        model = ScriptedLanguageModel(*answers)
        extractor = Extractor(
            model,
            tools=[{"name": "form", "parameters": FORM}, {"name": "any"}],
            native=native,
            run_sync=inline,
        )
        with trio.move_on_after(patience) as scope:
            if update:
                outcome = await extractor.update("?", {"t1": Doc("any", {})}, deletes=True)
            else:
                async with extractor.stream("?") as partials:
                    async for partial in partials:
                        assert isinstance(partial.value, dict)
                        assert partial.value is not None
                outcome = partials.outcome
            assert 1 <= outcome.attempts == model.opened <= 3
        assert model.opened == model.closed
        assert not scope.cancelled_caught or model.requests

    trio.run(scenario, clock=MockClock(autojump_threshold=0))


streams = {
    "answers": st.lists(pieces, min_size=1, max_size=3),
    "update": st.booleans(),
    "patience": st.sampled_from([0.2, 0.7, 100.0]),
    "native": st.booleans(),
}


@settings(max_examples=FEW)
@given(**streams)
def test_no_stream_raises(answers: list[Any], update: bool, patience: float, native: bool) -> None:
    """Any pieces in any order, cancelled or not: an outcome, every stream closed, and attempts within their bound."""
    check_streams(answers, update, patience, native)


@pytest.mark.proof
@pytest.mark.parametrize("check", [check_patch, check_diligent, check_rounds, check_update])
def test_the_same_with_many_examples(check: Any) -> None:
    """Hundreds of examples of each."""

    @settings(max_examples=MANY, derandomize="CI" in os.environ)
    @given(data=st.data())
    def drawn(data: st.DataObject) -> None:
        check(data)

    drawn()


@pytest.mark.proof
def test_no_stream_raises_with_many_examples() -> None:
    """Hundreds of examples."""
    settings(max_examples=MANY)(given(**streams)(check_streams))()
