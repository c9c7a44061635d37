"""The calls of one request, each in its slot: the calls of an answer fill, repair or fail a `Slot`; pure.

Strategy: calls have our own ids in the order of their arrival, never the ids of the service, which may repeat. The
first answer with calls fills the slots. Every later answer repairs the slots that fail when the answer begins, with all
of its patches in their order. It can change no other slot, so a valid call stays in the outcome unchanged. A call that
fits no slot gets a slot of its own with the reason; a fault that belongs to no slot becomes a note.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count

from ..ports.model import Tool, ToolChoice
from . import instructions
from .decode import ParsedJson
from .outcome import CallStatus
from .plan import Plan
from .pointer import Json, are_equal, shorten_json
from .reply import ModelReply, WrittenCall, find_calls
from .slots import Slot


class CallSlots:
    """The calls of one request by their ids. `plan`: of the request.

    Attributes:
        slots: `Slot`s by their ids, the documents of an update first.
        begun: whether an answer held calls, so that the next calls repair others.
        notes: faults of the last answer that belong to no slot.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.slots = {
            id: Slot(id, each.shape.name, each.shape, document=each) for id, each in plan.held.items()
        }
        self.begun = False
        self.notes: list[str] = []
        self._count = 0  # number in the last id that was given to a call
        self._round = 0  # number of the present round

    @property
    def failing(self) -> list[Slot]:
        """The slots that must be repaired."""
        return [slot for slot in self.slots.values() if slot.is_failing]

    def next_ids(self) -> Iterator[str]:
        """Yield the ids of the next calls."""
        for number in count(self._count + 1):
            if (id := f"c{number}") not in self._plan.held:
                yield id

    def apply_reply(self, reply: ModelReply, number: int) -> tuple[Sequence[WrittenCall], list[Slot | str]]:
        """Apply a whole answer; return its calls, and for each the slot that it changed, or a note.

        `number`: of its round, from 1.
        """
        self._round = number
        self.notes = []
        calls = reply.calls or find_calls(reply.parsed, self._callable_names(), self._read_bare_calls)
        apply_call = self._apply_later_call if self.begun else self._apply_first_call
        answers = [apply_call(call) for call in calls]
        self.begun = self.begun or bool(calls)
        return calls, answers

    def close_cut_calls(self, reply: ModelReply, status: CallStatus, number: int) -> None:
        """Add the calls of an answer that is not whole: their arguments are not read, and they end as `status`."""
        self._round = number
        if not self.begun:
            for call in reply.calls:
                self._add_slot(call.name).final = status

    def select_tools(self, failing: Sequence[Slot]) -> tuple[Tool, ...]:
        """Return the tools of a repair round: only those that can repair one of `failing`."""
        plan = self._plan
        unknown = [slot.id for slot in failing if slot.shape is None]
        mendable = [slot.id for slot in failing if slot.state is not None]
        tools = [instructions.repair_tool(plan.names, mendable)] if mendable else []
        renamed = [slot.id for slot in failing if slot.shape is None and slot.state is not None]
        if renamed and plan.allowed:
            tools.append(instructions.rename_tool(plan.names, renamed, plan.allowed))
        resendable = {slot.name for slot in failing if slot.document_of_update is None}
        tools += [tool for tool in plan.tools if unknown or tool.name in resendable]
        return tuple(tools)

    # --- the first calls

    def _apply_first_call(self, call: WrittenCall) -> Slot | str:
        """Apply a call of the first answer with calls."""
        if call.name == self._plan.names.edit and self._plan.edits:
            return self._apply_edit(call)
        if call.name == self._plan.names.remove and self._plan.deletes:
            return self._apply_removal(call)
        slot = self._add_slot(call.name)
        slot.set_arguments(call.parsed)
        return slot

    def _add_slot(self, name: str) -> Slot:
        allowed = self._plan.allowed
        shape = self._plan.shapes[name] if name in allowed else None
        id = next(self.next_ids())
        self._count = int(id.removeprefix("c"))
        slot = Slot(id, name, shape, "" if shape else f"a tool that may be called: {', '.join(allowed)}")
        self.slots[slot.id] = slot
        slot.round = self._round
        return slot

    def _add_stray(self, call: WrittenCall, expected: str) -> Slot:
        """Add a call that fits nowhere, with the reason."""
        slot = self._add_slot(call.name)
        slot.shape = None
        slot.add_refusal(shorten_json(call.arguments), expected)
        return slot

    def _apply_edit(self, call: WrittenCall) -> Slot:
        slot = self._find_document(call)
        if isinstance(slot, str):
            return self._add_stray(call, slot)
        slot.start_round(self._round)
        slot.patch(_get_member(call, "operations"))
        return slot

    def _apply_removal(self, call: WrittenCall) -> Slot:
        slot = self._find_document(call)
        if isinstance(slot, str):
            return self._add_stray(call, slot)
        slot.removed = True
        return slot

    def _find_document(self, call: WrittenCall) -> Slot | str:
        """Return the document that a call names, or a text that lists the possible ids."""
        id = _get_member(call, "doc")
        live_ids = [
            slot.id
            for slot in self.slots.values()
            if slot.document_of_update is not None and not slot.removed
        ]
        if id is None and len(live_ids) == 1:
            id = live_ids[0]
        return (
            self.slots[id]
            if isinstance(id, str) and id in live_ids
            else f"doc is one of {', '.join(live_ids)}"
        )

    # --- repairs

    def _apply_later_call(self, call: WrittenCall) -> Slot | str:
        """Apply a call of a later answer."""
        names = self._plan.names
        ours: dict[str, Callable[[WrittenCall], Slot | str]] = {
            names.repair: self._apply_repair,
            names.rename: self._apply_rename,
        }
        if self._plan.edits:
            ours[names.edit] = self._repeat_edit
        if self._plan.deletes:
            ours[names.remove] = self._repeat_edit
        return ours.get(call.name, self._apply_resent_call)(call)

    def _apply_repair(self, call: WrittenCall) -> Slot | str:
        mendable = [slot for slot in self.slots.values() if self._is_open(slot) and slot.state is not None]
        slot = self._find_slot(call, mendable)
        if isinstance(slot, str):
            return slot
        slot.start_round(self._round)
        slot.patch(_get_member(call, "operations"))
        return slot

    def _apply_rename(self, call: WrittenCall) -> Slot | str:
        renamable = [slot for slot in self.failing if slot.shape is None and slot.state is not None]
        slot = self._find_slot(call, renamable)
        if isinstance(slot, str):
            return slot
        name = _get_member(call, "name")
        if not isinstance(name, str) or name not in self._plan.allowed:
            return self._add_note(
                f"{slot.id}: rename was not applied: name is one of {', '.join(self._plan.allowed)}"
            )
        slot.start_round(self._round)
        slot.rename(name, self._plan.shapes[name])
        return slot

    def _is_open(self, slot: Slot) -> bool:
        """Return whether this answer can repair `slot`: it fails, or this answer has repaired it before."""
        return slot.is_failing or (slot.round == self._round and slot.final is None and not slot.removed)

    def _find_slot(self, call: WrittenCall, slots: Sequence[Slot]) -> Slot | str:
        """Return the slot of `slots` that a call names; without a name the only failing slot, else the only slot."""
        id = _get_member(call, "call")
        if id is None:
            only = [slot for slot in slots if slot.is_failing] or slots
            id = only[0].id if len(only) == 1 else None
        if not isinstance(id, str) or id not in [slot.id for slot in slots]:
            slot_ids = ", ".join(slot.id for slot in slots) or "none now"
            return self._add_note(
                f"{call.name} was not applied: call is one of {slot_ids}; found {shorten_json(id)}"
            )
        return self.slots[id]

    def _repeat_edit(self, call: WrittenCall) -> Slot | str:
        """Apply an edit or a removal in place of one that fits nowhere, or to a document that is not valid."""
        slot = self._find_document(call)
        if isinstance(slot, str):
            return self._add_note(f"{call.name} was not applied: {slot}")
        if not self._is_open(slot):
            stray = next((each for each in self.failing if self._may_become(each, call.name)), None)
            if stray is None:
                return self._add_surplus(call)
            del self.slots[stray.id]
        return self._apply_edit(call) if call.name == self._plan.names.edit else self._apply_removal(call)

    def _may_become(self, slot: Slot, name: str) -> bool:
        """Return whether a call `name` on a document can replace the call in `slot`.

        It can when the call in `slot` fits nowhere and has the name `name`, or the name of no tool.
        """
        names = self._plan.names
        is_known = slot.name in self._plan.shapes or slot.name in (names.edit, names.remove)
        return slot.shape is None and (slot.name == name or not is_known)

    def _apply_resent_call(self, call: WrittenCall) -> Slot | str:
        """Apply a tool's call in a repair round: it replaces a failing call, or is surplus."""
        if call.name in self._plan.allowed:
            waiting = [
                slot for slot in self.failing if slot.document_of_update is None and slot.round != self._round
            ]
            alike = [slot for slot in waiting if slot.name == call.name]
            target = next(iter(alike or [slot for slot in waiting if slot.shape is None]), None)
            if target is not None:
                target.start_round(self._round)
                if not target.replace_call(call.name, self._plan.shapes[call.name], call.parsed):
                    self._add_note(f"{target.id}: the repeated call is not valid either and was not taken")
                return target
            for slot in self.slots.values():
                if slot.name == call.name and not slot.is_failing and _has_same_arguments(slot, call):
                    return slot
        return self._add_surplus(call)

    def _add_surplus(self, call: WrittenCall) -> Slot | str:
        """Add a call that this round did not request, and leave it out of all values."""
        slot = self._add_slot(call.name)
        slot.set_arguments(call.parsed)
        slot.final = "surplus"
        return self._add_note(f"{slot.id} ({call.name}) was not asked for in this round and was not taken")

    def _add_note(self, text: str) -> str:
        self.notes.append(text)
        return text

    # --- calls in a text

    def _callable_names(self) -> Collection[str] | None:
        """Return the names by which an object in a text can be a call; None for any name."""
        if self.begun or (self._plan.choice is not ToolChoice.AUTO and self._plan.bare is None):
            return None
        return {tool.name for tool in self._plan.tools}

    def _read_bare_calls(self, document: Json) -> list[tuple[str, Json]]:
        """Return the calls in a JSON value of a text that names no tool, when only one tool can be meant."""
        objects = document if isinstance(document, list) else [document]
        if not objects or not all(isinstance(each, dict) for each in objects):
            return []
        if not self.begun:
            return [(self._plan.bare, each) for each in objects] if self._plan.bare is not None else []
        failing, repair = self.failing, self._plan.names.repair
        if len(failing) != 1:
            return []
        if all("op" in each for each in objects):
            return [(repair, {"operations": objects})]
        name = failing[0].name if failing[0].name in self._plan.allowed else repair
        return [(repair if "operations" in each else name, each) for each in objects[:1]]


def _get_member(call: WrittenCall, name: str) -> Json:
    """Return a member of a call's arguments; None when there is none."""
    if isinstance(call.parsed, ParsedJson) and isinstance(call.parsed.document, dict):
        return call.parsed.document.get(name)
    return None


def _has_same_arguments(slot: Slot, call: WrittenCall) -> bool:
    return (
        slot.state is not None
        and isinstance(call.parsed, ParsedJson)
        and are_equal(slot.state.document, call.parsed.document)
    )
