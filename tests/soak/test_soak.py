"""A short soak of a server of its own finds nothing, and a longer one would find what is planted."""

import io
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import sqlalchemy as sa
import structlog
import trio
import trio.lowlevel
import trio.testing

from agent import cli, log
from agent.actions.webhook import WebhookExecutor
from agent.errors import AgentError, UsageError, WireClosed
from agent.host import WallClock
from agent.ports.action import Call
from agent.soak import command, local_server, phases, remote, user_connection, users, wire
from agent.soak.command import CrowdSize
from agent.soak.crowd import ARRIVALS, DRAINED, check_takeover, run_users
from agent.soak.figures import Tally
from agent.soak.local_server import SlowDisk, Surroundings
from agent.soak.pages import Pages
from agent.soak.scene import Scene, Target
from agent.soak.steps import STEP_MAX
from agent.soak.wire import open_socket
from agent.storage.database_ledger import DatabaseLedger
from agent.storage.memories import item_forgetting
from agent.storage.memories.schema import turn_words
from agent.storage.stores import open_stores
from agent.testing.network import inline
from agent.voice import hearing
from agent.voice.mouth import Mouth
from tests.planted import kept_when_cancelled


@pytest.fixture(autouse=True)
def _logged(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    root = logging.getLogger()
    before = root.level, root.handlers[:]
    log.configure("console", "error")
    monkeypatch.setattr(command, "share_heaps", lambda: None)
    yield
    structlog.reset_defaults()
    root.level, root.handlers = before


def list_unseen(report: dict[str, Any]) -> list[str]:
    """Return what a soak is for and did not come to, which happens to a short one on a busy machine."""
    counts, reckoning = Counter(report["counts"]), report["reckoning"]
    items, calls = Counter(reckoning["remembered"]["items"]), Counter(reckoning["calls"])
    seen = {
        **{f"item {status}": items[status] for status in ("accepted", "forgotten", "proposed")},
        **{each: reckoning["remembered"][each] for each in ("told", "cancelled", "forgotten", "turns")},
        **{each: counts[each] for each in ("edit 200", "begin 200")},
        "effects": reckoning["effects"],
        "told done": reckoning["told"].get("done", 0),
        "webhook done": calls["webhook done"],
        "ended done": counts["ended done"] - 10,
        "ended cancelled": counts["ended cancelled"] - 5,
        "talks settled": counts["talks settled"] - 5,
        "hung up on": counts["hung up on by a draining server"] - 5,
        "drained sessions": report["drain"]["sessions"] - 5,
        "cancels of threads": report["cancel_of_thread_kept"]["count"],
        "knowledge behind": report["knowledge_behind"]["count"] - 10,
    }
    return [name for name, count in seen.items() if count <= 0]


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: a disk that others keep busy is rightly told as an error."""
    memory = Path("/dev/shm")
    if not memory.is_dir():
        yield tmp_path
        return
    with TemporaryDirectory(prefix="soak-", dir=memory) as name:
        yield Path(name)


@pytest.mark.proof
async def test_a_short_soak_keeps_every_promise(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], quick_folder: Path
) -> None:
    """Twenty users with sockets, and fifteen over HTTP, break nothing in eight seconds and leave nothing."""
    monkeypatch.setattr(phases, "LINE_EVERY", 0.1)
    monkeypatch.setattr(phases, "BUSY", 2.0)
    for seed in range(1, 6):  # on a busy machine a crowd comes to less
        users = CrowdSize(20, 15, seconds=8, seed=seed)
        status = await command.soak(users=users, own=True, data=quick_folder / f"{seed}", slow_disk=1.0)
        out, err = capsys.readouterr()
        report = json.loads(out)
        assert set(report["violations"].values()) == {0}
        if "its disk does not answer" in err and seed < 5:
            continue  # on a machine that is too busy: rightly told as an error
        assert report["failed"] == [], err
        assert (status, report["passed"]) == (0, True)
        assert report["reckoning"]["rows"]["done"] >= report["reckoning"]["told"].get("done", 0)
        assert report["objects_left"] == {}
        assert report["tasks"]["start"] == report["tasks"]["end"] < report["tasks"]["warm"]
        assert report["cancel_in_server"]["p99_ms"] > 0
        assert report["steps"]["count"] > 1000
        assert report["memory"] is None or not report["memory"]["judged"]
        assert "0 violations, cancel p99" in err
        if not list_unseen(report):
            break
    assert list_unseen(report) == []


@pytest.mark.proof
async def test_what_is_planted_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Effects that come twice, outcomes that are lost, a step that holds the loop, and what is left behind."""
    carry_out, left = WebhookExecutor.run, []
    told = trio.lowlevel.ParkingLot

    async def twice(self: WebhookExecutor, call: Call, begin: Callable[[], None]) -> Mapping[str, Any]:
        left.append(told())
        until = time.thread_time() + 2 * STEP_MAX
        while time.thread_time() < until:
            pass
        await carry_out(self, call, begin)
        return await carry_out(self, call, begin)

    async def lost(*_: Any) -> None:
        await trio.lowlevel.checkpoint()

    monkeypatch.setattr(WebhookExecutor, "run", twice)
    monkeypatch.setattr(DatabaseLedger, "record_outcome", lost)
    for seed in (1, 2, 3):  # on a busy machine a crowd may leave before anything took effect
        users = CrowdSize(60, 0, seconds=5, seed=seed)
        assert await command.soak(users=users, own=True, data=tmp_path / f"{seed}", slow_disk=0.0) == 1
        report = json.loads(capsys.readouterr().out)
        if report["violations"]["S4"]:
            break
    assert report["violations"]["S4"] > 0
    assert report["violations"]["S9"] > 0
    assert report["reckoning"]["rows"].keys() == {"claimed"}
    assert any("took effect 2 times" in example for example in report["examples"])
    assert any("still claimed" in example for example in report["examples"])
    assert any("held the loop" in line for line in report["failed"])
    assert report["objects_left"]["trio.lowlevel.ParkingLot"] > 0


def left_when_forgotten(patch: pytest.MonkeyPatch) -> None:
    """What was said of an item stays as it was said."""
    patch.setattr(item_forgetting, "_UNSAY", sa.update(turn_words).where(sa.false()).values(text=""))


@pytest.mark.proof
@pytest.mark.parametrize(
    ("plant", "promise", "found"),
    [
        (kept_when_cancelled, "M5", "was cancelled"),
        (left_when_forgotten, "M2", "shows a forgotten item"),
    ],
)
async def test_what_is_planted_in_the_memory_is_found(
    plant: Callable[[pytest.MonkeyPatch], None],
    promise: str,
    found: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    """By its users, or when what is kept is read at the end."""
    monkeypatch.setattr(phases, "BUSY", 1.0)
    with monkeypatch.context() as planted:
        plant(planted)
        assert (
            await command.soak(users=CrowdSize(20, 4, seconds=3), own=True, data=tmp_path, slow_disk=0.0) == 1
        )
    report = json.loads(capsys.readouterr().out)
    assert report["violations"][promise] > 0
    assert any(found in example for example in report["examples"]), report["examples"]


@pytest.mark.proof
async def test_a_short_soak_with_voices(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], quick_folder: Path
) -> None:
    """Users talk, listen and interrupt, nothing is broken and nothing left; speech that goes on is found."""
    monkeypatch.setattr(phases, "BUSY", 2.0)
    monkeypatch.setattr(hearing, "FEED_TIMEOUT", 60.0)  # a busy machine holds up the processes of ten ears
    users = CrowdSize(10, 0, 10, seconds=8)
    assert await command.soak(users=users, own=True, data=quick_folder / "a", slow_disk=1.0) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["failed"], report["objects_left"]) == ([], {})
    for kind in ("speech done", "speech cancelled", "utterances heard", "utterances without words"):
        assert report["counts"][kind] > 0

    def go_on(mouth: Mouth) -> None:
        mouth.forget_sentences()

    monkeypatch.setattr(Mouth, "stop_speech", go_on)
    assert await command.soak(users=users, own=True, data=quick_folder / "b", slow_disk=1.0) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["violations"]["V1"] > 0
    assert any("audio after cancelled" in example for example in report["examples"])


@pytest.mark.proof
async def test_a_crowd_that_breaks_is_one_line(tmp_path: Path) -> None:
    """Its process may die at any time; who waits for it is told."""
    async with remote.remote_crowd(tmp_path, 1, 1) as crowd:
        assert crowd.hook
        crowd._process.kill()
        with pytest.raises(AgentError, match="the crowd's process"):
            await crowd.do("first", port=1)


async def test_a_soak_that_cannot_go_on_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever group its reason comes in; a wrong setting is one for the command line to tell, a bug is a bug."""

    def breaking(error: Exception) -> None:
        async def breaks(*_: Any) -> None:
            await trio.lowlevel.checkpoint()
            raise ExceptionGroup("nested", [ExceptionGroup("again", [error])])

        monkeypatch.setattr(command, "soak_inside", breaks)

    breaking(AgentError("the crowd's process has ended"))
    assert await command.soak(own=True) == 1
    assert capsys.readouterr().err == "agent: the crowd's process has ended\n"
    breaking(UsageError("the folder cannot be used"))
    with pytest.raises(UsageError):
        await command.soak(own=True)
    breaking(KeyError("bug"))
    with pytest.raises(KeyError):
        await command.soak(own=True)


async def test_users_of_another_server_check_it_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With --url nothing is seen from the inside, and the promises are checked all the same."""
    knowledge = tmp_path / "kb"
    knowledge.mkdir()
    Pages(knowledge, trio.current_time)
    async with local_server.run_server(
        1, 8, Surroundings(knowledge=knowledge, data=tmp_path / "data"), callers=2
    ) as server:
        status = await command.soak(
            users=CrowdSize(3, 2, seconds=1), url=f"ws://127.0.0.1:{server.app.port}/ws"
        )
    report = json.loads(capsys.readouterr().out)
    assert (status, report["failed"]) == (0, [])
    assert report["messages"] > 0
    assert report["chats"] > 0
    assert "tasks" not in report


async def test_a_knowledge_base_that_is_not_taken_over_is_found_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A server that goes on answering from what was there when it began says so to the first who asks."""

    async def blind(_: object) -> None:
        await trio.lowlevel.checkpoint()

    monkeypatch.setattr("agent.soak.crowd.TAKEN_OVER", 0.3)
    monkeypatch.setattr("agent.compose.knowledge.Knowledge.keep", blind)
    pages, tally = Pages(tmp_path, trio.current_time), Tally()
    async with local_server.run_server(1, 1, Surroundings(knowledge=tmp_path)) as server:
        await check_takeover(
            Scene(target=Target(host="127.0.0.1", port=server.app.port), tally=tally, pages=pages), pages
        )
    assert tally.broken == {"S8": 1}


async def test_a_slow_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece of work takes longer, one in a hundred much longer; its result, and what it raises, come through."""
    slept: list[float] = []
    monkeypatch.setattr("time.sleep", slept.append)

    async def at_once(function):  # type: ignore[no-untyped-def]
        return function()

    def broken() -> None:
        raise OSError

    disk = SlowDisk(at_once, 0.02, seed=1)
    assert [await disk(lambda: 7) for _ in range(1000)] == [7] * 1000
    with pytest.raises(OSError):  # noqa: PT011
        await disk(broken)
    assert set(slept) == {0.02, 0.5}
    assert 2 <= slept.count(0.5) <= 30
    assert len(slept) == 1001


async def test_a_slow_disk_is_slow_to_write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is read of a database is at hand."""
    slept: list[float] = []
    disk = SlowDisk(inline, 0.02, seed=1)
    async with open_stores(tmp_path, disk, WallClock()) as kept:
        monkeypatch.setattr("time.sleep", slept.append)
        assert await kept.has_call("a") is False
        assert slept == []
        await kept.store.ledger.claim("a", "send_sms", 1)
        assert slept == [0.02]


async def test_a_server_that_says_nothing_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A message without an end is a broken promise once patience is at its end, and so is one who never hangs up."""
    monkeypatch.setattr(user_connection, "PATIENCE", 0.1)
    monkeypatch.setattr(user_connection, "HANG_UP", 0.1)
    tally = Tally()

    async def deaf(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
        while b"\x89" not in await stream.receive_some():
            pass
        await stream.send_all(b"\x8a\x00")
        await trio.sleep_forever()

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, deaf, listeners)
        line = await open_socket("127.0.0.1", listeners[0].socket.getsockname()[1])
        visit = user_connection.UserConnection(
            "user", line, Scene(target=Target(host="127.0.0.1", port=0), tally=tally)
        )
        nursery.start_soon(visit.read)
        visit.account.enter_message("1", 0.0)
        await visit.wait_for_end("1")
        await line.ping()
        visit.account.check_settled()
        await visit.leave("close")
        nursery.cancel_scope.cancel()
    assert tally.broken == {"S1": 2, "S6": 1}
    line.drop()


async def test_a_server_that_hangs_up_or_lets_nobody_in_is_found_out() -> None:
    """Users who are thrown out, or turned away, say so and come back."""
    tally = Tally()
    answers = [b"HTTP/1.1 101 \r\n\r\n\x88\x02\x03\xf3", b"HTTP/1.1 503 \r\n\r\n", b""]

    async def rude(stream: trio.SocketStream) -> None:
        async with stream:
            await stream.receive_some()
            await stream.send_all(answers.pop(0))
            if not answers:
                scene.stop.set()

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    scene = Scene(
        target=Target(host="127.0.0.1", port=listeners[0].socket.getsockname()[1], think=0.01), tally=tally
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, rude, listeners)
        await users.User(1, 1, scene).run()
        nursery.cancel_scope.cancel()
    assert tally.broken == {"S7": 3}
    said = " ".join(tally.examples)
    assert "the server hung up with 1011" in said
    assert "was not let in (503)" in said


@pytest.mark.parametrize(("code", "broken"), [(1012, {}), (1011, {"S7": 1}), (None, {"S7": 1})])
async def test_a_server_that_goes_down_hangs_up_with_its_code(
    code: int | None, broken: dict[str, int]
) -> None:
    """Then its users leave, and do not come back; another code, or none, is a broken promise."""
    tally = Tally()
    came = 0

    async def draining(stream: trio.SocketStream) -> None:
        nonlocal came
        came += 1
        async with stream:
            await stream.receive_some()
            await stream.send_all(b"HTTP/1.1 101 \r\n\r\n")
            scene.drain.set()
            if code is not None:
                await stream.send_all(b"\x88\x02" + code.to_bytes(2, "big"))

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    scene = Scene(
        target=Target(host="127.0.0.1", port=listeners[0].socket.getsockname()[1], think=0.01), tally=tally
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, draining, listeners)
        await users.User(1, 1, scene).run()
        nursery.cancel_scope.cancel()
    assert (came, tally.broken) == (1, broken)


@pytest.mark.parametrize(("slowest", "broken"), [(3.0, {}), (1.0, {"S7": 1})])
async def test_a_server_that_was_seen_to_be_slow_may_give_a_handshake_up(
    slowest: float, broken: dict[str, int]
) -> None:
    """Its own time for one is over then, though the client has seen it succeed; a quick server has no such excuse."""
    tally = Tally()
    tally.cancels.add(slowest)
    line, theirs = pair()
    visit = user_connection.UserConnection(
        "user", line, Scene(target=Target(host="127.0.0.1", port=0), tally=tally)
    )
    await theirs.aclose()
    await visit.read()
    line.drop()
    assert tally.broken == broken
    assert tally.counts.get("handshakes given up by a slow server", 0) == (not broken)


async def test_a_handshake_without_an_end_is_the_users_own_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine it says nothing of the server: it is counted, and no promise is broken."""
    monkeypatch.setattr("agent.soak.scene.HANDSHAKE_TIMEOUT", 0.05)
    tally = Tally()

    async def silent(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await trio.sleep(0.1)
        scene.stop.set()

    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    scene = Scene(
        target=Target(host="127.0.0.1", port=listeners[0].socket.getsockname()[1], think=0.01), tally=tally
    )
    async with trio.open_nursery() as nursery:
        await nursery.start(trio.serve_listeners, silent, listeners)
        await users.User(1, 1, scene).run()
        nursery.cancel_scope.cancel()
    assert tally.broken == {}
    assert tally.counts["handshakes given up"] >= 1


def test_a_larger_crowd_is_more_patient() -> None:
    """In proportion, from as many as this machine serves with ease."""
    assert [Target(host="", port=0, clients=clients).slower for clients in (1, 200, 1000)] == [1.0, 1.0, 5.0]


def test_wrong_settings_end_as_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """A crowd without end, a foreign server and a URL that is none are refused; no server is status 1."""
    for wrong in (
        ["--clients", "0"],
        ["--http", "-1"],
        ["--slow-disk", "-1"],
        ["--data", "x"],
        ["--seconds", "1e9"],
        ["--url", "ws://example.com/ws"],
        ["--url", "ftp://127.0.0.1/"],
        ["--url", "ws://127.0.0.1:x/"],
    ):
        assert cli.main(["soak", *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert cli.main(["soak", "--url", "127.0.0.1:1", "--seconds", "1"]) == 1
    assert "there is no session to be had" in capsys.readouterr().err


async def test_a_connection_that_is_refused_raises() -> None:
    """No server, and a server that hangs up in the handshake."""
    with pytest.raises(WireClosed):
        await open_socket("127.0.0.1", 1)
    with pytest.raises(UsageError):
        await command.soak(url="ws://[::2]:80/ws")


def test_log_lines_are_counted_and_passed_on() -> None:
    """An error line is a fault of the server's."""
    out = io.StringIO()
    lines = command.ErrorLines(out)
    lines.write("one\n")
    lines.write("two\n")
    assert (lines.count, out.getvalue()) == (2, "one\ntwo\n")


def pair() -> tuple[wire.ClientSocket, trio.SocketStream]:
    """Return a user's end and a server's end of a connection without a network."""
    ours, theirs = (trio.SocketStream(each) for each in trio.socket.socketpair())
    return wire.ClientSocket(ours), theirs


async def test_leaving_while_something_is_sent() -> None:
    """The end of the stream waits for the frame before it, and what comes after is told that it is too late."""
    for first in (True, False):
        line, theirs = pair()

        async def send(line: wire.ClientSocket = line) -> None:
            with suppress(WireClosed):
                await line.send("cancel")

        async with trio.open_nursery() as nursery, theirs:
            for task in (send, partial(line.leave, "eof")) if first else (partial(line.leave, "eof"), send):
                nursery.start_soon(task)
            assert await theirs.receive_some() in (b"", b"\x81\x92\0\0\0\0" + b'{"type": "cancel"}')
        line.drop()


async def test_a_ping_of_a_connection_that_has_ended_raises() -> None:
    """Also when its end was read before, and nobody will tell of a PONG any more."""
    line, theirs = pair()
    await theirs.send_eof()
    assert await line.next_frame() is None
    with pytest.raises(WireClosed), trio.fail_after(5):
        await line.ping()
    line.drop()
    await theirs.aclose()


async def test_users_come_little_by_little_and_must_leave(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """Not all of them shake hands at once; one who cannot leave in time is a broken promise, and is left behind."""
    came: list[float] = []

    async def stuck(_: users.User) -> None:
        came.append(trio.current_time())
        await trio.sleep_forever()

    monkeypatch.setattr(users.User, "run", stuck)
    scene, began = (
        Scene(target=Target(host="127.0.0.1", port=0, clients=3), tally=Tally()),
        trio.current_time(),
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_users, scene, 1, 3)
        await trio.sleep(10)
        scene.stop.set()
    assert came == pytest.approx([began, began + 1 / ARRIVALS, began + 2 / ARRIVALS])
    assert scene.tally.broken == {"S6": 1}
    assert trio.current_time() - began == pytest.approx(
        10 + 2 * user_connection.PATIENCE + user_connection.HANG_UP
    )


async def test_users_who_were_let_go_have_left(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """By a server that drains, within its time; then nothing is waited for."""

    async def let_go(user: users.User) -> None:
        await user._scene.drain.wait()
        await trio.sleep(DRAINED - 1)

    monkeypatch.setattr(users.User, "run", let_go)
    scene = Scene(target=Target(host="127.0.0.1", port=0), tally=Tally())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_users, scene, 1, 3)
        await trio.sleep(10)
        scene.drain.set()
    assert scene.tally.broken == {}
