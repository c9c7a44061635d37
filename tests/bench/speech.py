"""How soon an answer is heard, and how soon a cancel is silence: `python -m tests.bench.speech [MOUTH] [ROUNDS]`.

A server of its own (`agent serve --mouth MOUTH`) answers a question from `kb/` over a real socket again and again. The
first chunk of audio is timed from the first delta of the answer, which leaves with its first verified sentence, and the
`speech_end` from the cancel in the middle of a word. Audio that came after that `speech_end` is counted: there is none.
"""

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import trio
import trio_websocket

ROOT = Path(__file__).parents[2]
QUESTION = "What are the opening hours?"
_PATIENCE = 30.0


def _show(name: str, seconds: Sequence[float]) -> None:
    ordered = sorted(seconds)
    half, most = [ordered[min(len(ordered) - 1, int(share * len(ordered)))] * 1000 for share in (0.5, 0.99)]
    told = f"p50 {half:7.1f} ms   p99 {most:7.1f} ms   max {ordered[-1] * 1000:7.1f} ms"
    sys.stdout.write(f"{name:28} {told}   of {len(ordered)}\n")


async def _time_rounds(url: str, rounds: int) -> int:
    first, cancelled, late = [], [], 0
    pick = random.Random(1)
    protocols = ["agent.voice.v1", "agent.v1"]
    async with trio_websocket.open_websocket_url(url, subprotocols=protocols) as client:
        for number in range(rounds):
            id = f"m{number}"
            await client.send_message(json.dumps({"type": "message", "id": id, "text": QUESTION}))
            text_at = 0.0
            with trio.fail_after(_PATIENCE):
                while isinstance(message := await client.get_message(), str):
                    if not text_at and json.loads(message)["type"] == "stream":
                        text_at = time.perf_counter()
            first.append(time.perf_counter() - text_at if text_at else 0.0)
            with trio.move_on_after(pick.uniform(0.05, 0.4)):
                while True:
                    await client.get_message()
            began = time.perf_counter()
            await client.send_message(json.dumps({"type": "cancel", "id": id}))
            with trio.fail_after(_PATIENCE):
                while True:
                    message = await client.get_message()
                    if isinstance(message, str) and json.loads(message)["type"] == "speech_end":
                        break
            cancelled.append(time.perf_counter() - began)
            assert json.loads(message)["reason"] == "cancelled", message
            with trio.move_on_after(0.05):
                while True:
                    late += isinstance(await client.get_message(), bytes)
    _show("first audio after first delta", first)
    _show("cancel to speech_end", cancelled)
    sys.stdout.write(f"chunks of audio after a speech_end: {late}\n")
    return late


def main(mouth: str = "tone", rounds: str = "1000") -> int:
    """Measure; exit status 1 when audio came after the end of its speech."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "agent",
        "serve",
        "--mouth",
        mouth,
        "--port",
        str(port),
        "--rate-limit",
        "0",
    ]
    with subprocess.Popen(command, cwd=ROOT, env=os.environ, stderr=subprocess.DEVNULL) as server:
        try:
            until = time.monotonic() + _PATIENCE
            while time.monotonic() < until:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            return int(trio.run(_time_rounds, f"ws://127.0.0.1:{port}/ws", int(rounds)) > 0)
        finally:
            server.terminate()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
