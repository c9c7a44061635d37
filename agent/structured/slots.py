"""One call, or one document of an update, from its first state to its last; pure.

Strategy: a slot holds its present state and its best state. A patch makes a new state from a copy or changes nothing. A
state that is valid after an answer is final, since no later answer can change the slot.
"""

from typing import Any, NamedTuple

import msgspec

from .check import DocumentProblem, check_document
from .decode import ParsedJson, UnparsedJson
from .outcome import CallStatus, Change, ExtractedCall
from .patch import PatchFailed, apply_patch
from .plan import ExistingDocument
from .pointer import Json, shorten_json
from .schema import ToolShape


class SlotState(NamedTuple):
    """A document, its value when it has no problems, and its problems."""

    document: Json
    value: Any
    problems: tuple[DocumentProblem, ...]
    repaired: bool = False


class Slot:
    """A place for one call.

    `id`: our own id of the call. `shape`: the tool of the call; `None` when there is no such tool, or the tool may not
    be called. `expected_names`: the possible names, reported when `shape` is `None`. `document`: the document of an
    update with which the slot begins.
    """

    def __init__(
        self,
        id: str,
        name: str,
        shape: ToolShape | None,
        expected_names: str = "",
        document: ExistingDocument | None = None,
    ) -> None:
        self.id = id
        self.name = name
        self.shape = shape
        self.document_of_update = document
        self.state: SlotState | None = None if document is None else _first_state(document)
        self.best = self._initial_state = self.state
        self.removed = False
        self.refused: list[DocumentProblem] = []  # faults of the last operations, or of the arguments' text
        self.round = 0  # the last round that changed the slot
        self.final: CallStatus | None = None  # set when the call has ended, in any state
        self._expected_names = expected_names

    @property
    def is_failing(self) -> bool:
        """Whether the slot must be repaired; a document that no call has changed need not be valid."""
        if self.final is not None or self.removed:
            return False
        if self.document_of_update is not None and self.state is self._initial_state:
            return bool(self.refused)
        return self.state is None or bool(self.state.problems) or bool(self.refused)

    @property
    def problems(self) -> tuple[DocumentProblem, ...]:
        """The present problems of the slot."""
        return (*self.refused, *(self.state.problems if self.state else ()))

    def start_round(self, number: int) -> None:
        """Start the changes of a round: refusals of earlier rounds are dropped."""
        if self.round != number:
            self.round = number
            self.refused = []

    def set_arguments(self, read: ParsedJson | UnparsedJson) -> None:
        """Set the arguments of a call, valid or not."""
        if isinstance(read, ParsedJson):
            self._set_state(self._make_state(read.document, read.repaired))
        elif self.shape is None:
            self.add_refusal(shorten_json(self.name), self._expected_names)
        else:
            self.add_refusal(read.found, f"{read.reason}: call {self.name} anew")

    def replace_call(self, name: str, shape: ToolShape, read: ParsedJson | UnparsedJson) -> bool:
        """Replace the call when the new one is valid or there is nothing to lose; return whether it was replaced."""
        if isinstance(read, UnparsedJson):
            self.add_refusal(read.found, read.reason)
            return False
        if self.shape is None or self.state is None:
            self.name, self.shape, self.state, self.best = name, shape, None, None
            self.set_arguments(read)
            return True
        state = self._make_state(read.document, read.repaired)
        if state.problems:
            return False
        self._set_state(state)
        return True

    def rename(self, name: str, shape: ToolShape) -> None:
        """Rename a call to another tool; its arguments stay."""
        assert self.state is not None, "only parsed arguments are renamed"
        self.name, self.shape, self.best = name, shape, None
        self._set_state(self._make_state(self.state.document, self.state.repaired))

    def patch(self, operations: Json) -> PatchFailed | None:
        """Apply all operations, or none and return the failure.

        A document that ends as it was given counts as unchanged.
        """
        assert self.state is not None, "only parsed arguments are patched"
        try:
            document = apply_patch(self.state.document, operations)
        except PatchFailed as failed:
            self.add_refusal(shorten_json(operations), f"{failed}; nothing of these operations was applied")
            return failed
        if self._initial_state is not None and _encode(document) == _encode(self._initial_state.document):
            self.state = self._initial_state
        else:
            self._set_state(self._make_state(document, self.state.repaired))
        return None

    def add_refusal(self, found: str, expected: str) -> None:
        """Add a problem of the call itself."""
        self.refused.append(DocumentProblem("", found, expected))

    def make_result(self) -> ExtractedCall:
        """Return the outcome of the call."""
        if self.removed:
            return ExtractedCall(id=self.id, name=self.name, status="ok", change="removed")
        succeeded = self.final is None and not self.is_failing
        state = self.state if succeeded else self.best
        value, problems = None, self.problems
        if state is not None:
            value = state.value if succeeded else state.document
            problems = () if succeeded else (*self.refused, *state.problems)
        return ExtractedCall(
            id=self.id,
            name=self.name,
            status="ok" if succeeded else self.final or "invalid",
            value=value,
            problems=problems,
            repaired=state is not None and state.repaired,
            change=None if self.final is not None else self._describe_change(state),
        )

    def _describe_change(self, state: SlotState | None) -> Change | None:
        if self._initial_state is None or state is None:
            return None
        return "same" if _encode(state.document) == _encode(self._initial_state.document) else "changed"

    def _set_state(self, state: SlotState) -> None:
        self.state = state
        if self.best is None or len(state.problems) <= len(self.best.problems):
            self.best = state

    def _make_state(self, document: Json, repaired: bool) -> SlotState:
        if self.shape is None:
            return SlotState(
                document,
                None,
                (DocumentProblem("", shorten_json(self.name), self._expected_names),),
                repaired,
            )
        return SlotState(document, *check_document(self.shape, document), repaired)


def _encode(document: Json) -> bytes:
    return msgspec.json.encode(document)


def _first_state(existing: ExistingDocument) -> SlotState:
    return SlotState(
        existing.document, existing.doc.value, check_document(existing.shape, existing.document)[1]
    )
