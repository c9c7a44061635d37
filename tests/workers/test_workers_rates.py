"""A rate that several processes share is that of all of them together."""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from agent.config import ADDRESSES_REMEMBERED
from agent.server.rates import PerAddress
from agent.workers.rates import SharedRates, make_rates

A, B = "192.0.2.1", "192.0.2.2"


class Hands:
    """A clock that is set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def file() -> Iterator[int]:
    """Return the descriptor of new tables."""
    made = make_rates()
    yield made
    os.close(made)


def rates(file: int, clock: Hands, rate: float = 10.0, table: int = 0) -> SharedRates:
    """Return rates of so many tokens a second, of which two seconds' worth may be saved."""
    return SharedRates(file, table, lambda _: rate, 2.0, clock)


def test_two_that_share_give_what_one_gives(file: int) -> None:
    """At each moment, to the token: as a bucket in one process."""
    hands = Hands()
    shared = [rates(file, hands), rates(file, hands)]
    alone = PerAddress(lambda _: 10.0, 2.0)
    for step in range(300):
        hands.now += (step % 7) / 64
        for turn in range(step % 5):
            given = shared[(step + turn) % 2].take(A, 0.0)
            assert given is alone.take(A, hands.now), (step, turn)


def test_addresses_and_tables_are_counted_apart(file: int) -> None:
    """Nobody in particular, and who has no rate, is never limited."""
    hands = Hands()
    messages, tokens = rates(file, hands), rates(file, hands, table=1)
    assert [sum(messages.take(A, 0.0) for _ in range(50)), messages.take(B, 0.0)] == [20, True]
    assert tokens.take(A, 0.0)
    assert not messages.take(A, 0.0)
    assert all(messages.take(None, 0.0) for _ in range(50))
    assert all(rates(file, hands, 0.0).take(A, 0.0) for _ in range(50))


def test_what_is_given_back_can_be_taken_again_and_no_more(file: int) -> None:
    """Shared or alone: never more than may be saved."""
    hands = Hands()
    for some in (rates(file, hands), PerAddress(lambda _: 10.0, 2.0)):
        some.give_back(A, hands.now)
        assert sum(some.take(A, hands.now) for _ in range(50)) == 20
        some.give_back(A, hands.now)
        some.give_back(None, hands.now)
        assert [some.take(A, hands.now) for _ in range(2)] == [True, False]


def test_what_is_remembered_is_bounded_and_the_newest(file: int) -> None:
    """Many addresses push out those whose tokens have filled up; one that is over its rate is not helped by a few."""
    hands = Hands()
    messages = rates(file, hands)
    while messages.take(A, 0.0):
        pass
    for number in range(ADDRESSES_REMEMBERED // 8):
        messages.take(f"198.51.{number // 256}.{number % 256}", 0.0)
    assert not messages.take(A, 0.0)
    hands.now += 0.1
    assert messages.take(A, 0.0)
    assert not messages.take(A, 0.0)


def test_a_lock_that_is_not_let_go_counts_as_no(file: int) -> None:
    """The loop is not held up by a process that was stopped; one that has died holds nothing."""
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl, sys, time\n"
            f"fcntl.lockf({file}, fcntl.LOCK_EX)\nprint('held', flush=True)\ntime.sleep(60)",
        ],
        pass_fds=[file],
        stdout=subprocess.PIPE,
    )
    messages = rates(file, Hands())
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert not messages.take(A, 0.0)
    finally:
        holder.kill()
        holder.communicate()
    assert messages.take(A, 0.0)
    fcntl.lockf(file, fcntl.LOCK_UN)
