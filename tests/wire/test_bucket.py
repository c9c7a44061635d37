"""The token bucket, by hand and as a property."""

from hypothesis import given
from hypothesis import strategies as st

from agent.wire.bucket import Bucket


def test_a_burst_and_then_the_rate() -> None:
    """Twice the rate at once, then one each time a token has come."""
    bucket = Bucket(rate=2, burst=4)
    assert [bucket.take_token(10.0) for _ in range(5)] == [True] * 4 + [False]
    assert [bucket.take_token(10.5), bucket.take_token(10.5)] == [True, False]


def test_no_rate_is_no_limit() -> None:
    """A rate of 0 allows everything."""
    bucket = Bucket(rate=0, burst=0)
    assert all(bucket.take_token(1.0) for _ in range(1000))


def test_asking_takes_nothing() -> None:
    """`has` tells without spending."""
    bucket = Bucket(rate=1, burst=1)
    assert [bucket.has_token(5.0), bucket.has_token(5.0), bucket.take_token(5.0), bucket.has_token(5.0)] == [
        True,
        True,
        True,
        False,
    ]


@given(st.lists(st.floats(0, 3), max_size=60))
def test_never_more_than_the_burst_and_the_rate_allow(pauses: list[float]) -> None:
    """In any span no more is taken than the burst and the rate times the span."""
    bucket, now, taken = Bucket(rate=2, burst=3), 0.0, 0
    for pause in pauses:
        now += pause
        taken += bucket.take_token(now)
    assert taken <= 3 + 2 * now + 1e-6
