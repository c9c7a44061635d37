"""The servers that are compared: ours, ours of an earlier checkout, and minimal ones of the same wire.

Each runs on a core of its own. Ours is the whole product: its script drafts the answer from a page of one line, the
brain looks that up and verifies it, and the session streams it. It searches for each question, also for one that was
asked before.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

from tests.bench.load.client import Target
from tests.bench.load.counters import Counter, Perf, why_no_perf
from tests.bench.load.line import Failed
from tests.bench.load.process import family

from .peers.words import WORDS

ROOT = Path(__file__).parents[2]
PEERS = Path(__file__).parent / "peers"
QUESTION, LONG_QUESTION = "Which words are measured?", "Which long words are measured?"
LONG = 4000  # words of the long answer, which no socket's buffer holds
NAMES = ("ours", "before", "trio-websocket", "websockets", "uvicorn", "picows+yield", "node", "node+yield")
PAGE = "# The words\n\nThis page holds the long words and the short words that are measured.\n"
_WAIT = 60.0  # seconds that a server is given to end


@dataclass(frozen=True, slots=True)
class How:
    """How a server is to answer. words: of an answer; 0 is ours from `kb/`. pace: milliseconds between two words."""

    words: int
    pace: float


@dataclass(frozen=True, slots=True)
class Kind:
    """A server to be started. command: from how it is to answer and a folder for its files. why_not: it cannot run."""

    name: str
    command: Callable[[How, Path], Sequence[str]]
    why_not: str | None = None
    cwd: Path = ROOT
    node_path: Path | None = None


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs: where it is, its process, and what counts its instructions, if anything can."""

    target: Target
    pid: int
    counter: Counter | None


def ours(name: str = "ours", root: Path = ROOT, *flags: str) -> Kind:
    """Return our own server, of this checkout or of another."""

    def command(how: How, folder: Path) -> Sequence[str]:
        quiet = ("--vectors", "off", "--log-level", "error", "--data", "memory")
        limits = ("--rate-limit", "0", "--max-connections", "12000", "--idle-timeout", "0")
        knows: tuple[str, ...] = ("--kb", str(ROOT / "kb"))
        if how.words:
            (folder / "kb").mkdir(exist_ok=True)
            (folder / "kb" / "words.md").write_text(PAGE, encoding="utf-8")
            script = [
                {"match": "long", "text": flat_answer(LONG)},
                {"match": "", "text": flat_answer(how.words)},
            ]
            (folder / "script.json").write_text(json.dumps(script), encoding="utf-8")
            knows = ("--kb", str(folder / "kb"), "--model", f"script:{folder / 'script.json'}")
        pace = ("--pace-ms", f"{how.pace:g}")
        return [sys.executable, "-m", "agent", "serve", "--port", "0", *knows, *pace, *quiet, *limits, *flags]

    why_not = None if (root / "agent" / "__main__.py").exists() else f"there is no checkout in {root}"
    return Kind(name, command, why_not, root)


def flat_answer(words: int) -> str:
    """Return an answer of so many words, none of which is a number."""
    return "".join(WORDS[number % len(WORDS)] for number in range(words)).strip()


def python_peer(name: str, module: str, *packages: str) -> Kind:
    """Return a peer in Python. packages: that it needs, all of them."""

    def command(how: How, folder: Path) -> Sequence[str]:
        return [sys.executable, "-m", f"tests.bench.peers.{module}", str(how.words), f"{how.pace:g}"]

    missing = [package for package in packages if find_spec(package) is None]
    why_not = f"{missing[0]} is not installed: pip install -e '.[bench]'" if missing else None
    return Kind(name, command, why_not)


def node_peer(name: str, modules: Path | None, why_not: str | None, *flags: str) -> Kind:
    """Return Node's `ws`. modules: the node_modules folder that holds it."""

    def command(how: How, folder: Path) -> Sequence[str]:
        return ["node", str(PEERS / "node_ws.cjs"), str(how.words), f"{how.pace:g}", *flags]

    return Kind(name, command, why_not, node_path=modules)


def node_modules(given: Path | None, folder: Path) -> tuple[Path | None, str | None]:
    """Return a folder that holds `ws`, installed into `folder` unless one is given; or None, and why there is none."""
    if shutil.which("node") is None:
        return None, "node is not installed"
    if given is not None:
        return (given, None) if (given / "ws").is_dir() else (None, f"there is no ws in {given}")
    if shutil.which("npm") is None:
        return None, "npm is not installed, and no --node-modules was given"
    options = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts")
    done = subprocess.run(["npm", "install", *options, "ws@8"], cwd=folder, capture_output=True, text=True)
    if done.returncode:
        return None, f"npm cannot install ws: {' '.join(done.stderr.split())[:120]}"
    return folder / "node_modules", None


def kinds(before: Path | None, given: Path | None, folder: Path) -> list[Kind]:
    """Return every server there is to compare. before: an earlier checkout. given: a node_modules folder."""
    modules, why_not = node_modules(given, folder)
    return [
        ours(),
        *([ours("before", before.resolve())] if before else []),
        python_peer("trio-websocket", "trio_plain", "trio_websocket"),
        python_peer("websockets", "websockets_plain", "websockets"),
        python_peer("uvicorn", "uvicorn_sansio", "uvicorn", "websockets"),
        python_peer("picows+yield", "picows_yield", "picows"),
        node_peer("node", modules, why_not),
        node_peer("node+yield", modules, why_not, "yield"),
    ]


@cache
def all_cores() -> set[int]:
    """Return the cores that this process was allowed when it asked first: it moves later."""
    return os.sched_getaffinity(0)


def cores() -> tuple[int, int]:
    """Return the core for servers and the core for the load client: the same where there is but one."""
    return min(all_cores()), max(all_cores())


def cores_for(workers: int) -> set[int]:
    """Return the cores for so many workers: one each where one is left for the load client, else all."""
    allowed = sorted(all_cores())
    return set(allowed[:workers] if len(allowed) > workers else allowed)


def wait_until_ready(target: Target) -> None:
    """Wait until a server of ours, all of its workers, has read its documents. Raises Failed when it does not."""
    until = time.monotonic() + _WAIT
    while time.monotonic() < until:
        try:
            with urlopen(f"http://{target.host}:{target.port}/readyz", timeout=_WAIT):
                return
        except HTTPError as error:
            error.close()
            time.sleep(0.05)
    raise Failed(f"the server was not ready within {_WAIT:g} s: look at its log")


@contextmanager
def running(kind: Kind, how: How, folder: Path, on: set[int] | None = None) -> Iterator[Running]:
    """Run a server on its core for the time of a block, this process being on the other.

    perf counts its instructions, where it can. on: the cores of the server, and of this process those that are left;
    all, where none are.
    """
    place = folder / f"{kind.name}-{how.words}-{how.pace:g}"
    place.mkdir(exist_ok=True)
    command = list(kind.command(how, place))
    server, client = cores()
    # not a flag, since earlier checkouts know no such flag, and no such cache
    environment = os.environ | {"PYTHONHASHSEED": "0", "AGENT_HIT_CACHE": "false"}
    if kind.node_path is not None:
        environment["NODE_PATH"] = str(kind.node_path)
    ours = {client} if on is None else all_cores() - on or all_cores()
    os.sched_setaffinity(0, {server} if on is None else on)  # what is started inherits it
    try:
        process = subprocess.Popen(command, cwd=kind.cwd, env=environment, text=True, stdout=subprocess.PIPE)
    finally:
        os.sched_setaffinity(0, ours)
    try:
        counter = Perf(process.pid) if perf_can() else None
        yield Running(Target(host="127.0.0.1", port=port_of(process)), process.pid, counter)
        assert process.poll() is None, f"{kind.name} has died"
    finally:
        _, *workers = family(process.pid)
        process.kill()
        for each in workers:
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        process.communicate(timeout=_WAIT)


@cache
def perf_can() -> bool:
    """Return whether perf can count instructions here."""
    return why_no_perf() is None


def port_of(process: "subprocess.Popen[str]") -> int:
    """Read where a server listens: a peer says its port, ours the addresses of its page and its socket."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip().isdigit():
            return int(line)
        if line.startswith("socket"):
            return int(line.rsplit(":", 1)[1].split("/")[0])
    raise AssertionError("the server did not start")
