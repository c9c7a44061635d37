"""Send one request over HTTP, and tell its outcome: done, refused, or unknown."""

import json
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final

import trio

from tests.server import parted
from tests.server.api import held_to_the_document, request

from .history import Outcome
from .records import Records
from .server import TOKEN

PATIENCE: Final = 8.0  # seconds that a client waits for an answer
_RETRIES: Final = 4
_PAUSE: Final = 0.4  # seconds before another try
_REFUSALS: Final = frozenset(
    (
        "closed",
        "expired",
        "begun",
        "not_approved",
        "not_begun",
        "already_reported",
        "not_found",
        "turn_in_progress",
        "changed",
        "refused",
        "in_progress",
        "key_reused",
    )
)
"""The codes that say that a request has done nothing."""
_OPEN: Final = frozenset(("cancelled", "busy", "storage", "shutting_down", "starting", "full", "too_slow"))
"""The codes that leave open what a request has done: a turn may have begun, a write may still be on its way."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a request. sent: whether the server may have read it. code: of a refusal."""

    begin: float
    end: float
    outcome: Outcome
    _: KW_ONLY
    sent: bool = True
    code: str = ""
    value: Any = None
    replayed: bool = False


class Requester:
    """Sends requests to a server, also after that is started anew. An answer with any other code is a violation."""

    def __init__(self, port: int, records: Records) -> None:
        self._port = port
        self._records = records

    async def ask(
        self, method: str, target: str, body: Any = None, key: str = "", patience: float = PATIENCE
    ) -> Answer:
        """Return the outcome of a request within `patience` seconds. key: its Idempotency-Key."""
        begin = trio.current_time()
        sent, came = False, bytearray()
        data = None if body is None else json.dumps(body).encode()
        headers = [f"Idempotency-Key: {key}"] if key else []
        with trio.move_on_after(patience), suppress(OSError, trio.BrokenResourceError):
            stream = await trio.open_tcp_stream("127.0.0.1", self._port)
            async with stream:
                sent = True
                await stream.send_all(request(method, target, data, *headers, key=TOKEN))
                async for piece in stream:
                    came += piece
        if not sent:
            return Answer(begin, trio.current_time(), "refused", sent=False)
        return self._read_answer(method, target, begin, bytes(came))

    async def ask_with_key(
        self, method: str, target: str, body: Any, key: str, patience: float = PATIENCE
    ) -> list[Answer]:
        """Ask under a key until the outcome is known; return the outcome of each try.

        A replay tells the outcome of the first try, so that all tries are one operation.
        """
        tries: list[Answer] = []
        for _ in range(_RETRIES):
            answer = await self.ask(method, target, body, key, patience)
            patience = PATIENCE
            if answer.replayed and answer.outcome == "ok":
                begin = tries[0].begin if tries else answer.begin
                return [Answer(begin, answer.end, "ok", value=answer.value, replayed=True)]
            tries.append(answer)
            if answer.outcome != "unknown" and answer.code != "in_progress":
                break
            await trio.sleep(_PAUSE)
        return tries

    def _read_answer(self, method: str, target: str, begin: float, came: bytes) -> Answer:
        end = trio.current_time()
        try:
            status, headers, content = parted(came)
            whole = status == 204 or len(content) == int(headers["content-length"])
        except (ValueError, IndexError, KeyError, UnicodeDecodeError):
            whole = False
        if not whole:
            return Answer(begin, end, "unknown")
        value: Any = None
        try:
            value = held_to_the_document(method, target, status, headers, content)
        except Exception as error:  # noqa: BLE001 - whatever is wrong with the answer, it is a violation
            self._add_violation(method, target, status, content, repr(error))
        replayed = "idempotent-replayed" in headers
        if status < 400:
            return Answer(begin, end, "ok", value=value, replayed=replayed)
        code = value["code"] if value else ""
        if code not in _REFUSALS | _OPEN:
            self._add_violation(method, target, status, content, "no such answer is expected")
        return Answer(begin, end, "refused" if code in _REFUSALS else "unknown", code=code, value=value)

    def _add_violation(self, method: str, target: str, status: int, content: bytes, why: str) -> None:
        self._records.wrong.append(f"{method} {target} was answered with {status} {content[:300]!r}: {why}")
