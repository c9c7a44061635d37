"""A share of the cases of each test, another one each day: for a run that has to end soon.

    pytest -m proof               every case
    pytest -m proof --share 4     of each test every fourth case, at least one; four days in a row have run them all

A test with one case runs each day, so that nothing that is proved goes without a proof.
"""

from collections import defaultdict
from datetime import date

import pytest


def add_option(parser: pytest.Parser) -> None:
    """Let a run take a share of the cases."""
    parser.addoption(
        "--share", type=int, default=1, metavar="N", help="run every Nth case of each test, others tomorrow"
    )


def choose(cases: int, one_of: int, day: int) -> list[int]:
    """Return the numbers of the cases of a test with `cases` cases that are run on a day."""
    every = min(cases, one_of)
    return list(range(day % every, cases, every))


def leave_out_cases(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases of other days. A case that the command line names is run on every day."""
    one_of = config.option.share
    if one_of <= 1 or any("::" in each for each in config.args):
        return
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    day = date.today().toordinal()
    chosen = {each[number] for each in tests.values() for number in choose(len(each), one_of, day)}
    left_out = [item for item in items if item not in chosen]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item in chosen]
