"""Reads a model's draft within its bounds, and always closes the model's stream."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import structlog
import trio

from ..config import DRAFT_MAX
from ..errors import ModelFailed
from ..ports.draft import Delta, Drafter, Prompt
from ..ports.search import Hit

_TOO_LONG = "the draft took too long: if the model is only slow, raise turn-timeout"
UNWIND_TIMEOUT = 2.0  # a Brain's clean-up after a cancel

_log = structlog.get_logger("agent.answering")


class DraftReader:
    """Reads the drafts of `model`.

    `timeout`: seconds that a draft may take. `first_wait`: seconds more until its first words, for a model that is
    still being loaded. `on_trouble`: called with a sentence when a draft takes too long, and with "" when one comes in
    time again.
    """

    def __init__(
        self,
        model: Drafter,
        timeout: float,
        first_wait: float = 0.0,
        on_trouble: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._model = model
        self._timeout = timeout
        self._first_wait = first_wait
        self._on_trouble = on_trouble
        self._is_late = False

    def from_draft(self, draft: str) -> "DraftReader":
        """Return a reader of the ready text `draft`, within the same bounds."""
        return DraftReader(_FixedDrafter(draft), self._timeout)

    async def read_whole(self, prompt: Prompt, hits: Sequence[Hit]) -> str:
        """Return the whole draft; raises as `read_pieces` does."""
        async with self.read_pieces(prompt, hits) as pieces:
            return "".join([piece async for piece in pieces])

    @asynccontextmanager
    async def read_pieces(
        self, prompt: Prompt, hits: Sequence[Hit]
    ) -> AsyncGenerator[AsyncIterator[str], None]:
        """Yield an iterator over the pieces of the draft, for the time of the block.

        Raises `ModelFailed` when the model fails, takes longer than the timeout, is over `DRAFT_MAX` bytes, is no text,
        or says nothing where no part of the answer was sent. Leaving the block, also by a cancel, closes the stream
        (`UNWIND_TIMEOUT` seconds at most).
        """
        with trio.move_on_after(self._timeout + self._first_wait) as deadline:
            async with _close_after(self._model.stream(prompt, hits)) as deltas:
                yield _BoundedPieces(deltas, deadline, self._timeout, may_be_empty=bool(prompt.sent))
        if deadline.cancelled_caught:
            _log.warning(
                "draft took too long", seconds=self._timeout, remedy="raise turn-timeout for a slow model"
            )
            self._is_late = True
            self._on_trouble(f"The language model does not answer: {_TOO_LONG}.")
            raise ModelFailed(_TOO_LONG, "timeout")
        if self._is_late:
            self._is_late = False
            self._on_trouble("")


class _FixedDrafter:
    """A drafter with a ready draft (implements `agent.ports.draft.Drafter`)."""

    def __init__(self, draft: str) -> None:
        self._draft = draft

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the whole draft."""
        await trio.lowlevel.checkpoint()
        yield Delta(self._draft)


class _DraftBounds:
    """The bounds of a draft; raises `ModelFailed` when a piece breaks them."""

    __slots__ = ("_empty", "_size")

    def __init__(self, may_be_empty: bool) -> None:
        self._size = 0
        self._empty = not may_be_empty

    def add_piece(self, text: str) -> str:
        """Count and return the next piece."""
        try:
            self._size += len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError:
            raise ModelFailed("the draft is not text") from None
        if self._size > DRAFT_MAX:
            raise ModelFailed("the draft is too long")
        self._empty = self._empty and not text.strip()
        return text

    def finish(self) -> None:
        """Raise `ModelFailed` when the draft ended empty."""
        if self._empty:
            raise ModelFailed("the draft is empty")


class _BoundedPieces:
    """Iterates over the texts of deltas within the bounds.

    `deadline`: the time until the first text; from then on `timeout` seconds are left. `may_be_empty`: a draft without
    words is no fault.
    """

    def __init__(
        self,
        deltas: AsyncGenerator[Delta, None],
        deadline: trio.CancelScope,
        timeout: float,
        *,
        may_be_empty: bool,
    ) -> None:
        self._deltas = deltas
        self._bounds = _DraftBounds(may_be_empty)
        self._deadline = deadline
        self._timeout = timeout
        self._has_begun = False

    def __aiter__(self) -> "_BoundedPieces":
        return self

    async def __anext__(self) -> str:
        delta = await anext(self._deltas, None)
        if delta is None:
            self._bounds.finish()
            raise StopAsyncIteration
        if not self._has_begun:
            self._has_begun = True
            self._deadline.deadline = min(self._deadline.deadline, trio.current_time() + self._timeout)
        return self._bounds.add_piece(delta.text)


@asynccontextmanager
async def _close_after(
    deltas: AsyncGenerator[Delta, None],
) -> AsyncGenerator[AsyncGenerator[Delta, None], None]:
    """Close a model's stream when its reader leaves, also on cancel, in `UNWIND_TIMEOUT` seconds at most."""
    try:
        yield deltas
    finally:
        with trio.move_on_after(UNWIND_TIMEOUT, shield=True):
            await deltas.aclose()
