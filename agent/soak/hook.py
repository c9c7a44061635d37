"""The operator's end of a webhook: it takes effect, refuses, breaks, hangs up or dawdles, and notes every effect.

An effect is noted under its `Idempotency-Key` before any answer, with the hash of its payload and the action's name. A
known key does not suppress the note, because the soak is to find out whether an action has taken effect twice.
"""

import json
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TypeAlias

import trio

from ..config import WEBHOOK_TIMEOUT
from .notes import digest_of

MOMENT = 0.25  # seconds at most, before the effect and again after it
SLOW = (1.0, 4.0)  # seconds, within `WEBHOOK_TIMEOUT`
TOO_SLOW = WEBHOOK_TIMEOUT + 1.0
# The fates of a call, and how often in a hundred.
FATES = {"done": 78, "slow": 4, "refused": 8, "broken": 4, "cut": 3, "lost": 2, "too slow": 1}
_ANSWERS = {"refused": "422 Unprocessable Content", "broken": "500 Internal Server Error"}
Effect: TypeAlias = Callable[[str, str, str], None]
_PATIENCE = 30.0  # seconds for one exchange
_READ = 4096


class Hook:
    """An endpoint on a free loopback port.

    `effect`: is called with the key, the hash of the payload and the action of each effect, when it is taken. `fates`:
    the possible fates of a call, with their weights.
    """

    def __init__(self, seed: int, effect: Effect, fates: dict[str, int] = FATES) -> None:
        self.port = 0
        self._rng = Random(f"{seed}/hook")
        self._effect = effect
        self._fates = fates

    async def serve(self, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED) -> None:
        """Answer until cancelled; started once it listens on `port`."""
        listeners = await trio.open_tcp_listeners(0, host="127.0.0.1", backlog=1024)
        self.port = int(listeners[0].socket.getsockname()[1])
        task_status.started()
        await trio.serve_listeners(self.exchange, listeners)

    async def exchange(self, stream: trio.abc.Stream) -> None:
        """Answer one call, and close."""
        async with stream:
            with trio.move_on_after(_PATIENCE):
                try:
                    called = await _read_call(stream)
                    if called is not None:
                        await self._answer(stream, *called)
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return

    async def _answer(self, stream: trio.abc.Stream, key: str, body: bytes) -> None:
        fate = self._rng.choices(tuple(self._fates), tuple(self._fates.values()))[0]
        before, after = self._rng.uniform(0, MOMENT), self._rng.uniform(0, MOMENT)
        if fate == "slow":
            after = self._rng.uniform(*SLOW)
        elif fate == "too slow":
            after = TOO_SLOW
        await trio.sleep(before)
        if fate not in ("refused", "lost"):
            call = json.loads(body)
            self._effect(key, digest_of(call["payload"]), call["action"])
        await trio.sleep(after)
        if fate not in ("cut", "lost"):
            status = _ANSWERS.get(fate, "200 OK")
            await stream.send_all(
                f"HTTP/1.1 {status}\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}".encode()
            )


async def _read_call(stream: trio.abc.Stream) -> tuple[str, bytes] | None:
    """Read one whole request; return its `Idempotency-Key` and its body, or `None` when it was broken off."""
    data = bytearray()
    more = partial(stream.receive_some, _READ)
    while (end := data.find(b"\r\n\r\n")) < 0:
        if not (read := await more()):
            return None
        data += read
    fields = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in data[:end].decode().split("\r\n")[1:])
    }
    begin = end + 4
    while len(data) < begin + int(fields["content-length"]):
        if not (read := await more()):
            return None
        data += read
    return fields["idempotency-key"], bytes(data[begin:])
