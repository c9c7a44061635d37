"""Plays a script in place of a model: a JSON file gives the draft, or the decision, for each question.

The file is an array of entries. The first entry whose `match` stands in the question is played (case-insensitively; ""
stands in every question): its `deltas`, or its `text` as a single delta, each after `delay_ms`. Then the draft ends, or
fails (`error`), or stays silent for ever (`hang`). A redraft plays the same entry again.

Where tools are offered, the text of an entry is a decision as JSON, as a model would have written it. An entry with a
`round` plays only after that many results of the turn, and is no draft; an entry without one plays after any number.
The text is read like any model's, so a script can play every hostile or broken decision. A second try plays the same
entry again.
"""

from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Annotated

import msgspec
import trio

from ..errors import ModelFailed, UsageError
from ..ports.decide import Briefing, Decision
from ..ports.draft import Delta, Prompt
from ..ports.search import Hit
from .decision import decode_decision


class ScriptEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One entry of a script. `delay_ms`: milliseconds before each delta.

    `round`: the number of results in its turn after which it plays, as a decision; None for any number.
    """

    match: str
    deltas: tuple[str, ...] | None = None
    text: str | None = None
    delay_ms: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    error: str | None = None
    hang: bool = False
    round: Annotated[int, msgspec.Meta(ge=0)] | None = None

    def __post_init__(self) -> None:
        """Check the conditions that types cannot express."""
        if self.deltas is not None and self.text is not None:
            raise ValueError("has both `deltas` and `text`")
        if self.error is not None and self.hang:
            raise ValueError("has both `error` and `hang`")
        if self.deltas is None and self.text is None and self.error is None and not self.hang:
            raise ValueError("needs `deltas`, `text`, `error` or `hang`")

    @property
    def pieces(self) -> tuple[str, ...]:
        """The text of the entry, delta by delta."""
        if self.deltas is not None:
            return self.deltas
        return () if self.text is None else (self.text,)

    async def play(self) -> AsyncGenerator[str, None]:
        """Yield the text delta by delta, and end as the entry states. Raises `ModelFailed` with its `error`."""
        for piece in self.pieces:
            await trio.sleep(self.delay_ms / 1000)
            yield piece
        if self.error is not None:
            await trio.sleep(self.delay_ms / 1000)
            raise ModelFailed(self.error)
        if self.hang:
            await trio.sleep_forever()


def read_script(path: Path) -> tuple[ScriptEntry, ...]:
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
            entries.append(msgspec.json.decode(text, type=ScriptEntry))
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise UsageError(f"script {path}: entry {number}: {_one_line(error)}") from None
    return tuple(entries)


def find_entry(entries: Iterable[ScriptEntry], question: str) -> ScriptEntry:
    """Return the first entry that matches `question`. Raises `ModelFailed` when no entry matches."""
    folded = question.casefold()
    for entry in entries:
        if entry.match.casefold() in folded:
            return entry
    raise ModelFailed("no entry of the script matches the question")


class ScriptModel:
    """Drafts the texts of its script (implements `agent.ports.draft.Drafter`)."""

    def __init__(self, entries: Sequence[ScriptEntry]) -> None:
        self._entries = tuple(entry for entry in entries if entry.round is None)

    @classmethod
    def load(cls, path: Path) -> "ScriptModel":
        """Read a script, as `read_script` does."""
        return cls(read_script(path))

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the deltas of the first entry that matches the question.

        Raises `ModelFailed` with the entry's `error`, or when no entry matches.
        """
        async with aclosing(find_entry(self._entries, prompt.question).play()) as pieces:
            async for piece in pieces:
                yield Delta(piece)


class ScriptDecider:
    """Decides by its script (implements `agent.ports.decide.Decider`)."""

    def __init__(self, entries: Sequence[ScriptEntry]) -> None:
        self._entries = tuple(entries)

    @classmethod
    def load(cls, path: Path) -> "ScriptDecider":
        """Read a script, as `read_script` does."""
        return cls(read_script(path))

    async def decide(self, briefing: Briefing, problems: Sequence[str] = ()) -> Decision:
        """Return the decision of the first entry that matches the question, in this round.

        Raises `ModelFailed` with the entry's `error`, or when no entry matches; `BadDecision` when the text is no
        decision.
        """
        candidates = [each for each in self._entries if each.round in (None, len(briefing.results))]
        text = ""
        async with aclosing(find_entry(candidates, briefing.question).play()) as pieces:
            async for piece in pieces:
                text += piece
        return decode_decision(text)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
