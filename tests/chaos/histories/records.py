"""Every operation of a run on every call and every memory item, as the clients saw it.

An operation on a thread is an operation on each call of that thread. Each message names an order, or tells a number,
that no other message has: so a call or an item is traced to its message, also where the message got no answer.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from itertools import count
from typing import Any, Final, TypeAlias

from .history import Event, Outcome
from .models import GONE

View: TypeAlias = Mapping[str, Any]

ORDER: Final = re.compile(r"A-\d{7}")
NUMBER: Final = re.compile(r"(?<!\d)9\d{11}(?!\d)")
_AROUND: Final = 60  # characters that are told on each side of a number
FREE: Final = frozenset(("find_parcel", "count_stock"))
"""The tools that need no approval."""
CALLERS: Final = frozenset(("pack_box", "count_stock"))
"""The tools that their caller runs."""


def label_arguments(note: str) -> str:
    """Return the label of the arguments of a call, by their note."""
    return note or "as proposed"


@dataclass(slots=True)
class Attempt:
    """A message that asks for a call or tells a number, or an edit that tells a number.

    thread: of the message, where that is known. made: ids of the calls or items that its answer names.
    """

    client: str
    kind: str
    begin: float
    end: float
    outcome: Outcome
    _: KW_ONLY
    thread: str = ""
    made: frozenset[str] = frozenset()

    def event(self, operation: str, value: str = "", detail: str = "") -> Event:
        """Return the operation on the call or the item that it has made."""
        about = {"value": value, "detail": detail, "client": self.client}
        return Event(operation, self.begin, self.end, self.outcome, **about)


@dataclass(slots=True)
class CallRecord:
    """The history of a call. where: `http`, or `socket`, whose calls no list shows."""

    id: str
    tool: str
    order: str
    where: str
    thread: str = ""
    events: list[Event] = field(default_factory=list)


@dataclass(slots=True)
class ItemRecord:
    """The history of an item. thing: what its number is of; at most one item of a thing is live."""

    id: str
    user: str
    number: str
    thing: str
    events: list[Event] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Effect:
    """A request that the webhook got. order, note: of its payload. at: when it was read."""

    key: str
    tool: str
    order: str
    note: str
    at: float


class Records:
    """The operations, the effects and the faults of one run.

    asked: by order. told, shown: by number. owners: the user and the thing of each number. in_files: the files in which
    a number stands at the end. wrong: violations that need no model. phases: when each part of the run ended. lag: the
    seconds by which this process was late, at most.
    """

    def __init__(self) -> None:
        self.calls: dict[str, CallRecord] = {}
        self.items: dict[str, ItemRecord] = {}
        self.threads: dict[str, list[Event]] = defaultdict(list)
        self.asked: dict[str, list[Attempt]] = defaultdict(list)
        self.told: dict[str, list[Attempt]] = defaultdict(list)
        self.shown: dict[str, list[Event]] = defaultdict(list)
        self.owners: dict[str, tuple[str, str]] = {}
        self.effects: list[Effect] = []
        self.in_files: dict[str, str] = {}
        self.faults: list[Event] = []
        self.done: Counter[tuple[str, Outcome]] = Counter()
        self.wrong: list[str] = []
        self.phases: list[tuple[str, float]] = []
        self.lag = 0.0
        self._counts = count(1)

    def draw_order(self) -> str:
        """Return an order that no message names."""
        return f"A-{next(self._counts):07}"

    def draw_number(self, user: str, thing: str) -> str:
        """Return a number that no message tells. thing: what it is a number of."""
        made = f"9{next(self._counts):011}"
        self.owners[made] = user, thing
        return made

    @property
    def began(self) -> float:
        """The time at which the run began."""
        return self.phases[0][1] if self.phases else 0.0

    def format(self, event: Event) -> str:
        """Return the line of a report for an operation."""
        return event.format(self.began)

    def end_phase(self, phase: str, now: float) -> None:
        """Add the end of a part of the run."""
        self.phases.append((phase, now))

    def count_operation(self, operation: str, outcome: Outcome) -> None:
        """Count an operation."""
        self.done[operation, outcome] += 1

    def add_to_call(self, id: str, event: Event) -> None:
        """Add an operation on a call, where that is known."""
        if id in self.calls:
            self.calls[id].events.append(event)

    def add_to_item(self, id: str, event: Event) -> None:
        """Add an operation on an item, where that is known."""
        if id in self.items:
            self.items[id].events.append(event)

    def add_to_thread(self, thread: str, event: Event) -> None:
        """Add an operation on every call of a thread."""
        self.threads[thread].append(event)

    def see_call(self, view: View, read: Event) -> None:
        """Add a read of a call that the HTTP API shows."""
        arguments = view["arguments"]
        self.calls.setdefault(
            view["id"],
            CallRecord(view["id"], view["tool"], str(arguments.get("order")), "http", view["thread_id"]),
        )
        label = label_arguments(arguments.get("note", ""))
        self.add_to_call(view["id"], _make_read(read, view["status"], label))

    def see_suggestion(self, id: str, tool: str, order: str) -> None:
        """Add a call that a socket suggests."""
        self.calls.setdefault(id, CallRecord(id, tool, order, "socket"))

    def see_calls(self, views: Sequence[View], thread: str, read: Event) -> None:
        """Add a read of all calls of a thread: a call that the list leaves out is read as gone."""
        listed = {view["id"] for view in views}
        for view in views:
            self.see_call(view, read)
        for call in self.calls.values():
            if call.thread == thread and call.id not in listed:
                call.events.append(_make_read(read, GONE))

    def see_item(self, view: View, user: str, read: Event) -> None:
        """Add a read of an item that is shown to a user."""
        id, numbers = view["id"], NUMBER.findall(view["text"])
        if numbers and id not in self.items:
            owner, thing = self.owners.get(numbers[0], ("another run", ""))
            self.items[id] = ItemRecord(id, owner, numbers[0], thing)
        if id in self.items and self.items[id].user != user:
            self.wrong.append(f"{user} is shown {id}, which is of {self.items[id].user}")
        self.add_to_item(id, _make_read(read, view["status"]))

    def see_items(self, views: Sequence[View], user: str, read: Event, at_once: bool = True) -> None:
        """Add a read of all items of a user: an item that the list leaves out is read as gone.

        at_once: the list is of one moment, in which at most one item of a thing is live.
        """
        listed = {view["id"] for view in views}
        for view in views:
            self.see_item(view, user, read)
        for item in self.items.values():
            if item.user == user and item.id not in listed:
                item.events.append(_make_read(read, GONE))
        live = [self.items[view["id"]] for view in views if view["status"] == "accepted"]
        for thing, times in Counter(item.thing for item in live).items():
            if times > 1 and at_once:
                ids = [item.id for item in live if item.thing == thing]
                self.wrong.append(f"{user} has {times} live items of the {thing}, {ids}: {self.format(read)}")

    def see_text(self, text: str, user: str, shown: Event) -> None:
        """Add that a text shows its numbers to a user. shown: the operation, such as `answer`."""
        for number in set(NUMBER.findall(text)):
            owner, _ = self.owners.get(number, ("another run", ""))
            if owner != user:
                self.wrong.append(f"{user} is shown {number}, which {owner} has told: {self.format(shown)}")
            at = text.index(number)
            around = " ".join(text[max(0, at - _AROUND) : at + len(number) + _AROUND].split())
            self.shown[number].append(replace(shown, detail=around))


def _make_read(read: Event, value: str, detail: str = "") -> Event:
    return replace(read, operation="read", outcome="ok", value=value, detail=detail)
