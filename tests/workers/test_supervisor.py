"""A supervisor over workers of paper, on virtual time: who is started, when, and how all of it ends."""

from typing import Any, cast

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.errors import UsageError
from agent.workers.messages import (
    BeginWork,
    ConnectionsEnded,
    DrainRequest,
    StopRequest,
    WorkerLeaving,
    WorkerReady,
    WorkerUp,
)
from agent.workers.revival import (
    WORKER_DEATHS,
    WORKER_LOST,
    WORKER_PAUSE_FIRST,
    WORKER_PAUSE_MOST,
    WORKER_SETTLED,
    WORKER_SILENT,
)
from agent.workers.settings import unpack_settings
from agent.workers.supervisor import (
    _DRAIN_SECONDS,
    WORKER_END,
    WORKER_FULL,
    WORKER_PROBE,
    WORKER_START,
    WorkerDied,
)

from .fakes import SIGKILL, FakeChild, FakeConnection, Stage, comes_up, stage


async def hand_on(scene: Stage, count: int = 1) -> None:
    """Let connections come."""
    for _ in range(count):
        await scene.supervisor.give_connection(cast(Any, FakeConnection()))


async def test_each_worker_is_told_who_it_is_and_gets_its_part(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The settings among it; connections go where the fewest are."""
    async with stage(3) as (scene, _):
        assert [each.number for each in scene.children] == [1, 2, 3]
        await trio.testing.wait_all_tasks_blocked()
        for number, child in enumerate(scene.children, 1):
            (begin,) = child.heard
            assert isinstance(begin, BeginWork)
            assert (begin.number, begin.workers, begin.port) == (number, 3, scene.supervisor.port)
            assert unpack_settings(begin.settings) == scene.supervisor.settings
        await hand_on(scene, 7)
        assert [len(each.given) for each in scene.children] == [3, 2, 2]
        scene.children[1].channel.send(ConnectionsEnded(2))
        await trio.testing.wait_all_tasks_blocked()
        await hand_on(scene, 2)
        assert [len(each.given) for each in scene.children] == [3, 4, 2]


async def test_it_is_started_when_every_worker_is_up(autojump_clock: trio.testing.MockClock) -> None:
    """And ready when every one is."""
    async with trio.open_nursery() as nursery:
        scene = Stage(nursery, 2, lambda _: None)
        started = trio.Event()

        async def start() -> None:
            await nursery.start(scene.supervisor.run)
            started.set()

        nursery.start_soon(start)
        await scene.begun.wait()
        await trio.testing.wait_all_tasks_blocked()
        scene.children[0].channel.send(WorkerUp())
        scene.children[0].channel.send(WorkerReady())
        await trio.sleep(1)
        assert not started.is_set()
        scene.children[1].channel.send(WorkerUp())
        await trio.testing.wait_all_tasks_blocked()
        assert started.is_set()
        with trio.move_on_after(1) as waited:
            await scene.supervisor.ready()
        assert waited.cancelled_caught
        scene.children[1].channel.send(WorkerReady())
        await scene.supervisor.ready()
        nursery.cancel_scope.cancel()


async def test_a_connection_waits_while_no_worker_takes_it(autojump_clock: trio.testing.MockClock) -> None:
    """One that is full is passed over; when all are, it waits, and no other is accepted meanwhile."""
    async with stage() as (scene, nursery):
        one, two = scene.children
        one.takes = False
        await hand_on(scene, 2)
        assert (len(one.given), len(two.given)) == (0, 2)
        two.takes = False
        nursery.start_soon(hand_on, scene)
        await trio.sleep(5)
        assert (len(one.given), len(two.given)) == (0, 2)
        one.takes = True
        await trio.sleep(0.1)
        assert (len(one.given), len(two.given)) == (1, 2)


async def test_a_dead_worker_comes_back_and_the_other_goes_on(autojump_clock: trio.testing.MockClock) -> None:
    """After a pause, in which the other gets what comes; its figures say so, and its places are free."""
    async with stage() as (scene, _):
        await hand_on(scene, 4)
        await trio.sleep(WORKER_SETTLED)
        with capture_logs() as logs:
            scene.children[0].end(SIGKILL)
            await trio.testing.wait_all_tasks_blocked()
            await hand_on(scene, 3)
            assert [len(each.given) for each in scene.children] == [2, 5]
            await trio.sleep(WORKER_PAUSE_FIRST + 0.01)
        assert [each.number for each in scene.children] == [1, 2, 1]
        (line,) = [each for each in logs if each["event"] == "worker died"]
        assert (line["worker"], line["how"], line["again_in"]) == (1, "signal 9", WORKER_PAUSE_FIRST)
        assert b"agent_worker_deaths_total 1.0" in scene.supervisor.metrics.text()
        await hand_on(scene, 2)
        assert [len(each.given) for each in scene.children] == [2, 5, 2]
        assert not scene.children[1].killed


async def test_one_that_dies_at_once_over_and_over_ends_the_server(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """After growing pauses, with an error that says so; the other worker drains, and does not outlive its time."""

    ended: list[BaseException] = []
    async with trio.open_nursery() as nursery:
        scene = Stage(nursery, 2, comes_up)

        async def run(task_status: trio.TaskStatus[object]) -> None:
            with pytest.raises(BaseExceptionGroup) as caught:
                await scene.supervisor.run(task_status)
            ended.extend(caught.value.exceptions)

        with capture_logs():
            await nursery.start(run)
            scene._first = lambda child: child.end(1)
            began = trio.current_time()
            scene.children[0].end(1)
            await scene.children[1]._ended.wait()
    (died,) = ended
    assert isinstance(died, WorkerDied)
    assert "worker 1 ended at once, over and over (exit status 1)" in str(died)
    pauses = [min(WORKER_PAUSE_MOST, WORKER_PAUSE_FIRST * 2**times) for times in range(WORKER_DEATHS - 1)]
    assert trio.current_time() - began == pytest.approx(sum(pauses) + _DRAIN_SECONDS, abs=0.1)
    assert sum(each.number == 1 for each in scene.children) == WORKER_DEATHS
    assert scene.newest(2).heard[1:] == [DrainRequest()]
    assert scene.newest(2).killed


async def test_a_worker_that_cannot_start_says_why(autojump_clock: trio.testing.MockClock) -> None:
    """At the first start that ends the server as its own mistake would; later it is a death like others."""

    async def start() -> None:
        async with trio.open_nursery() as nursery:

            def fails(child: FakeChild) -> None:
                nursery.start_soon(child.fail, "there is no such folder")

            scene = Stage(nursery, 2, fails)
            with pytest.raises(BaseExceptionGroup) as caught:
                await scene.supervisor.run()
            assert [str(each) for each in caught.value.exceptions] == ["there is no such folder"]
            assert isinstance(caught.value.exceptions[0], UsageError)

    await start()
    async with stage() as (scene, _):
        with capture_logs() as logs:
            await scene.children[0].fail("there is no such folder")
            await trio.sleep(WORKER_PAUSE_MOST)
        assert [each["how"] for each in logs if each["event"] == "worker died"] == ["there is no such folder"]
        assert scene.newest(1) is not scene.children[0]


async def test_one_that_cannot_be_started_or_does_not_come_up_is_dead(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The system refuses a process; or nothing is heard of it for a minute."""
    async with stage() as (scene, _):
        scene.refuses = True
        with capture_logs() as logs:
            scene.children[0].end(SIGKILL)
            await trio.sleep(0.5)
            scene.refuses = False
            scene._first = lambda _: None
            await trio.sleep(5)
            silent = scene.newest(1)
            assert not silent.killed
            scene._first = comes_up
            await trio.sleep(WORKER_START)
        assert silent.killed
        assert scene.newest(1).heard
        why = {each["how"] for each in logs if each["event"] == "worker died"}
        assert "it could not be started: Resource temporarily unavailable" in why


async def test_a_drain_is_everybody_s_and_ends_with_the_last(autojump_clock: trio.testing.MockClock) -> None:
    """No connection is given any more, and nobody is started again, not even after a death."""
    async with trio.open_nursery() as nursery:
        scene = Stage(nursery, 2, comes_up)
        over = trio.Event()

        async def run(task_status: trio.TaskStatus[object]) -> None:
            await scene.supervisor.run(task_status)
            over.set()

        await nursery.start(run)
        scene.supervisor.drain()
        scene.supervisor.drain()
        await trio.testing.wait_all_tasks_blocked()
        assert [each.heard[1:] for each in scene.children] == [[DrainRequest()], [DrainRequest()]]
        scene.children[0].end(SIGKILL)
        await trio.sleep(20)
        assert not over.is_set()
        scene.children[1].end()
        await over.wait()
        assert len(scene.children) == 2
        assert not scene.children[1].killed or scene.children[1].status == 0


@pytest.mark.parametrize("stopped", [False, True])
async def test_a_worker_that_does_not_end_is_killed(
    stopped: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """After a drain once its own deadlines have passed; when all is to end now, soon."""
    async with trio.open_nursery() as nursery:
        scene = Stage(nursery, 2, comes_up)
        await nursery.start(scene.supervisor.run)
        began = trio.current_time()
        scene.supervisor.drain()
        if stopped:
            scene.supervisor.stop()
        await trio.testing.wait_all_tasks_blocked()
        scene.children[0].end()
        with capture_logs() as logs:
            await scene.children[1]._ended.wait()
        took = trio.current_time() - began
        assert scene.children[1].status == SIGKILL
        assert [each["event"] for each in logs] in (["workers killed"], [])
        if stopped:
            assert took == WORKER_END
            assert scene.children[1].heard[1:] == [DrainRequest(), StopRequest()]
        else:
            assert 50 < took < 75


async def test_a_worker_that_was_told_to_end_by_another_gets_nothing_more(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It ends in its own time, and the next takes its place."""
    async with stage() as (scene, _):
        scene.children[0].channel.send(WorkerLeaving())
        await trio.testing.wait_all_tasks_blocked()
        await hand_on(scene, 3)
        assert [len(each.given) for each in scene.children] == [0, 3]
        with capture_logs():
            await trio.sleep(15)
            assert not scene.children[0].killed
            scene.children[0].end()
            await trio.sleep(1)
        assert scene.newest(1) is not scene.children[0]


async def test_a_worker_that_stands_still_is_replaced(autojump_clock: trio.testing.MockClock) -> None:
    """First it gets no more connections, and those that it has not taken go to the other; then it is killed."""
    async with stage() as (scene, _):
        still, other = scene.children
        await trio.sleep(WORKER_SETTLED)
        still.stop()
        await hand_on(scene, 4)
        assert [len(each.given) for each in scene.children] == [2, 2]
        with capture_logs() as logs:
            await trio.sleep(WORKER_SILENT + WORKER_PROBE)
            assert (still.untaken, len(other.given)) == ([], 4)
            assert all(connection.closed for connection in still.given), "the supervisor holds none of them"
            await hand_on(scene, 3)
            assert (len(still.given), len(other.given)) == (2, 7)
            assert not still.killed
            await trio.sleep(WORKER_LOST - WORKER_SILENT - 2)
            assert not still.killed
            await trio.sleep(3)
        assert still.killed
        assert not other.killed
        assert [each["event"] for each in logs] == ["worker silent", "worker lost", "worker died"]
        assert scene.newest(1) is not still
        await hand_on(scene)
        assert len(scene.newest(1).given) == 1


async def test_a_worker_that_is_only_busy_goes_on(autojump_clock: trio.testing.MockClock) -> None:
    """For a few seconds nothing is noticed; after more it gets connections again as soon as it answers."""
    async with stage() as (scene, _):
        busy, other = scene.children
        with capture_logs() as logs:
            for pause in (1, 2, WORKER_SILENT - 1):
                busy.stop()
                await trio.sleep(pause)
                busy.going.set()
                await trio.sleep(WORKER_PROBE)
        assert not logs
        for pause in (WORKER_SILENT + 2, WORKER_LOST - 1):
            busy.stop()
            with capture_logs():
                await trio.sleep(pause)
            before = len(busy.given)
            await hand_on(scene, 2)
            assert len(busy.given) == before
            busy.going.set()
            await trio.testing.wait_all_tasks_blocked()
            await hand_on(scene, 2)
            assert len(busy.given) == before + 2
        assert not busy.killed
        assert not other.killed


async def test_what_nobody_takes_waits_for_the_first_that_answers(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Both stand still; the connections that were taken back are given to the one that goes on."""
    async with stage() as (scene, nursery):
        for each in scene.children:
            each.stop()
        await hand_on(scene, 4)
        with capture_logs():
            await trio.sleep(WORKER_SILENT + 2)
        assert [each.untaken for each in scene.children] == [[], []]
        nursery.start_soon(hand_on, scene)
        await trio.sleep(1)
        two = scene.children[1]
        two.going.set()
        await trio.sleep(1)
        assert len(two.given) == 2 + 4 + 1
        assert not two.untaken


async def test_what_a_dead_worker_has_not_taken_goes_to_another(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Its clients do not notice."""
    async with stage() as (scene, _):
        scene.children[0].stop()
        await hand_on(scene, 4)
        with capture_logs():
            scene.children[0].end(SIGKILL)
            await trio.sleep(WORKER_FULL)
        assert len(scene.children[1].given) == 4


async def test_a_worker_that_closes_its_channel_and_goes_on_is_killed(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It has a while to end by itself; the next takes its place."""
    async with stage() as (scene, _):
        mute = scene.children[0]
        await trio.sleep(WORKER_SETTLED)
        with capture_logs():
            mute.channel._writing.cancel()
            await trio.sleep(WORKER_END - 1)
            assert not mute.killed
            await trio.sleep(2)
        assert mute.killed
        assert scene.newest(1) is not mute


async def test_a_drain_kills_who_does_not_say_that_it_leaves(autojump_clock: trio.testing.MockClock) -> None:
    """Soon, and closes what it has not taken; one that drains may take its time."""
    async with trio.open_nursery() as nursery:
        scene = Stage(nursery, 2, comes_up)
        over = trio.Event()

        async def run(task_status: trio.TaskStatus[object]) -> None:
            await scene.supervisor.run(task_status)
            over.set()

        await nursery.start(run)
        still, slow = scene.children
        still.stop()
        await hand_on(scene, 4)
        began = trio.current_time()
        scene.supervisor.drain()
        with capture_logs() as logs:
            await still._ended.wait()
        assert still.killed
        assert WORKER_SILENT <= trio.current_time() - began <= WORKER_SILENT + 1
        assert [each["event"] for each in logs] == ["worker lost"]
        await trio.sleep(30)
        assert (still.untaken, len(slow.given)) == ([], 2)
        assert not slow.killed
        slow.end()
        await over.wait()
        assert trio.current_time() - began < 40


async def test_cancelled_it_leaves_no_worker(autojump_clock: trio.testing.MockClock) -> None:
    """All are killed, and waited for."""
    async with stage() as (scene, nursery):
        nursery.cancel_scope.cancel()
    assert [each.status for each in scene.children] == [SIGKILL, SIGKILL]
