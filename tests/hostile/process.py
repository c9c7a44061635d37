"""A server in a process of its own, for what only an operating system can do to it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.load.process import family

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class ServerProcess:
    """A running server: its port and its process id."""

    port: int
    pid: int

    @property
    def url(self) -> str:
        """Where its socket is."""
        return f"ws://127.0.0.1:{self.port}/ws"

    def resident(self) -> int:
        """Return its resident bytes, those of its workers too; 0 where the system does not tell."""
        held = [Path(f"/proc/{pid}/statm") for pid in family(self.pid)]
        pages = sum(int(statm.read_text().split()[1]) for statm in held if statm.exists())
        return pages * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def server_process(*flags: str, files: int | None = None) -> Iterator[ServerProcess]:
    """Run `agent serve` on the repository's knowledge base for the time of a block.

    files: how many file descriptors it may have.
    """
    quiet = ("--log-level", "error", "--vectors", "off")
    command = [sys.executable, "-m", "agent", "serve", "--port", "0", *quiet, *flags]
    if files is not None:
        command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command]
    process = subprocess.Popen(command, cwd=ROOT, text=True, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        port = int(process.stdout.readline().rsplit(":", 1)[1].split("/")[0])
        yield ServerProcess(port, process.pid)
        assert process.poll() is None, "the server has died"
    finally:
        process.kill()
        process.communicate()
