"""Tests of `agent.protocol.records`: shapes of the wire filled from records of the ports."""

from dataclasses import dataclass
from datetime import datetime

import msgspec
import pytest

from agent.protocol.records import from_record


@dataclass(frozen=True)
class Parcel:
    """A record with more fields than its shape."""

    id: str
    weight: int
    secret: str = "sentinel"


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """A shape with a field that no record has."""

    id: str
    weight: int
    town: str = ""


def test_a_field_comes_from_the_record_by_its_name() -> None:
    """The order of the fields does not matter, and what the shape lacks is left behind."""
    assert from_record(Label, Parcel(id="p1", weight=3), town="Lund") == Label(town="Lund", weight=3, id="p1")


def test_a_field_that_is_given_stands_before_that_of_the_record() -> None:
    """A shape can show another value under the same name."""
    assert from_record(Label, Parcel(id="p1", weight=3), town="Lund", weight=4).weight == 4


def test_a_field_that_nothing_fills_is_an_error_and_not_its_default() -> None:
    """A field that was renamed in a record cannot disappear from the wire unnoticed."""
    with pytest.raises(AttributeError, match="town"):
        from_record(Label, Parcel(id="p1", weight=3))


@pytest.mark.parametrize(
    ("at", "time"),
    [
        (0, b"1970-01-01T00:00:00Z"),
        (1_700_000_000_123, b"2023-11-14T22:13:20.123000Z"),
        (253_402_300_799_999, b"9999-12-31T23:59:59.999000Z"),
        (None, b"null"),
    ],
)
def test_milliseconds_become_a_time_where_the_shape_has_one(at: int | None, time: bytes) -> None:
    """As RFC 3339 in UTC, to the millisecond; null stays null, and a field that is given is taken as it is."""

    class Stamp(msgspec.Struct):
        at: datetime | None
        count: int

    @dataclass
    class Mark:
        at: int | None
        count: int = 7

    assert msgspec.json.encode(from_record(Stamp, Mark(at))) == b'{"at":%s,"count":7}' % (
        time if at is None else b'"%s"' % time
    )
    assert from_record(Stamp, Mark(at), at=None).at is None
