"""A soak of two nodes over one database: `python -m tests.nodes.soak --clients 200 --seconds 600`.

The crowd is that of `agent soak`, in a process of its own, and a balancer gives its connections to the two nodes in
turn, so that a thread's requests go to both. It comes, settles and leaves; then it comes again, and both nodes drain
beneath it. Its notes, its webhook's effects, both nodes' figures and the rows of the database must agree at rest and at
the end. The result is JSON; the exit status is 0 when every promise was kept.
"""

import argparse
import json
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path
from typing import Any

import httpx
import trio

from agent.host import WallClock, WorkerThreads
from agent.soak.book import MARK
from agent.soak.crowd import ARRIVALS
from agent.soak.final_checks import find_miscounts, find_open, parse_figures
from agent.soak.local_server import (
    AT_ONCE,
    CALM,
    CONFIRM_TIME,
    HALLUCINATED,
    LEASE,
    MODEL_DELAY_MS,
    SETTLED,
)
from agent.soak.memory_file import StoredMemory, read_memory_rows
from agent.soak.phases import BUSY, LATE, compare_notes, probe_pings, show_figures
from agent.soak.remote import KNOWLEDGE, NOTES, RemoteCrowd, remote_crowd
from agent.soak.scene import Target
from agent.soak.server_file import RunQuery, ServerFile, read_ledger_rows
from agent.soak.tools import write_file
from agent.soak.users import QUESTIONS
from agent.soak.verdict import DRAIN_MAX, DRAIN_SPARE, SoakRun, summarize_run
from tests.e2e.flow import PATIENCE, Server, start_server
from tests.nodes.balancer import balance
from tests.nodes.rows import read_rows
from tests.servers import empty_database

NODES = 2
SILENCE = "its server does not answer"  # logged on a busy machine; who was not answered in time breaks S7
QUIET = 0.1  # seconds between two looks whether all is at rest


async def soak_nodes(url: str, run: SoakRun, seed: int) -> dict[str, Any]:
    """Soak two nodes over the empty database `url`; return the report."""
    threads, began = WorkerThreads(1), WallClock().now_ms()
    ports: list[int] = []
    with tempfile.TemporaryDirectory(prefix="agent-soak-") as name:
        folder = Path(name)
        async with (
            remote_crowd(folder, seed, run.clients, run.callers) as crowd,
            balance(ports) as port,
            _serve_nodes(folder, _flags(folder, url, run, seed, crowd.hook, port)) as nodes,
        ):
            ports += [node.port for node in nodes]
            await crowd.do("first", port=port)
            await _stay(run, crowd, port)
            await crowd.do("quiet")
            await _check_rest(run, url, nodes, began)
            await _drain(run, crowd, nodes)
            over = WallClock().now_ms()
            await crowd.do("gone")
        run.tally.add(crowd.tally)
        lines = (folder / "log").read_text("utf-8").splitlines()
        kept = await threads(lambda: read_ledger(url, began, over - LATE))
        memory = await threads(lambda: read_memory(url, began))
        await threads(lambda: compare_notes(run, folder / NOTES, kept, memory, True))
    report = summarize_run(run) | {"reckoning": run.reckoning, "drain": run.drain}
    report["silences"] = sum(SILENCE in line for line in lines)
    lines = [line for line in lines if SILENCE not in line]
    if lines:
        report["failed"].append(f"{len(lines)} lines in the log, such as {lines[0]}")
    if run.drain["seconds"] > DRAIN_MAX + DRAIN_SPARE:
        report["failed"].append(f"going down took {run.drain['seconds']} s")
    return report | {"passed": not report["failed"]}


def _flags(folder: Path, url: str, run: SoakRun, seed: int, hook: int, port: int) -> list[str]:
    """Return the flags of each node: the settings of the server that `agent soak --self` has."""
    tools = folder / "tools.json"
    write_file(tools)
    flags = {
        "--port": 0,
        "--allow-host": f"127.0.0.1:{port}",
        "--kb": folder / KNOWLEDGE,
        "--data": url,
        "--memory": "on",
        "--tools": tools,
        "--model": "mock",
        "--mock-seed": seed,
        "--mock-hallucinate": HALLUCINATED,
        "--mock-delay-ms": MODEL_DELAY_MS,
        "--max-connections": 2 * max(run.clients, len(QUESTIONS)) + AT_ONCE * run.callers + 16,
        "--action-webhook": f"http://127.0.0.1:{hook}/",
        "--calm-time": CALM,
        "--confirm-time": CONFIRM_TIME,
        "--lease-time": LEASE,
        "--log-level": "error",
    }
    return [str(each) for pair in flags.items() for each in pair]


@asynccontextmanager
async def _serve_nodes(folder: Path, flags: list[str]) -> AsyncGenerator[list[Server], None]:
    """Run the nodes for the time of a block, from when they are ready."""
    nodes: list[Server] = []
    try:
        for _ in range(NODES):
            nodes.append(await trio.to_thread.run_sync(start_server, folder, flags))
        for node in nodes:
            with trio.fail_after(PATIENCE):
                while (await _get(node, "/readyz")).status_code != 200:  # noqa: ASYNC110  it is asked over HTTP
                    await trio.sleep(QUIET)
        yield nodes
    finally:
        for node in nodes:
            node.kill()


async def _get(node: Server, path: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=node.url, timeout=PATIENCE, trust_env=False) as client:
        return await client.get(path)


async def _stay(run: SoakRun, crowd: RemoteCrowd, port: int) -> None:
    """Let the crowd be there for `run.seconds`, settle and leave."""
    began = trio.current_time()
    async with probe_pings(Target(host="127.0.0.1", port=port), run), trio.open_nursery() as around:
        around.start_soon(show_figures, lambda: crowd.tally)
        await crowd.do("stay")
        await trio.sleep(run.seconds)
        around.cancel_scope.cancel()
    await crowd.do("stop")
    run.lasted = trio.current_time() - began


async def _check_rest(run: SoakRun, url: str, nodes: list[Server], began: int) -> None:
    """Check that no call or message is left open, and that the figures of the nodes are those of the rows."""
    threads = WorkerThreads(1)
    with trio.move_on_after(SETTLED):
        while True:
            kept = await threads(lambda: read_ledger(url, began, WallClock().now_ms() - LATE))
            left = list(find_open(kept))
            if not left:
                break
            await trio.sleep(QUIET)
    for broken in left:
        run.tally.violation(*broken)
    figures: Counter[str] = Counter()  # of both
    for node in nodes:
        figures.update(parse_figures((await _get(node, "/metrics")).content))
    for broken in find_miscounts(figures, kept.rows):
        run.tally.violation(*broken)


async def _drain(run: SoakRun, crowd: RemoteCrowd, nodes: list[Server]) -> None:
    """Let the crowd come again, and drain both nodes in the midst of it."""
    await crowd.do("stay")
    await trio.sleep(run.clients / ARRIVALS + BUSY)
    await crowd.do("drain")
    began = trio.current_time()
    for node in nodes:
        node.process.send_signal(signal.SIGTERM)
    for node in nodes:
        status: int | None = None
        with suppress(subprocess.TimeoutExpired):
            status = await trio.to_thread.run_sync(node.process.wait, 2 * DRAIN_MAX)
        if status != 0:
            run.tally.violation("S6", f"a node went down with {status}")
    run.drain = {"seconds": round(trio.current_time() - began, 2)}


def read_ledger(url: str, since: int, at: int) -> ServerFile:
    """Return the ledger of a database since a time, read at the time `at`, both in Unix milliseconds. Blocks."""
    with closing(_connect(url, "agent_ledger")) as connection:
        return read_ledger_rows(_query(connection), since, at)


def read_memory(url: str, since: int) -> StoredMemory:
    """Return the memory of a database since a time, and the users' numbers in any of its rows. Blocks."""
    found = frozenset(number for _, row in read_rows(url) for number in MARK.findall(row))
    with closing(_connect(url, "agent_memory")) as connection:
        return read_memory_rows(_query(connection), since, found)


def _connect(url: str, schema: str) -> Any:
    import psycopg  # noqa: PLC0415  # only where there is a server

    return psycopg.connect(url, autocommit=True, options=f"-c search_path={schema}")


def _query(connection: Any) -> RunQuery:
    return lambda query, values: connection.execute(re.sub(r"\?", "%s", query), values)


def main() -> int:
    """Soak two nodes over a database of their own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=200, help="users with a socket")
    parser.add_argument("--http", type=int, default=40, help="more users, over HTTP, with tools")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    run = SoakRun(clients=chosen.clients, callers=chosen.http, seconds=chosen.seconds)
    with empty_database() as url:
        report = trio.run(soak_nodes, url, run, chosen.seed)
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return 0 if report["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
