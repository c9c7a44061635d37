"""Whatever is sent: it is what a route takes, or it is refused with a code."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.protocol.http import CallsQuery
from agent.protocol.problems import FAULTS, ProblemError, decode, decode_query
from agent.protocol.routes import ROUTES
from agent.server.api.uploads import Multipart, parse_filename
from agent.server.request_head import Head

from ...examples import examples
from .test_uploads import form

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NAMES = sorted(
    {name for route in ROUTES if route.body for name in route.body.__struct_fields__} | {"continue", "x"}
)
BODIES = st.binary(max_size=40) | st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5).map(
    lambda value: json.dumps(value).encode()
)


def refused(act: Callable[[], Any]) -> None:
    """Do something; what is refused has a code."""
    code = "bad_request"
    try:
        act()
    except ProblemError as wrong:
        code = wrong.code
    assert code in FAULTS


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from([route.body for route in ROUTES if route.body and not route.uploads]), BODIES)
def test_any_body_is_read_or_refused(kind: Any, body: bytes) -> None:
    """Of each kind that there is."""
    refused(lambda: decode(kind, body))


@settings(max_examples=examples(60), deadline=None)
@given(st.sampled_from([route.query for route in ROUTES]), st.binary(max_size=30))
@example(CallsQuery, b"limit=1&cursor=%00")
def test_any_query_is_read_or_refused(kind: Any, query: bytes) -> None:
    """Of each kind that there is."""
    refused(lambda: decode_query(kind, query))


@settings(max_examples=examples(60), deadline=None)
@given(st.binary(max_size=60), st.integers(0, 200), st.binary(max_size=20))
def test_any_upload_is_read_or_refused(filler: bytes, at: int, name: bytes) -> None:
    """Bytes in the midst of a good one, and whatever stands for a name."""
    good, kind = form(category="FACTS", boundary="b")
    head = Head(
        method=b"POST",
        target=b"/",
        version=b"1.1",
        headers=((b"content-type", kind.split(": ")[1].encode()),),
        raw=b"",
        rest=b"",
    )

    def read() -> None:
        made = Multipart(head)
        made.feed(good[:at] + filler)
        made.feed(good[at:])
        made.finish()

    refused(read)
    refused(lambda: parse_filename(name))


@pytest.mark.parametrize(
    "value", [b"", b"multipart/form-data", b"multipart/form-data; boundary=\xff", b";;;=", b'a; b="']
)
def test_any_type_is_read_or_refused(value: bytes) -> None:
    """Of a body that is to hold a file."""
    with suppress(ProblemError):
        Multipart(
            Head(
                method=b"POST",
                target=b"/",
                version=b"1.1",
                headers=((b"content-type", value),),
                raw=b"",
                rest=b"",
            )
        )
