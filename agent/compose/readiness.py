"""Reports whether a server can answer at present, for `/readyz`, the page and the refusals of questions."""

import trio

from ..config import READY_WAIT
from ..server.gate import Gate
from .knowledge import Knowledge


class Readiness:
    """The reasons why a server cannot answer, from its start to its end.

    `gate`: whether the server takes connections. `knowledge`: the documents, once they are opened; `None` where
    another brain answers.
    """

    def __init__(self) -> None:
        self.gate = Gate()
        self.knowledge: Knowledge | None = None
        self._memory_trouble = ""
        self._story_trouble = ""
        self._model_trouble = ""
        self._differences = ""

    async def wait_read(self) -> None:
        """Wait until the documents are read."""
        if self.knowledge is not None:
            await self.knowledge.wait_read()

    @property
    def unread(self) -> str:
        """How far the reading of the documents is, as a sentence; "" once they are read."""
        return self.knowledge.unread if self.knowledge is not None else ""

    @property
    def unready(self) -> str:
        """Why new clients should go elsewhere, as a sentence; "" when they are welcome."""
        return self.gate.unready or self.unread

    async def wait_answerable(self) -> str:
        """Wait until the documents are read, at most `READY_WAIT` seconds; return as `explain_unanswerable` does."""
        if not self.gate.draining and self.unread:
            with trio.move_on_after(READY_WAIT):
                await self.wait_read()
        return self.explain_unanswerable()

    def explain_unanswerable(self) -> str:
        """Return why a question in a plain request cannot be answered now; "" when it can."""
        return self.gate.unready if self.gate.draining else self.unread

    def explain_limping(self) -> str:
        """Return which part does not work although clients are welcome; "" when all parts work."""
        unembedded = self.knowledge.unembedded if self.knowledge is not None else ""
        troubles = (
            self._memory_trouble,
            self._story_trouble,
            self._model_trouble,
            unembedded,
            self._differences,
        )
        return " ".join(filter(None, troubles))

    def note_ledger_trouble(self, trouble: str) -> None:
        """Record why no action can be claimed, or "" when actions can be claimed again."""
        self.gate.trouble = f"Actions cannot be run, because of the ledger: {trouble}." if trouble else ""

    def note_memory_trouble(self, trouble: str) -> None:
        """Record why nothing can be remembered, or "" when it can be again. Turns go on meanwhile."""
        self._memory_trouble = f"What is said is not remembered: {trouble}." if trouble else ""

    def note_story_trouble(self, trouble: str) -> None:
        """Record why no story can be kept, or "" when stories can be again. Conversations go on meanwhile."""
        self._story_trouble = f"Stories cannot be told: {trouble}." if trouble else ""

    def note_differences(self, differences: str) -> None:
        """Record in what the servers on one database differ, as sentences, or "" when they are alike again."""
        self._differences = differences

    def note_model_trouble(self, trouble: str) -> None:
        """Record why the language model does not answer, as a sentence, or "" when it answers again."""
        self._model_trouble = trouble
