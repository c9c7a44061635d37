"""The outbox: order, purge, room and overflow."""

import pytest
import trio
import trio.testing

from agent.config import OUTBOX_BYTES, OUTBOX_DELTAS, OUTBOX_FRAMES
from agent.wire.outbox import Outbox


def fail(over: str, waited: int) -> None:
    raise AssertionError("overflowed")


async def everything(outbox: Outbox) -> list[bytes]:
    outbox.close()
    taken = []
    while (chunk := await outbox.take()) is not None:
        taken.append(chunk.data)
    return taken


async def test_frames_leave_in_the_order_they_came() -> None:
    """Deltas and control frames share one queue."""
    outbox = Outbox(fail)
    outbox.open_turn(1)
    outbox.put(b"a")
    assert outbox.put_delta(1, b"b")
    outbox.put(b"c")
    assert await everything(outbox) == [b"a", b"b", b"c"]


async def test_a_purge_takes_deltas_and_nothing_else() -> None:
    """Control frames around them keep their place, and the bytes are counted down."""
    outbox = Outbox(fail)
    outbox.open_turn(1)
    outbox.put(b"a")
    outbox.put_delta(1, b"bb")
    outbox.put(b"ccc")
    outbox.purge()
    assert outbox.waiting_bytes == 4
    assert await everything(outbox) == [b"a", b"ccc"]


async def test_only_the_open_turn_may_put_deltas() -> None:
    """A dead turn's delta is refused: before its turn, after a purge, and after the next turn has begun."""
    outbox = Outbox(fail)
    assert not outbox.put_delta(1, b"x")
    outbox.open_turn(1)
    outbox.purge()
    assert not outbox.put_delta(1, b"x")
    outbox.open_turn(2)
    assert not outbox.put_delta(1, b"x")
    assert outbox.put_delta(2, b"y")
    assert await everything(outbox) == [b"y"]


async def test_room_is_for_eight_deltas(autojump_clock: trio.testing.MockClock) -> None:
    """Who has more to say waits until the writer has taken one, or until a purge."""
    outbox = Outbox(fail)
    outbox.open_turn(1)
    for number in range(OUTBOX_DELTAS):
        await outbox.room()
        outbox.put_delta(1, b"%d" % number)
    for free in (outbox.take, _purge(outbox)):
        with trio.move_on_after(1) as full:
            await outbox.room()
        assert full.cancelled_caught
        async with trio.open_nursery() as nursery:
            nursery.start_soon(outbox.room)
            await trio.testing.wait_all_tasks_blocked()
            await free()
        outbox.put_delta(1, b"again")


def _purge(outbox: Outbox):  # type: ignore[no-untyped-def]
    async def purge() -> None:
        outbox.purge()
        await trio.lowlevel.checkpoint()

    return purge


@pytest.mark.parametrize(
    ("size", "count", "over"), [(1, OUTBOX_FRAMES, "frames"), (OUTBOX_BYTES // 4, 4, "bytes")]
)
async def test_more_than_is_allowed_overflows_once(size: int, count: int, over: str) -> None:
    """Too many frames or bytes tell the owner what and how much, once; the owner's last word is all that is left."""
    told: list[tuple[str, int]] = []

    def last_word(over: str, waited: int) -> None:
        told.append((over, waited))
        outbox.put(b"goodbye")

    outbox = Outbox(last_word)
    outbox.open_turn(1)
    assert outbox.put_delta(1, b"")
    for _ in range(count):
        outbox.put(b"x" * size)
    assert told == []
    for _ in range(3):
        outbox.put(b"x" * size)
    assert told == [(over, size * (count + 1))]
    assert not outbox.put_delta(1, b"x")
    assert await everything(outbox) == [b"goodbye"]


async def test_deltas_do_not_count_as_control_frames() -> None:
    """A long answer cannot overflow a client that reads slowly."""
    outbox = Outbox(fail)
    outbox.open_turn(1)
    for _ in range(OUTBOX_FRAMES + 10):
        outbox.put_delta(1, b"x")
    assert len(outbox) == OUTBOX_FRAMES + 10


async def test_a_closed_outbox_takes_nothing_and_gives_what_it_has() -> None:
    """After a close frame nothing follows; what came before it is still written."""
    outbox = Outbox(fail)
    outbox.open_turn(1)
    outbox.put(b"a")
    outbox.close()
    outbox.put(b"b")
    assert not outbox.put_delta(1, b"c")
    assert await everything(outbox) == [b"a"]
    assert await outbox.take() is None


async def test_a_cancelled_take_takes_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """What comes after a writer's deadline is still there for the next."""
    outbox = Outbox(fail)
    with trio.move_on_after(1):
        await outbox.take()
    outbox.put(b"a")
    assert await everything(outbox) == [b"a"]
