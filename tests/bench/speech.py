"""How soon an answer is heard, and how soon a cancel and an interruption are silence: `python -m tests.bench.speech`.

Arguments: `[MOUTH] [ROUNDS]`, as they are `tone` and 1,000. A server of its own (`agent serve --mouth MOUTH`) answers a
question from `kb/` over a real socket again and again. All times are the client's.

- The first chunk of audio is timed from the first delta of the answer, which leaves with its first verified sentence.
- The `speech_end` is timed from a cancel in the middle of a word.
- The last chunk of audio is timed from an onset: the first frame of speech of a client with echo cancellation, whose
  first word is heard 80 ms later. 0 ms means that none came after the onset.

Audio that came after a `speech_end` is counted: there is none. Exit status 1 when a figure is beyond its bound.
"""

import hashlib
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import trio
import trio_websocket

from agent.ports.voice import CHUNK_BYTES, CHUNK_SECONDS

ROOT = Path(__file__).parents[2]
QUESTION = "What are the opening hours?"
FIRST_MS, CANCEL_MS, ONSET_MS = 150.0, 100.0, 100.0  # bounds: of the median, and of 99 of 100
SOUND, NOISE = b"\1\0" * (CHUNK_BYTES // 2), b"\2\0" * (CHUNK_BYTES // 2)
# Two frames are a word, and with the third nothing that is known, so that no message follows from it.
SCRIPT = {hashlib.sha256(SOUND * 2).hexdigest(): "no, stop"}
_PATIENCE = 30.0


def find_share(seconds: Sequence[float], share: float) -> float:
    """Return the value that a share (0..1) of `seconds` do not pass, in milliseconds."""
    ordered = sorted(seconds)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000


def show_times(name: str, seconds: Sequence[float], share: float, bound: float) -> bool:
    """Print times, and return whether so large a share of them is within `bound` milliseconds."""
    half, most = find_share(seconds, 0.5), find_share(seconds, 0.99)
    is_met = find_share(seconds, share) < bound
    asked = f"asked p{share * 100:.0f} < {bound:g} ms: {'holds' if is_met else 'MISSED'}"
    told = f"p50 {half:7.1f} ms   p99 {most:7.1f} ms   max {max(seconds) * 1000:7.1f} ms"
    sys.stdout.write(f"{name:30} {told}   of {len(seconds)}   ({asked})\n")
    return is_met


class Caller:
    """A client with voice. `late`: chunks of audio that came after a `speech_end`."""

    def __init__(self, client: trio_websocket.WebSocketConnection) -> None:
        self.late = 0
        self._client = client
        self._asked = 0
        self._pick = random.Random(1)

    async def send(self, kind: str, **fields: object) -> None:
        """Send a frame."""
        await self._client.send_message(json.dumps({"type": kind, **fields}))

    async def ask(self) -> float:
        """Ask, and listen for a moment of the answer; return the seconds from its text to its audio."""
        self._asked += 1
        await self.send("message", id=self._id, text=QUESTION)
        text_at = 0.0
        with trio.fail_after(_PATIENCE):
            while isinstance(message := await self._client.get_message(), str):
                if not text_at and json.loads(message)["type"] == "stream":
                    text_at = time.perf_counter()
        seconds = time.perf_counter() - text_at if text_at else 0.0
        with trio.move_on_after(self._pick.uniform(0.05, 0.4)):
            while True:
                await self._client.get_message()
        return seconds

    async def cancel(self) -> float:
        """Cancel the answer; return the seconds until its speech has ended."""
        began = time.perf_counter()
        await self.send("cancel", id=self._id)
        await self._wait_for("speech_end")
        seconds = time.perf_counter() - began
        await self._count_late()
        return seconds

    async def interrupt(self) -> float:
        """Say a word into the answer; return the seconds until the last audio of it."""
        began = time.perf_counter()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._say)
            last = await self._wait_for("speech_end")
            await self._count_late()
        await self.send("listen", on=False)
        await self._wait_for("heard", final=True)
        return max(0.0, last - began)

    @property
    def _id(self) -> str:
        return f"m{self._asked}"

    async def _say(self) -> None:
        await self.send("listen", on=True, echoCancelled=True)
        for pcm in (SOUND, SOUND, NOISE):
            await self._client.send_message(pcm)
            await trio.sleep(CHUNK_SECONDS)

    async def _wait_for(self, kind: str, **fields: object) -> float:
        """Wait for a frame of a kind; return when the last audio came before it, 0 for none."""
        last = 0.0
        with trio.fail_after(_PATIENCE):
            while True:
                message = await self._client.get_message()
                if isinstance(message, bytes):
                    last = time.perf_counter()
                    continue
                frame = json.loads(message)
                if frame["type"] == kind and fields.items() <= frame.items():
                    assert frame.get("reason") in (None, "cancelled"), message
                    return last

    async def _count_late(self) -> None:
        with trio.move_on_after(0.05):
            while True:
                self.late += isinstance(await self._client.get_message(), bytes)


async def time_rounds(port: int, rounds: int) -> bool:
    """Print the times of so many cancels and interruptions; return whether all bounds hold."""
    first, cancelled, interrupted = [], [], []
    url, protocols = f"ws://127.0.0.1:{port}/ws", ["agent.voice.v1", "agent.v1"]
    async with trio_websocket.open_websocket_url(url, subprotocols=protocols) as client:
        caller = Caller(client)
        await caller.send("listen", on=True, echoCancelled=True)
        for _ in range(rounds):
            first.append(await caller.ask())
            cancelled.append(await caller.cancel())
            first.append(await caller.ask())
            interrupted.append(await caller.interrupt())
    sys.stdout.write(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    is_good = [
        show_times("first audio after first delta", first, 0.5, FIRST_MS),
        show_times("cancel to speech_end", cancelled, 0.99, CANCEL_MS),
        show_times("onset to last audio", interrupted, 0.99, ONSET_MS),
    ]
    sys.stdout.write(f"chunks of audio after a speech_end: {caller.late}   (asked 0)\n")
    return all(is_good) and not caller.late


@contextmanager
def run_server(*options: str) -> Generator[tuple[int, int], None, None]:
    """Run `agent serve` with options for the time of a block: its port and its process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "agent", "serve", "--port", str(port), "--rate-limit", "0", *options]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ, stderr=subprocess.DEVNULL) as server:
        try:
            until = time.monotonic() + _PATIENCE
            while time.monotonic() < until:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield port, server.pid
        finally:
            server.terminate()


def main(mouth: str = "tone", rounds: str = "1000") -> int:
    """Measure; exit status 1 when a figure is beyond its bound."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "script.json")
        script.write_text(json.dumps(SCRIPT), encoding="utf-8")
        with run_server("--mouth", mouth, "--ear", f"script:{script}") as (port, _):
            return int(not trio.run(time_rounds, port, int(rounds)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
