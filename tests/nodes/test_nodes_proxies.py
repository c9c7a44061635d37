"""HAProxy and nginx in front of two nodes, with the files that the guide prints: a client sees one server.

NODES_IDLE=150 leaves WebSockets idle for longer than the files' time-outs, and NODES_DRAINS=2 restarts both nodes.
"""

import os
import shutil
import signal
import subprocess
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest
import trio

from agent.guide.pages import read_page
from tests.e2e.plain import Plain, plain
from tests.e2e.test_process import serve
from tests.guide.blocks import read_blocks
from tests.guide.test_running_files import ACCESS, HOST, running, upgraded
from tests.guide.walk import PATIENCE, find_port
from tests.servers import empty_database

pytestmark = pytest.mark.proof

FILES = {block.file: block.text for block in read_blocks("servers.md", read_page("servers"))}
IDLE = float(os.environ.get("NODES_IDLE", "0"))
DRAINS = int(os.environ.get("NODES_DRAINS", "1"))
CLIENTS = 6
GOING_DOWN = 1012  # the close code of a server that drains
QUESTION = "What does the Standard plan cost per month?"
ASKED_EVERY = 0.05  # seconds
COME_AFTER = 5  # who come when a node is gone


def haproxy(folder: Path, port: int, nodes: list[int]) -> list[str]:
    """Write HAProxy's file as printed, but for its ports and its certificate; return the command."""
    text = FILES["haproxy.cfg"].replace(":443 ssl crt /etc/ssl/assistant.pem", f"127.0.0.1:{port}")
    (folder / "haproxy.cfg").write_text(_set_ports(text, nodes))
    return ["haproxy", "-db", "-f", f"{folder}/haproxy.cfg"]


def nginx(folder: Path, port: int, nodes: list[int]) -> list[str]:
    """Write nginx's file so; return the command."""
    text = FILES["assistant.conf"].replace("listen 443 ssl", f"listen 127.0.0.1:{port}")
    lines = [line for line in _set_ports(text, nodes).splitlines() if "ssl_certificate" not in line]
    (folder / "assistant.conf").write_text("\n".join(lines))
    folders = "".join(
        f"{kind}_temp_path {folder}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n"
        f"http {{\naccess_log off;\n{folders}include {folder}/assistant.conf;\n}}\n"
    )
    return ["nginx", "-c", f"{folder}/nginx.conf", "-e", "stderr"]


def _set_ports(text: str, nodes: list[int]) -> str:
    for number, port in enumerate(nodes, 11):
        text = text.replace(f"10.0.0.{number}:8787", f"127.0.0.1:{port}")
    return text


@dataclass
class Site:
    """Two nodes behind proxies. `proxies`: the port of each proxy. `nodes`: the ports of the nodes, by number."""

    folder: Path
    url: str
    proxies: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=lambda: [find_port(), find_port()])
    processes: dict[int, "subprocess.Popen[str]"] = field(default_factory=dict)

    def start(self, stack: ExitStack, number: int) -> None:
        """Start a node."""
        folder = self.folder / f"node{number}"
        folder.mkdir(exist_ok=True)
        flags = (*ACCESS, "--data", self.url, "--vectors", "off", "--pace-ms", "10")
        self.processes[number], _ = stack.enter_context(serve(folder, *flags, port=self.nodes[number]))

    def start_proxies(self, stack: ExitStack) -> None:
        """Start each proxy that is installed; skip the test where none is."""
        for write in (haproxy, nginx):
            if shutil.which(write.__name__) is not None:
                folder, port = self.folder / write.__name__, find_port()
                folder.mkdir()
                stack.enter_context(running(write(folder, port, self.nodes), folder, port))
                self.proxies.append(port)
        if not self.proxies:
            pytest.skip("neither haproxy nor nginx is installed")

    async def drain(self, number: int) -> None:
        """Tell a node to go down, and wait until it has."""
        process = self.processes[number]
        process.send_signal(signal.SIGTERM)
        assert await trio.to_thread.run_sync(process.wait, PATIENCE) == 0

    async def count_sessions(self, number: int) -> int:
        """Return how many WebSockets a node has."""
        async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
            told = await client.get(f"http://127.0.0.1:{self.nodes[number]}/metrics")
        (line,) = [line for line in told.text.splitlines() if line.startswith("agent_sessions ")]
        return int(float(line.split()[1]))


async def connect(stack: AsyncExitStack, port: int) -> Plain:
    """Open a WebSocket through a proxy."""
    client = await stack.enter_async_context(plain(await trio.open_tcp_stream("127.0.0.1", port), host=HOST))
    assert client.accepted is not None, client.rejected
    return client


async def is_answered(client: Plain) -> bool:
    """Ask over a WebSocket; return whether the answer is right."""
    with trio.fail_after(PATIENCE):
        await client.ask(QUESTION)
        return "299" in (await client.until("response"))[-1]["text"]


async def test_a_node_that_drains_disturbs_nobody_elsewhere(tmp_path: Path) -> None:
    """Its own clients hear 1012 behind their answers, and those of the other node nothing. Whoever comes meanwhile is
    answered by the other. It is given connections again when it is back."""
    with empty_database() as url, ExitStack() as stack:
        site = Site(tmp_path, url)
        for number in range(2):
            site.start(stack, number)
        site.start_proxies(stack)
        for port in site.proxies:
            assert b" 101 " in await upgraded(port, f"https://{HOST}")
            assert b" 403 " in await upgraded(port, "https://elsewhere.example")
        await _stay_idle(site)
        for leaving in range(DRAINS):
            await _see_drained(site, leaving)
            site.start(stack, leaving)
            await _until_chosen(site, leaving)


async def _stay_idle(site: Site) -> None:
    """Leave a WebSocket alone for `IDLE` seconds; it is still there."""
    if not IDLE:
        return
    async with AsyncExitStack() as stack:
        clients = [await connect(stack, port) for port in site.proxies]
        await trio.sleep(IDLE)
        for client in clients:
            assert await is_answered(client)


async def _see_drained(site: Site, leaving: int) -> None:
    async with AsyncExitStack() as stack:
        clients = [await connect(stack, port) for port in site.proxies for _ in range(CLIENTS)]
        theirs = await site.count_sessions(leaving)
        assert 0 < theirs < len(clients)
        for client in clients:
            assert await is_answered(client)
            await client.ask(QUESTION, id="at the drain")
        for client in clients:
            await client.until("stream")
        came: list[int] = []
        gone = trio.Event()
        async with trio.open_nursery() as nursery:
            for port in site.proxies:
                nursery.start_soon(_keep_coming, port, came, gone)
            await site.drain(leaving)
            gone.set()
        assert set(came) == {200}
        closed = [client for client in clients if client.closed is not None]
        assert [client.closed for client in closed] == [GOING_DOWN] * theirs
        for client in clients:
            assert "299" in (await client.until("response"))[-1]["text"]
            assert client in closed or await is_answered(client)


async def _keep_coming(port: int, came: list[int], gone: trio.Event) -> None:
    """Ask over HTTP and over new WebSockets until some time after `gone`; note the status of each answer over HTTP."""
    async with httpx.AsyncClient(headers={"Host": HOST}, trust_env=False, timeout=PATIENCE) as client:
        after = 0
        while after < COME_AFTER:
            told = await client.post(f"http://127.0.0.1:{port}/ask", json={"text": QUESTION})
            came.append(told.status_code)
            async with AsyncExitStack() as stack:
                assert await is_answered(await connect(stack, port))
            await trio.sleep(ASKED_EVERY)
            after += gone.is_set()


async def _until_chosen(site: Site, number: int) -> None:
    """Wait until each proxy gives a node connections again."""
    for port in site.proxies:
        before = await site.count_sessions(number)
        with trio.fail_after(PATIENCE):
            async with AsyncExitStack() as stack:
                while await site.count_sessions(number) == before:
                    await connect(stack, port)
                    await trio.sleep(ASKED_EVERY)
