"""A crowd in a process of its own, so that measurements in the server's process are of the server.

One line of JSON each way. To the crowd: its specification, then commands, one at a time. From it: the figures of each
second, and `did` with the name of each command that is done. The end of its standard input ends it at once.

    first   ask everything once             quiet   rewrite no more, and check that answers cite the last state
    stay    the users come and stay         drain   from now on the server may hang up on them
    stop    they settle and leave           gone    all of them have left
"""

import json
import resource
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, TextIO

import trio

from ..config import CLOSE_TIMEOUT
from ..errors import AgentError
from .crowd import check_takeover, keep_rewriting, run_users, warm_up
from .figures import Tally
from .hook import Hook
from .memory_growth import resident_bytes
from .notes import NoteFile
from .pages import Pages
from .scene import Scene, Target

NOTES = "notes"  # in the folder that both processes know
KNOWLEDGE = "kb"
FIGURES_EVERY = 1.0  # seconds
ANSWERS_IN = 600.0  # seconds in which any command must be done, beyond its own deadlines
_READ = 64 * 1024


async def read_json_lines(stream: trio.abc.ReceiveStream) -> AsyncGenerator[dict[str, Any], None]:
    """Yield the JSON objects that come as lines, until the end of the stream."""
    data = bytearray()
    while read := await stream.receive_some(_READ):
        data += read
        while (end := data.find(b"\n")) >= 0:
            line: dict[str, Any] = json.loads(data[:end])
            del data[: end + 1]
            yield line


async def send_line(stream: trio.abc.SendStream, **line: Any) -> None:
    """Send one JSON object as a line."""
    await stream.send_all(json.dumps(line).encode() + b"\n")


class RemoteCrowd:
    """The crowd, as the server's process sees it. `hook`: the port of its webhook. Made by `remote_crowd`."""

    def __init__(self, process: trio.Process) -> None:
        self.tally = Tally()
        self.resident: int | None = None
        self.hook = 0
        self._process = process
        self._did: dict[str, trio.Event] = {}
        self._gone = trio.Event()

    async def do(self, command: str, **arguments: Any) -> None:
        """Give a command and wait until it is done, one at a time. Raises `AgentError` when the crowd breaks."""
        done = self._did[command] = trio.Event()
        try:
            with trio.fail_after(ANSWERS_IN):
                assert self._process.stdin is not None
                await send_line(self._process.stdin, do=command, **arguments)
                async with trio.open_nursery() as either:
                    for event in (done, self._gone):
                        either.start_soon(_when, event, either.cancel_scope)
        except (OSError, trio.BrokenResourceError, trio.TooSlowError):
            raise AgentError(f"the crowd's process did not {command}") from None
        finally:
            del self._did[command]
        if not done.is_set():
            raise AgentError(f"the crowd's process has ended before it could {command}")

    async def run(self) -> None:
        """Read the reports of the crowd's process, until its output ends."""
        assert self._process.stdout is not None
        async with aclosing(read_json_lines(self._process.stdout)) as coming:
            async for line in coming:
                if "figures" in line:
                    self.tally, self.resident = Tally.load(line["figures"]), line["resident"]
                self.hook = line.get("hook", self.hook)
                if (done := self._did.get(line.get("did", ""))) is not None:
                    done.set()
        self._gone.set()


async def _when(event: trio.Event, scope: trio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


@asynccontextmanager
async def remote_crowd(
    folder: Path, seed: int, clients: int, callers: int = 0, voices: int = 0
) -> AsyncGenerator[RemoteCrowd, None]:
    """Start a crowd in a process of its own for the time of a block, with its knowledge base already written.

    `clients`, `callers`, `voices`: as for `run_users`.
    """
    process = await trio.lowlevel.open_process(
        [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    crowd = RemoteCrowd(process)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(crowd.run)
            size = {"clients": clients, "callers": callers, "voices": voices}
            await crowd.do("begin", folder=str(folder), seed=seed, **size)
            yield crowd
            nursery.cancel_scope.cancel()
    finally:
        process.kill()
        with trio.move_on_after(CLOSE_TIMEOUT, shield=True):
            await process.wait()


# --- the crowd's own process


class _Crowd:
    """The crowd's own process, command by command."""

    def __init__(self, spec: dict[str, Any], notes: NoteFile, nursery: trio.Nursery) -> None:
        self._seed, self._clients = int(spec["seed"]), int(spec["clients"])
        self._callers, self._voices = int(spec["callers"]), int(spec["voices"])
        self._notes = notes
        self._nursery = nursery
        self._knowledge = Path(spec["folder"]) / KNOWLEDGE
        self._knowledge.mkdir()
        self._pages = Pages(self._knowledge, trio.current_time)
        self._rewriting = trio.CancelScope()
        self._tally = Tally()
        self._port = 0
        self.hook = Hook(self._seed, notes.effect)
        self._scene = self._new_scene()
        self._staying = trio.Event()

    async def do(self, command: str, line: dict[str, Any]) -> None:
        """Carry out a command, and return when it is done."""
        self._port = line.get("port", self._port)
        await self._COMMANDS[command](self)

    def figures(self) -> dict[str, Any]:
        """Return the figures to report."""
        return {"figures": self._tally.dump(), "resident": resident_bytes()}

    async def _first(self) -> None:
        self._scene = self._new_scene()
        await warm_up(self._scene, self._callers > 0, self._voices > 0)

    async def _stay(self) -> None:
        self._scene = self._new_scene()
        self._staying = trio.Event()
        self._rewriting = trio.CancelScope()
        self._nursery.start_soon(self._keep_rewriting)
        self._nursery.start_soon(self._be_there, self._staying)

    async def _keep_rewriting(self) -> None:
        with self._rewriting:
            await keep_rewriting(self._pages)

    async def _be_there(self, over: trio.Event) -> None:
        await run_users(self._scene, self._seed, self._clients, self._callers, self._voices)
        over.set()

    async def _stop(self) -> None:
        self._scene.stop.set()
        await self._staying.wait()

    async def _quiet(self) -> None:
        self._rewriting.cancel()
        await check_takeover(self._new_scene(), self._pages)

    async def _drain(self) -> None:
        self._scene.drain.set()

    async def _wait_gone(self) -> None:
        await self._staying.wait()

    def _new_scene(self) -> Scene:
        clients = self._clients + self._callers
        target = Target(host="127.0.0.1", port=self._port, clients=clients, tools=True)
        return Scene(target=target, tally=self._tally, note=self._notes.note, pages=self._pages)

    _COMMANDS: ClassVar[dict[str, Callable[["_Crowd"], Awaitable[None]]]] = {
        "first": _first,
        "stay": _stay,
        "stop": _stop,
        "quiet": _quiet,
        "drain": _drain,
        "gone": _wait_gone,
    }


async def _main() -> None:
    """Run a crowd, as the other end of `RemoteCrowd`."""
    _open_many_files()
    incoming, outgoing = trio.lowlevel.FdStream(0), trio.lowlevel.FdStream(1)
    sending = trio.Lock()

    async def tell(**line: Any) -> None:
        async with sending:
            await send_line(outgoing, **line)

    async with trio.open_nursery() as nursery, aclosing(read_json_lines(incoming)) as coming:
        spec = await anext(coming)
        with _notes(Path(spec["folder"]) / NOTES) as file:
            crowd = _Crowd(spec, NoteFile(file), nursery)
            await nursery.start(crowd.hook.serve)
            await tell(did=spec["do"], hook=crowd.hook.port)
            nursery.start_soon(_tell_figures, crowd, tell)
            async for line in coming:
                await crowd.do(line["do"], line)
                file.flush()
                await tell(did=line["do"], **crowd.figures())
        nursery.cancel_scope.cancel()


async def _tell_figures(crowd: _Crowd, tell: Callable[..., Awaitable[None]]) -> None:
    while True:
        await trio.sleep(FIGURES_EVERY)
        await tell(**crowd.figures())


def _notes(path: Path) -> TextIO:
    return open(path, "w", encoding="ascii")


def _open_many_files() -> None:
    """Raise the limit of open files: a crowd has a socket for each user, which may exceed this process's limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    # Ctrl-C is for the server's process, whose end ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    trio.run(_main)
