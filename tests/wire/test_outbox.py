"""The outbox: order, purge, room and overflow, and what is written when."""

from collections.abc import Callable

import pytest
import trio
import trio.testing

from agent.config import OUTBOX_DELTAS, WRITE_TIMEOUT
from agent.wire.outbox import JOINED_BYTES, OUTBOX_AUDIO, OUTBOX_BYTES, OUTBOX_FRAMES, Outbox


def fail(over: str, waited: int) -> None:
    raise AssertionError("overflowed")


class Socket(trio.abc.SendStream):
    """Takes so many bytes at once as it has room for."""

    def __init__(self, room: int = 1 << 30) -> None:
        self.writes: list[bytes] = []  # one entry a call that took something
        self.room = room
        self.gone = False
        self._changed = trio.Event()

    @property
    def taken(self) -> bytes:
        return b"".join(self.writes)

    def make_room(self, room: int = 1 << 30) -> None:
        self.room += room
        self._changed.set()
        self._changed = trio.Event()

    def send_now(self, data: bytes) -> int:
        if self.gone:
            raise trio.BrokenResourceError
        taken = min(self.room, len(data))
        self.room -= taken
        if taken:
            self.writes.append(data[:taken])
        return taken

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()
        while not self.room:
            await self._changed.wait()

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        raise AssertionError("it takes what it can at once")

    async def aclose(self) -> None:
        self.gone = True


class Patient(trio.abc.SendStream):
    """A stream that only takes what it is waited for: each call once it was let."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self.taken: list[bytes] = []
        self.let, self._allowed = trio.open_memory_channel[None](100)

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        self.begun.append(bytes(data))
        await self._allowed.receive()
        self.taken.append(bytes(data))

    async def wait_send_all_might_not_block(self) -> None:
        await trio.lowlevel.checkpoint()

    async def aclose(self) -> None:
        await trio.lowlevel.checkpoint()


def outbox_to(
    stream: trio.abc.SendStream,
    nursery: trio.Nursery | None = None,
    overflow: Callable[[str, int], None] = fail,
    lost: list[bool] | None = None,
) -> Outbox:
    """An outbox that writes to a stream; without a nursery it must never need to wait."""
    outbox = Outbox(stream, overflow, (lost if lost is not None else []).append)

    def never(*_: object) -> None:
        raise AssertionError("a task was needed")

    outbox.open(never if nursery is None else nursery.start_soon)
    return outbox


def test_frames_leave_in_the_order_they_came_in_one_write() -> None:
    """Deltas and control frames share one queue, and nothing is written before it is flushed."""
    socket = Socket()
    outbox = outbox_to(socket)
    outbox.open_turn(1)
    outbox.put(b"a")
    assert outbox.put_delta(1, b"b")
    outbox.put(b"c")
    assert (len(outbox), socket.writes) == (3, [])
    outbox.flush()
    assert (len(outbox), outbox._bytes, socket.writes) == (0, 0, [b"abc"])


def test_one_write_is_offered_no_more_than_a_bound() -> None:
    """A large frame goes as it is, many small ones in as few writes as that."""
    socket = Socket()
    outbox = outbox_to(socket)
    frames = [bytes([number]) * (JOINED_BYTES // 3) for number in range(9)]
    for frame in frames:
        outbox.put(frame)
    outbox.flush()
    assert socket.taken == b"".join(frames)
    assert [len(write) for write in socket.writes] == [4 * (JOINED_BYTES // 3)] * 2 + [JOINED_BYTES // 3]


def test_a_purge_takes_deltas_and_nothing_else() -> None:
    """Control frames around them keep their place, and the bytes are counted down."""
    socket = Socket()
    outbox = outbox_to(socket)
    outbox.open_turn(1)
    outbox.put(b"a")
    outbox.put_delta(1, b"bb")
    outbox.put(b"ccc")
    outbox.purge()
    assert (outbox._bytes, outbox.room) == (4, OUTBOX_DELTAS)
    outbox.flush()
    assert socket.taken == b"accc"


def test_only_the_open_turn_may_put_deltas() -> None:
    """A dead turn's delta is refused: before its turn, after a purge, and after the next turn has begun."""
    socket = Socket()
    outbox = outbox_to(socket)
    assert not outbox.put_delta(1, b"x")
    outbox.open_turn(1)
    outbox.purge()
    assert not outbox.put_delta(1, b"x")
    outbox.open_turn(2)
    assert not outbox.put_delta(1, b"x")
    assert outbox.put_delta(2, b"y")
    outbox.flush()
    assert socket.taken == b"y"


async def test_room_is_for_eight_deltas() -> None:
    """Who has more to say is told once when one has left, and not after a purge."""
    async with trio.open_nursery() as nursery:
        socket = Socket(room=0)
        outbox = outbox_to(socket, nursery)
        outbox.open_turn(1)
        for number in range(OUTBOX_DELTAS):
            assert outbox.room == OUTBOX_DELTAS - number
            outbox.put_delta(1, b"%d" % number)
        told: list[int] = []
        outbox.flush()
        outbox.call_when_room(lambda: told.append(outbox.room))
        await trio.testing.wait_all_tasks_blocked()
        assert (outbox.room, told) == (0, [])
        socket.make_room(1)
        await trio.testing.wait_all_tasks_blocked()
        assert (outbox.room, told) == (1, [1])
        socket.make_room(1)
        await trio.testing.wait_all_tasks_blocked()
        assert (outbox.room, told) == (2, [1])
        outbox.call_when_room(lambda: told.append(0))
        outbox.purge()
        outbox.put(b"end")
        socket.make_room()
        await trio.testing.wait_all_tasks_blocked()
        assert (outbox.room, told) == (OUTBOX_DELTAS, [1])


async def test_what_was_begun_is_neither_taken_back_nor_overtaken() -> None:
    """A short write leaves the rest of a delta first in the queue, as something that nothing removes."""
    async with trio.open_nursery() as nursery:
        socket = Socket(room=4)
        outbox = outbox_to(socket, nursery)
        outbox.open_turn(1)
        for frame in (b"one", b"two", b"six"):
            outbox.put_delta(1, frame)
        outbox.flush()
        assert (socket.taken, outbox.torn, outbox.room) == (b"onet", True, OUTBOX_DELTAS - 1)
        outbox.purge()
        outbox.put(b"end")
        outbox.flush()
        assert socket.taken == b"onet"
        socket.make_room()
        await trio.testing.wait_all_tasks_blocked()
        assert (socket.taken, outbox.torn, len(outbox)) == (b"onetwoend", False, 0)


async def test_a_delta_that_the_full_socket_has_not_begun_is_taken_back() -> None:
    """The socket was full between two frames: nothing of the next one is owed."""
    async with trio.open_nursery() as nursery:
        socket = Socket(room=3)
        outbox = outbox_to(socket, nursery)
        outbox.open_turn(1)
        outbox.put_delta(1, b"one")
        outbox.put_delta(1, b"two")
        outbox.flush()
        await trio.testing.wait_all_tasks_blocked()
        outbox.purge()
        outbox.put(b"end")
        socket.make_room()
        await trio.testing.wait_all_tasks_blocked()
        assert (socket.taken, len(outbox)) == (b"oneend", 0)


async def test_after_a_full_socket_no_task_is_left() -> None:
    """It lives as long as something waits."""
    async with trio.open_nursery() as nursery:
        socket = Socket(room=1)
        outbox = outbox_to(socket, nursery)
        outbox.put(b"two")
        outbox.flush()
        outbox.flush()
        assert len(nursery.child_tasks) == 1
        socket.make_room()
        await trio.testing.wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 0
        outbox.put(b"more")
        outbox.flush()
        assert (socket.taken, len(nursery.child_tasks)) == (b"twomore", 0)


async def test_written_is_told_after_the_stream_has_taken_the_last_byte() -> None:
    """Handing over is what counts, not queueing."""
    async with trio.open_nursery() as nursery:
        socket = Socket(room=2)
        outbox = outbox_to(socket, nursery)
        told: list[bytes] = []
        outbox.put(b"a", lambda: told.append(socket.taken))
        outbox.put(b"bc", lambda: told.append(socket.taken))
        outbox.flush()
        assert told == [b"ab"]
        socket.make_room(1)
        await trio.testing.wait_all_tasks_blocked()
        assert told == [b"ab", b"abc"]


def test_what_written_puts_is_written_too() -> None:
    """Also when it flushes: the outer flush goes on."""
    socket = Socket()
    outbox = outbox_to(socket)

    def more() -> None:
        outbox.put(b"b")
        outbox.flush()
        assert socket.taken == b"a"

    outbox.put(b"a", more)
    outbox.flush()
    assert (socket.taken, len(outbox)) == (b"ab", 0)


async def test_a_frame_that_is_begun_has_ten_seconds(autojump_clock: trio.testing.MockClock) -> None:
    """Whatever its progress; a frame that ends gives the next one as long."""
    lost: list[bool] = []
    async with trio.open_nursery() as nursery:
        socket = Socket(room=1)
        outbox = outbox_to(socket, nursery, lost=lost)
        outbox.put(b"x" * 6)
        outbox.put(b"y" * 100)
        outbox.flush()
        for _ in range(int(5 + WRITE_TIMEOUT) - 1):  # the first frame ends in the fifth second
            await trio.sleep(1)
            socket.make_room(1)
        await trio.sleep(0.9)
        assert lost == []
        await trio.sleep(0.2)
        assert lost == [True]
    assert socket.taken.startswith(b"x" * 6 + b"y")
    assert (len(outbox), outbox.torn) == (0, True)


async def test_frames_that_end_in_a_full_write_give_the_next_one_as_long(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """More waits than one write offers; all that was offered goes just before the deadline, and then nothing again."""
    lost: list[bool] = []
    async with trio.open_nursery() as nursery:
        socket = Socket(room=0)
        outbox = outbox_to(socket, nursery, lost=lost)
        for _ in range(2):
            outbox.put(b"x" * (JOINED_BYTES + 1))
        outbox.flush()
        await trio.sleep(WRITE_TIMEOUT - 1)
        socket.make_room(JOINED_BYTES + 1)
        await trio.sleep(WRITE_TIMEOUT - 1)
        assert (len(outbox), lost) == (1, [])
        await trio.sleep(2)
        assert (len(outbox), lost) == (0, [True])


@pytest.mark.parametrize("blocked", [False, True])
async def test_a_client_that_is_gone_is_told_once(blocked: bool) -> None:
    """Nothing waits any more, nothing is taken any more."""
    lost: list[bool] = []
    async with trio.open_nursery() as nursery:
        socket = Socket(room=0 if blocked else 100)
        outbox = outbox_to(socket, nursery, lost=lost)
        if not blocked:
            socket.gone = True
        outbox.put(b"a")
        outbox.flush()
        if blocked:
            socket.gone = True
            socket.make_room()
        await trio.testing.wait_all_tasks_blocked()
        assert lost == [False]
        outbox.put(b"b")
        outbox.flush()
    assert (len(outbox), lost, socket.taken) == (0, [False], b"")


async def test_a_stream_that_only_waits_is_written_to_frame_by_frame(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """In order, what was handed over cannot be taken back, and each frame has its deadline."""
    lost: list[bool] = []
    async with trio.open_nursery() as nursery:
        stream = Patient()
        outbox = outbox_to(stream, nursery, lost=lost)
        outbox.open_turn(1)
        for frame in (b"one", b"two"):
            outbox.put_delta(1, frame)
        outbox.flush()
        await trio.testing.wait_all_tasks_blocked()
        assert (stream.begun, outbox.room) == ([b"one"], OUTBOX_DELTAS - 1)
        outbox.purge()
        outbox.put(b"end")
        await trio.sleep(WRITE_TIMEOUT - 1)
        stream.let.send_nowait(None)
        await trio.testing.wait_all_tasks_blocked()
        assert (stream.taken, stream.begun[1:]) == ([b"one"], [b"end"])
    assert (lost, trio.current_time()) == ([True], 2 * WRITE_TIMEOUT - 1)


@pytest.mark.parametrize(
    ("size", "count", "over"), [(1, OUTBOX_FRAMES, "frames"), (OUTBOX_BYTES // 4, 4, "bytes")]
)
@pytest.mark.parametrize("begun", [False, True])
async def test_more_than_is_allowed_overflows_once(size: int, count: int, over: str, begun: bool) -> None:
    """Too many frames or bytes tell the owner what and how much, once; the owner's last word is all that is left.

    Behind what was begun, which counts no more than before.
    """
    told: list[tuple[str, int]] = []

    def last_word(over: str, waited: int) -> None:
        told.append((over, waited))
        outbox.put(b"goodbye")

    async with trio.open_nursery() as nursery:
        socket = Socket(room=1)
        outbox = outbox_to(socket, nursery, last_word)
        if begun:
            outbox.put(b"begun")
            outbox.flush()
        outbox.open_turn(1)
        assert outbox.put_delta(1, b"")
        for _ in range(count):
            outbox.put(b"x" * size)
        assert told == []
        for _ in range(3):
            outbox.put(b"x" * size)
        assert told == [(over, size * (count + 1))]
        assert not outbox.put_delta(1, b"x")
        outbox.flush()
        socket.make_room()
        await trio.testing.wait_all_tasks_blocked()
        assert socket.taken == b"begun" * begun + b"goodbye"


def test_deltas_do_not_count_as_control_frames() -> None:
    """A long answer cannot overflow a client that reads slowly."""
    outbox = outbox_to(Socket())
    outbox.open_turn(1)
    for _ in range(OUTBOX_FRAMES + 10):
        outbox.put_delta(1, b"x")
    assert len(outbox) == OUTBOX_FRAMES + 10


async def test_a_closed_outbox_takes_nothing_and_writes_what_it_has() -> None:
    """After a close frame nothing follows; what came before it is still written, and that can be waited for."""
    async with trio.open_nursery() as nursery:
        socket = Socket(room=0)
        outbox = outbox_to(socket, nursery)
        outbox.open_turn(1)
        outbox.put(b"a")
        outbox.close()
        outbox.put(b"b")
        assert not outbox.put_delta(1, b"c")
        outbox.flush()
        nursery.start_soon(outbox.wait_empty)
        await trio.testing.wait_all_tasks_blocked()
        assert len(nursery.child_tasks) == 2
        socket.make_room()
    assert socket.taken == b"a"


async def test_the_last_word_has_room_behind_all_that_may_wait() -> None:
    """A close frame does not overflow an outbox that is full to its bound, and a second one is none."""
    async with trio.open_nursery() as nursery:
        socket = Socket(room=0)
        outbox = outbox_to(socket, nursery)
        for _ in range(OUTBOX_FRAMES):
            outbox.put(b"x")
        outbox.close(b"goodbye")
        outbox.close(b"never")
        outbox.flush()
        assert outbox._bytes == OUTBOX_FRAMES + len(b"goodbye")
        socket.make_room()
    assert socket.taken == b"x" * OUTBOX_FRAMES + b"goodbye"


async def test_who_waits_for_an_outbox_that_is_dropped_goes_on() -> None:
    """Nothing will be written any more."""
    async with trio.open_nursery() as nursery:
        outbox = outbox_to(Patient(), nursery)
        outbox.put(b"a")
        outbox.flush()
        nursery.start_soon(outbox.wait_empty)
        await trio.testing.wait_all_tasks_blocked()
        outbox.drop()
        await trio.testing.wait_all_tasks_blocked()
        assert [task.name for task in nursery.child_tasks if "emptied" in task.name] == []
        assert (len(outbox), outbox._bytes, outbox.room) == (0, 0, OUTBOX_DELTAS)
        nursery.cancel_scope.cancel()


async def test_an_outbox_that_was_dropped_loses_nobody() -> None:
    """Who dropped it knows; that its stream breaks then is no news."""
    lost: list[bool] = []
    async with trio.open_nursery() as nursery:
        socket = Socket(room=0)
        outbox = outbox_to(socket, nursery, lost=lost)
        outbox.put(b"a")
        outbox.flush()
        await trio.testing.wait_all_tasks_blocked()
        outbox.drop()
        socket.gone = True
        socket.make_room()
    assert lost == []


async def test_a_write_that_ends_after_the_outbox_was_dropped_is_no_news() -> None:
    """A stream that only takes what it is waited for may take the frame all the same."""
    async with trio.open_nursery() as nursery:
        stream = Patient()
        outbox = outbox_to(stream, nursery)
        told: list[str] = []
        outbox.put(b"a", lambda: told.append("written"))
        outbox.flush()
        await trio.testing.wait_all_tasks_blocked()
        outbox.drop()
        stream.let.send_nowait(None)
    assert (stream.taken, told, outbox._bytes) == ([b"a"], [], 0)


@pytest.mark.parametrize("room", [0, 1, 2, 3, 99])
@pytest.mark.parametrize("waiting", [b"", b"ab"])
async def test_a_delta_that_is_sent_leaves_as_one_that_is_put_and_flushed(room: int, waiting: bytes) -> None:
    """Where nothing waits, behind what waits, in part and not at all; what is begun is finished after a purge."""
    seen = []
    for sends in (True, False):
        socket = Socket(room=room)
        async with trio.open_nursery() as nursery:
            outbox = outbox_to(socket, nursery)
            outbox.open_turn(1)
            if waiting:
                outbox.put(waiting)
            if sends:
                assert outbox.send_delta(1, b"one")
            else:
                assert outbox.put_delta(1, b"one")
                outbox.flush()
            state = (list(socket.writes), outbox.room, len(outbox), outbox._bytes, outbox.torn)
            outbox.purge()
            assert not outbox.send_delta(1, b"two")
            outbox.put(b"end")
            outbox.flush()
            socket.make_room()
            await outbox.wait_empty()
            seen.append((*state, socket.taken))
    assert seen[0] == seen[1]


async def test_a_delta_that_is_sent_is_refused_and_lost_as_one_that_is_put() -> None:
    """Before it is open and once it is closed nothing is written; a client that is gone is told of once."""
    socket, lost = Socket(), list[bool]()
    shut = Outbox(socket, fail, lost.append)
    shut.open_turn(1)
    assert shut.send_delta(1, b"x")
    assert (socket.taken, len(shut)) == (b"", 1)
    shut.close()
    assert not shut.send_delta(1, b"y")
    outbox = outbox_to(socket, lost=lost)
    outbox.open_turn(1)
    socket.gone = True
    assert outbox.send_delta(1, b"x")
    assert not outbox.send_delta(1, b"x")
    assert (lost, socket.taken, len(outbox)) == ([False], b"", 0)


async def test_an_empty_outbox_need_not_be_waited_for() -> None:
    """That is a checkpoint all the same."""
    with trio.testing.assert_checkpoints():
        await outbox_to(Socket()).wait_empty()


async def test_audio_has_a_bound_and_takes_no_room_of_others() -> None:
    """Deltas and control frames find as much room beside it as without it."""
    socket = Socket(room=0)
    async with trio.open_nursery() as nursery:
        outbox = outbox_to(socket, nursery)
        outbox.open_turn(1)
        outbox.open_speech(7)
        assert [outbox.put_audio(7, b"a") for _ in range(OUTBOX_AUDIO + 2)] == [True] * OUTBOX_AUDIO + [
            False
        ] * 2
        assert (outbox.audio, outbox.room) == (OUTBOX_AUDIO, OUTBOX_DELTAS)
        for _ in range(OUTBOX_DELTAS):
            assert outbox.put_delta(1, b"d")
        for _ in range(OUTBOX_FRAMES):
            outbox.put(b"c")  # `fail` raises when that is too many
        assert (outbox.room, outbox.audio) == (0, OUTBOX_AUDIO)
        outbox.purge_audio()
        outbox.purge()
        assert (outbox._bytes, len(outbox), outbox.room) == (OUTBOX_FRAMES, OUTBOX_FRAMES, OUTBOX_DELTAS)
        nursery.cancel_scope.cancel()


async def test_bytes_of_audio_are_not_those_of_others() -> None:
    """As many bytes of control frames may wait as without audio."""
    socket = Socket(room=0)
    async with trio.open_nursery() as nursery:
        outbox = outbox_to(socket, nursery)
        outbox.open_speech(1)
        while outbox.put_audio(1, bytes(1000)):
            pass
        outbox.put(bytes(OUTBOX_BYTES))
        assert outbox.audio == OUTBOX_AUDIO
        nursery.cancel_scope.cancel()


async def test_audio_is_taken_back_alone_but_for_a_frame_that_is_begun() -> None:
    """Deltas and control frames keep their place; the begun frame is finished."""
    socket = Socket(room=1)
    async with trio.open_nursery() as nursery:
        outbox = outbox_to(socket, nursery)
        outbox.open_turn(1)
        outbox.open_speech(1)
        for frame in (b"AA", b"BB"):
            assert outbox.put_audio(1, frame)
        outbox.put(b"c")
        assert outbox.put_delta(1, b"d")
        assert outbox.put_audio(1, b"CC")
        outbox.flush()
        assert outbox.audio == 2
        assert outbox.purge_audio() == 2
        assert outbox.purge_audio() == 0
        assert outbox.put_audio(1, b"DD")  # after a pause it goes on
        socket.make_room()
        await outbox.wait_empty()
        assert socket.taken == b"AAcdDD"
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("with_delta", [False, True])
async def test_a_purge_takes_audio_too_and_ends_its_speech(with_delta: bool) -> None:
    """No audio of it enters any more; a later speech finds an empty place."""
    socket = Socket(room=0)
    async with trio.open_nursery() as nursery:
        outbox = outbox_to(socket, nursery)
        outbox.open_turn(1)
        outbox.open_speech(1)
        assert outbox.put_audio(1, b"a")
        if with_delta:
            assert outbox.put_delta(1, b"d")
        outbox.put(b"c")
        outbox.purge()
        assert not outbox.put_audio(1, b"b")
        assert (outbox.audio, outbox._bytes) == (0, 1)
        outbox.open_speech(2)
        assert [outbox.put_audio(speech, b"e") for speech in (1, 0, -2, 2)] == [False, False, False, True]
        outbox.close()
        assert not outbox.put_audio(2, b"f")
        socket.make_room()
        outbox.flush()
        await outbox.wait_empty()
        assert socket.taken == b"ce"
        nursery.cancel_scope.cancel()


async def test_a_client_that_overflows_gets_no_audio() -> None:
    """What waits is dropped with the rest, and no more is taken."""
    over: list[str] = []
    async with trio.open_nursery() as nursery:
        outbox = outbox_to(Socket(room=0), nursery, lambda bound, _: over.append(bound))
        outbox.open_speech(1)
        assert outbox.put_audio(1, b"a")
        outbox.put(bytes(OUTBOX_BYTES + 1))
        assert (over, outbox.audio, outbox.put_audio(1, b"b")) == (["bytes"], 0, False)
        nursery.cancel_scope.cancel()
