"""The ends that a model may name for what it proposes to remember."""

from datetime import UTC, datetime, timedelta

import pytest

from agent.tools.memory_tools import read_end


def test_an_end_is_a_time_or_the_end_of_a_day() -> None:
    """Of the day where the server stands."""
    assert read_end("2026-05-31T14:00:00+02:00") == round(
        datetime(2026, 5, 31, 12, tzinfo=UTC).timestamp() * 1000
    )
    assert read_end("2026-05-31T14:00:00.5-05:30") == read_end("2026-05-31T19:30:00.500Z")
    assert read_end("2026-05-31T14:00Z") == read_end("2026-05-31T14:00:00.000Z")
    midnight = datetime.fromtimestamp(read_end("2026-05-31") / 1000, UTC).astimezone()
    assert midnight.replace(tzinfo=None) == datetime(2026, 5, 31) + timedelta(days=1)


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-31",
        "2026-05-31T25:00:00Z",
        "9999-12-31",
        "0000-01-01",
        "2026-05-31T14:00:00",
        "2026-05-31 14:00Z",
        "31 May",
        "2026-W19-5",
        "٢٠٢٦-٠٥-٣١",
        "2026-05-31\n",
        "",
    ],
)
def test_what_is_not_written_as_rfc_3339_says_is_no_end(text: str) -> None:
    """Nor is a day that there is not."""
    with pytest.raises(ValueError, match=r"\w"):
        read_end(text)
