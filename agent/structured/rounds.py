"""From one answer of a model to the next request, or to the outcome: all rules of validated calls; pure.

Strategy: no loop and no waiting; the machine is told each answer, whole and read, and returns what to ask next. Calls
are known by our own ids in the order of their arrival, never by their service's, which may repeat. The first answer
that calls anything fills the slots; every later one mends those that fail and can touch no other, so that what holds
once is in the outcome as it was. The conversation only grows, so that a service can keep its work on all that was asked
before.

| answer | next |
| --- | --- |
| all that came holds | ok |
| something does not hold | one request to mend all of it; exhausted when the rounds are spent |
| cut at `max_tokens` | asked again once with twice as much; truncated the second time, or in the last round |
| no call, though one is due | asked for one; exhausted when the rounds are spent |
| declined, failed | refused, provider_error; what held before is kept |
"""

from collections.abc import Callable, Collection, Iterator
from itertools import count

from ..ports.model import Choice, Request, Tool, Usage
from . import telling
from .conversation import Conversation
from .decode import Read
from .outcome import NO_USAGE, CallStatus, Outcome, Status
from .plan import Plan
from .pointer import Json, brief, same
from .slots import Slot
from .written import Reply, Written, in_text


class Rounds:
    """One request for validated calls, from its first round to its outcome. It is fed once for every request."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._slots = {id: Slot(id, each.shape.name, each.shape, held=each) for id, each in plan.held.items()}
        self._conversation = Conversation(plan)
        self._count = 0  # calls that got an id of ours
        self._notes: list[str] = []  # what an answer got wrong that belongs to no slot
        self._begun = False  # something was called
        self._tools = plan.tools  # what can be called now
        self._widened = False
        self._max_tokens = plan.max_tokens
        self._attempts = 0
        self._usage = NO_USAGE
        self._text = ""

    @property
    def begun(self) -> bool:
        """Whether the calls that come next mend others."""
        return self._begun

    def ids(self) -> Iterator[str]:
        """Yield the ids of the calls that come next."""
        for number in count(self._count + 1):
            if (id := f"c{number}") not in self._plan.held:
                yield id

    def request(self) -> Request:
        """Return what the model is asked now."""
        plan = self._plan
        due = plan.choice if not self._begun else Choice.REQUIRED
        form = None if plan.native or self._begun else telling.form(plan.shapes, plan.bare)
        messages = self._conversation.messages
        return Request(
            messages,
            self._tools if plan.native else (),
            due if plan.native else Choice.AUTO,
            form,
            self._max_tokens,
            stable=len(messages),
        )

    def feed(self, reply: Reply) -> Request | Outcome:
        """Take the answer to the last request; return the next request, or what came of it all."""
        self._attempts += 1
        used = self._usage
        self._usage = Usage(used.read + reply.usage.read, used.written + reply.usage.written)
        self._text = reply.text
        if reply.failed is not None:
            return self._cut(reply, "provider_error", "truncated")
        if reply.reason in ("refusal", "filtered"):
            return self._cut(reply, "refused", "refused")
        if reply.reason == "length":
            if self._widened or self._spent:
                return self._cut(reply, "truncated", "truncated")
            self._widened = True
            self._max_tokens *= 2
            return self.request()
        return self._whole(reply)

    @property
    def _spent(self) -> bool:
        return self._attempts >= self._plan.max_attempts

    @property
    def _failing(self) -> list[Slot]:
        return [slot for slot in self._slots.values() if slot.failing]

    def _whole(self, reply: Reply) -> Request | Outcome:
        """Take an answer that came to its end."""
        calls = reply.calls or in_text(reply.read, self._nameable(), self._bare)
        take = self._again if self._begun else self._first
        self._notes = []
        answers = [take(call) for call in calls]
        self._begun = self._begun or bool(calls)
        failing = self._failing
        if not failing and (self._begun or self._plan.choice is Choice.AUTO):
            return self._end("ok")
        if not calls:
            self._notes.append("nothing was called")
        if self._spent:
            return self._end("exhausted")
        if self._begun:
            self._tools = self._mending(failing)
            says = telling.report(self._plan, failing, self._notes, self._tools)
        else:
            says = telling.nudge(self._plan, self._tools)
        self._conversation.grow(reply, calls, answers, says)
        return self.request()

    def _cut(self, reply: Reply, status: Status, call_status: CallStatus) -> Outcome:
        """End with an answer that is not whole: nothing of it is read, but what it called is told."""
        if not self._begun:
            for call in reply.calls:
                self._new(call.name).final = call_status
        if reply.failed is not None:
            self._notes = [f"the model failed ({reply.failed.fault}): {reply.failed.message}"]
        else:
            self._notes = [
                "the model declined" if status == "refused" else "the answer was cut at its greatest length"
            ]
        return self._end(status, reply)

    def _end(self, status: Status, reply: Reply | None = None) -> Outcome:
        failed = reply.failed if reply else None
        errors = (
            ()
            if status == "ok"
            else [f"{slot.id} {slot.name}: {problem}" for slot in self._failing for problem in slot.problems]
            + self._notes
        )
        return Outcome(
            status,
            tuple(slot.extracted() for slot in self._slots.values()),
            tuple(errors),
            self._attempts,
            self._usage,
            self._text,
            failed.fault if failed else None,
            failed.retry_after if failed else None,
        )

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
        self._slots[slot.id] = slot
        slot.round = self._attempts
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
        slot.turn(self._attempts)
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
        there = [slot.id for slot in self._slots.values() if slot.held is not None and not slot.removed]
        if id is None and len(there) == 1:
            id = there[0]
        return self._slots[id] if isinstance(id, str) and id in there else f"doc is one of {', '.join(there)}"

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
        slot = self._meant(call, [slot.id for slot in self._failing if slot.state is not None])
        if isinstance(slot, str):
            return slot
        slot.turn(self._attempts)
        slot.patch(_member(call, "operations"))
        return slot

    def _rename(self, call: Written) -> Slot | str:
        named = [slot.id for slot in self._failing if slot.shape is None and slot.state is not None]
        slot = self._meant(call, named)
        if isinstance(slot, str):
            return slot
        name = _member(call, "name")
        if not isinstance(name, str) or name not in self._plan.allowed:
            return self._note(f"{slot.id}: name is one of {', '.join(self._plan.allowed)}")
        slot.turn(self._attempts)
        slot.rename(name, self._plan.shapes[name])
        return slot

    def _meant(self, call: Written, ids: list[str]) -> Slot | str:
        """Return the failing call that is meant: the only one there is, where none is said."""
        id = _member(call, "call")
        if id is None and len(ids) == 1:
            id = ids[0]
        if not isinstance(id, str) or id not in ids:
            return self._note(
                f"{call.name}: call is one of {', '.join(ids) or 'none now'}; found {brief(id)}"
            )
        return self._slots[id]

    def _edit_again(self, call: Written) -> Slot | str:
        """Take an edit or a removal in place of one that led nowhere, or of a document that does not hold."""
        slot = self._document(call)
        if isinstance(slot, str):
            return self._note(f"{call.name}: {slot}")
        if not slot.failing:
            stray = next((each for each in self._failing if self._may_become(each, call.name)), None)
            if stray is None:
                return self._surplus(call)
            del self._slots[stray.id]
        return self._edit(call) if call.name == self._plan.names.edit else self._remove(call)

    def _may_become(self, slot: Slot, name: str) -> bool:
        """Tell whether a call that led nowhere can be made anew as one of a document: by its name, or it had none."""
        names = self._plan.names
        known = slot.name in self._plan.shapes or slot.name in (names.edit, names.remove)
        return slot.shape is None and (slot.name == name or not known)

    def _resent(self, call: Written) -> Slot | str:
        """Take a tool's call in a round of repair: in place of one that fails, or it is one too many."""
        if call.name in self._plan.allowed:
            waiting = [slot for slot in self._failing if slot.held is None and slot.round != self._attempts]
            alike = [slot for slot in waiting if slot.name == call.name]
            target = next(iter(alike or [slot for slot in waiting if slot.shape is None]), None)
            if target is not None:
                target.turn(self._attempts)
                if not target.renew(call.name, self._plan.shapes[call.name], call.read):
                    self._note(f"{target.id}: the call made anew does not hold either and was not taken")
                return target
            for slot in self._slots.values():
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
        self._notes.append(text)
        return text

    # --- what is offered and said

    def _nameable(self) -> Collection[str] | None:
        """Return what an object in a text may name to be a call; None is anything."""
        if self._begun or (self._plan.choice is not Choice.AUTO and self._plan.bare is None):
            return None
        return {tool.name for tool in self._tools}

    def _bare(self, document: Json) -> list[tuple[str, Json]]:
        """Return the calls that a value in a text is which names no tool, if it can be but one."""
        objects = document if isinstance(document, list) else [document]
        if not objects or not all(isinstance(each, dict) for each in objects):
            return []
        if not self._begun:
            return [(self._plan.bare, each) for each in objects] if self._plan.bare is not None else []
        failing, repair = self._failing, self._plan.names.repair
        if len(failing) != 1:
            return []
        if all("op" in each for each in objects):
            return [(repair, {"operations": objects})]
        name = failing[0].name if failing[0].name in self._plan.allowed else repair
        return [(repair if "operations" in each else name, each) for each in objects[:1]]

    def _mending(self, failing: list[Slot]) -> tuple[Tool, ...]:
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
