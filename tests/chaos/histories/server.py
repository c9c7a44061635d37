"""A server of two workers as processes, which can be stopped, killed and started again on the same folder.

Its files go through the shim of `rig`, its actions to a webhook in this process.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import trio

from tests.bench.load.process import family

from .records import Effect, Records

ROOT: Final = Path(__file__).parents[3]
TOKEN: Final = "a-token-of-24-characters"
PEOPLE: Final = {name: f"the-own-token-of-{name}" for name in ("anna", "bo")}
"""The users of sockets, with their tokens."""
STARTED: Final = 60.0  # seconds until a server is ready; a machine that is busy is slow
ENDED: Final = 15.0  # seconds until a server has ended that has no clients
_ANSWER_TIME: Final = 0.01  # seconds that the webhook takes, and ...
_LONG_ANSWER_TIME: Final = 1.0  # ... each fifth time, so that a server is killed meanwhile
_WORKER: Final = b"agent.workers.process"
_ORDER: Final = {"type": "string", "description": "the number of the order"}
_NOTE: Final = {"type": "string", "description": "what has to be known"}


def _tool(name: str, description: str, *, caller: bool = False, free: bool = False) -> dict[str, Any]:
    properties = {"order": _ORDER} if free else {"order": _ORDER, "note": _NOTE}
    made: dict[str, Any] = {"name": name, "description": description}
    made["parameters"] = {"type": "object", "properties": properties, "required": ["order"]}
    if caller:
        made["runs_at"] = "caller"
    if free:
        made |= {"requires_approval": False, "risk": "low"}
    return made


TOOLS: Final = (
    _tool("book_courier", "Book a courier for an order."),
    _tool("find_parcel", "Find where the parcel of an order is.", free=True),
    _tool("pack_box", "Pack a box for an order.", caller=True),
    _tool("count_stock", "Count what is in stock of an order.", caller=True, free=True),
)


class Hook:
    """The webhook: it records each effect once its request has come, then answers."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._count = 0
        self.port = 0

    async def serve(self, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """Answer until cancelled; started once it listens on `port`."""
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=256)
        self.port = int(listeners[0].socket.getsockname()[1])
        task_status.started()
        await trio.serve_listeners(self._answer, listeners)

    async def _answer(self, stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError), trio.move_on_after(20):
            async with stream:
                request = bytearray()
                while not _is_whole(request):
                    piece = await stream.receive_some()
                    if not piece:
                        return
                    request += piece
                head, _, body = bytes(request).partition(b"\r\n\r\n")
                key = next(
                    line[16:].strip().decode()
                    for line in head.split(b"\r\n")
                    if line[:16].lower() == b"idempotency-key:"
                )
                said = json.loads(body)
                order, note = (str(said["payload"].get(name, "")) for name in ("order", "note"))
                self._records.effects.append(Effect(key, said["action"], order, note, trio.current_time()))
                self._count += 1
                await trio.sleep(_ANSWER_TIME if self._count % 5 else _LONG_ANSWER_TIME)
                await stream.send_all(
                    b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\nConnection: close\r\n\r\n{"paid": 12}'
                )


def _is_whole(request: bytearray) -> bool:
    head, end, body = bytes(request).partition(b"\r\n\r\n")
    length = next(
        (int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:"), 0
    )
    return bool(end) and len(body) >= length


class ServerProcess:
    """One server and its folder. shim: the library that makes its files misbehave; None is without."""

    def __init__(self, folder: Path, shim: Path | None, hook: Hook) -> None:
        self.data = folder / "data"
        self.port = _free_port()
        self._folder, self._hook = folder.resolve(), hook
        self._control = folder / "control"
        self._process: subprocess.Popen[bytes] | None = None
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AGENT_")},
            "PYTHONPATH": str(ROOT),
            "CHAOS_DIR": str(self._control),
            "CHAOS_DATA": str(self.data),
            "CHAOS_KB": str(folder / "nothing"),
        }
        self._without_shim = dict(self._environment)
        if shim is not None:
            self._environment["LD_PRELOAD"] = str(shim)
        for each in (folder / "kb", self._control):
            each.mkdir()
        (folder / "kb" / "plans.md").write_text("# Plans\n\nThe standard plan costs 299 kr.\n")
        (folder / "tools.json").write_text(json.dumps({"tools": TOOLS}))
        (folder / "users.toml").write_text("".join(f'{name} = "{own}"\n' for name, own in PEOPLE.items()))

    # --- its processes

    def start(self) -> None:
        """Start it without waiting for it."""
        flags = {
            "--port": str(self.port),
            "--kb": "kb",
            "--data": "data",
            "--tools": "tools.json",
            "--users": "users.toml",
            "--token": TOKEN,
            "--action-webhook": f"http://127.0.0.1:{self._hook.port}/hook",
            "--workers": "2",
            "--memory": "on",
            "--vectors": "off",
            "--pace-ms": "0",
            "--mock-delay-ms": "5",
            "--api-rate": "0",
            "--rate-limit": "0",
        }
        command = [sys.executable, "-m", "agent", "serve", *(each for pair in flags.items() for each in pair)]
        with (self._folder / "said").open("wb") as out, (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self._folder, env=self._environment, stdout=out, stderr=log
            )

    async def wait_until_ready(self) -> None:
        """Wait until it has started. Raises TimeoutError where that takes too long, or it ends."""
        until = trio.current_time() + STARTED
        while b"/ws" not in (self._folder / "said").read_bytes() or not await self._is_ready():
            if trio.current_time() > until or not self.runs:
                raise TimeoutError(f"the server has not started: {self.read_log()}")
            await trio.sleep(0.05)

    async def _is_ready(self) -> bool:
        with suppress(OSError), trio.move_on_after(5):
            stream = await trio.open_tcp_stream("127.0.0.1", self.port)
            async with stream:
                await stream.send_all(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
                return b" 200 " in await stream.receive_some()
        return False

    @property
    def runs(self) -> bool:
        """Whether the supervisor runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id of the supervisor."""
        assert self._process is not None, "not started"
        return self._process.pid

    def find_workers(self) -> list[int]:
        """Return the process ids of the workers, the oldest first."""
        found = [pid for pid in family(self.pid)[1:] if _WORKER in _command(pid)]
        return sorted(found, key=_read_begin)

    def measure_age(self, pid: int) -> float:
        """Return how many seconds ago a process began."""
        uptime = float(Path("/proc/uptime").read_text().split()[0])
        return uptime - _read_begin(pid) / os.sysconf("SC_CLK_TCK")

    def signal(self, pids: Sequence[int], which: signal.Signals) -> None:
        """Send a signal to processes, where they have not ended."""
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, which)

    def kill(self, everything: bool = True) -> None:
        """Send SIGKILL to the supervisor, and with `everything` to its workers."""
        workers = self.find_workers()
        self.signal([self.pid, *(workers if everything else ())], signal.SIGKILL)
        assert self._process is not None
        self._process.wait()

    async def terminate(self) -> float:
        """Send SIGTERM; return the seconds until it has ended. Raises TimeoutError after ENDED."""
        assert self._process is not None
        began = trio.current_time()
        self._process.send_signal(signal.SIGTERM)
        while self._process.poll() is None:
            if trio.current_time() > began + ENDED:
                raise TimeoutError(f"the server runs {ENDED:g} s after SIGTERM: {self.read_log()}")
            await trio.sleep(0.02)
        if self._process.returncode != 0:
            raise TimeoutError(f"the server ended with {self._process.returncode}: {self.read_log()}")
        return trio.current_time() - began

    def find_processes(self) -> list[int]:
        """Return the ids of the processes that run in its folder."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if os.readlink(process / "cwd") == str(self._folder) and _is_running(int(process.name)):
                    found.append(int(process.name))
        return found

    def close(self) -> None:
        """Kill every process that is left."""
        until = time.monotonic() + 5
        while (left := self.find_processes()) and time.monotonic() < until:
            self.signal(left, signal.SIGKILL)
            time.sleep(0.02)
        if self._process is not None:
            self._process.wait(5)

    # --- its files

    def misbehave(self, kind: str, mode: str) -> None:
        """Let calls of a kind (sync, write) misbehave from now on; "" lets them work again."""
        path = self._control / kind
        if mode:
            new = path.with_suffix(".new")
            new.write_text(mode)
            new.replace(path)
        else:
            path.unlink(missing_ok=True)

    def read_log(self, lines: int = 12) -> str:
        """Return the last lines of its log."""
        return "\n".join((self._folder / "log").read_text(errors="replace").splitlines()[-lines:])

    def run_command(self, *words: str) -> tuple[int, str]:
        """Run a command of the program on its folder; return its exit status and its output."""
        ran = subprocess.run(
            [sys.executable, "-m", "agent", *words, "--data", str(self.data)],
            cwd=self._folder,
            env=self._without_shim,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return ran.returncode, ran.stdout + ran.stderr


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def _stat(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _read_begin(pid: int) -> int:
    """Return when a process began, in ticks since the machine did; 0 where there is none."""
    found = _stat(pid)
    return int(found[19]) if found else 0


def _is_running(pid: int) -> bool:
    found = _stat(pid)
    return bool(found) and found[0] not in "ZX"


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
