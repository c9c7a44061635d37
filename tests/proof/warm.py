"""Processes that have loaded what is not ours; an examination is a fork of one. To start anew takes half a second.

    python -P tests/proof/warm.py SECONDS     a line [folder, module, argument...] is answered by [status, words]

Of ours nothing is loaded before the fork, so `agent` and `tests` are those of the folder. One that takes more than
SECONDS is ended, and its status is null. words: the last line of what it said, or of its errors where it said nothing.
"""

import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, NoReturn

LOADED = (
    "pytest",
    "_pytest.doctest",
    "_pytest.junitxml",
    "_pytest.logging",
    "_pytest.pastebin",
    "_pytest.pytester",
    "_pytest.unittest",
    "hypothesis",
    "hypothesis.stateful",
    "trio",
    "trio.testing",
    "trio_websocket",
    "msgspec",
    "structlog",
    "transitions",
    "prometheus_client",
    "h11",
    "httpx",
    "markdown_it",
    "yaml",
    "sqlalchemy.dialects.sqlite",
    "watchfiles",
    "cyclopts",
    "docstring_parser",
    "pdb",
    "phonenumbers",
    "sqlalchemy.dialects.postgresql",
    "tantivy",
    "tomllib",
)
_LOOK = 0.005  # seconds between two looks at whether one has ended


class Warm:
    """Starts them as they are needed, and ends them with a block; each is for one examination at a time, of any thread.

    seconds: how long one may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._idle: SimpleQueue[subprocess.Popen[str]] = SimpleQueue()
        self._all = ExitStack()

    def __enter__(self) -> "Warm":
        return self

    def __exit__(self, *_: object) -> None:
        self._all.close()

    def _start(self) -> "subprocess.Popen[str]":
        environment = os.environ | {
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "",  # whatever the machine's is: each copy would be compiled anew
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }
        command = [sys.executable, "-P", __file__, str(self._seconds)]
        pipe = subprocess.PIPE
        return self._all.enter_context(
            subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)
        )

    def examine(self, folder: Path, module: str, *arguments: str) -> tuple[int | None, str]:
        """Run a module in a folder; return its exit status (None: it hangs) and the last line that it printed."""
        try:
            process = self._idle.get_nowait()
        except Empty:
            process = self._start()
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps([str(folder), module, *arguments]) + "\n")
            process.stdin.flush()
            status, said = json.loads(process.stdout.readline())
            return status, said
        finally:
            self._idle.put(process)


def main(seconds: float) -> None:
    """Load, then examine what comes, one after the other."""
    for name in LOADED:
        import_module(name)
    for line in sys.stdin:
        folder, module, *arguments = json.loads(line)
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            child = os.fork()
            if child == 0:
                _run(folder, module, arguments, out, errors)
            status = _ended(child, time.monotonic() + seconds)
            words = f"hangs for {seconds:g} s" if status is None else _last_line(out) or _last_line(errors)
        sys.stdout.write(json.dumps([status, words]) + "\n")
        sys.stdout.flush()


def _run(folder: str, module: str, arguments: list[str], out: IO[bytes], errors: IO[bytes]) -> NoReturn:
    """Be the process that examines, as `python -m module argument...` in the folder would be."""
    status: object = 1
    try:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        os.environ["PYTHONPATH"] = folder
        sys.path.insert(0, folder)
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        status = end.code
    except BaseException:  # noqa: BLE001 - as an interpreter would
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(status if isinstance(status, int) else 1)


def _ended(child: int, deadline: float) -> int | None:
    """Return the exit status of a child, negative for a signal; one that takes too long is killed: None."""
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(_LOOK)


def _last_line(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace").strip().rpartition("\n")[2]


if __name__ == "__main__":
    main(float(sys.argv[1]))
