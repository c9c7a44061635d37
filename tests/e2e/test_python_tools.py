"""Tools in Python as the guide prints them: a server in the folder of a module, asked over a socket and over HTTP."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from .flow import PATIENCE, ROOT, TOKEN, Caller, Server, caller

PAGE = (ROOT / "agent" / "guide" / "tools.md").read_text(encoding="utf-8")
SECTION = PAGE[PAGE.index("## Write tools in Python\n") :].split("\n## ")[0]
BLOCKS = re.findall(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
AGENT = (
    sys.executable,
    "-P",
    "-m",
    "agent",
)  # -P: as the command is, which does not look in the current folder
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("AGENT_")} | {
    "PYTHONPATH": str(ROOT),
    "AGENT_PORT": "0",
    "AGENT_TOKEN": TOKEN,
    "AGENT_VECTORS": "off",
}


def read_block(language: str, index: int = 0) -> str:
    """Return the text of a block of the page."""
    texts: list[str] = [text for each, _, text in BLOCKS if each == language]
    return texts[index]


def run_shell(folder: Path, script: str, **variables: str) -> str:
    """Run a block of the page in a folder; return its output."""
    function = f'agent() {{ {shlex.join(AGENT)} "$@"; }}\n'
    ran = subprocess.run(
        ["sh", "-ec", function + script],
        cwd=folder,
        env=ENVIRONMENT | variables,
        stdout=subprocess.PIPE,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    return ran.stdout


@contextmanager
def serve_guide(folder: Path, *flags: str) -> Iterator[Server]:
    """Start the server of the page, as printed but for its port, and save its module."""
    ((name, module),) = [(name, text) for language, name, text in BLOCKS if language == "python"]
    (folder / name).write_text(module, encoding="utf-8")
    (folder / "docs").mkdir()
    (folder / "docs" / "refunds.md").write_text(
        "# Refunds\n\nA refund takes 5 working days.\n", encoding="utf-8"
    )
    with (folder / "log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [*AGENT, *shlex.split(read_block("console"))[1:], "--data", "data", *flags],
            cwd=folder,
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    assert process.stdout is not None
    said = process.stdout.readline() + process.stdout.readline()
    assert "/ws" in said, (folder / "log").read_text(encoding="utf-8")
    server = Server(process, int(said.rsplit(":", 1)[1].split("/")[0]))
    try:
        yield server
    finally:
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()


@pytest.mark.proof
@pytest.mark.parametrize("workers", ["1", "2"], ids=["one process", "workers"])
async def test_the_functions_of_the_guide_are_called(tmp_path: Path, workers: str) -> None:
    """As printed, over a socket; and over HTTP, without an approval and with one, each noted as a function's call."""
    with serve_guide(tmp_path, "--workers", workers) as server:
        async with caller(server) as client:
            chat = await trio.to_thread.run_sync(_chat, tmp_path, server)
            lines = iter(chat.splitlines())
            assert all(expected in lines for expected in read_block("text").splitlines()), chat
            await _look_up(client)
            await _refund(client)


def _chat(folder: Path, server: Server) -> str:
    return run_shell(folder, read_block("console", 1), AGENT_URL=f"{server.url}/")


async def _look_up(client: Caller) -> None:
    said = await client.chat("What is the status of order A-17?")
    (call,) = said["calls"]
    assert _summarize(call) == ("get_order", "function", "done", False)
    assert {each["file"] for each in said["citations"]} == {f"tool/{call['id']}"}
    assert "299" in said["response_json"]["message"]
    (failed,) = (await client.chat("What is the status of order A-4711?"))["calls"]
    assert failed["status"] == "failed"
    assert failed["result"]["error"] == "The function failed; the server's log says why."


async def _refund(client: Caller) -> None:
    (call,) = (await client.chat("Please refund order A-17"))["calls"]
    assert _summarize(call) == ("refund_order", "function", "suggested", True)
    status, done = await client.approve(call["id"], outcome="accept")
    assert (status, _summarize(done)) == (200, ("refund_order", "function", "done", True))
    assert done["result"] == {"success": True, "data": {"order": "A-17", "refunded": 299}}


def _summarize(call: dict[str, Any]) -> tuple[str, str, str, bool]:
    return call["tool"], call["runs_at"], call["status"], call["requires_approval"]
