"""The ends that a model may name for what it proposes to remember."""

from datetime import UTC, datetime, timedelta

import pytest

from agent.structured.arguments import SchemaArguments
from agent.tools.memory_tools import PROPOSING, read_end


def test_an_end_is_a_time_or_the_end_of_a_day() -> None:
    """Of the day where the server stands."""
    assert read_end("2026-05-31T14:00:00+02:00") == round(
        datetime(2026, 5, 31, 12, tzinfo=UTC).timestamp() * 1000
    )
    assert read_end("2026-05-31T14:00Z") == read_end("2026-05-31T14:00:00.000Z")
    midnight = datetime.fromtimestamp(read_end("2026-05-31") / 1000, UTC).astimezone()
    assert midnight.replace(tzinfo=None) == datetime(2026, 5, 31) + timedelta(days=1)


@pytest.mark.parametrize("text", ["2026-02-31", "2026-05-31T25:00:00Z", "9999-12-31", "0000-01-01"])
def test_no_end_is_read_from_a_day_that_is_none(text: str) -> None:
    """Though its form is right."""
    with pytest.raises(ValueError, match=r"\w"):
        read_end(text)


@pytest.mark.parametrize(
    ("end", "is_right"),
    [
        ("2026-05-31", True),
        ("2026-05-31T14:00:00Z", True),
        ("2026-05-31T14:00:00.5-05:30", True),
        ("2026-05-31T14:00:00", False),
        ("2026-05-31 14:00Z", False),
        ("31 May", False),
        ("2026-W19-5", False),
        ("٢٠٢٦-٠٥-٣١", False),
        ("2026-05-31\n", False),
        (1780000000, False),
        (None, False),
    ],
)
def test_an_end_is_written_as_rfc_3339_says(end: object, is_right: bool) -> None:
    """A time has its offset."""
    checker = SchemaArguments().make_checker(PROPOSING[0].parameters)
    item = {"type": "event", "subject": "boiler", "text": "It broke.", "expires_at": end}
    assert (not checker.find_problems(item)) is is_right
