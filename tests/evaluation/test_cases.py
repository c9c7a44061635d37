"""Cases: what a line may be, what makes one complete, and how feedback becomes one."""

import msgspec
import pytest

from agent.evaluation.cases import Case, make_case
from agent.ports.feedback import Feedback
from agent.ports.projects import HOUSE

READ = msgspec.json.Decoder(Case)


def feedback(**other: object) -> Feedback:
    """A thumb down."""
    given: dict[str, object] = {
        "number": 7,
        "message": "m",
        "project": HOUSE,
        "user": "ann",
        "thread": "t",
        "verdict": "down",
        "text": "Too old",
        "question": "What does the plan cost?",
        "answer": "It costs 49 kr.",
        "citations": (
            {"file": "kb/a.md", "lines": [3, 4], "snippet": "49 kr"},
            {"file": "memory/t1", "snippet": "49 kr"},
            {"file": "kb/b.md", "lines": [9, 9], "snippet": "49 kr"},
        ),
        "model": "mock",
        "confidence": "high",
        "blocked": None,
        "at": 1,
    }
    return Feedback(**(given | other))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "complete"),
    [
        ('{"question": "q?", "answer": ["49"]}', True),
        ('{"question": "q?", "answer": ["49"], "note": 5, "file": "a.md", "lines": [1, 2]}', True),
        ('{"question": "q?", "kind": "off"}', True),
        ('{"question": "q?"}', False),
        ('{"question": "q?", "answer": []}', False),
        ('{"question": "q?", "answer": [" "]}', False),
    ],
)
def test_a_case_is_complete_once_it_says_what_is_right(line: str, complete: bool) -> None:
    """Or that nothing is."""
    assert READ.decode(line).is_complete is complete


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        '{"question": ""}',
        '{"question": "q?", "answer": "49"}',
        '{"question": "q?", "answer": [""]}',
        '{"question": "q?", "lines": [2, 1]}',
        '{"question": "q?", "lines": [0, 1]}',
        '{"question": "q?", "lines": [1]}',
        '{"question": "q?", "lang": "xx"}',
        '{"question": "q?", "also": [{"lines": [5, 4]}]}',
    ],
)
def test_a_line_that_is_no_case_is_refused(line: str) -> None:
    """Whichever field does not fit."""
    with pytest.raises(msgspec.ValidationError):
        READ.decode(line)


def test_a_bad_answer_makes_a_case_that_lacks_what_is_right() -> None:
    """What it cited stands there as a note, without what comes from memory; its owner finds what was said."""
    made = make_case(feedback())
    case = READ.decode(msgspec.json.encode(made))
    assert (case.id, case.question, case.lang, case.is_complete, case.places) == (
        "7",
        "What does the plan cost?",
        "en",
        False,
        (),
    )
    assert made["cited"] == [{"file": "a.md", "lines": [3, 4]}, {"file": "b.md", "lines": [9, 9]}]
    assert (made["said"], made["text"]) == ("It costs 49 kr.", "Too old")


def test_a_good_answer_makes_a_case_with_its_places() -> None:
    """The first in its own fields, the others beside it; one without evidence names no place."""
    case = READ.decode(msgspec.json.encode(make_case(feedback(verdict="up"))))
    assert [(each.file, each.lines) for each in case.places] == [("a.md", (3, 4)), ("b.md", (9, 9))]
    assert READ.decode(msgspec.json.encode(make_case(feedback(verdict="up", citations=())))).places == ()
