"""How many clients a server with voice takes: `python -m tests.bench.voice_load [--quick] [PART ...]`.

The parts, both by default, each with servers of its own:

- `silent`: 500 sessions that never talk, of a server with a mouth and an ear and of one without, in turns. Printed are
  memory, the CPU of their connecting and of a minute in which nothing is asked, the instructions of a connection and of
  a turn, and each in proportion to the server without voice (asked: at most 3 % more).
- `talk`: four clients that talk at the same time for a minute, at the pace of speech, to the ear whisper tiny.en and
  the mouth espeak-ng. Printed are the CPU of the server for each second of all cores, how late the finals come after
  the end of speech, audio that came later than it was to be played, and audio that was refused.

`--quick` takes less of everything, to see that the bench works. Instructions are callgrind's; all else means something
on a quiet machine only. Exit status 1 when a figure is beyond its bound.
"""

import itertools
import json
import os
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import trio
import trio_websocket

from agent.errors import UsageError
from agent.ports.voice import CHUNK_BYTES, CHUNK_SECONDS
from agent.voice.engines.open import open_synthesizer
from agent.voice.hearing import AHEAD_SECONDS, SILENCE_SECONDS
from tests.bench.load.client import Load
from tests.bench.load.counters import why_no_callgrind
from tests.bench.load.process import between, family, taken
from tests.bench.load.workloads import idle

from .instructions import count
from .servers import ROOT, How, Kind, ours, running, wait_until_ready
from .speech import find_share, run_server
from .voice import LATE, QUESTIONS, find_whisper, say, speak

SESSIONS, MOST = 500, 1.03  # and the bound: times a server without voice
WARM = 20  # sessions before those that are measured
ENDING = 25  # frames of silence that end an utterance
TALKERS, LISTENS = 4, 3.0  # seconds of each answer
UNDERRUNS = 0.01  # share of the chunks that may come late
_TICK = os.sysconf("SC_CLK_TCK")
_PATIENCE = 60.0


def show_figure(name: str, value: str, asked: str, is_met: bool) -> bool:
    """Print a figure with its bound; return whether it is met."""
    say(f"  {name:44} {value:>34}   (asked {asked}: {'holds' if is_met else 'MISSED'})")
    return is_met


# --- sessions that never talk


def measure_silent(is_quick: bool) -> bool:
    """Compare sessions that never talk; return whether they cost the same with voice."""
    sessions, seconds, rounds = (50, 5.0, 1) if is_quick else (SESSIONS, 60.0, 3)
    found: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory(prefix="agent-bench-") as name:
        folder = Path(name)
        script = folder / "script.json"
        script.write_text("{}", encoding="utf-8")
        kinds = (ours("without"), ours("with", ROOT, "--mouth", "tone", "--ear", f"script:{script}"))
        for _, kind in itertools.product(range(rounds), kinds):
            figures = measure_sessions(kind, folder, sessions, seconds)
            for figure, value in figures.items():
                found.setdefault(figure, {}).setdefault(kind.name, []).append(value)
        if reason := why_no_callgrind():
            say(f"  instructions are not counted: {reason}")
        else:
            counts = [count(("tests.bench.counted", *more)) for more in ((), ("--voice",))]
            for name in ("connection", "turn"):
                figure = f"thousands of instructions a {name}"
                found[figure] = {kind.name: [each[name]] for kind, each in zip(kinds, counts, strict=True)}
    say(f"silent: {sessions} sessions for {seconds:g} s, {rounds} times with voice and without, in turns")
    is_good = True
    for figure, values in found.items():
        without, voiced = (median(values[kind.name]) for kind in kinds)
        ratio = voiced / without if without else 1.0
        told = f"{without:.1f} -> {voiced:.1f}, times {ratio:.3f}"
        is_good = show_figure(figure, told, f"<= {MOST}", ratio <= MOST) and is_good
    return is_good


def measure_sessions(kind: Kind, folder: Path, sessions: int, seconds: float) -> dict[str, float]:
    """Return the costs of sessions of a server of `kind`."""
    with running(kind, How(0, 0), folder) as server, Load() as load:
        wait_until_ready(server.target)
        load.open(server.target, WARM, lambda line, turn: None)
        costs = idle(load, server.target, server.pid, sessions)
        before, until = taken(server.pid), load.clock() + seconds
        load.run(lambda: load.clock() >= until, seconds + _PATIENCE, "a quiet minute")
        spent = between(before, taken(server.pid)).cpu
    return {
        "KiB a session": costs["kib_per_connection"],
        "us of CPU to connect a session": costs["cpu_us_per_accept"],
        f"ms of CPU in {seconds:g} s": 1000 * spent,
    }


# --- clients that talk at the same time


class Talker:
    """A client that asks aloud, one question after the other, and plays a part of each answer.

    `lags`: seconds from the end of speech to the final. `chunks`, `late`: audio that came, and that came when there was
    nothing left to play. `refused`: sentences of errors.
    """

    def __init__(self, client: trio_websocket.WebSocketConnection, questions: Sequence[bytes]) -> None:
        self.lags: list[float] = []
        self.chunks = self.late = self.asked = 0
        self.refused: Counter[str] = Counter()
        self._client = client
        self._questions = itertools.cycle(questions)
        self._frames: deque[bytes | None] = deque()  # of the question, not sent yet; None is its end
        self._said_at: float | None = None
        self._is_heard = False
        self._played_until: float | None = None  # of the speech in progress
        self._news = trio.Event()

    async def run(self, ready: Callable[[], None], begin: trio.Event) -> None:
        """Have an ear opened by a first question, then talk and listen from `begin` until cancelled."""
        await self._client.send_message(json.dumps({"type": "listen", "on": True, "echoCancelled": True}))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._read)
            self._queue_question()
            self._frames.extend([bytes(CHUNK_BYTES)] * ENDING)
            await self._send_audio(False)  # no more than may wait while the ear is opened
            await self._wait_while(lambda: not self._is_heard, _PATIENCE)
            ready()
            await begin.wait()
            self.lags, self.chunks, self.late, self.asked = [], 0, 0, 0
            nursery.start_soon(self._send_audio, True)
            while True:
                self._queue_question()
                await self._wait_while(lambda: not self._is_heard, _PATIENCE)
                await self._wait_while(lambda: self._played_until is None, LISTENS)
                await self._wait_while(lambda: self._played_until is not None, LISTENS)

    def _queue_question(self) -> None:
        """Say the next question."""
        question = next(self._questions)
        self._said_at, self._is_heard = None, False
        self._frames.extend(
            question[at : at + CHUNK_BYTES].ljust(CHUNK_BYTES, b"\0")
            for at in range(0, len(question), CHUNK_BYTES)
        )
        self._frames.append(None)
        self.asked += 1

    async def _wait_while(self, is_so: Callable[[], bool], seconds: float) -> None:
        with trio.move_on_after(seconds):
            while is_so():
                self._news = trio.Event()
                await self._news.wait()

    async def _send_audio(self, goes_on: bool) -> None:
        """Send the microphone's audio at its pace. `goes_on`: with silence between two questions, until cancelled."""
        due = trio.current_time()
        while goes_on or self._frames:
            pcm = self._frames.popleft() if self._frames else bytes(CHUNK_BYTES)
            if pcm is None:
                self._said_at = trio.current_time()
                continue
            due = (
                max(due, trio.current_time() - AHEAD_SECONDS / 2) + CHUNK_SECONDS
            )  # a microphone loses the rest
            await trio.sleep_until(due)
            await self._client.send_message(pcm)

    async def _read(self) -> None:
        while True:
            message = await self._client.get_message()
            now = trio.current_time()
            if isinstance(message, bytes):
                self._play_chunk(now)
            else:
                self._take_frame(json.loads(message), now)
            self._news.set()

    def _play_chunk(self, now: float) -> None:
        until = now if self._played_until is None else self._played_until
        self.chunks += 1
        self.late += now > until
        self._played_until = max(now, until) + CHUNK_SECONDS

    def _take_frame(self, frame: dict[str, object], now: float) -> None:
        if frame["type"] == "heard" and frame.get("final") and self._said_at is not None:
            self.lags.append(now - self._said_at)
            self._is_heard = True
        elif frame["type"] == "speech_end":
            self._played_until = None
            self.refused.update([str(frame["reason"])] if frame["reason"] in ("slow", "failed") else [])
        elif frame["type"] == "error":
            self.refused[str(frame["message"])] += 1


def measure_cpu(pid: int) -> float:
    """Return the seconds of CPU of a process and its descendants, those that have ended included."""
    ticks = 0
    for each in family(pid):
        try:
            fields = Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / _TICK


async def talk_together(port: int, pid: int, seconds: float) -> bool:
    """Let clients talk at the same time; return whether the server hears and speaks in real time."""
    mouth, url = open_synthesizer("flite"), f"ws://127.0.0.1:{port}/ws"
    audio = [await speak(mouth, question) for question in QUESTIONS]
    talkers: list[Talker] = []

    begin, ready = trio.Event(), trio.Semaphore(0)

    async def connect(number: int) -> None:
        protocols = ["agent.voice.v1", "agent.v1"]
        async with trio_websocket.open_websocket_url(url, subprotocols=protocols) as client:
            part = len(audio) // TALKERS
            talkers.append(Talker(client, audio[number * part :]))
            await talkers[-1].run(ready.release, begin)

    async with trio.open_nursery() as nursery:
        for number in range(TALKERS):
            nursery.start_soon(connect, number)
            await ready.acquire()
        before, began = measure_cpu(pid), time.monotonic()
        begin.set()
        await trio.sleep(seconds)
        nursery.cancel_scope.cancel()
    lasted = time.monotonic() - began
    used = (measure_cpu(pid) - before) / lasted / (os.cpu_count() or 1)
    lags = [lag for each in talkers for lag in each.lags] or [_PATIENCE]
    chunks, late = (sum(getattr(each, name) for each in talkers) for name in ("chunks", "late"))
    refused = sum((each.refused for each in talkers), Counter())
    p50, p99 = find_share(lags, 0.5), find_share(lags, 0.99)
    say(f"talk: {TALKERS} clients for {lasted:.0f} s, {sum(each.asked for each in talkers)} questions")
    bound = SILENCE_SECONDS + LATE
    return all(
        [
            show_figure("CPU of the server, of all cores", f"{used:.2f}", "< 1", used < 1),
            show_figure(
                f"finals after the end of speech ({SILENCE_SECONDS} s of silence)",
                f"p50 {p50:.0f} ms, p99 {p99:.0f} ms of {len(lags)}",
                f"p99 < {bound * 1000:.0f} ms",
                p99 < bound * 1000,
            ),
            show_figure(
                "chunks of audio after their time",
                f"{late} of {chunks}",
                "<= 1 %",
                late <= chunks * UNDERRUNS,
            ),
            show_figure("audio refused, speech slow or failed", f"{dict(refused)}", "none", not refused),
        ]
    )


def measure_talk(is_quick: bool) -> bool:
    """Measure clients that talk at the same time; return whether all of it is in real time."""
    with run_server("--mouth", "espeak", "--ear", find_whisper()) as (port, pid):
        return trio.run(talk_together, port, pid, 20.0 if is_quick else 60.0)


PARTS: dict[str, Callable[[bool], bool]] = {"silent": measure_silent, "talk": measure_talk}


def main(arguments: Sequence[str]) -> int:
    """Run the parts named, and return the exit status."""
    is_good = True
    say(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name in [each for each in arguments if each in PARTS] or PARTS:
        try:
            is_good = PARTS[name]("--quick" in arguments) and is_good
        except UsageError as error:
            say(f"{name}: skipped: {error}")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
