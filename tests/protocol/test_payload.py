"""What an action may be told: JSON, neither large nor deep."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.config import PAYLOAD_BYTES, PAYLOAD_NESTING
from agent.protocol.payload import is_valid_payload

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def nested(levels: int) -> dict[str, Any]:
    """Return objects that stand in each other so deep."""
    inside: Any = 1
    for _ in range(levels):
        inside = {"a": inside}
    assert isinstance(inside, dict)
    return inside


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({}, True),
        ({"phone": "070-123 45 67", "times": [9, 10.5, None, True], "who": {"name": "Åsa"}}, True),
        (nested(PAYLOAD_NESTING), True),
        (nested(PAYLOAD_NESTING + 1), False),
        ({"text": "a" * (PAYLOAD_BYTES - len('{"text":""}'))}, True),
        ({"text": "a" * (PAYLOAD_BYTES - len('{"text":""}') + 1)}, False),
        ({"text": "å" * (PAYLOAD_BYTES // 2)}, False),
        ({"n": math.nan}, False),
        ({"n": [math.inf]}, False),
        ({"text": "\ud800"}, False),
        ({1: "a"}, False),
        ({"a": {2: "b"}}, False),
        ({"a": object()}, False),
        ({"a": b"bytes"}, False),
    ],
)
def test_what_fits(payload: dict[Any, Any], expected: bool) -> None:
    """Its bounds are counted as the wire counts: bytes of UTF-8."""
    assert is_valid_payload(payload) is expected


@given(st.dictionaries(st.text(), _JSON, max_size=4))
def test_what_fits_can_be_sent_and_read(payload: dict[str, Any]) -> None:
    """What fits is JSON that comes back equal, whatever stands in it."""
    if is_valid_payload(payload):
        assert msgspec.json.decode(msgspec.json.encode(payload)) == payload
