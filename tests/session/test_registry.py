"""The registry's two timers and its census."""

import trio
import trio.testing

from agent.config import CONFIRM_SECONDS, KEEPALIVE_EVERY
from agent.session.events import DrainStarted, Event, SuggestionExpired
from agent.session.registry import Registry


class FakeSession:
    """Keeps what it is told, and when."""

    def __init__(self) -> None:
        self.told: list[tuple[float, object]] = []

    def post(self, event: Event) -> None:
        self.told.append((trio.current_time(), event))

    def keepalive(self) -> None:
        self.told.append((trio.current_time(), "ping"))


async def test_suggestions_expire_in_the_order_they_were_made(autojump_clock: trio.testing.MockClock) -> None:
    """One task posts each expiry at its time; a disarmed one is not posted."""
    registry = Registry()
    first, second = FakeSession(), FakeSession()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(registry.keep_time)
        registry.add(first)
        registry.add(second)
        await trio.sleep(1)
        registry.arm_expiry(first, "a")
        registry.arm_expiry(first, "b")
        await trio.sleep(1)
        registry.arm_expiry(second, "c")
        registry.disarm_expiry(first, "b")
        registry.disarm_expiry(first, "never armed")
        await trio.sleep(CONFIRM_SECONDS + 1)
        nursery.cancel_scope.cancel()
    for session in (first, second):
        session.told = [(at, what) for at, what in session.told if what != "ping"]
    assert first.told == [(1 + CONFIRM_SECONDS, SuggestionExpired("a", 1 + CONFIRM_SECONDS))]
    assert second.told == [(2 + CONFIRM_SECONDS, SuggestionExpired("c", 2 + CONFIRM_SECONDS))]
    assert registry.armed_count == 0


async def test_every_session_is_pinged_until_it_leaves(autojump_clock: trio.testing.MockClock) -> None:
    """Each in its own rhythm, from when it came."""
    registry = Registry()
    early, late = FakeSession(), FakeSession()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(registry.keep_time)
        registry.add(early)
        await trio.sleep(5)
        registry.add(late)
        await trio.sleep(KEEPALIVE_EVERY + 1)
        registry.remove(early)
        await trio.sleep(KEEPALIVE_EVERY)
        nursery.cancel_scope.cancel()
    assert early.told == [(KEEPALIVE_EVERY, "ping")]
    assert late.told == [(5 + KEEPALIVE_EVERY, "ping"), (5 + 2 * KEEPALIVE_EVERY, "ping")]


async def test_who_leaves_takes_its_timers_along(autojump_clock: trio.testing.MockClock) -> None:
    """Nothing is posted to a session that is gone, and nothing holds it."""
    registry = Registry()
    session = FakeSession()
    registry.add(session)
    registry.arm_expiry(session, "a")
    registry.remove(session)
    registry.remove(session)
    assert (len(registry), registry.armed_count) == (0, 0)
    registry.post_all(DrainStarted(0.0))
    with trio.move_on_after(2 * CONFIRM_SECONDS):
        await registry.keep_time()
    assert session.told == []


async def test_waiting_for_the_last_to_leave(autojump_clock: trio.testing.MockClock) -> None:
    """A drain can wait until no session is left."""
    registry = Registry()
    await registry.wait_empty()
    members = [FakeSession(), FakeSession()]
    for member in members:
        registry.add(member)

    async def leave() -> None:
        for member in members:
            await trio.sleep(1)
            registry.remove(member)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(leave)
        await registry.wait_empty()
    assert trio.current_time() == 2
