"""Every mutation of the safety code is noticed, and the machine that says so can say otherwise."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from . import mutate
from .mutate import Mutant, Verdict, mutants
from .warm import Warm

MUTANTS, PLANTED = 120, 24
TABLE = pytest.StashKey[str]()


DAYS = 35  # in which a run a day has tried every mutant; `python -m tests.proof.mutate` tries all at once


@pytest.mark.proof
@pytest.mark.daily
def test_the_mutants_of_the_day_are_killed(request: pytest.FixtureRequest) -> None:
    """What stands beside each mutation fails with it, and only with it; the planted bugs are tried each day."""
    day = date.today().toordinal() % DAYS
    verdicts, unclean = mutate.run(
        [each for at, each in enumerate(mutants()) if each.planted or at % DAYS == day]
    )
    request.config.stash[TABLE] = mutate.report(verdicts, unclean)
    assert unclean == ""
    assert [str(each) for each in verdicts if each.outcome != "killed"] == []
    assert all(each.by.startswith("k=") for each in verdicts if each.mutant.planted)


@pytest.mark.proof
def test_there_are_enough_and_each_still_has_its_place() -> None:
    """A mutation that no longer applies shows as soon as its module changes, with the places where it may go."""
    every = mutants()
    assert len(every) >= MUTANTS
    assert sum(each.planted for each in every) >= PLANTED
    assert "\n".join(mutate.check_places(every)) == ""
    for each in every:
        assert bool(each.tests) != bool(each.strike), each.name
        assert all((mutate.ROOT / node.partition("::")[0]).is_file() for node in each.tests), each.name


def test_python_is_addressed_by_its_definitions() -> None:
    """A copied text of Python would be lost at each edit: only what is not Python is addressed so."""
    assert [each.name for each in mutants() if not each.at and each.file.endswith(".py")] == []


def made(
    new: str, tests: tuple[str, ...] = (), strike: tuple[str, ...] = (), old: str = "", at: str = ""
) -> Mutant:
    """A mutation of the outbox, made for a test: of a fragment, or of a text where no syntax tree can be changed so."""
    if at:
        return Mutant(name="made", why="", at=at, find=old, replace=new, tests=tests, strike=strike)
    return Mutant(
        name="made", why="", file="wire/outbox.py", old=old or LOOP, new=new, tests=tests, strike=strike
    )


LOOP = "while self._chunks:\n                if self._write"
HARMLESS = LOOP.replace("while ", "while  ")
NEVER = LOOP.replace("self._chunks", "False")
FLUSH = "wire.outbox:Outbox.flush"
WRITER = "tests/wire/test_outbox.py::test_frames_leave_in_the_order_they_came_in_one_write"


NOTICED = (
    ("harmless to a test", made(HARMLESS, (WRITER,)), "survived", ""),
    ("harmless to a strike", made(HARMLESS, strike=("reject", "eof")), "survived", "nothing broke in"),
    ("never", made(NEVER, (WRITER,)), "killed", WRITER),
    (
        "raises",
        made("        raise OSError\n", (WRITER,), old="        self._writing = True\n"),
        "crashed",
        "(OSError: ",
    ),
    (
        "keeps",
        made("pass\n            self.room = O", (WRITER,), old="self._bytes = 0\n            self.room = O"),
        "killed",
        WRITER,
    ),
    (
        "spins",
        replace(made(f"while True:\n                continue\n            {LOOP}", (WRITER,)), deadline=10.0),
        "hung",
        "not over after",
    ),
    ("breaks without a strike", made(NEVER, strike=("reject", "eof")), "broken", "breaks without a strike"),
    ("no Python", made("while while", (WRITER,)), "broken", ""),
    ("not there", made("x", (WRITER,), old="not there"), "broken", "occurs 0 times"),
    (
        "by its fragment",
        made("while False: ...", (WRITER,), old="while self._chunks: ...", at=FLUSH),
        "killed",
        WRITER,
    ),
    ("no such fragment", made("False", (WRITER,), old="self._chunk", at=FLUSH), "broken", "`self._chunks`"),
)


@pytest.mark.proof
def test_only_what_is_noticed_counts_as_killed() -> None:
    """Only an assertion kills: not a hang, not a crash nearby, nor what cannot be examined."""
    verdicts, unclean = mutate.run([replace(mutant, name=name) for name, mutant, _, _ in NOTICED])
    assert unclean == ""
    for verdict, (_, _, outcome, said) in zip(verdicts, NOTICED, strict=True):
        assert (verdict.outcome, said in verdict.by) == (outcome, True), verdict


@pytest.mark.proof
def test_a_test_that_is_not_there_kills_nothing() -> None:
    """It is told as what fails without any mutation, too."""
    (verdict,), unclean = mutate.run([made(HARMLESS, ("tests/wire/test_outbox.py::test_none",))])
    assert verdict.outcome == "broken", verdict
    assert unclean


@pytest.mark.proof
def test_what_fails_without_a_mutation_kills_nothing(tmp_path: Path) -> None:
    """A test that is red anyway is told."""
    mutate.copy_tree(tmp_path)
    writer = tmp_path / "agent/wire/outbox.py"
    writer.write_text(writer.read_text().replace(LOOP, NEVER))
    with Warm(mutate.HANGS) as warm:
        assert mutate.check_tests(warm, tmp_path, [made(HARMLESS, (WRITER,))]) == WRITER


def test_the_report_names_what_found_a_planted_bug() -> None:
    """A line says which mutation, where, and what noticed; a planted bug has its scenario, strike and step."""
    mutant = Mutant(name="m", why="", at="session.core:a", strike=("plain_answer", "cancel"), planted=True)
    text = mutate.report([Verdict(mutant, "killed", "k=21 of 40: S2: late", 1.0)], "x")
    assert "* m " in text
    assert "plain_answer cancel k=21 of 40: S2: late" in text
    assert "1 of 1 mutants killed by an assertion or an invariant; of 1 planted bugs (*) 1 found" in text
    assert text.endswith("so it proves nothing: x")
