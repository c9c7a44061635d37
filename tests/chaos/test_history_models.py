"""The models of the histories: a legal history is explained, and each broken rule is found."""

from itertools import product
from math import inf

import pytest

from agent.memory.states import TABLE as ITEM_TABLE
from agent.storage.schema import MOVES

from .histories.history import Event, Outcome, explain_history, format_history
from .histories.models import GONE, NOTHING, Call, CallModel, Item, ItemModel
from .histories.records import Attempt, CallRecord, Effect, ItemRecord, Records, label_arguments
from .histories.verdict import judge_run

PLAIN = label_arguments("")
WEBHOOK, FREE = CallModel(), CallModel(free=True)
CALLER, HANDED_OVER = CallModel(caller=True), CallModel(caller=True, free=True)
SOCKET = CallModel(lossy=True)


def one_after_the_other(*said: str) -> list[Event]:
    """Return operations that do not overlap, from `OPERATION VALUE/DETAIL`, with `?` for unknown, `!` for refused."""
    return [event(each, 2.0 * at, 2.0 * at + 1) for at, each in enumerate(said)]


def at_once(*said: str, begin: float = 0.0, end: float = 1.0) -> list[Event]:
    """Return operations that overlap."""
    return [event(each, begin, end) for each in said]


def event(said: str, begin: float, end: float) -> Event:
    """Return an operation from its line."""
    outcome: Outcome = "unknown" if said.endswith("?") else "refused" if said.endswith("!") else "ok"
    operation, _, value = said.rstrip("?!").partition(" ")
    value, _, detail = value.partition("/")
    if operation in ("make", "effect") and not detail:
        detail = PLAIN
    return Event(operation.replace("-", " "), begin, end, outcome, value=value, detail=detail)


MADE = ("make", "read suggested")
LEGAL_CALLS = {
    "approved and run": (WEBHOOK, [*MADE, "approve", "effect", "read done", "approve closed!"]),
    "run and not known how it ended": (WEBHOOK, [*MADE, "approve?", "effect", "read unknown"]),
    "approved, and its process died first": (WEBHOOK, [*MADE, "approve", "read cancelled"]),
    "edited, and run as edited": (WEBHOOK, [*MADE, "approve /x", "effect /x", "read done/x"]),
    "could not be carried out": (WEBHOOK, [*MADE, "approve", "read failed"]),
    "an approval without an answer": (WEBHOOK, [*MADE, "approve?", "read suggested", "effect"]),
    "one that never came to anything": (WEBHOOK, [*MADE, "approve?", "reject rejected", "read rejected"]),
    "one that was taken back": (CALLER, [*MADE, "approve?", "read confirmed", "read cancelled"]),
    "rejected twice": (WEBHOOK, [*MADE, "reject rejected", "reject rejected", "approve closed!"]),
    "answered with words": (WEBHOOK, [*MADE, "answer", "read answered", "approve closed!"]),
    "no approval is needed": (FREE, ["make", "effect", "read done"]),
    "its turn was cancelled before it began": (FREE, ["make?", "cancel-turn", "read cancelled"]),
    "taken, and reported once more": (
        CALLER,
        [*MADE, "approve", "begin", "begin begun!", "report done/x", "report done/x", "read done"],
    ),
    "reported otherwise": (
        CALLER,
        [*MADE, "approve", "begin", "report done/x", "report already_reported/y!", "read done"],
    ),
    "a begin without an answer": (
        CALLER,
        [*MADE, "approve", "begin?", "begin begun!", "read claimed"],
    ),
    "a begin that was taken back": (
        CALLER,
        [*MADE, "approve", "begin?", "read claimed", "read cancelled"],
    ),
    "taken back before anybody began it": (
        CALLER,
        [*MADE, "approve", "reject cancelled", "begin closed!", "read cancelled"],
    ),
    "cancelled with its thread": (CALLER, [*MADE, "approve", "cancel", "begin closed!", "read cancelled"]),
    "begun, and not cancelled with its thread": (
        CALLER,
        [*MADE, "approve", "begin", "cancel", "read claimed"],
    ),
    "handed over": (HANDED_OVER, ["make", "begin", "read claimed", "report failed/x", "read failed"]),
    "deleted": (WEBHOOK, [*MADE, "delete", "read gone", "approve not_found!"]),
    "a socket's that ended with its session": (SOCKET, ["make", "read cancelled", "row gone"]),
    "a socket's that was confirmed too late": (
        SOCKET,
        ["make", "reject?", "read rejected", "read cancelled"],
    ),
    "a socket's that was claimed too late": (SOCKET, ["make", "approve?", "read failed", "row cancelled"]),
    "a socket's whose end was not recorded": (
        SOCKET,
        ["make", "approve?", "effect", "read done", "row unknown"],
    ),
}
ILLEGAL_CALLS = {
    "two effects": (WEBHOOK, [*MADE, "approve", "effect", "effect", "read done"]),
    "an effect without an approval": (WEBHOOK, [*MADE, "effect"]),
    "an effect before its approval": (WEBHOOK, [*MADE, "effect", "approve"]),
    "an effect with other arguments": (WEBHOOK, [*MADE, "approve", "effect /x"]),
    "an effect with arguments that were not approved": (WEBHOOK, [*MADE, "approve /x", "effect"]),
    "an effect after a reject": (WEBHOOK, [*MADE, "reject rejected", "approve?", "effect"]),
    "an effect after a cancel": (WEBHOOK, [*MADE, "approve", "cancel", "effect"]),
    "an effect after a delete": (WEBHOOK, [*MADE, "approve", "delete", "effect"]),
    "an effect after its turn was cancelled": (FREE, ["make", "cancel-turn", "effect"]),
    "an effect of what its caller runs": (CALLER, [*MADE, "approve", "effect"]),
    "done without an effect": (WEBHOOK, [*MADE, "approve", "read done"]),
    "failed after its effect": (WEBHOOK, [*MADE, "approve", "effect", "read failed"]),
    "an end that changes": (WEBHOOK, [*MADE, "approve", "effect", "read done", "read unknown"]),
    "an end that is lost": (CALLER, [*MADE, "approve", "begin", "report done/x", "read claimed"]),
    "a report that is replaced": (CALLER, [*MADE, "approve", "begin", "report done/x", "report failed/y"]),
    "a status that goes back": (WEBHOOK, [*MADE, "approve", "effect", "read done", "read confirmed"]),
    "an approval that is lost": (CALLER, [*MADE, "approve", "read suggested"]),
    "two approvals": (CALLER, [*MADE, "approve", "approve"]),
    "two begins": (CALLER, [*MADE, "approve", "begin", "begin"]),
    "a begin that was answered, and is taken back": (
        CALLER,
        [*MADE, "approve", "begin", "read cancelled"],
    ),
    "a begin without an approval": (CALLER, [*MADE, "begin"]),
    "a begin after a reject": (CALLER, [*MADE, "approve", "reject cancelled", "begin"]),
    "a begin after a cancel": (CALLER, [*MADE, "approve", "cancel", "begin"]),
    "a begin after a delete": (CALLER, [*MADE, "approve", "delete", "begin"]),
    "a reject that is not kept": (CALLER, [*MADE, "approve", "reject cancelled", "read confirmed"]),
    "a message that is lost": (WEBHOOK, ["make", "read gone"]),
    "there after it was deleted": (WEBHOOK, [*MADE, "delete", "read suggested"]),
    "a refusal that is not true": (CALLER, [*MADE, "approve", "begin begun!"]),
    "a socket's effect without a row": (SOCKET, ["make", "approve?", "effect", "row gone"]),
    "a socket's effect after it was told as cancelled": (
        SOCKET,
        ["make", "approve?", "read cancelled", "effect"],
    ),
}
TOLD, ORDERED = ItemModel(), ItemModel(ordered=True)
LEGAL_ITEMS = {
    "ordered": (ORDERED, ["make proposed", "read accepted", "answer", "live", "read accepted"]),
    "accepted": (TOLD, ["make proposed", "read proposed", "accept", "read accepted", "accept"]),
    "rejected and proposed again": (TOLD, ["make proposed", "reject", "reopen", "accept", "read accepted"]),
    "corrected": (TOLD, ["make proposed", "accept", "edit", "read superseded", "reject refused!"]),
    "corrected before it was accepted": (TOLD, ["make proposed", "edit", "read rejected"]),
    "replaced by another": (ORDERED, ["make proposed", "read accepted", "supersede?", "read superseded"]),
    "forgotten": (ORDERED, ["make proposed", "forget", "read gone", "read forgotten", "forget"]),
    "perhaps forgotten": (ORDERED, ["make proposed", "forget?", "answer", "read accepted", "read gone"]),
    "made by a correction": (TOLD, ["make accepted", "read accepted"]),
    "never kept": (TOLD, ["make proposed?", "read gone", "accept not_found!"]),
}
ILLEGAL_ITEMS = {
    "an item that is lost": (ORDERED, ["make proposed", "read accepted", "read gone"]),
    "an acceptance that is lost": (TOLD, ["make proposed", "accept", "read proposed"]),
    "true without its user's word": (TOLD, ["make proposed", "read accepted"]),
    "true after a reject": (TOLD, ["make proposed", "reject", "read accepted"]),
    "listed after a forget": (ORDERED, ["make proposed", "forget", "read accepted"]),
    "answered after a forget": (ORDERED, ["make proposed", "forget", "answer"]),
    "found after a forget": (ORDERED, ["make proposed", "forget", "recall"]),
    "in a prompt after a forget": (ORDERED, ["make proposed", "forget", "prompt"]),
    "answered after a reject": (TOLD, ["make proposed", "reject", "answer"]),
    "found as remembered before it was accepted": (TOLD, ["make proposed", "live"]),
    "replaced by nothing": (ORDERED, ["make proposed", "read accepted", "read superseded"]),
    "accepted twice over": (TOLD, ["make proposed", "reject", "accept"]),
    "a status that goes back": (
        TOLD,
        ["make proposed", "accept", "edit", "read superseded", "read accepted"],
    ),
    "a refusal that is not true": (TOLD, ["make proposed", "accept refused!"]),
}


@pytest.mark.parametrize("story", LEGAL_CALLS)
def test_a_legal_history_of_a_call_is_explained(story: str) -> None:
    """An operation with an unknown outcome may have taken effect, or not."""
    model, said = LEGAL_CALLS[story]
    assert explain_history(one_after_the_other(*said), model).legal


@pytest.mark.parametrize("rule", ILLEGAL_CALLS)
def test_each_broken_promise_of_a_call_is_found(rule: str) -> None:
    """No order explains it."""
    model, said = ILLEGAL_CALLS[rule]
    finding = explain_history(one_after_the_other(*said), model)
    assert finding.legal is False
    assert finding.stuck


@pytest.mark.parametrize("story", LEGAL_ITEMS)
def test_a_legal_history_of_an_item_is_explained(story: str) -> None:
    """An operation with an unknown outcome may have taken effect, or not."""
    model, said = LEGAL_ITEMS[story]
    assert explain_history(one_after_the_other(*said), model).legal


@pytest.mark.parametrize("rule", ILLEGAL_ITEMS)
def test_each_broken_promise_of_an_item_is_found(rule: str) -> None:
    """No order explains it."""
    model, said = ILLEGAL_ITEMS[rule]
    finding = explain_history(one_after_the_other(*said), model)
    assert finding.legal is False
    assert finding.stuck


def test_what_overlaps_may_have_taken_effect_in_any_order() -> None:
    """A read between them may see either state; after them there is one."""
    made = one_after_the_other(*MADE, "approve")
    both = at_once("reject cancelled", "begin closed!", "read confirmed", begin=10, end=12)
    assert explain_history([*made, *both], CALLER).legal
    two = at_once("begin", "begin", begin=10, end=12)
    assert explain_history([*made, *two], CALLER).legal is False
    for begin, may in ((0.5, True), (1.5, False)):  # before the call was there it cancels nothing
        late = event("cancel", begin, 20)
        assert explain_history([*made, late, event("read cancelled", 11, 12)], CALLER).legal
        assert explain_history([*made, late, event("read confirmed", 21, 22)], CALLER).legal is may


def test_an_unknown_operation_takes_effect_after_its_begin_only() -> None:
    """It may do so at any later time."""
    made = one_after_the_other(*MADE)
    assert explain_history([*made, event("approve?", 4, 5), event("effect", 1000, 1001)], WEBHOOK).legal
    assert explain_history([*made, event("effect", 4, 5), event("approve?", 6, inf)], WEBHOOK).legal is False


def test_a_search_that_takes_too_long_is_given_up() -> None:
    """Its history is neither legal nor illegal then."""
    many = [*one_after_the_other("make"), *at_once(*["cancel"] * 12, begin=2, end=3)]
    assert explain_history([*many, event("read suggested", 4, 5)], WEBHOOK, most=100).legal is None


def test_what_cannot_be_explained_is_marked_in_its_history() -> None:
    """The lines are in the order of time."""
    events = one_after_the_other(*MADE, "approve", "effect", "effect")
    told = format_history(events, explain_history(events, WEBHOOK), since=0.0)
    assert [each[:2] for each in told] == ["  ", "  ", "  ", "  ", ">>"]
    assert "effect" in told[-1]


def _reached(model: CallModel, state: Call, events: list[Event]) -> set[tuple[Call, Call]]:
    """Return every step to another state that can be reached from `state`."""
    found: set[tuple[Call, Call]] = set()
    waiting = [state]
    while waiting:
        before = waiting.pop()
        after = [*model.drift(before), *(each for event in events for each in model.step(before, event))]
        new = {(before, each) for each in after if each != before} - found
        found |= new
        waiting += [each for _, each in new]
    return found


@pytest.mark.parametrize("model", [WEBHOOK, FREE, CALLER, HANDED_OVER, SOCKET])
def test_the_model_of_a_call_moves_as_its_table_does(model: CallModel) -> None:
    """Each move that it allows is in the product's own table, apart from a delete."""
    operations = ["make", "approve", "answer", "reject", "begin", "report done/x", "report failed/y"]
    operations += ["cancel", "cancel-turn", "delete", "effect"]
    events = [event(f"{each}{mark}", 0, 1) for each, mark in product(operations, ("", "?"))]
    steps = {(before.status, after.status) for before, after in _reached(model, Call(), events)}
    changes = {(one, other) for one, other in steps if one != other and one != NOTHING and other != GONE}
    if model is HANDED_OVER:  # its report begins it, which makes two moves in one
        changes -= {("confirmed", "done")}
    assert changes <= MOVES
    assert not {one for one, other in steps if one == GONE and other != GONE}


def test_the_model_of_an_item_moves_as_its_table_does() -> None:
    """Each move that it allows is in the product's own table."""
    moves = {(row.source.value, (row.target or row.source).value) for row in ITEM_TABLE.rows}
    statuses = ("proposed", "accepted", "rejected", "superseded", "forgotten")
    for operation, status in product(("accept", "reject", "reopen", "edit", "supersede", "forget"), statuses):
        for after in ORDERED.step(Item(status), event(operation, 0, 1)):
            assert after.status == status or (status, after.status) in moves


# --- a whole run


def recorded() -> Records:
    """Return a run in which one call was approved and run, and one item was told and forgotten."""
    records = Records()
    records.asked["A-1"].append(
        Attempt("anna", "book_courier", 0, 1, "ok", thread="t", made=frozenset(["c"]))
    )
    called = [event("approve", 2, 5), event(f"read done/{PLAIN}", 2, 5)]
    records.calls["c"] = CallRecord("c", "book_courier", "A-1", "http", "t", called)
    records.effects.append(Effect("c", "book_courier", "A-1", "", 4))
    records.told["9"].append(Attempt("anna", "order", 0, 1, "ok", thread="t", made=frozenset(["i1"])))
    told = [event("read accepted", 0, 1), event("forget", 2, 3), event("read gone", 4, 5)]
    records.items["i1"] = ItemRecord("i1", "anna", "9", "boat", told)
    return records


def test_a_run_in_which_all_is_well_has_no_violation() -> None:
    """Each call and each item is judged."""
    verdict = judge_run(recorded())
    assert (verdict.violations, verdict.undecided) == ([], 0)
    assert (verdict.calls, verdict.items) == (1, 1)


def test_an_effect_of_a_call_that_no_answer_has_shown_is_judged_too() -> None:
    """It needs a message that asks for it, and an approval."""
    records = recorded()
    records.effects.append(Effect("d", "book_courier", "A-1", "", 4))
    made_too_often, unapproved = judge_run(records).violations
    assert made_too_often.startswith("2 calls of A-1, which 1 messages have asked for")
    assert unapproved.startswith("call d ")


def test_two_items_of_one_message_are_found() -> None:
    """Each number is told once."""
    records = recorded()
    records.items["i2"] = ItemRecord("i2", "anna", "9", "boat", [event("read accepted", 0, 1)])
    assert any(
        each.startswith("2 items of 9, which 1 messages have told") for each in judge_run(records).violations
    )


def test_an_operation_on_a_thread_is_one_on_its_calls() -> None:
    """A call may not run after its thread was deleted."""
    records = recorded()
    records.threads["t"].append(event("delete", 1.5, 1.8))
    (violation,) = judge_run(records).violations
    assert violation.startswith("call c ")


def test_a_turn_that_is_cancelled_as_it_ends_may_take_its_suggestion_along() -> None:
    """The answer showed it as suggested; once the turn has ended, only a cancel of the thread closes it."""
    for begin, violations in ((0.5, 0), (1.5, 1)):
        records = recorded()
        records.effects.clear()
        records.calls["c"].events = [event(f"read suggested/{PLAIN}", 0, 1), event("read cancelled", 2, 3)]
        records.threads["t"].append(event("cancel-turn", begin, 1.7))
        assert len(judge_run(records).violations) == violations


def test_an_item_is_replaced_by_another_of_its_thing_only() -> None:
    """The edit that made the other item live may have closed it."""
    for thing, violations in (("boat", 0), ("bike", 1)):
        records = recorded()
        records.items["i1"].events = [event("read accepted", 0, 1), event("read superseded", 4, 5)]
        records.told["8"].append(Attempt("anna", "edit", 2, 3, "ok", made=frozenset(["i2"])))
        records.items["i2"] = ItemRecord("i2", "anna", "8", thing, [event("read accepted", 4, 5)])
        assert len(judge_run(records).violations) == violations


def test_what_a_list_leaves_out_is_read_as_gone() -> None:
    """Two live items of one thing are a violation, and so is another user's number."""
    records = Records()
    numbers = [records.draw_number("anna", "boat number") for _ in range(2)]
    views = [
        {"id": f"i{at}", "status": "accepted", "text": f"My boat number is {number}"}
        for at, number in enumerate(numbers)
    ]
    records.see_items(views[:1], "anna", event("read", 0, 1))
    assert records.wrong == []
    records.see_items(views[1:], "anna", event("read", 2, 3))
    assert [each.value for each in records.items["i0"].events] == ["accepted", GONE]
    records.see_items(views, "anna", event("read", 4, 5))
    records.see_text(numbers[0], "bo", event("answer", 6, 7))
    two_live, anothers = records.wrong
    assert two_live.startswith("anna has 2 live items of the boat number")
    assert anothers.startswith(f"bo is shown {numbers[0]}, which anna has told")
