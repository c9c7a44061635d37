"""What the server needs in instructions, against what is kept: says what got dearer. And how that is said."""

import pytest

from tests.bench.instructions import FIGURES, TOLERANCE, compared, count, counted_by, kept, why_not


@pytest.fixture(scope="module")
def found() -> dict[str, float]:
    """All figures, counted once."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    return count()


@pytest.mark.bench
@pytest.mark.parametrize("name", FIGURES)
def test_nothing_takes_more_instructions_than_are_kept(name: str, found: dict[str, float]) -> None:
    """A delta, a turn and a connection take what they took when their figures were kept, within the tolerance."""
    told = compared(name, found[name], kept()[name], TOLERANCE[counted_by()])
    assert told is None, told


def test_what_is_dearer_and_what_is_cheaper_is_said_within_the_tolerance_nothing() -> None:
    """The line names the figure, both numbers and the change; a cheaper one says how it is kept."""
    assert compared("delta", 104.9, 100.0, 0.05) is None
    assert compared("delta", 95.1, 100.0, 0.05) is None
    dearer = compared("delta", 120.0, 100.0, 0.05)
    assert dearer == "a delta takes 120.0 thousand instructions, 20.0% more than the 100.0 that are kept"
    cheaper = compared("turn", 50.0, 100.0, 0.05)
    assert cheaper is not None
    assert cheaper.startswith("a turn takes 50.0 thousand instructions, 50.0% fewer")
    assert cheaper.endswith("--keep")


def test_every_figure_is_kept() -> None:
    """Nothing is counted that has nothing to be compared with."""
    assert tuple(kept()) == FIGURES
    assert all(value > 0 for value in kept().values())
