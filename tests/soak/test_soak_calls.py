"""A thread's account of its calls notices every way in which a promise can be broken, and nothing else."""

from typing import Any

import pytest

from agent.soak.calls import Calls
from agent.soak.figures import Tally
from agent.soak.notes import digest_of

ORDER = {"order": "A-1"}
OTHER = {"order": "A-2"}


def view(status: str, arguments: dict[str, Any] = ORDER, **more: Any) -> dict[str, Any]:
    """Build what the server shows of a call."""
    shown = {
        "id": "c",
        "thread_id": "t",
        "tool": "book_courier",
        "runs_at": "webhook",
        "requires_approval": True,
        "arguments": arguments,
        "arguments_hash": digest_of(arguments),
        "status": status,
    }
    return shown | more


def judge(*steps: dict[str, Any] | tuple[Any, ...]) -> tuple[Tally, list[str]]:
    """Play what a user says and is shown: yes (to arguments), no (to that yes), won, forget, and views."""
    tally, noted = Tally(), list[str]()
    calls = Calls("caller", tally, lambda event, id, digest="", tool="": noted.append(f"{event} {id}"))
    for step in steps:
        if isinstance(step, dict):
            calls.check_view(step)
        elif step[0] == "yes":
            calls.enter_approval("c", step[1])
        elif step[0] == "no":
            calls.withdraw_approval("c", digest_of(step[1]))
        elif step[0] == "forget":
            calls.forget("t")
        elif step[0] == "settled":
            calls.check_settled(step[1], step[2])
        else:
            calls.enter_grant("c", step[0])
    return tally, noted


@pytest.mark.parametrize(
    "steps",
    [
        [view("suggested"), ("yes", ORDER), view("confirmed"), view("claimed"), view("done")],
        [view("suggested"), ("yes", OTHER), view("done", OTHER)],
        [view("suggested"), ("yes", ORDER), ("yes", ORDER), ("no", ORDER), view("unknown")],
        [view("done", requires_approval=False, tool="find_parcel")],
        [("yes", ORDER), view("done"), view("claimed"), view("done")],
        [view("suggested"), ("yes", ORDER), ("no", ORDER), view("cancelled")],
        [("yes", ORDER), ("approval",), ("begin",), view("claimed", runs_at="caller")],
        [("settled", [view("suggested")], [{"id": "m", "status": "done"}])],
        [("yes", ORDER), ("settled", [view("claimed", runs_at="caller")], [])],
        [("yes", ORDER), view("confirmed"), ("forget",), view("failed")],
    ],
)
def test_what_is_right_is_not_noted(steps: list[Any]) -> None:
    """Also what is shown late, and what a caller has taken."""
    assert judge(*steps)[0].broken == {}


@pytest.mark.parametrize(
    ("promise", "words", "steps"),
    [
        ("T1", "no user has approved it", [view("suggested"), view("confirmed")]),
        ("T1", "no user has approved it", [view("suggested"), ("yes", ORDER), ("no", ORDER), view("done")]),
        ("T1", "no user has approved it", [view("done", tool="find_parcel")]),
        ("T1", "no user has approved it", [view("done", requires_approval=False)]),
        ("T1", "other arguments", [view("suggested"), ("yes", OTHER), view("claimed")]),
        ("T1", "not that of its arguments", [view("suggested", arguments_hash=digest_of(OTHER))]),
        ("S4", "was taken 2 times", [("yes", ORDER), ("approval",), ("approval",)]),
        ("S4", "was taken 2 times", [("yes", ORDER), ("begin",), ("begin",)]),
        ("S5", "was done, and is failed", [("yes", ORDER), view("done"), view("failed")]),
        ("S5", "is left claimed", [("yes", ORDER), ("settled", [view("claimed")], [])]),
        ("S1", "is left pending", [("settled", [], [{"id": "m", "status": "pending"}])]),
    ],
)
def test_what_is_wrong_is_noted(promise: str, words: str, steps: list[Any]) -> None:
    """Under the promise that it breaks, once."""
    tally = judge(*steps)[0]
    assert tally.broken == {promise: 1}
    assert words in tally.examples[0]


def test_each_yes_and_each_end_is_written_down() -> None:
    """An end once, whatever is shown after it; every end that nothing ran for is the same one."""
    steps: list[Any] = [
        view("suggested"),
        ("yes", ORDER),
        ("yes", ORDER),
        ("no", ORDER),
        view("done"),
        view("done"),
    ]
    assert judge(*steps)[1] == ["confirmed c", "confirmed c", "withdrawn c", "done c"]
    assert judge(view("suggested"), view("rejected"))[1] == ["closed c"]
