"""A share of the tests, another one each day: for a run that has to end soon.

    pytest -m proof               every test, with all of its cases
    pytest -m proof --share 5     every fifth case of each file; five days in a row have run them all

Tests that are marked `daily` run each day: they choose a part of their work for the day themselves.
"""

import zlib
from collections import defaultdict
from datetime import date

import pytest

_one_of = 1


def add_option(parser: pytest.Parser) -> None:
    """Let a run take a share of the tests."""
    parser.addoption(
        "--share", type=int, default=1, metavar="N", help="run every Nth case of each file, others tomorrow"
    )


def set_share(config: pytest.Config) -> None:
    """Take over the share of this run, before the modules of the tests are imported."""
    global _one_of
    _one_of = config.option.share


def count_runs() -> int:
    """Return a number that grows by one from one run of a test to its next, where the suite runs once a day.

    With `--share` a test is not run each day. One that does a part of its work each time chooses the part by this
    number: by the day alone it would always come to the same parts.
    """
    return date.today().toordinal() // _one_of


def has_its_day(file: str, number: int, one_of: int, day: int) -> bool:
    """Tell whether the case of this number in a file is run on a day; files begin on different days."""
    return (number + zlib.crc32(file.encode()) + day) % one_of == 0


def leave_out_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases of other days. A case that the command line names is run on every day."""
    one_of = config.option.share
    if one_of <= 1 or any("::" in each for each in config.args):
        return
    day = date.today().toordinal()
    numbers: dict[str, int] = defaultdict(int)
    chosen: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        if item.get_closest_marker("daily"):
            chosen.append(item)
            continue
        file = item.nodeid.partition("::")[0]
        (chosen if has_its_day(file, numbers[file], one_of, day) else left_out).append(item)
        numbers[file] += 1
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen
