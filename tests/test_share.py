"""What a run with `--share` leaves out, it runs on another day."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import pytest

from .share import choose, leave_out_cases


@pytest.mark.parametrize("cases", [1, 2, 3, 4, 5, 9, 40])
def test_each_case_has_its_day(cases: int) -> None:
    days = [choose(cases, 4, day) for day in range(4)]
    assert all(days)  # each test runs each day
    assert {number for day in days for number in day} == set(range(cases))


@pytest.mark.parametrize("cases", [4, 8, 40])
def test_a_day_runs_a_fourth(cases: int) -> None:
    assert {len(choose(cases, 4, day)) for day in range(4)} == {cases // 4}


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


NAMES = (*(f"a.py::test_cases[{number}]" for number in range(8)), "a.py::test_alone", "b.py::test_cases[0]")


def test_a_run_leaves_out_the_cases_of_other_days() -> None:
    taken = _Run(4, "tests").take(*NAMES)
    assert [name for name in taken if "[" not in name or name.startswith("b")] == list(NAMES[-2:])
    assert len(taken) == 4


def test_a_run_without_a_share_and_one_that_names_a_test_leave_nothing_out() -> None:
    assert _Run(1, "tests").take(*NAMES) == list(NAMES)
    assert _Run(4, "a.py::test_cases").take(*NAMES) == list(NAMES)
