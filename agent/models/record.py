"""Records a model's answers in files and replays them: real answers without the model.

An exchange is one file of JSON lines, named by the digest of its request: first the request, then each piece. It holds
the request and the answer in full, so only its owner may read it; it holds no headers and no keys. Only an answer that
finished is recorded, and the last answer to a request replaces the earlier ones.
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

from ..errors import ModelFailed
from ..ports.model import CallDelta, Finish, LanguageModel, ModelRequest, NamedTool, Piece, TextDelta
from ..ports.work import RunSync
from .encoding import decode, encode
from .settings import MODEL_ANSWER_MAX


class _RecordLine(msgspec.Struct, omit_defaults=True):
    """One line of a file: exactly one field is set."""

    request: Any = None
    text: str | None = None
    call: CallDelta | None = None
    finished: Finish | None = None


def request_fields(request: ModelRequest) -> dict[str, Any]:
    """Return a request as plain values: all fields but `stable`, which changes no answer."""
    choice = request.choice
    return {
        "messages": request.messages,
        "tools": request.tools,
        "choice": {"name": choice.name} if isinstance(choice, NamedTool) else choice.value,
        "form": request.form,
        "max_tokens": request.max_tokens,
    }


def request_digest(request: ModelRequest) -> str:
    """Return the name of a request: 32 hexadecimal digits of the SHA-256 of its JSON with sorted keys."""
    plain = msgspec.json.decode(encode(request_fields(request)))
    return sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()[:32]


class RecordingModel:
    """Asks another model and records its answers (a `LanguageModel`).

    `folder`: for the recordings; it exists. `run_sync`: writes them.
    """

    def __init__(self, model: LanguageModel, folder: Path, run_sync: RunSync) -> None:
        self._model = model
        self._folder = folder
        self._run_sync = run_sync

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the answer, which is recorded before its last piece is yielded.

        Raises `ModelFailed` (`request`) when the file cannot be written. Cancelled before its end, it records nothing.
        """
        lines = [encode({"request": request_fields(request)})]
        async with aclosing(self._model.stream(request)) as pieces:
            async for piece in pieces:
                lines.append(encode(_make_line(piece)))
                if isinstance(piece, Finish):
                    await self._write_exchange(request_digest(request), b"\n".join(lines) + b"\n")
                yield piece

    async def _write_exchange(self, name: str, content: bytes) -> None:
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


class ReplayModel:
    """Replays recorded answers (a `LanguageModel`). `folder`: of the recordings. `run_sync`: reads them."""

    def __init__(self, folder: Path, run_sync: RunSync) -> None:
        self._folder = folder
        self._run_sync = run_sync

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the recorded answer to this request.

        Raises `ModelFailed`: `request` when no answer is recorded, `cut` when the file ends before the answer does.
        """
        place = self._folder / f"{request_digest(request)}.jsonl"
        content = await self._run_sync(lambda: _read_file(place))
        if content is None:
            raise ModelFailed(
                "replay: this request was not recorded: ask it once with record:DIR:MODEL", "request"
            )
        for line in content.splitlines()[1:]:
            await trio.lowlevel.checkpoint()
            piece = _piece_of(decode(line, _RecordLine))
            yield piece
            if isinstance(piece, Finish):
                return
        raise ModelFailed("replay: a recorded answer ends before its end: record it again", "cut")


def _make_line(piece: Piece) -> _RecordLine:
    if isinstance(piece, TextDelta):
        return _RecordLine(text=piece.text)
    return _RecordLine(call=piece) if isinstance(piece, CallDelta) else _RecordLine(finished=piece)


def _piece_of(line: _RecordLine) -> Piece:
    piece = line.call or line.finished
    if piece is None:
        if line.text is None:
            raise ModelFailed("replay: a recorded answer holds something else: record it again", "protocol")
        return TextDelta(line.text)
    return piece


def _read_file(place: Path) -> bytes | None:
    try:
        with place.open("rb") as file:
            return file.read(2 * MODEL_ANSWER_MAX)
    except OSError:
        return None
