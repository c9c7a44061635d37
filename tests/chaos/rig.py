"""A server process with everything that it waits for in our hands.

Standard error is a pipe that we read as we like, the files of its ledger and its knowledge base go through a shim in
front of the C library (built with the system's compiler; without one these tests are skipped), and the webhook that
its actions call is a server of ours.
"""

import contextlib
import fcntl
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from agent import cli

from ..both import ONE, Flags

ROOT = Path(__file__).parents[2]
PATIENCE = 90.0  # seconds for a start; a machine that is busy with other things is slow
SMALL_PIPE = 4096  # bytes: the least that Linux gives a pipe, full after a dozen lines


def built_shim(folder: Path) -> Path:
    """Compile the shim into a folder and return where it is; skip the test where that cannot be done."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("making files misbehave takes a C compiler on Linux")
    built = folder / "shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", built, source, "-ldl"], check=True, timeout=60)
    return built


class Webhook:
    """Answers the server's actions, as `mode` says: well, pause, slow, held, fail, full. Counts effects by key.

    released: set, it answers those that were held.
    """

    def __init__(self) -> None:
        self.mode = "well"
        self.effects: Counter[str] = Counter()
        self.released = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._over = threading.Event()
        self._held: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}/hook"

    def close(self) -> None:
        """Stop, and drop everyone."""
        self._over.set()
        self.released.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for held in self._held:
            held.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while not self._over.is_set():
            if self.mode == "full":  # nobody accepts: the queue fills, and then nobody can connect
                self._over.wait(0.05)
                continue
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        client.settimeout(20)
        request = b""
        with contextlib.suppress(OSError):
            while b"\r\n\r\n" not in request:
                piece = client.recv(4096)
                if not piece:
                    return
                request += piece
            key = next(
                line.split(b":", 1)[1].strip().decode()
                for line in request.split(b"\r\n")
                if line.lower().startswith(b"idempotency-key")
            )
            self.effects[key] += 1
            if self.mode == "pause":
                self._held.append(client)
                return
            if self.mode == "slow":
                self._over.wait(1.5)
            if self.mode == "held":
                self.released.wait(20)
            status = "500 Broken" if self.mode == "fail" else "200 OK"
            client.sendall(
                f"HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode()
            )
            client.close()


class Pipe:
    """The server's standard error: read at once, slowly, not at all, or closed by its reader."""

    def __init__(self, mode: str) -> None:
        self.text = b""
        self.mode = mode
        if mode == "full":  # a device without room
            self.writer = os.open("/dev/full", os.O_WRONLY)
            self._reader = -1
            return
        self._reader, self.writer = os.pipe()
        if mode in ("pause", "slow"):
            fcntl.fcntl(self.writer, fcntl.F_SETPIPE_SZ, SMALL_PIPE)
        if mode == "fail":
            os.close(self._reader)
            self._reader = -1
            return
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def started(self) -> None:
        """The server has its end now; ours is not needed."""
        os.close(self.writer)

    def all(self, seconds: float = 5.0) -> str:
        """Return everything that was said, to the end of the pipe, however it was read so far."""
        self.mode = "well"
        if self._reader >= 0:
            self._thread.join(seconds)
        return self.text.decode("utf-8", "replace")

    def _read(self) -> None:
        while True:
            if self.mode == "pause":
                time.sleep(0.02)
                continue
            piece = os.read(self._reader, 64 if self.mode == "slow" else 65536)
            if not piece:
                os.close(self._reader)
                return
            self.text += piece
            if self.mode == "slow":
                time.sleep(0.05)


class Rig:
    """One server and what it depends on. `command` makes files misbehave; `stderr` and `webhook` have modes."""

    def __init__(self, folder: Path, shim: Path, stderr: str = "well", workers: Flags = ONE) -> None:
        self.kb, self.data, self._control = folder / "kb", folder / "data", folder / "control"
        for each in (self.kb, self._control):
            each.mkdir()
        (self.kb / "plans.md").write_text("# Plans\n\nThe standard plan costs 299 kr.\n")
        (self.kb / "terms.md").write_text("# Terms\n\nThe return period is 30 days.\n")
        self.webhook = Webhook()
        self.stderr = Pipe(stderr)
        self.port = 0
        self._workers = workers
        self._process: subprocess.Popen[str] | None = None
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("AGENT_")},
            "PYTHONPATH": str(ROOT),
            "LD_PRELOAD": str(shim),
            "CHAOS_DIR": str(self._control),
            "CHAOS_DATA": str(self.data),
            "CHAOS_KB": str(self.kb),
        }

    @property
    def process(self) -> "subprocess.Popen[str]":
        """The server's process."""
        assert self._process is not None, "not started"
        return self._process

    def start(self, *flags: str) -> None:
        """Start the server without waiting for it."""
        command = [
            sys.executable,
            "-m",
            "agent",
            "serve",
            "--port",
            "0",
            "--vectors",
            "off",
            "--kb",
            str(self.kb),
        ]
        command += ["--data", str(self.data), "--action-webhook", self.webhook.url, *self._workers, *flags]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self._environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=self.stderr.writer,
        )
        self.stderr.started()

    def wait_until_it_listens(self) -> None:
        """Read where it listens."""
        silent = threading.Timer(PATIENCE, self.process.kill)
        silent.start()
        try:
            assert self.process.stdout is not None
            self.process.stdout.readline()
            said = self.process.stdout.readline()
        finally:
            silent.cancel()
        assert ":" in said, self.stderr.all()
        self.port = int(said.rsplit(":", 1)[1].split("/")[0])

    def wait_until_it_is_ready(self) -> None:
        """Wait until it has read its documents, which it does after it listens."""
        deadline = time.monotonic() + PATIENCE
        while not self._is_ready():
            assert time.monotonic() < deadline, self.stderr.all()
            time.sleep(0.02)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/readyz", timeout=PATIENCE):
                return True
        except urllib.error.HTTPError as error:
            error.close()
            return False

    def command(self, kind: str, mode: str) -> None:
        """Let calls of a kind (sync, write, read) misbehave from now on; "" lets them work again."""
        path = self._control / kind
        if mode:
            new = path.with_suffix(".new")
            new.write_text(mode)
            new.replace(path)
        else:
            path.unlink(missing_ok=True)

    def end(self, *signals: float, within: float) -> int:
        """Send SIGTERM now and again after each of `signals` seconds; return the exit status, given in time.

        within: seconds from the last signal.
        """
        self.process.send_signal(signal.SIGTERM)
        for pause in signals:
            time.sleep(pause)
            self.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            pytest.fail(f"still running {time.monotonic() - began:.1f} s after the last SIGTERM")

    def ledger(self) -> dict[str, str]:
        """Return each recorded action's status, by its suggestion's id, as `agent actions` tells it."""
        told = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        command = ["actions", "--all", "--json", "--data", str(self.data)]
        # In this process, whose modules are loaded; in a thread, since the caller may be a task of an event loop.
        with redirect_stdout(told), ThreadPoolExecutor(1) as pool:
            assert pool.submit(cli.main, command).result() == 0
        rows: list[dict[str, Any]] = [json.loads(line) for line in told.buffer.getvalue().splitlines()]
        return {row["suggestionId"]: row["status"] for row in rows}

    def close(self) -> None:
        """End everything that is left."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdout is not None
            self._process.stdout.close()
        self.webhook.close()


@contextmanager
def rig(folder: Path, shim: Path, stderr: str = "well", workers: Flags = ONE) -> Iterator[Rig]:
    """A rig for the time of a block."""
    made = Rig(folder, shim, stderr, workers)
    try:
        yield made
    finally:
        made.close()
