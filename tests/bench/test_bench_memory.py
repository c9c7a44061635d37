"""What the figures of remembering are made of: times, the longest step, rows and questions about them."""

import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest
import trio

from agent.ports.conversation import Scope

from .memory import KB, USER, Times, asked_of, lay, line_of, main, said, searches, stepping
from .together import Outcome, figures_of, outcome_of
from .tools import Figure


def test_times_are_told_by_their_shares() -> None:
    """In milliseconds; a bound is for the one that it is given for."""
    times = Times([0.003, 0.001, 0.002, 0.1])
    assert (times.at(0.0), times.at(0.5), times.at(0.99), times.at(1.0)) == (1, 3, 100, 100)
    median, highest = times.figures("it", p99=50)
    assert (median.name, median.missed, highest.name, highest.missed) == ("it, p50", False, "it, p99", True)
    assert "bound" not in line_of(median)
    assert "MISSED" in line_of(highest)
    assert "holds" in line_of(Figure("it", 1, 2))


async def test_the_longest_step_is_that_of_one_task_between_two_waits() -> None:
    """And not the sum of several."""
    with stepping() as steps:
        for _ in range(4):
            began = time.thread_time()
            while time.thread_time() - began < 0.01:
                pass
            await trio.lowlevel.checkpoint()
    assert 0.01 <= steps.longest < steps.all
    longest = steps.longest
    await trio.lowlevel.checkpoint()
    assert steps.longest == longest


def test_the_rows_are_one_users_and_are_asked_about_in_their_words() -> None:
    """The same ones each time, so that a folder can be used again."""
    turns = [*said(40, 4)]
    assert turns == [*said(40, 4)]
    assert {each.scope for each in turns} == {Scope(KB, f"thread{number}", USER) for number in range(4)}
    words = turns[7].remark.text.strip(".").split()
    asked = asked_of(turns[7], Random(1)).strip("?").split()
    assert asked[:3] == ["When", "did", turns[7].remark.speaker]
    assert set(asked[3:]) <= set(words)
    assert len(searches(turns, 12)) == 12


@pytest.mark.proof
def test_a_small_memory_is_measured(tmp_path: Path) -> None:
    """From laying the rows, which is done once, to a server that finds the last of them."""
    lines: list[str] = []
    wanted = ["--turns", "60", "--threads", "3", "--exchanges", "16", "--searches", "8", "--data"]
    main([*wanted, str(tmp_path / "rows")], lines.append)
    assert lines[0].startswith("60 turns in 3 threads")
    told = "\n".join(lines)
    for figure in (
        "an exchange is on disk, p99",
        "is made again",
        "a search, p50",
        "first line",
        "finds everything",
    ):
        assert figure in told
    assert not trio.run(lay, tmp_path / "rows", [*said(60, 3)])


def test_an_answer_is_counted_by_what_it_lacks() -> None:
    """And whether it says so; one in a hundred is too many, and one in silence is."""
    assert outcome_of("Your budget is 40 123 kr.", False) == "with"
    assert outcome_of("Your budget is 40123 kr.", True) == "with"
    assert outcome_of("I cannot read it.", True) == "told"
    assert outcome_of("I couldn't find any.", False) == "silent"
    counts: list[tuple[Counter[Outcome], list[bool]]] = [
        (Counter({"with": 1000}), [False, False, False]),
        (Counter({"with": 991, "told": 9}), [False, False, False]),
        (Counter({"with": 990, "told": 10}), [False, True, False]),
        (Counter({"with": 999, "silent": 1}), [False, False, True]),
    ]
    for counted, missed in counts:
        assert [each.missed for each in figures_of("sockets", counted, 1.0)] == missed


@pytest.mark.proof
def test_many_users_at_once_are_answered_with_what_they_said() -> None:
    """Over sockets and over HTTP, none in silence."""
    lines: list[str] = []
    assert main(["--together", "60"], lines.append) == 0, lines
    assert sum("of 300 in" in each for each in lines) == 6
