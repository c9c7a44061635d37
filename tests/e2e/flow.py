"""Servers as processes with tools over one data folder, a webhook that counts, and a caller over httpx.

The model is a script: what a message asks for is decided by a word in it. Every JSON answer is held to the document.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import trio

from tests.server.api import held_to_the_document

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-of-24-characters"
PATIENCE = 60.0  # for what takes a second; a machine that is busy with other things is slow
HOLD = "hold it"  # a note on which the webhook waits until it is told to go on
_ORDER = {
    "type": "object",
    "properties": {"order": {"type": "string"}, "note": {"type": "string"}},
    "required": ["order"],
    "additionalProperties": False,
}


class Hook:
    """Carries out what the server runs. effects: each request's call and payload, in the order in which they came."""

    def __init__(self) -> None:
        self.effects: list[tuple[str, dict[str, Any]]] = []
        self.go_on = threading.Event()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                hook.effects.append((self.headers["Idempotency-Key"], body["payload"]))
                if body["payload"].get("note") == HOLD:
                    hook.go_on.wait(PATIENCE)
                answer = b'{"paid": 299}'
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None: ...

        class Server(ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

            def handle_error(
                self, request: Any, client_address: Any
            ) -> None: ...  # who was killed reads nothing

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def of(self, call: str) -> list[dict[str, Any]]:
        """The payloads of a call's effects."""
        return [payload for key, payload in self.effects if key == call]

    def close(self) -> None:
        """Stop."""
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()


def _act(tool: str, **more: Any) -> str:
    return json.dumps({"mode": "ACT", "tool": tool, "args": {"order": "A-17"} | more})


SCRIPT: list[dict[str, Any]] = [
    {"match": "slowly", "round": 0, "delay_ms": 700, "text": _act("look_up")},
    {"match": "patiently", "round": 0, "delay_ms": 5000, "text": _act("look_up")},
    {"match": "refund", "round": 0, "text": _act("refund")},
    {"match": "refund", "round": 1, "text": json.dumps({"mode": "NOOP", "message": ""})},
    {"match": "refund", "text": "We paid back 299."},
    {"match": "held", "round": 0, "text": _act("refund", note=HOLD)},
    {"match": "ship", "round": 0, "text": _act("ship")},
    {"match": "ship", "round": 1, "text": json.dumps({"mode": "NOOP", "message": ""})},
    {"match": "ship", "text": "The parcel weighs 12 kg."},
    {"match": "slowly", "hang": True},
    {"match": "", "text": json.dumps({"mode": "ASK", "message": "Which order is it?"})},
]


def _tools(url: str) -> list[dict[str, Any]]:
    return [
        {"name": "refund", "description": "Pays an order back.", "parameters": _ORDER, "url": url},
        {"name": "ship", "description": "Sends an order.", "parameters": _ORDER, "runs_at": "caller"},
        {
            "name": "look_up",
            "description": "Looks an order up.",
            "parameters": _ORDER,
            "url": url,
            "requires_approval": False,
            "risk": "low",
        },
    ]


@dataclass
class House:
    """What the servers share: their folder, their data, their tools, and whom those call."""

    folder: Path
    data: str = "data"
    model: str = "script:script.json"
    hook: Hook = field(default_factory=Hook)

    def __post_init__(self) -> None:
        """Write the files."""
        (self.folder / "kb").mkdir()
        (self.folder / "kb" / "plans.md").write_text("# Plans\n\nThe standard plan costs 299 kr.\n")
        (self.folder / "script.json").write_text(json.dumps(SCRIPT))
        (self.folder / "tools.json").write_text(json.dumps({"tools": _tools(self.hook.url)}))

    def start(self, *flags: str) -> "Server":
        """Start a server; it is ready a moment later."""
        return start_server(self.folder, [*self.flags(), *flags])

    def flags(self) -> list[str]:
        """Return the flags of each server."""
        flags = {
            "--port": "0",
            "--kb": "kb",
            "--data": self.data,
            "--tools": "tools.json",
            "--model": self.model,
            "--vectors": "off",
            "--token": TOKEN,
            "--api-rate": "0",
            "--rate-limit": "0",
        }
        return [each for pair in flags.items() for each in pair]


PROGRAM = ("-m", "agent")


def start_server(folder: Path, flags: list[str], program: tuple[str, ...] = PROGRAM) -> "Server":
    """Start a server in a folder, where its log is; it is ready a moment after it has said where it listens.

    `program`: what Python runs, where a test plants something first.
    """
    return wait_for_server(folder, begin_server(folder, flags, program))


def begin_server(
    folder: Path, flags: list[str], program: tuple[str, ...] = PROGRAM
) -> "subprocess.Popen[str]":
    """Start the process of a server."""
    with (folder / "log").open("a") as log:
        return subprocess.Popen(
            [sys.executable, *program, "serve", *flags],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if not name.startswith("AGENT_")}
            | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )


def wait_for_server(folder: Path, process: "subprocess.Popen[str]") -> "Server":
    """Wait until a server says where it listens."""
    assert process.stdout is not None
    said = process.stdout.readline() + process.stdout.readline()
    assert "/ws" in said, (folder / "log").read_text()
    return Server(process, int(said.rsplit(":", 1)[1].split("/")[0]))


@dataclass
class Server:
    """One of them."""

    process: "subprocess.Popen[str]"
    port: int

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        """End it as nothing can be prepared for."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def house(folder: Path, data: str = "data", model: str = "script:script.json") -> Iterator[House]:
    """A house for the time of a block, whose servers keep things in its folder, or where `data` says."""
    made = House(folder, data, model)
    try:
        yield made
    finally:
        made.hook.close()


@contextmanager
def served(at: House, *flags: str) -> Iterator[Server]:
    """A server for the time of a block."""
    server = at.start(*flags)
    try:
        yield server
    finally:
        server.kill()


class Caller:
    """Asks a server, and holds each answer to the document."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def ask(self, method: str, target: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """Return status and JSON value of an answer. Raises `httpx.TransportError` where none came whole."""
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.client.request(method, target, json=body, headers=sent)
        told = dict(answer.headers)
        value = held_to_the_document(method, target, answer.status_code, told, answer.content)
        return answer.status_code, value

    async def get(self, target: str) -> Any:
        """Return what is there."""
        status, value = await self.ask("GET", target)
        assert status == 200, value
        return value

    async def post(self, target: str, body: Any, **headers: str) -> Any:
        """Return what came of it."""
        status, value = await self.ask("POST", target, body, **headers)
        assert status in (200, 201), value
        return value

    async def chat(self, message: str, **more: Any) -> Any:
        """Return what came of a message."""
        return await self.post("/chat", {"user_id": "anna", "message": message} | more)

    async def approve(self, call: str, **more: Any) -> tuple[int, Any]:
        """Say yes, or something else."""
        return await self.ask("POST", f"/calls/{call}/approve", {"user_id": "anna"} | more)

    async def ready(self) -> None:
        """Wait until it answers questions."""
        with trio.fail_after(PATIENCE):
            while True:
                if (await self.client.get("/readyz")).status_code == 200:
                    return
                await trio.sleep(0.02)


@asynccontextmanager
async def caller(server: Server) -> AsyncGenerator[Caller, None]:
    """A caller, once the server is ready."""
    limits = httpx.Limits(max_connections=None)
    key = {"X-AGENT-KEY": TOKEN}
    async with httpx.AsyncClient(
        base_url=server.url, headers=key, timeout=PATIENCE, limits=limits, trust_env=False
    ) as client:
        made = Caller(client)
        await made.ready()
        yield made
