"""A model that plays a script: a JSON file says what it drafts for which question.

The file is an array of entries; the first whose `match` stands in the question (case-insensitively; "" stands in
every one) is played: its `deltas`, or its `text` as a single delta, each after `delay_ms`; then it ends, or fails
(`error`), or says nothing more for ever (`hang`). A redraft plays the same entry again.

Where tools are offered, what an entry says is a decision as JSON (`agent.llm.script_decider`); one with a `round` plays
only after so many results, and is no draft.
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import msgspec
import trio

from ..errors import ModelFailed, UsageError
from ..ports.draft import Delta, Prompt
from ..ports.search import Hit


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a script: what to match, what to say, and how it ends. `delay_ms` is milliseconds per delta.

    round: after how many results of its turn it plays, as a decision; None is after any number.
    """

    match: str
    deltas: tuple[str, ...] | None = None
    text: str | None = None
    delay_ms: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    error: str | None = None
    hang: bool = False
    round: Annotated[int, msgspec.Meta(ge=0)] | None = None

    def __post_init__(self) -> None:
        """Check what the types cannot say."""
        if self.deltas is not None and self.text is not None:
            raise ValueError("has both `deltas` and `text`")
        if self.error is not None and self.hang:
            raise ValueError("has both `error` and `hang`")
        if self.deltas is None and self.text is None and self.error is None and not self.hang:
            raise ValueError("needs `deltas`, `text`, `error` or `hang`")

    @property
    def pieces(self) -> tuple[str, ...]:
        """What it says, delta by delta."""
        if self.deltas is not None:
            return self.deltas
        return () if self.text is None else (self.text,)

    async def play(self) -> AsyncGenerator[str, None]:
        """Yield what it says, delta by delta, and end as it says. Raises `ModelFailed` with its `error`."""
        for piece in self.pieces:
            await trio.sleep(self.delay_ms / 1000)
            yield piece
        if self.error is not None:
            await trio.sleep(self.delay_ms / 1000)
            raise ModelFailed(self.error)
        if self.hang:
            await trio.sleep_forever()


def read(path: Path) -> tuple[Entry, ...]:
    """Return the entries of a script. Blocks; called once, at the start.

    Raises `agent.errors.UsageError`, one line that names the file and the entry.
    """
    try:
        raw = msgspec.json.decode(path.read_bytes(), type=list[msgspec.Raw])
    except OSError as error:
        raise UsageError(f"script {path}: cannot be read ({error.strerror})") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise UsageError(f"script {path}: {_one_line(error)}") from None
    entries = []
    for number, text in enumerate(raw, 1):
        try:
            entries.append(msgspec.json.decode(text, type=Entry))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise UsageError(f"script {path}: entry {number}: {_one_line(error)}") from None
    return tuple(entries)


def found(entries: Iterable[Entry], question: str) -> Entry:
    """Return the first entry that matches a question. Raises `ModelFailed` when there is none."""
    wanted = question.casefold()
    for entry in entries:
        if entry.match.casefold() in wanted:
            return entry
    raise ModelFailed("no entry of the script matches the question")


class ScriptModel:
    """Drafts what its script says."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = tuple(entry for entry in entries if entry.round is None)

    @classmethod
    def load(cls, path: Path) -> "ScriptModel":
        """Read a script, as `read` does."""
        return cls(read(path))

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the deltas of the first entry that matches the question.

        Raises `ModelFailed` with the entry's `error`, or when no entry matches.
        """
        async with aclosing(found(self._entries, prompt.question).play()) as pieces:
            async for piece in pieces:
                yield Delta(piece)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
