"""One call, or one document of an update, from its first state to its last; pure.

Strategy: a slot holds what it is by now and the best that it was. A patch makes a new state of a copy or changes
nothing; a state that holds after an answer is never left again, since no later answer can touch its slot.
"""

from typing import Any, NamedTuple

import msgspec

from .check import Problem, check
from .decode import Read, Unread
from .outcome import CallStatus, Change, Extracted
from .patch import PatchFailed, apply
from .plan import Held
from .pointer import Json, brief
from .schema import Shape


class State(NamedTuple):
    """A document, the value that it is where it has no problems, and these."""

    document: Json
    value: Any
    problems: tuple[Problem, ...]
    repaired: bool = False


class Slot:
    """A place for one call. id: ours. shape: its tool; None where there is no such tool, or it may not be called.

    wanted: what its name should be, told where `shape` is None. held: the document of an update that it begins with.
    """

    def __init__(
        self, id: str, name: str, shape: Shape | None, wanted: str = "", held: Held | None = None
    ) -> None:
        self.id = id
        self.name = name
        self.shape = shape
        self.held = held
        self.state: State | None = None if held is None else _first(held)
        self.best = self._given = self.state
        self.removed = False
        self.refused: list[Problem] = []  # what its last operations, or its text, got wrong
        self.round = 0  # the last one in which something was asked of it
        self.final: CallStatus | None = None  # it ended so, whatever its state
        self._wanted = wanted

    @property
    def failing(self) -> bool:
        """Whether it must be mended; a document that nobody has changed need not hold."""
        if self.final is not None or self.removed:
            return False
        if self.held is not None and self.state is self._given:
            return bool(self.refused)
        return self.state is None or bool(self.state.problems) or bool(self.refused)

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is wrong with it by now."""
        return (*self.refused, *(self.state.problems if self.state else ()))

    def turn(self, number: int) -> None:
        """Begin with what a round asks of it: what earlier rounds were refused counts no more."""
        if self.round != number:
            self.round = number
            self.refused = []

    def write(self, read: Read | Unread) -> None:
        """Take the arguments of a call, whatever they are."""
        if isinstance(read, Read):
            self._enter(self._state(read.document, read.repaired))
        elif self.shape is None:
            self.refuse(brief(self.name), self._wanted)
        else:
            self.refuse(read.found, f"{read.reason}: call {self.name} anew")

    def renew(self, name: str, shape: Shape, read: Read | Unread) -> bool:
        """Take a call that was made anew, if it holds or there is nothing to lose; return whether it was taken."""
        if isinstance(read, Unread):
            self.refuse(read.found, read.reason)
            return False
        if self.shape is None or self.state is None:
            self.name, self.shape, self.state, self.best = name, shape, None, None
            self.write(read)
            return True
        state = self._state(read.document, read.repaired)
        if state.problems:
            return False
        self._enter(state)
        return True

    def rename(self, name: str, shape: Shape) -> None:
        """Give a call the name of another tool, and keep its arguments."""
        assert self.state is not None, "only what could be read is renamed"
        self.name, self.shape, self.best = name, shape, None
        self._enter(self._state(self.state.document, self.state.repaired))

    def patch(self, operations: Json) -> PatchFailed | None:
        """Apply all operations, or none and return which failed. What comes out as it was given is what was given."""
        assert self.state is not None, "only what could be read is patched"
        try:
            document = apply(self.state.document, operations)
        except PatchFailed as failed:
            self.refuse(brief(operations), f"{failed}; nothing of these operations was applied")
            return failed
        if self._given is not None and _written(document) == _written(self._given.document):
            self.state = self._given
        else:
            self._enter(self._state(document, self.state.repaired))
        return None

    def refuse(self, found: str, expected: str) -> None:
        """Note what cannot be done."""
        self.refused.append(Problem("", found, expected))

    def extracted(self) -> Extracted:
        """Return what became of it."""
        if self.removed:
            return Extracted(self.id, self.name, "ok", change="removed")
        state = self.best if self.final is not None or self.failing else self.state
        change = None if self.final is not None else self._change(state)
        if state is None:
            return Extracted(self.id, self.name, self.final or "invalid", None, self.problems, change=change)
        if self.final is not None or self.failing:
            problems = (*self.refused, *state.problems)
            return Extracted(
                self.id, self.name, self.final or "invalid", state.document, problems, state.repaired, change
            )
        return Extracted(self.id, self.name, "ok", state.value, (), state.repaired, change)

    def _change(self, state: State | None) -> Change | None:
        if self._given is None or state is None:
            return None
        return "same" if _written(state.document) == _written(self._given.document) else "changed"

    def _enter(self, state: State) -> None:
        self.state = state
        if self.best is None or len(state.problems) <= len(self.best.problems):
            self.best = state

    def _state(self, document: Json, repaired: bool) -> State:
        if self.shape is None:
            return State(document, None, (Problem("", brief(self.name), self._wanted),), repaired)
        return State(document, *check(self.shape, document), repaired)


def _written(document: Json) -> bytes:
    return msgspec.json.encode(document)


def _first(held: Held) -> State:
    return State(held.document, held.doc.value, check(held.shape, held.document)[1])
