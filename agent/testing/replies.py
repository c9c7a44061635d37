"""A language model in memory with scripted answers (implements `agent.ports.model.LanguageModel`)."""

from collections.abc import AsyncGenerator, Sequence
from typing import TypeAlias

import trio

from ..errors import ModelFailed
from ..ports.model import CallDelta, Finish, ModelRequest, Piece, TextDelta, Usage

Answer: TypeAlias = Sequence[Piece | float | ModelFailed]
"""Pieces of one answer; a number is a pause in seconds, and a ModelFailed is raised."""


def calls(*written_calls: tuple[str, str], text: str = "") -> Answer:
    """Return an answer that calls tools. `written_calls`: name and arguments (JSON text) of each."""
    deltas = [
        CallDelta(at, f"call_{at}", name, arguments) for at, (name, arguments) in enumerate(written_calls)
    ]
    texts = [TextDelta(text)] if text else []
    return [*texts, *deltas, Finish("calls", Usage(10, 5))]


def says(text: str) -> Answer:
    """Return an answer that is a text."""
    return [TextDelta(text), Finish("stop", Usage(10, 5))]


class ScriptedLanguageModel:
    """Gives one answer for each request, in order; the last repeats.

    `requests`: the requests so far. `opened`, `closed`: how many streams were begun, and how many have ended.
    """

    def __init__(self, *answers: Answer) -> None:
        self._answers = answers
        self.requests: list[ModelRequest] = []
        self.opened = 0
        self.closed = 0

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the next answer."""
        answer = self._answers[min(self.opened, len(self._answers) - 1)]
        self.requests.append(request)
        self.opened += 1
        try:
            for piece in answer:
                if isinstance(piece, ModelFailed):
                    raise piece
                if isinstance(piece, (int, float)):
                    await trio.sleep(piece)
                else:
                    yield piece
        finally:
            self.closed += 1
