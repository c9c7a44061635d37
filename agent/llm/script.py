"""A model that plays a script: a JSON file says what it drafts for which question.

The file is an array of entries; the first whose `match` stands in the question (case-insensitively; "" stands in
every one) is played: its `deltas`, or its `text` as a single delta, each after `delay_ms`; then it ends, or fails
(`error`), or says nothing more for ever (`hang`). A redraft plays the same entry again.
"""

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import trio

from ..errors import ModelFailed, UsageError
from ..ports.draft import Delta, Prompt
from ..ports.search import Hit


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of a script: what to match, what to say, and how it ends. `delay_ms` is milliseconds per delta."""

    match: str
    deltas: tuple[str, ...] | None = None
    text: str | None = None
    delay_ms: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    error: str | None = None
    hang: bool = False

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


class ScriptModel:
    """Drafts what its script says.

    Raises `agent.errors.UsageError` from `load`, one line that names the file and the entry.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = tuple(entries)

    @classmethod
    def load(cls, path: Path) -> "ScriptModel":
        """Read a script. Blocks; called once, at the start."""
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
        return cls(entries)

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the deltas of the first entry that matches the question.

        Raises `ModelFailed` with the entry's `error`, or when no entry matches.
        """
        entry = self._find(prompt.question)
        for piece in entry.pieces:
            await trio.sleep(entry.delay_ms / 1000)
            yield Delta(piece)
        if entry.error is not None:
            await trio.sleep(entry.delay_ms / 1000)
            raise ModelFailed(entry.error)
        if entry.hang:
            await trio.sleep_forever()

    def _find(self, question: str) -> Entry:
        wanted = question.casefold()
        for entry in self._entries:
            if entry.match.casefold() in wanted:
                return entry
        raise ModelFailed("no entry of the script matches the question")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
