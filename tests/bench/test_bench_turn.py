"""The bench of a turn: what its figures are shares of, and which turns it counts as forgetful."""

import json

import pytest

from tests.bench import paced_words, turn
from tests.bench.load.frames import TEXT
from tests.bench.load.line import Line, Turn
from tests.bench.load.meter import Meter, of_turns
from tests.bench.tools import Figure


def test_the_reference_work_is_always_the_same() -> None:
    """It returns what it made, so that nothing of it can be left out."""
    assert turn.reference() == turn.reference()
    assert len(turn.reference()) == 98
    assert 0 < turn.best_reference(1) < 5


def test_questions_differ_until_all_were_asked() -> None:
    """A round goes on where the one before ended."""
    asked = turn.Asked()
    texts = [*asked.next(150), *asked.next(150)]
    assert len({*texts}) == 300


def test_a_time_is_told_as_a_share_and_its_bound_judged() -> None:
    """With the milliseconds beside it; a figure without a bound has no verdict."""
    dear = turn.share("a turn", 0.003, 0.03, 0.05)
    assert dear.missed
    assert "0.100 R" in turn.line_of(dear)
    assert "3.00 ms, R 30.0 ms" in turn.line_of(dear)
    assert "MISSED" in turn.line_of(dear)
    assert "holds" in turn.line_of(turn.share("a turn", 0.001, 0.03, 0.05))
    assert "holds" not in turn.line_of(Figure("it", 1.0, float("inf")))


@pytest.mark.parametrize(("told", "without"), [({}, 0), ({"withoutMemory": True}, 1)])
def test_a_turn_without_memory_is_counted_by_its_response(told: dict[str, bool], without: int) -> None:
    """Only by that: the load knows nothing of the server but its frames."""
    ended: list[Turn] = []
    line = Line(lambda data: None, lambda line, turn: ended.append(turn))
    line.ask("?", 0.0)
    payload = json.dumps({"type": "response", "id": "1", "text": "!", **told}).encode()
    line.received(bytes([TEXT, len(payload)]) + payload, 1.0)
    with Meter() as meter:
        pass
    assert of_turns(ended, meter, None)["without_memory"] == without


def test_a_word_is_what_a_long_answer_takes_more_than_a_short_one() -> None:
    """The turn is in both, so only the whole has it; a ratio is of each round's own figures."""
    taken = {"ours": [(0.6, 0.9), (0.6, 0.9), (6.0, 9.0)], "node": [(0.3, 0.6), (0.3, 0.6), (3.0, 6.0)]}
    word, word_ratio, whole, whole_ratio = paced_words.compare(taken, 10, "")
    assert word.value == pytest.approx(150)
    assert word_ratio.value == pytest.approx(1.0)
    assert not word_ratio.missed
    assert whole.value == pytest.approx(300)
    assert whole_ratio.value == pytest.approx(2.0)
    assert whole_ratio.missed


def test_without_node_a_word_is_told_alone() -> None:
    """With the reason, and without a verdict."""
    word, whole = paced_words.compare({"ours": [(0.6, 0.9)]}, 10, "node is not installed")
    assert "node is not installed" in turn.line_of(word)
    assert "holds" not in turn.line_of(whole)
