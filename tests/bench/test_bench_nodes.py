"""The measurement of several servers says what it measured, and judges a figure that is too small."""

import pytest

from tests.bench.nodes import LeastFigure, main
from tests.servers import fresh_database


def test_a_figure_that_must_not_be_less_is_missed_below_its_bound() -> None:
    """As the claims a second; at the bound it holds."""
    assert LeastFigure("claims", 2_999, 3_000).missed
    assert not LeastFigure("claims", 3_000, 3_000).missed


@pytest.mark.proof
def test_the_writes_of_turns_are_measured_on_both_databases() -> None:
    """With 16 users at once, and one alone."""
    with fresh_database():  # skips the test where there is no server
        lines: list[str] = []
        main(["--only", "writes", "--turns", "32"], lines.append)
    assert [line.partition(" at once")[0] for line in lines[:4]] == [
        f"{database}: the writes of a turn, {users}"
        for database in ("PostgreSQL", "SQLite")
        for users in (16, 1)
    ]
