"""Reads a model's draft within its bounds, and closes the model's stream whatever happens."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager

import trio

from ..config import DRAFT_MAX, UNWIND_TIMEOUT
from ..errors import ModelFailed
from ..ports.draft import Delta, Drafter, Prompt
from ..ports.search import Hit


class Drafting:
    """A model and the bounds of its drafts. timeout: seconds that a draft may take."""

    def __init__(self, model: Drafter, timeout: float) -> None:
        self._model = model
        self._timeout = timeout

    def given(self, draft: str) -> "Drafting":
        """Return what reads a draft that is there already, within the same bounds."""
        return Drafting(_Given(draft), self._timeout)

    async def whole(self, prompt: Prompt, hits: Sequence[Hit]) -> str:
        """Return the whole draft; raises as `pieces` does."""
        found: list[str] = []
        bounds = _Bounds()
        async with self._read(prompt, hits) as deltas:
            async for delta in deltas:
                found.append(bounds.within(delta.text))
            bounds.end()
        return "".join(found)

    @asynccontextmanager
    async def pieces(self, prompt: Prompt, hits: Sequence[Hit]) -> AsyncGenerator[AsyncIterator[str], None]:
        """Give the draft piece by piece, for as long as the block lasts.

        Raises `ModelFailed` when the model fails, takes longer than the timeout, is over DRAFT_MAX bytes, is no
        text, or says nothing. Leaving the block, also by a cancel, closes the stream (UNWIND_TIMEOUT seconds at most).
        """
        async with self._read(prompt, hits) as deltas:
            yield _Bounded(deltas)

    @asynccontextmanager
    async def _read(
        self, prompt: Prompt, hits: Sequence[Hit]
    ) -> AsyncGenerator[AsyncGenerator[Delta, None], None]:
        """Give the model's deltas within its time, and close its stream."""
        with trio.move_on_after(self._timeout) as deadline:
            async with _closed(self._model.stream(prompt, hits)) as deltas:
                yield deltas
        if deadline.cancelled_caught:
            raise ModelFailed("the draft took too long", "timeout")


class _Given:
    """A drafter that has its draft (implements `agent.ports.draft.Drafter`)."""

    def __init__(self, draft: str) -> None:
        self._draft = draft

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield it whole."""
        await trio.lowlevel.checkpoint()
        yield Delta(self._draft)


class _Bounds:
    """What a draft may be; raises `ModelFailed` where its pieces are not."""

    __slots__ = ("_empty", "_size")

    def __init__(self) -> None:
        self._size = 0
        self._empty = True

    def within(self, text: str) -> str:
        """Return the next piece."""
        try:
            self._size += len(text) if text.isascii() else len(text.encode())
        except UnicodeEncodeError:
            raise ModelFailed("the draft is not text") from None
        if self._size > DRAFT_MAX:
            raise ModelFailed("the draft is too long")
        self._empty = self._empty and not text.strip()
        return text

    def end(self) -> None:
        """Take that there is no further piece."""
        if self._empty:
            raise ModelFailed("the draft is empty")


class _Bounded:
    """Iterates over the text of deltas within the bounds."""

    def __init__(self, deltas: AsyncGenerator[Delta, None]) -> None:
        self._deltas = deltas
        self._bounds = _Bounds()

    def __aiter__(self) -> "_Bounded":
        return self

    async def __anext__(self) -> str:
        delta = await anext(self._deltas, None)
        if delta is None:
            self._bounds.end()
            raise StopAsyncIteration
        return self._bounds.within(delta.text)


@asynccontextmanager
async def _closed(deltas: AsyncGenerator[Delta, None]) -> AsyncGenerator[AsyncGenerator[Delta, None], None]:
    """Close a model's stream when its reader leaves, also on cancel, in UNWIND_TIMEOUT seconds at most."""
    try:
        yield deltas
    finally:
        with trio.move_on_after(UNWIND_TIMEOUT, shield=True):
            await deltas.aclose()
