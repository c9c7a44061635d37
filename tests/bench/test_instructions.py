"""The instructions that the server needs, against the kept figures; and how what got dearer is told."""

import io
import sys
from pathlib import Path

import pytest
from trio.testing import MockClock

from tests.bench import counted
from tests.bench.instructions import FIGURES, KEEP, compare, count, name_interpreter, read_kept, why_not


@pytest.mark.bench
def test_nothing_takes_more_instructions_than_are_kept() -> None:
    """A delta, a turn and a connection take what they took when their figures were kept, within the tolerance."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    dearer, _ = compare(count(), read_kept()[name_interpreter()])
    assert dearer == []


def test_what_is_dearer_and_what_is_cheaper_is_said_within_the_tolerance_nothing() -> None:
    """The sentence names the figure, both numbers and the change; a cheaper figure says how it is kept."""
    kept = dict.fromkeys(FIGURES, 100.0)
    assert compare(kept | {"delta": 102.9, "turn": 97.1}, kept) == ([], [])
    dearer, cheaper = compare(kept | {"delta": 103.1, "turn": 50.0}, kept)
    assert dearer == ["delta: 103.1 thousand instructions are 3.1% more than the 100.0 that are kept"]
    assert cheaper == [
        f"turn: 50.0 thousand instructions are 50.0% fewer than the 100.0 that are kept: keep them, {KEEP}"
    ]


def test_every_figure_is_kept_for_each_interpreter() -> None:
    """Nothing is counted that has nothing to be compared with."""
    every = read_kept()
    assert every
    for interpreter, kept in every.items():
        assert [*kept] == [name for name in FIGURES if name in kept], interpreter
        assert {"delta", "turn", "different", "connection"} <= {*kept}, interpreter
        assert all(value > 0 for value in kept.values()), interpreter


def test_an_interpreter_without_figures_and_a_machine_without_valgrind_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Neither is a failure: nothing got dearer."""
    monkeypatch.setattr("tests.bench.instructions.why_no_callgrind", lambda: None)
    monkeypatch.setattr("tests.bench.instructions.name_interpreter", lambda: "CPython 2.7")
    assert why_not() == f"instructions are not compared: none are kept for CPython 2.7; keep them, {KEEP}"
    monkeypatch.setattr("tests.bench.instructions.why_no_callgrind", lambda: "valgrind is not installed")
    assert why_not() == "instructions are not counted: valgrind is not installed"


def test_a_figure_that_an_interpreter_has_not_kept_is_not_compared() -> None:
    """It is kept with the next ones; the others are compared."""
    dearer, cheaper = compare(dict.fromkeys(FIGURES, 200.0), {"turn": 100.0})
    assert (len(dearer), cheaper) == (1, [])
    assert dearer[0].startswith("turn: ")


@pytest.mark.proof
async def test_each_kind_of_work_waits_for_its_counter(
    mock_clock: MockClock,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """Every figure announces its work with its units and ends it, and no virtual time passes."""
    for name in ("ROUNDS", "TURNS", "DIFFERENT", "REMEMBERED", "CHATS", "CONNECTIONS"):
        monkeypatch.setattr(counted, name, 1)
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n" * len(FIGURES)))
    await counted.main(tmp_path)
    printed = capsys.readouterr().out.splitlines()  # the log too
    told = [line for line in printed if line.partition(" ")[0] in (*FIGURES, "done")]
    counts = ("delta 200", "turn 1", "different 1", "remembered 1", "chat 1", "connection 1")
    assert told == [line for each in counts for line in (each, "done")]
    assert mock_clock.current_time() == 0.0
    assert sys.stdin.read() == ""
