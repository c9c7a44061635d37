"""What a run with `--share` leaves out, it runs on another day."""

from dataclasses import dataclass
from datetime import date
from types import SimpleNamespace
from typing import Any, cast

import pytest

from . import share
from .share import count_runs, has_its_day, leave_out_cases


@pytest.mark.parametrize("number", range(9))
@pytest.mark.parametrize("file", ["tests/a.py", "tests/b.py"])
def test_each_case_has_one_day_of_four(file: str, number: int) -> None:
    assert sum(has_its_day(file, number, 4, day) for day in range(739_000, 739_004)) == 1


def test_a_day_has_a_fourth_of_a_file() -> None:
    for day in range(4):
        assert sum(has_its_day("tests/a.py", number, 4, day) for number in range(40)) == 10


def test_files_with_one_test_do_not_all_have_the_same_day() -> None:
    days = [sum(has_its_day(f"tests/test_{at}.py", 0, 4, day) for at in range(100)) for day in range(4)]
    assert sum(days) == 100
    assert min(days) >= 10


class _Run:
    """As much of a run as decides what is left out of it."""

    def __init__(self, share: int, *args: str) -> None:
        self.option = SimpleNamespace(share=share)
        self.args = args
        self.left_out: list[Any] = []
        self.hook = SimpleNamespace(pytest_deselected=lambda items: self.left_out.extend(items))

    def take(self, *names: str) -> list[str]:
        """Return which of the tests of these names are run."""
        items: list[Any] = [SimpleItem(name) for name in names]
        leave_out_cases(cast(pytest.Config, self), items)
        assert len(items) + len(self.left_out) == len(names)
        return [each.nodeid for each in items]


@dataclass(frozen=True)
class SimpleItem:
    nodeid: str

    def get_closest_marker(self, name: str) -> bool:
        return name in self.nodeid


NAMES = (*(f"a.py::test_cases[{number}]" for number in range(8)), "a.py::test_alone", "a.py::test_daily")


def test_a_run_leaves_out_the_cases_of_other_days() -> None:
    taken = _Run(4, "tests").take(*NAMES)
    assert NAMES[-1] in taken
    assert len(taken) in (3, 4)
    assert {int(name[-2]) % 4 for name in taken if "[" in name} == {int(taken[0][-2]) % 4}


def test_a_run_without_a_share_and_one_that_names_a_test_leave_nothing_out() -> None:
    assert _Run(1, "tests").take(*NAMES) == list(NAMES)
    assert _Run(4, "a.py::test_cases").take(*NAMES) == list(NAMES)


@pytest.fixture
def days(monkeypatch: pytest.MonkeyPatch) -> list[date]:
    """The day that it is: the last of this list."""
    at = [date(2026, 1, 1)]
    monkeypatch.setattr(share, "date", SimpleNamespace(today=lambda: at[-1]))
    return at


def test_a_test_comes_to_each_of_its_own_parts(monkeypatch: pytest.MonkeyPatch, days: list[date]) -> None:
    """Were both chosen by the day alone, one of four tests and one of two parts, half the parts would never come."""
    monkeypatch.setattr(share, "_one_of", 4)
    parts = set()
    for ordinal in range(739_000, 739_016):
        days.append(date.fromordinal(ordinal))
        if has_its_day("tests/a.py", 0, 4, ordinal):
            parts.add(count_runs() % 4)
    assert parts == {0, 1, 2, 3}


def test_without_a_share_a_test_runs_each_day(monkeypatch: pytest.MonkeyPatch, days: list[date]) -> None:
    monkeypatch.setattr(share, "_one_of", 1)
    days.append(date.fromordinal(739_000))
    assert count_runs() == 739_000
