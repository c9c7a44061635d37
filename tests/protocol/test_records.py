"""Tests of `agent.protocol.records`: shapes of the wire filled from records of the ports."""

from dataclasses import dataclass

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
