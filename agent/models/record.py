"""What a model said, kept as files, and played back: real answers without the model.

An exchange is one file of JSON lines, named by the digest of its request: the request first, then each piece. It holds
what was asked and answered in full, so only its owner may read it, and neither headers nor keys. Only an answer that
finished is kept, and the last one to a request stays.
"""

import os
from collections.abc import AsyncGenerator
from contextlib import aclosing
from hashlib import sha256
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import trio

from ..config import MODEL_ANSWER_MAX
from ..errors import ModelFailed
from ..ports.model import CallDelta, Finished, LanguageModel, Named, Piece, Request, TextDelta
from ..ports.work import RunSync
from .encoding import decoded, encoded


class _Line(msgspec.Struct, omit_defaults=True):
    """One line: exactly one of these."""

    request: Any = None
    text: str | None = None
    call: CallDelta | None = None
    finished: Finished | None = None


def asked(request: Request) -> dict[str, Any]:
    """Return what is asked as plain values: all of a request but `stable`, which changes no answer."""
    choice = request.choice
    return {
        "messages": request.messages,
        "tools": request.tools,
        "choice": {"name": choice.name} if isinstance(choice, Named) else choice.value,
        "form": request.form,
        "max_tokens": request.max_tokens,
    }


def digest(request: Request) -> str:
    """Return what tells a request from others: 32 hexadecimal digits of the SHA-256 of its JSON with sorted keys."""
    plain = msgspec.json.decode(encoded(asked(request)))
    return sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()[:32]


class Recording:
    """Asks another model and keeps what it answers (a `LanguageModel`).

    folder: for the recordings; there is one. run_sync: writes them.
    """

    def __init__(self, model: LanguageModel, folder: Path, run_sync: RunSync) -> None:
        self._model = model
        self._folder = folder
        self._run_sync = run_sync

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the answer; it is kept before its last piece is given.

        Raises `ModelFailed` (`request`) when the file cannot be written. Cancelled before its end, it keeps nothing.
        """
        lines = [encoded({"request": asked(request)})]
        async with aclosing(self._model.stream(request)) as pieces:
            async for piece in pieces:
                lines.append(encoded(_written(piece)))
                if isinstance(piece, Finished):
                    await self._keep(digest(request), b"\n".join(lines) + b"\n")
                yield piece

    async def _keep(self, name: str, content: bytes) -> None:
        place, new = self._folder / f"{name}.jsonl", self._folder / f".{name}.{uuid4().hex}"

        def write() -> str:
            try:
                with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                    file.write(content)
                new.replace(place)
            except OSError as error:
                new.unlink(missing_ok=True)
                return type(error).__name__
            return ""

        if wrong := await self._run_sync(write):
            raise ModelFailed(f"record: an exchange cannot be kept ({wrong}): see the folder", "request")


class Replaying:
    """Plays back what was recorded (a `LanguageModel`). folder: the recordings. run_sync: for reading them."""

    def __init__(self, folder: Path, run_sync: RunSync) -> None:
        self._folder = folder
        self._run_sync = run_sync

    async def stream(self, request: Request) -> AsyncGenerator[Piece, None]:
        """Yield the answer that was recorded to this request.

        Raises `ModelFailed`: `request` where none was, `cut` where a file ends before its answer does.
        """
        place = self._folder / f"{digest(request)}.jsonl"
        content = await self._run_sync(lambda: _read(place))
        if content is None:
            raise ModelFailed(
                "replay: this request was not recorded: ask it once with record:DIR:MODEL", "request"
            )
        for line in content.splitlines()[1:]:
            await trio.lowlevel.checkpoint()
            piece = _piece(decoded(line, _Line))
            yield piece
            if isinstance(piece, Finished):
                return
        raise ModelFailed("replay: a recorded answer ends before its end: record it again", "cut")


def _written(piece: Piece) -> _Line:
    if isinstance(piece, TextDelta):
        return _Line(text=piece.text)
    return _Line(call=piece) if isinstance(piece, CallDelta) else _Line(finished=piece)


def _piece(line: _Line) -> Piece:
    piece = line.call or line.finished
    if piece is None:
        if line.text is None:
            raise ModelFailed("replay: a recorded answer holds something else: record it again", "protocol")
        return TextDelta(line.text)
    return piece


def _read(place: Path) -> bytes | None:
    try:
        with place.open("rb") as file:
            return file.read(2 * MODEL_ANSWER_MAX)
    except OSError:
        return None
