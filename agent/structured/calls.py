"""The calls of one request, each in its slot: what the calls of an answer fill, mend or fail to; pure.

Strategy: calls are known by our own ids in the order of their arrival, never by their service's, which may repeat. The
first answer that calls anything fills the slots; every later one mends those that fail when it begins, with all of its
patches in their order, and can touch no other, so that what holds after an answer is in the outcome as it was. What
leads nowhere is kept too, with the reason, or noted where it belongs to no slot.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import count

from ..ports.model import Choice, Tool
from . import telling
from .decode import Read
from .outcome import CallStatus
from .plan import Plan
from .pointer import Json, brief, same
from .slots import Slot
from .written import Reply, Written, in_text


class Calls:
    """The calls of one request, known by their ids. plan: what it asks for.

    Attributes:
        slots: by their ids, the documents of an update first.
        begun: whether something was called, so that the calls that come next mend others.
        notes: what the last answer got wrong that belongs to no slot.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.slots = {id: Slot(id, each.shape.name, each.shape, held=each) for id, each in plan.held.items()}
        self.begun = False
        self.notes: list[str] = []
        self._count = 0  # calls that got an id of ours
        self._round = 0  # that the calls at hand came in

    @property
    def failing(self) -> list[Slot]:
        """Those that must be mended."""
        return [slot for slot in self.slots.values() if slot.failing]

    def ids(self) -> Iterator[str]:
        """Yield the ids of the calls that come next."""
        for number in count(self._count + 1):
            if (id := f"c{number}") not in self._plan.held:
                yield id

    def take(self, reply: Reply, number: int) -> tuple[Sequence[Written], list[Slot | str]]:
        """Take an answer that came to its end; return its calls, and what became of each: its slot, or a note.

        number: of its round, from 1.
        """
        self._round = number
        self.notes = []
        calls = reply.calls or in_text(reply.read, self._nameable(), self._bare)
        take = self._again if self.begun else self._first
        answers = [take(call) for call in calls]
        self.begun = self.begun or bool(calls)
        return calls, answers

    def keep(self, reply: Reply, status: CallStatus, number: int) -> None:
        """Keep what an answer called that is not whole: nothing of it is read, and it ends as `status`."""
        self._round = number
        if not self.begun:
            for call in reply.calls:
                self._new(call.name).final = status

    def offered(self, failing: Sequence[Slot]) -> tuple[Tool, ...]:
        """Return what can be called in a round of repair: only what can mend something."""
        plan = self._plan
        unknown = [slot.id for slot in failing if slot.shape is None]
        mendable = [slot.id for slot in failing if slot.state is not None]
        tools = [telling.repair_tool(plan.names, mendable)] if mendable else []
        renamed = [slot.id for slot in failing if slot.shape is None and slot.state is not None]
        if renamed and plan.allowed:
            tools.append(telling.rename_tool(plan.names, renamed, plan.allowed))
        again = {slot.name for slot in failing if slot.held is None}
        tools += [tool for tool in plan.tools if unknown or tool.name in again]
        return tuple(tools)

    # --- the first calls

    def _first(self, call: Written) -> Slot | str:
        """Take a call of the first answer that holds any."""
        if call.name == self._plan.names.edit and self._plan.edits:
            return self._edit(call)
        if call.name == self._plan.names.remove and self._plan.deletes:
            return self._remove(call)
        slot = self._new(call.name)
        slot.write(call.read)
        return slot

    def _new(self, name: str) -> Slot:
        allowed = self._plan.allowed
        shape = self._plan.shapes[name] if name in allowed else None
        id = next(self.ids())
        self._count = int(id.removeprefix("c"))
        slot = Slot(id, name, shape, "" if shape else f"a tool that may be called: {', '.join(allowed)}")
        self.slots[slot.id] = slot
        slot.round = self._round
        return slot

    def _stray(self, call: Written, expected: str) -> Slot:
        """Keep a call that leads nowhere, with the reason."""
        slot = self._new(call.name)
        slot.shape = None
        slot.refuse(brief(call.arguments), expected)
        return slot

    def _edit(self, call: Written) -> Slot:
        slot = self._document(call)
        if isinstance(slot, str):
            return self._stray(call, slot)
        slot.turn(self._round)
        slot.patch(_member(call, "operations"))
        return slot

    def _remove(self, call: Written) -> Slot:
        slot = self._document(call)
        if isinstance(slot, str):
            return self._stray(call, slot)
        slot.removed = True
        return slot

    def _document(self, call: Written) -> Slot | str:
        """Return the document that a call means, or what it should mean."""
        id = _member(call, "doc")
        there = [slot.id for slot in self.slots.values() if slot.held is not None and not slot.removed]
        if id is None and len(there) == 1:
            id = there[0]
        return self.slots[id] if isinstance(id, str) and id in there else f"doc is one of {', '.join(there)}"

    # --- mending

    def _again(self, call: Written) -> Slot | str:
        """Take a call of a later answer."""
        names = self._plan.names
        ours: dict[str, Callable[[Written], Slot | str]] = {
            names.repair: self._repair,
            names.rename: self._rename,
        }
        if self._plan.edits:
            ours[names.edit] = self._edit_again
        if self._plan.deletes:
            ours[names.remove] = self._edit_again
        return ours.get(call.name, self._resent)(call)

    def _repair(self, call: Written) -> Slot | str:
        mendable = [slot for slot in self.slots.values() if self._is_open(slot) and slot.state is not None]
        slot = self._meant(call, mendable)
        if isinstance(slot, str):
            return slot
        slot.turn(self._round)
        slot.patch(_member(call, "operations"))
        return slot

    def _rename(self, call: Written) -> Slot | str:
        named = [slot for slot in self.failing if slot.shape is None and slot.state is not None]
        slot = self._meant(call, named)
        if isinstance(slot, str):
            return slot
        name = _member(call, "name")
        if not isinstance(name, str) or name not in self._plan.allowed:
            return self._note(
                f"{slot.id}: rename was not applied: name is one of {', '.join(self._plan.allowed)}"
            )
        slot.turn(self._round)
        slot.rename(name, self._plan.shapes[name])
        return slot

    def _is_open(self, slot: Slot) -> bool:
        """Tell whether this answer can mend a slot: it fails, or this answer has mended it before."""
        return slot.failing or (slot.round == self._round and slot.final is None and not slot.removed)

    def _meant(self, call: Written, slots: Sequence[Slot]) -> Slot | str:
        """Return the slot of `slots` that is meant: where none is said the only one that fails, or the only one."""
        id = _member(call, "call")
        if id is None:
            only = [slot for slot in slots if slot.failing] or slots
            id = only[0].id if len(only) == 1 else None
        if not isinstance(id, str) or id not in [slot.id for slot in slots]:
            named = ", ".join(slot.id for slot in slots) or "none now"
            return self._note(f"{call.name} was not applied: call is one of {named}; found {brief(id)}")
        return self.slots[id]

    def _edit_again(self, call: Written) -> Slot | str:
        """Take an edit or a removal in place of one that led nowhere, or of a document that does not hold."""
        slot = self._document(call)
        if isinstance(slot, str):
            return self._note(f"{call.name} was not applied: {slot}")
        if not self._is_open(slot):
            stray = next((each for each in self.failing if self._may_become(each, call.name)), None)
            if stray is None:
                return self._surplus(call)
            del self.slots[stray.id]
        return self._edit(call) if call.name == self._plan.names.edit else self._remove(call)

    def _may_become(self, slot: Slot, name: str) -> bool:
        """Tell whether a call that led nowhere can be made anew as one of a document: by its name, or it had none."""
        names = self._plan.names
        known = slot.name in self._plan.shapes or slot.name in (names.edit, names.remove)
        return slot.shape is None and (slot.name == name or not known)

    def _resent(self, call: Written) -> Slot | str:
        """Take a tool's call in a round of repair: in place of one that fails, or it is one too many."""
        if call.name in self._plan.allowed:
            waiting = [slot for slot in self.failing if slot.held is None and slot.round != self._round]
            alike = [slot for slot in waiting if slot.name == call.name]
            target = next(iter(alike or [slot for slot in waiting if slot.shape is None]), None)
            if target is not None:
                target.turn(self._round)
                if not target.renew(call.name, self._plan.shapes[call.name], call.read):
                    self._note(f"{target.id}: the call made anew does not hold either and was not taken")
                return target
            for slot in self.slots.values():
                if slot.name == call.name and not slot.failing and _is(slot, call):
                    return slot
        return self._surplus(call)

    def _surplus(self, call: Written) -> Slot | str:
        """Keep a call that nobody asked for out of all values."""
        slot = self._new(call.name)
        slot.write(call.read)
        slot.final = "surplus"
        return self._note(f"{slot.id} ({call.name}) was not asked for in this round and was not taken")

    def _note(self, text: str) -> str:
        self.notes.append(text)
        return text

    # --- calls in a text

    def _nameable(self) -> Collection[str] | None:
        """Return what an object in a text may name to be a call; None is anything."""
        if self.begun or (self._plan.choice is not Choice.AUTO and self._plan.bare is None):
            return None
        return {tool.name for tool in self._plan.tools}

    def _bare(self, document: Json) -> list[tuple[str, Json]]:
        """Return the calls that a value in a text is which names no tool, if it can be but one."""
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


def _member(call: Written, name: str) -> Json:
    """Return a member of a call's arguments; None where there is none."""
    if isinstance(call.read, Read) and isinstance(call.read.document, dict):
        return call.read.document.get(name)
    return None


def _is(slot: Slot, call: Written) -> bool:
    return (
        slot.state is not None
        and isinstance(call.read, Read)
        and same(slot.state.document, call.read.document)
    )
