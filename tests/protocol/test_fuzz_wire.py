"""The short form of the fuzzing: the same mutations of frames and heads, some at random and some drawn to shrink."""

from random import Random

import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from tests.examples import examples
from tests.proof.fuzz import fuzz, one

draws = st.randoms(use_true_random=False)
short = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def test_mutated_frames_and_heads_get_typed_answers() -> None:
    """Of 1,500 mutated inputs none raises what it must not, none is repeated to its client."""
    findings, _ = fuzz(1500, seed=4)
    assert [str(each) for each in findings] == []


@short
@given(draws)
def test_no_frame_breaks_the_codec(random: Random) -> None:
    """What a failure shrinks to is a frame with one thing wrong."""
    assert trio.run(one, "frame", random) is None


@short
@given(draws)
def test_no_head_breaks_the_sniffer(random: Random) -> None:
    """What a failure shrinks to is a head with one thing wrong."""
    assert trio.run(one, "head", random, clock=MockClock(autojump_threshold=0)) is None
