"""What a user told, and what may be shown of it: each way in which it can be broken is found."""

from typing import Any

import pytest

from agent.soak.book import ANYWHERE, Book, find_numbers
from agent.soak.consults import Consults
from agent.soak.figures import Tally

HERE = "t1"


class Lines:
    """Notes, as they are written."""

    def __init__(self) -> None:
        self.all: list[str] = []

    def __call__(self, event: str, id: str, digest: str = "", tool: str = "") -> None:
        self.all.append(f"{event} {id} {digest or '-'}")


def book() -> tuple[Book, Tally, Lines]:
    tally, lines = Tally(), Lines()
    return Book("user 7", 7, 12, tally, lines), tally, lines


def item(id: str, text: str, status: str = "accepted", revision: int = 1, **other: Any) -> dict[str, Any]:
    return {"id": id, "text": text, "status": status, "revision": revision, **other}


def test_each_number_is_told_once_and_says_by_whom() -> None:
    """What orders to remember it is its approval."""
    mine, _, lines = book()
    first, second = mine.enter_telling(HERE, True), mine.enter_telling(HERE, False)
    assert find_numbers(f"My wall is {first}, not {second} or 123456789012.") == [first, second]
    assert (first[4:8], first != second, mine.places) == ("0007", True, [HERE])
    assert lines.all == [f"memory:approved {first} -"]


def test_what_is_its_own_may_be_shown() -> None:
    """In the thread in which it was told, or in any where its user is known; also what a run before has left."""
    mine, tally, _ = book()
    number = mine.enter_telling(HERE, True)
    mine.check_item(item("i1", f"It is {number}.", sources=[{"quote": number}]), HERE, 1.0, "a list")
    mine.check_text(f"It is {number}, and 901100070003.", HERE, 1.0, "an answer")
    mine.check_text(f"It is {mine.enter_telling(ANYWHERE, True)}.", HERE, 1.0, "an answer")
    assert tally.broken == {}
    assert [each["id"] for each in mine.of_status(HERE, "accepted")] == ["i1"]
    assert mine.of_status("t2", "accepted") == []


@pytest.mark.parametrize(
    ("number", "place", "promise", "why"),
    [("901200080000", HERE, "M3", "another user"), ("own", "t2", "M8", "another thread")],
)
def test_what_is_anothers_may_not(number: str, place: str, promise: str, why: str) -> None:
    """Of another user, or of another conversation of nobody in particular."""
    mine, tally, _ = book()
    own = mine.enter_telling(HERE, True)
    mine.check_text(f"It is {own if number == 'own' else number}.", place, 1.0, "an answer")
    assert tally.broken == {promise: 1}
    assert why in tally.examples[0]


def test_what_was_forgotten_is_shown_to_who_had_asked_before() -> None:
    """And to nobody who asks later: neither its words nor its item."""
    mine, tally, lines = book()
    number = mine.enter_telling(HERE, True)
    mine.check_item(item("i1", f"It is {number}."), HERE, 1.0, "a list")
    mine.enter_forgetting("i1")
    mine.enter_forgotten("i1", 5.0)
    mine.check_item(item("i1", "", "forgotten", 2), HERE, 4.0, "a forget")
    mine.check_text(number, HERE, 4.9, "an answer")
    assert (tally.broken, lines.all[1:]) == (
        {},
        [f"memory:forgetting {number} -", f"memory:forgot {number} -"],
    )
    mine.check_text(number, HERE, 5.1, "an answer")
    mine.check_item(item("i1", "", "accepted", 3), HERE, 5.1, "a list")
    mine.check_item(item("i1", "It was.", "forgotten", 2), HERE, 5.1, "a list")
    assert tally.broken == {"M2": 3}


def test_how_a_turn_ended_is_noted() -> None:
    """Of one that told something."""
    mine, _, lines = book()
    mine.enter_end("", True)
    mine.enter_end("n1", True)
    mine.enter_end("n2", False)
    mine.enter_approval("It is 901200070004.", "s1", "i4")
    assert lines.all == [
        "memory:cancelled n1 -",
        "memory:said n2 -",
        "memory:approved 901200070004 -",
        "memory:offered s1 i4",
    ]


def asked(*kinds: str) -> tuple[Consults, Tally, list[str]]:
    mine, tally, _ = book()
    consults = Consults("user 7.1", tally, mine)
    return consults, tally, [consults.ask(kind, 1.0, item="i1") for kind in kinds]


def test_answers_come_once_each_and_in_their_order() -> None:
    """But for what is refused at once."""
    consults, tally, ids = asked("open_thread", "memory_list", "recall")
    consults.check_answer({"type": "error", "code": "rate_limited", "id": ids[2], "message": ""}, 2.0)
    consults.check_answer({"type": "thread", "thread": "t9", "id": ids[0]}, 2.0)
    assert (consults.place, consults.is_waiting) == ("t9", True)
    consults.check_answer({"type": "memory", "items": [], "id": ids[1]}, 2.0)
    assert (consults.is_waiting, tally.broken) == (False, {})
    answer = consults.take(ids[1])
    assert answer is not None
    assert (answer["type"], consults.take(ids[1])) == ("memory", None)
    consults.check_answered()
    assert tally.broken == {}


@pytest.mark.parametrize(
    "frames",
    [
        [{"type": "memory", "items": [], "id": "c2"}, {"type": "thread", "thread": "t", "id": "c1"}],
        [{"type": "memory", "items": [], "id": "c1"}],
        [{"type": "thread", "thread": "t", "id": "c9"}],
        [{"type": "error", "code": "internal", "id": "c1", "message": ""}],
        [
            {"type": "thread", "thread": "t", "id": "c1"},
            {"type": "thread", "thread": "t", "id": "c1"},
        ],
    ],
)
def test_answers_that_may_not_come_are_found(frames: list[dict[str, Any]]) -> None:
    """Out of their order, of another kind, of nothing, of a fault, twice."""
    consults, tally, _ = asked("open_thread", "memory_list")
    for frame in frames:
        consults.check_answer(frame, 2.0)
    assert tally.broken == {"M7": 1}


def test_what_is_not_answered_and_what_is_not_forgotten_is_found() -> None:
    """Whatever the server says."""
    consults, tally, ids = asked("memory_forget", "memory_list")
    consults.check_answer(
        {"type": "memory_changed", "item": item("i1", "", "accepted", 2), "id": ids[0]}, 2.0
    )
    assert tally.broken == {"M2": 1}
    consults.check_answered()
    assert tally.broken == {"M2": 1, "M7": 1}


def test_a_server_that_remembers_nothing_is_known() -> None:
    """Then nothing is told to be remembered."""
    mine, tally, _ = book()
    consults = Consults("user 7.1", tally, mine)
    id = consults.ask("open_thread", 1.0)
    consults.check_answer({"type": "error", "code": "memory_off", "id": id, "message": ""}, 2.0)
    assert (mine.full, tally.broken) == (True, {})
