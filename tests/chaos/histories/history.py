"""The history of one subject, and the search for an order of its operations that a model explains; pure.

Strategy: an operation takes effect at one instant between its begin and its end (linearizability: Herlihy and Wing,
1990). An operation with an unknown outcome takes effect at any instant after its begin, or never. A model says which
states an operation leads to, and which moves the server makes by itself. `explain_history` searches for an order (Wing
and Gong, 1993) and remembers each configuration that it has seen (Lowe, 2017): the operations that have taken effect,
and the state after them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from math import inf
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

S = TypeVar("S")
Outcome: TypeAlias = Literal["ok", "refused", "unknown"]
MOST = 100_000  # configurations that one search looks at


@dataclass(frozen=True, slots=True)
class Event:
    """One operation on one subject.

    begin, end: seconds on one clock. value: what was answered, such as the status that was read, or the code of a
    refusal. detail: what else counts, such as a label of the arguments. client: the name of its client.
    """

    operation: str
    begin: float
    end: float
    outcome: Outcome = "ok"
    _: KW_ONLY
    value: str = ""
    detail: str = ""
    client: str = ""

    @property
    def deadline(self) -> float:
        """The time by which it has taken effect; `inf` where its outcome is unknown."""
        return inf if self.outcome == "unknown" else self.end

    def format(self, since: float) -> str:
        """Return the line of a report. since: the time that counts as 0."""
        end = f"{self.end - since:8.3f}" if self.end < inf else " " * 8
        what = " ".join(each for each in (self.value, self.detail and f"[{self.detail}]") if each)
        return f"{self.begin - since:8.3f} {end}  {self.client:<14} {self.operation:<14} {self.outcome:<8} {what}"


class Model(Protocol[S]):
    """The states of a subject, and the operations that lead from one to another."""

    @property
    def initial(self) -> S:
        """The state before the first operation."""
        ...

    def step(self, state: S, event: Event) -> tuple[S, ...]:
        """Return the states that an operation can lead to; none where it cannot take effect in `state`."""
        ...

    def reads(self, event: Event) -> bool:
        """Return whether an operation changes nothing in any state."""
        ...

    def drift(self, state: S) -> tuple[S, ...]:
        """Return the states that the server can bring about by itself."""
        ...


@dataclass(frozen=True, slots=True)
class Finding(Generic[S]):
    """The result of a search.

    legal: whether there is an order; None where the search was given up. stuck: the operations of which none can follow
    the longest order. states: the states after that order.
    """

    legal: bool | None
    stuck: tuple[Event, ...] = ()
    states: frozenset[S] = frozenset()


class _Search(Generic[S]):
    """One search. Operations are bits of a mask, in the order of their begin."""

    def __init__(self, events: Iterable[Event], model: Model[S]) -> None:
        self.events = sorted(events, key=lambda each: (each.begin, each.deadline))
        self._model = model
        known = [bit for bit, each in enumerate(self.events) if each.deadline < inf]
        self._by_end = sorted(known, key=lambda bit: self.events[bit].deadline)
        self._required = sum(1 << bit for bit in known)

    def is_over(self, done: int) -> bool:
        """Whether every operation whose outcome is known has taken effect."""
        return done & self._required == self._required

    def candidates(self, done: int) -> list[int]:
        """Return the operations that may take effect next: unknown ones first, the first to end last."""
        limit = next((self.events[bit].deadline for bit in self._by_end if not done >> bit & 1), inf)
        found = []
        for bit, event in enumerate(self.events):
            if event.begin > limit:
                break
            if not done >> bit & 1:
                found.append(bit)
        return sorted(found, key=lambda bit: -self.events[bit].deadline)

    def following(self, done: int, state: S) -> list[tuple[int, S]]:
        """Return the configurations after this one, the likeliest last."""
        found: list[tuple[int, S]] = []
        candidates = self.candidates(done)
        for bit in candidates:
            event = self.events[bit]
            states = self._model.step(state, event)
            if states and self._model.reads(event):
                return [(done | 1 << bit, state)]  # a read that fits now need not come later
            found += [(done | 1 << bit, each) for each in states if each != state or event.deadline < inf]
        return [*((done, each) for each in self._model.drift(state)), *found]


def explain_history(events: Iterable[Event], model: Model[S], most: int = MOST) -> Finding[S]:
    """Search an order of a history that a model explains. most: configurations to look at before giving up."""
    search = _Search(events, model)
    waiting: list[tuple[int, S]] = [(0, model.initial)]
    seen = set(waiting)
    furthest, count = {0: {model.initial}}, 0
    while waiting:
        done, state = waiting.pop()
        if search.is_over(done):
            return Finding(True)
        if done.bit_count() >= count:
            if done.bit_count() > count:
                furthest.clear()
            count = done.bit_count()
            furthest.setdefault(done, set()).add(state)
        for each in search.following(done, state):
            if each not in seen:
                seen.add(each)
                waiting.append(each)
        if len(seen) > most:
            return Finding(None)
    done, states = next(iter(furthest.items()))
    stuck = [search.events[bit] for bit in search.candidates(done) if search.events[bit].deadline < inf]
    return Finding(False, tuple(reversed(stuck)), frozenset(states))


def format_history(events: Sequence[Event], finding: Finding[S], since: float) -> list[str]:
    """Return the lines of a history in the order of time; the operations where the search was stuck are marked."""
    marked = set(finding.stuck)
    ordered = sorted(events, key=lambda each: (each.begin, each.end))
    return [f"{'>>' if each in marked else '  '} {each.format(since)}" for each in ordered]
