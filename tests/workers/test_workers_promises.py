"""The promises of one server, over a real port, of two workers: numbers, actions, attacks, deaths, stalls, a crowd."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, closing
from pathlib import Path
from statistics import median

import msgspec
import pytest
import trio

from agent.client.client import connect
from agent.workers.revival import WORKER_SILENT
from agent.workers.supervisor import WORKER_END
from tests.chaos.rig import Webhook
from tests.e2e.plain import Plain
from tests.e2e.questions import questions
from tests.e2e.test_promises import Run, ask_over, check_every, check_refusals
from tests.hostile.attacks import ATTACKS
from tests.hostile.enemy import SocketEnemy
from tests.hostile.test_attacks import KNOWLEDGE, SCRIPT, Innocent
from tests.hostile.test_sockets import OVER_SOCKETS

from .processes import PATIENCE, ROOT, Pair, agrees, by_worker, connected, nobody_left, pair, runs, until

pytestmark = pytest.mark.proof
QUESTION = "What does the Standard plan cost per month?"
CALL = "Please call me back at 070-123 45 67"
INNOCENTS = 10  # of whom one at least is each worker's
EFFECTS = 8  # actions at a time, half of them in each worker


@pytest.fixture
def webhook() -> Iterator[Webhook]:
    """Where actions take effect: it says so when it is let."""
    with closing(Webhook()) as made:
        made.mode = "held"
        yield made


async def answered(client: Plain) -> None:
    """Ask, and be answered soon."""
    with trio.fail_after(PATIENCE):
        await client.ask(QUESTION)
        assert "299" in (await client.until("response"))[-1]["text"]


def test_nothing_made_up_comes_through_a_pair(tmp_path: Path) -> None:
    """Of questions to a model that always makes a number up, no answer of either worker holds one without a source."""
    made_up = (
        "--memory",
        "off",
        "--mock-hallucinate",
        "1.0",
        "--mock-seed",
        "7",
        "--pace-ms",
        "0",
        "--rate-limit",
        "0",
    )
    asked = questions(ROOT / "kb")[::5]
    runs: list[Run] = []

    async def ask() -> None:
        async with AsyncExitStack() as stack:
            clients = [client for of in (await by_worker(stack, server, 2)).values() for client in of]

            async def one(number: int, client: Plain) -> None:
                runs.append(await ask_over(client, asked[number :: len(clients)]))

            async with trio.open_nursery() as nursery:
                for number, client in enumerate(clients):
                    nursery.start_soon(one, number, client)

    with pair(tmp_path, *made_up) as server:
        server.ready()
        trio.run(ask)
    assert sum(len(run.answers) for run in runs) == len(asked) == 100
    for run in runs:
        check_every(run)
        check_refusals(run)
    outcomes = sum((run.outcomes(on_topic=True) for run in runs), Counter[str]())
    assert outcomes["number_mismatch"] >= 0.9 * outcomes.total(), outcomes
    assert {line["worker"] for line in server.lines("turn ended")} == {1, 2}


def test_attacks_on_a_pair_harm_nobody(tmp_path: Path) -> None:
    """Whichever worker they hit: who was there before is answered, in both; no worker dies, none logs an error."""
    kb = tmp_path / "kb"
    kb.mkdir()
    for name, text in KNOWLEDGE.items():
        (kb / name).write_text(text)
    (tmp_path / "script.json").write_bytes(msgspec.json.encode([_written(entry) for entry in SCRIPT]))

    async def attack() -> None:
        enemy = SocketEnemy(server.port)
        async with AsyncExitStack() as stack:
            await nobody_left(server)
            innocents: list[Innocent] = []
            while not all(server.held()):
                assert len(innocents) < INNOCENTS
                client = await stack.enter_async_context(connect(f"ws://127.0.0.1:{server.port}/ws"))
                await client.frames_until("welcome")
                innocents.append(Innocent(client))
            for name in OVER_SOCKETS:
                for _ in workers:  # the next connection is the other worker's
                    told = await ATTACKS[name].run(enemy)
                    assert tuple(told) in (ATTACKS[name].told, ("reset",)), name
                for innocent in innocents:
                    await innocent.ask()

    with pair(tmp_path, "--pace-ms", "0", "--model", f"script:{tmp_path / 'script.json'}", kb=kb) as server:
        server.ready()
        workers = server.workers()
        with_deadline(attack)
        assert server.workers() == workers
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE) == 0
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    assert [line for line in lines if line["level"] in ("error", "critical")] == []


def _written(entry: msgspec.Struct) -> dict[str, object]:
    return {name: value for name, value in msgspec.to_builtins(entry).items() if value is not None}


def with_deadline(act: Callable[[], object]) -> None:
    """Run a task of this proof; one that hangs fails."""

    async def run() -> None:
        with trio.fail_after(4 * PATIENCE):
            await act()  # type: ignore[misc]

    trio.run(run)


def test_no_effect_happens_twice_when_a_process_is_killed(tmp_path: Path, webhook: Webhook) -> None:
    """A worker amid its actions: they are unknown, the other's are done. The supervisor: what runs is seen to its end.

    Whoever was told of a success had one effect, and none comes later.
    """

    async def begun(stack: AsyncExitStack) -> dict[int, list[Plain]]:
        """Let every client have an action that has taken effect, of which nothing is known yet."""
        webhook.released.clear()
        clients, before = await by_worker(stack, server, EFFECTS // 2), webhook.effects.total()
        for client in (client for of in clients.values() for client in of):
            await client.ask(CALL)
            suggestion = (await client.until("action_suggestion"))[-1]["suggestionId"]
            ids[client] = suggestion
        for client in (client for of in clients.values() for client in of):
            await client.send(type="confirm_action", suggestionId=ids[client])
        await until(lambda: webhook.effects.total() == before + EFFECTS)
        return clients

    async def a_worker_is_killed() -> None:
        async with AsyncExitStack() as stack:
            clients = await begun(stack)
            victim, other = clients
            os.kill(victim, signal.SIGKILL)
            await until(lambda: not runs(victim))
            webhook.released.set()
            for client in clients[other]:
                assert (await client.until("action_executed"))[-1]["result"]["success"] is True
            for client in clients[victim]:
                assert await client.until_closed() == 1006
                assert "action_executed" not in client.kinds()
            await until(lambda: len(server.lines("knowledge base")) == 3)
            again = await connected(stack, server)
            for client in clients[victim]:
                await again.send(type="confirm_action", suggestionId=ids[client])
                assert (await again.until("error"))[-1]["code"] == "unknown_suggestion"
            expected.update({ids[client]: "unknown" for client in clients[victim]})
            expected.update({ids[client]: "done" for client in clients[other]})
            assert ledger(tmp_path) == expected

    async def the_supervisor_is_killed() -> None:
        async with AsyncExitStack() as stack:
            clients = await begun(stack)
            server.process.kill()
            webhook.released.set()
            for client in (client for of in clients.values() for client in of):
                assert (await client.until("action_executed"))[-1]["result"]["success"] is True
                assert await client.until_closed() == 1012
                expected[ids[client]] = "done"
            await until(lambda: not any(map(runs, clients)))

    ids: dict[Plain, str] = {}
    expected: dict[str, str] = {}
    with pair(tmp_path, "--pace-ms", "0", "--action-webhook", webhook.url) as server:
        server.ready()
        with_deadline(a_worker_is_killed)
        server.ready()
        with_deadline(the_supervisor_is_killed)
    assert ledger(tmp_path) == expected
    assert webhook.effects == Counter(dict.fromkeys(expected, 1))
    assert len(expected) == 2 * EFFECTS


def ledger(folder: Path) -> dict[str, str]:
    """Return each recorded action's status, by its suggestion's id, as `agent actions` tells it."""
    command = [sys.executable, "-m", "agent", "actions", "--all", "--json", "--data", str(folder / "data")]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=True)
    rows = [json.loads(line) for line in told.stdout.splitlines()]
    return {row["suggestionId"]: row["status"] for row in rows}


def test_a_worker_that_stands_still_keeps_nobody_else(tmp_path: Path) -> None:
    """Stopped by the system, it is told of on /readyz; the other's clients are served; both go on when it does."""

    async def stands_still() -> None:
        async with AsyncExitStack() as stack:
            clients = await by_worker(stack, server, 1)
            (still, (waiting,)), (_, (other,)) = clients.items()
            os.kill(still, signal.SIGSTOP)
            await waiting.ask(QUESTION)
            for _ in range(3):
                await answered(other)
            await trio.sleep(0.3)
            assert [kind for kind in waiting.kinds() if kind != "welcome"] == []
            readings = [await trio.to_thread.run_sync(readiness, server) for _ in range(2)]
            assert any("does not answer" in reading for reading in readings), readings
            os.kill(still, signal.SIGCONT)
            assert "299" in (await waiting.until("response"))[-1]["text"]
            await trio.to_thread.run_sync(server.ready)
            assert server.workers() == sorted(clients)

    with pair(tmp_path, "--pace-ms", "0") as server:
        server.ready()
        with_deadline(stands_still)
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE) == 0


def test_a_worker_that_stands_still_for_long_is_replaced(tmp_path: Path) -> None:
    """Every newcomer is served within seconds, by the other; it is killed, and another takes its place.

    Who came to it in the meantime waits no longer than it takes to notice; who has it already loses the connection.
    Told to end with another one that stands still, the server has ended after some seconds.
    """

    async def newcomer(waits: list[float]) -> None:
        async with AsyncExitStack() as stack:
            began = trio.current_time()
            await answered(await connected(stack, server))
            waits.append(trio.current_time() - began)

    async def replaced() -> None:
        async with AsyncExitStack() as stack:
            (still, (lost,)), _ = (await by_worker(stack, server, 1)).items()
            os.kill(still, signal.SIGSTOP)
            waits: list[float] = []
            async with trio.open_nursery() as nursery:
                for _ in range(20):
                    nursery.start_soon(newcomer, waits)
            assert max(waits) < 4 * WORKER_SILENT, waits
            for _ in range(10):
                await newcomer(waits)
            assert median(waits[20:]) < 2, waits
            assert await lost.until_closed() == 1006
            await until(lambda: still not in server.workers() and len(server.workers()) == 2)
            await trio.to_thread.run_sync(server.ready)
            await newcomer(waits)

    with pair(tmp_path, "--pace-ms", "0") as server:
        server.ready()
        with_deadline(replaced)
        (first, second) = server.workers()
        os.kill(first, signal.SIGSTOP)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE) == 0
        assert time.monotonic() - began < 4 * WORKER_SILENT
        assert not any(Path(f"/proc/{pid}").exists() for pid in (first, second))
    assert [line["worker"] for line in server.lines("worker lost")]
    assert "Traceback" not in server.log.read_text()


@pytest.mark.pair
def test_a_worker_that_stands_still_does_not_keep_the_server(tmp_path: Path) -> None:
    """Told twice to end, the server has ended once the worker's time for that has passed, and has left nobody."""
    with pair(tmp_path) as server:
        left = server.workers()
        os.kill(left[0], signal.SIGSTOP)
        server.process.send_signal(signal.SIGTERM)
        trio.run(until, lambda: not server.accepts())  # two signals at once would be one
        server.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert server.process.wait(PATIENCE) == 0
        assert time.monotonic() - began < 3 * WORKER_END
        assert not any(Path(f"/proc/{pid}").exists() for pid in left)


def readiness(server: Pair) -> str:
    """Return what /readyz says; "" when the worker that is asked stands still."""
    try:
        return server.get("/readyz", 5.0)[1]
    except TimeoutError:
        return ""


def test_a_crowd_finds_every_promise_kept_by_a_pair(tmp_path: Path) -> None:
    """`agent soak` of random users against two workers; when they have left, nothing of them is counted any more."""
    with pair(tmp_path, "--pace-ms", "5", "--calm-time", "1") as server:
        server.ready()
        workers = server.workers()
        url = f"ws://127.0.0.1:{server.port}/ws"
        soak = ["soak", "--url", url, "--clients", "20", "--seconds", "5"]
        told = subprocess.run(
            [sys.executable, "-m", "agent", *soak],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=4 * PATIENCE,
            check=False,
        )
        report = json.loads(told.stdout)
        assert (report["failed"], told.returncode) == ([], 0)
        assert report["counts"]["ended done"] > 10
        assert report["counts"]["ended cancelled"] > 5
        assert report["confirms"] > 0
        assert report["chats"] > 0
        trio.run(nobody_left, server)
        assert server.workers() == workers
        for level in ("agent_sessions", "agent_turns_running", "agent_actions_running"):
            trio.run(agrees, server, level, 0)
        assert server.figure("agent_messages_total") >= report["messages"]
    assert {line["worker"] for line in server.lines("turn ended")} == {1, 2}
    assert "Traceback" not in server.log.read_text()
