"""A scripted language model and a scripted drafter, for tests on virtual time."""

import re
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import TypeAlias

import trio

from ..errors import ModelFailed
from ..ports.draft import Delta, Prompt
from ..ports.model import Finish, LanguageModel, ModelMessage, ModelRequest, Piece, Tool, ToolCall
from ..ports.search import Hit

_SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}
ASKED = ModelRequest(
    messages=(
        ModelMessage("system", "Rules."),
        ModelMessage("user", "SECRET? ⅓ å 😀"),
        ModelMessage("assistant", "", (ToolCall("c1", "f", '{"a": 1}'),)),
        ModelMessage("tool", "one", call_id="c1"),
        ModelMessage("user", "So?"),
    ),
    tools=(Tool("f", "Does.", _SCHEMA), Tool("g", "", _SCHEMA)),
    max_tokens=50,
    stable=1,
)
"""A request for tests that need any: a message of each role, tools, and a word (`SECRET`) that no failure may hold."""

Step: TypeAlias = Piece | float | ModelFailed
"""A step of `FakeModel`: yield a piece, sleep for so many seconds, or raise the failure."""


class FakeModel:
    """Plays one list of steps for each request (a `LanguageModel`); after the last list, every request fails.

    `requests`: the requests so far. `closed`: the number of streams that have ended, in any way.
    """

    def __init__(self, answers: Iterable[Sequence[Step]] = ()) -> None:
        self._answers = iter(answers)
        self.requests: list[ModelRequest] = []
        self.closed = 0

    @property
    def running(self) -> int:
        """The number of streams that have begun and not ended."""
        return len(self.requests) - self.closed

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the next answer."""
        self.requests.append(request)
        try:
            for step in next(self._answers, (ModelFailed("nothing left to say", "server"),)):
                await trio.lowlevel.checkpoint()
                if isinstance(step, ModelFailed):
                    raise step
                if isinstance(step, int | float):
                    await trio.sleep(step)
                    continue
                yield step
                if isinstance(step, Finish):
                    return
            raise ModelFailed("the answer ended before its end", "cut")
        finally:
            self.closed += 1


class FakeDrafter:
    """Streams one draft for each attempt, word by word, or raises it (a `Drafter`); the last draft repeats.

    `wait`: seconds before each word. `closing`: seconds until a stream has closed, also after a cancel. `hang`: streams
    never end. `prompts`, `evidence`: the arguments of each call. `made`: each streamed word with its time, in seconds.
    `open`: the number of streams that have not ended.
    """

    def __init__(
        self, *drafts: str | Exception, wait: float = 0.0, closing: float = 0.0, hang: bool = False
    ) -> None:
        self._drafts = drafts
        self._wait = wait
        self._closing = closing
        self._hang = hang
        self.prompts: list[Prompt] = []
        self.evidence: list[Sequence[Hit]] = []
        self.made: list[tuple[float, str]] = []
        self.open = 0

    async def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the draft of this attempt."""
        self.prompts.append(prompt)
        self.evidence.append(evidence)
        draft = self._drafts[min(prompt.attempt, len(self._drafts) - 1)]
        self.open += 1
        try:
            if isinstance(draft, Exception):
                raise draft
            for word in re.findall(r"\s*\S+\s*", draft):
                await trio.sleep(self._wait)
                self.made.append((trio.current_time(), word))
                yield Delta(word)
            if self._hang:
                await trio.sleep_forever()
        finally:
            with trio.move_on_after(self._closing, shield=True):
                await trio.sleep_forever()
            self.open -= 1


async def pieces_of(model: LanguageModel, request: ModelRequest = ASKED) -> list[Piece]:
    """Return all pieces of an answer. Raises `ModelFailed` as the model does."""
    async with aclosing(model.stream(request)) as stream:
        return [piece async for piece in stream]


async def outcome_of(
    model: LanguageModel, request: ModelRequest = ASKED
) -> tuple[list[Piece], ModelFailed | None]:
    """Return the pieces that came, and the failure of the model, or `None`."""
    pieces: list[Piece] = []
    try:
        async with aclosing(model.stream(request)) as stream:
            async for piece in stream:
                pieces.append(piece)
    except ModelFailed as failed:
        return pieces, failed
    return pieces, None
