"""One small model of a call and one of a memory item, as the server's users were promised them; pure.

The models know nothing of the server's own tables. A refusal counts as a read of the statuses in which it may be given.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple, TypeAlias

from .history import Event

GONE: Final = "gone"
"""The status that is read of a call or an item that is not there."""
NOTHING: Final = "none"
"""The status before a call or an item was made."""
OWN_TURN: Final = "own turn"
"""The value of a `cancel turn` that met the turn which made the call."""
_ENDED: Final = frozenset(("done", "failed", "unknown", "cancelled", "rejected", "answered"))
_APPROVED: Final = frozenset(("confirmed", "claimed", "done", "failed", "unknown"))


class Call(NamedTuple):
    """The state of a call.

    effects: how many have started; a begin by the caller is one. barred: no effect may start any more. doubtful: its
    message, its approval or its begin got no answer, so that the server may take it back. arguments: a label of the
    arguments that run. report: a label of the report that was taken.
    """

    status: str = NOTHING
    effects: int = 0
    barred: bool = False
    doubtful: bool = False
    arguments: str = ""
    report: str = ""


_Calls: TypeAlias = tuple[Call, ...]
_REFUSED_CALLS: Final[Mapping[tuple[str, str], frozenset[str]]] = {
    ("approve", "begun"): frozenset(("claimed",)),
    ("approve", "closed"): _ENDED | {"confirmed"},
    ("answer", "begun"): frozenset(("claimed",)),
    ("answer", "closed"): _ENDED | {"confirmed"},
    ("reject", "begun"): frozenset(("claimed",)),
    ("reject", "closed"): _ENDED - {"rejected"},
    ("begin", "begun"): frozenset(("claimed",)),
    ("begin", "closed"): _ENDED,
    ("begin", "not_approved"): frozenset(("suggested",)),
    ("report", "not_approved"): frozenset(("suggested",)),
    ("report", "not_begun"): frozenset(("confirmed",)),
    ("report", "already_reported"): frozenset(("done", "failed", "rejected", "cancelled")),
    ("report", "closed"): _ENDED,
}
"""The statuses in which a refusal may be given, by operation and code. Any other refusal says nothing."""


@dataclass(frozen=True, slots=True)
class CallModel:
    """The moves of a call.

    caller: its caller runs it, not the server. free: it needs no approval. lossy: it is a socket's, whose suggestion
    ends with its session, and of which the ledger may have lost the end.
    """

    caller: bool = False
    free: bool = False
    lossy: bool = False

    @property
    def initial(self) -> Call:
        """A call that is not there."""
        return Call()

    def step(self, state: Call, event: Event) -> _Calls:
        """Return the states that an operation can lead to."""
        if event.outcome == "refused":
            if event.value == "not_found":
                return (state,) if state.status in (NOTHING, GONE) else ()
            may = _REFUSED_CALLS.get((event.operation, event.value))
            return (state,) if may is None or state.status in may else ()
        return self._STEPS[event.operation](self, state, event)

    def reads(self, event: Event) -> bool:
        """Return whether an operation changes nothing in any state."""
        return event.outcome == "refused" or event.operation in ("read", "row")

    def drift(self, state: Call) -> _Calls:
        """Return the states that the server can bring about by itself."""
        changed: list[str] = []
        if state.status == "suggested" and (state.doubtful or self.lossy):
            changed = ["cancelled"]
        elif state.status == "confirmed":
            changed = [] if self.caller else ["claimed", "cancelled"]
            changed += ["cancelled"] if self.caller and state.doubtful else []
        elif state.status == "claimed" and self.caller:
            changed = ["cancelled"] if state.doubtful else []
        elif state.status == "claimed":
            changed = ["unknown", *(("done",) if state.effects else ("failed", "cancelled"))]
        return tuple(state._replace(status=each) for each in changed)

    def _make(self, state: Call, event: Event) -> _Calls:
        if state.status != NOTHING:
            return ()
        status, doubtful = "confirmed" if self.free else "suggested", event.outcome == "unknown"
        return (Call(status, doubtful=doubtful, arguments=event.detail),)

    def _approve(self, state: Call, event: Event) -> _Calls:
        if state.status != "suggested":
            return ()
        approved = state._replace(status="confirmed", doubtful=event.outcome == "unknown")
        return (approved._replace(arguments=event.detail) if event.detail else approved,)

    def _answer(self, state: Call, event: Event) -> _Calls:
        return (state._replace(status="answered"),) if state.status == "suggested" else ()

    def _reject(self, state: Call, event: Event) -> _Calls:
        """Reject what is suggested, cancel what is approved; a second reject changes nothing."""
        becomes = {"suggested": "rejected", "confirmed": "cancelled"}.get(state.status, state.status)
        if becomes not in ("rejected", "cancelled") or event.value not in ("", becomes):
            return ()
        return (state._replace(status=becomes),)

    def _begin(self, state: Call, event: Event) -> _Calls:
        if state.status != "confirmed" or not self.caller or state.effects:
            return ()
        return (state._replace(status="claimed", effects=1, doubtful=event.outcome == "unknown"),)

    def _report(self, state: Call, event: Event) -> _Calls:
        ok, label = event.value == "done", event.detail
        if state.report:
            return (state,) if state.report == label else ()
        if ok and state.status == "confirmed" and self.free and self.caller and not state.effects:
            state = state._replace(status="claimed", effects=1)  # the report begins it
        becomes = {"claimed": "done" if ok else "failed"}
        if not ok:
            becomes |= {"suggested": "rejected", "confirmed": "cancelled"}
        if state.status not in becomes:
            return ()
        return (state._replace(status=becomes[state.status], report=label),)

    def _cancel(self, state: Call, event: Event) -> _Calls:
        """Cancel what has not begun; what is claimed may not begin any more."""
        if state.status in ("suggested", "confirmed"):
            return (state._replace(status="cancelled"),)
        return self._barred(state)

    def _cancel_turn(self, state: Call, event: Event) -> _Calls:
        """Cancel what runs within a turn.

        A suggestion is the end of its turn. A cancel that meets that end, while it is being stored, may be told of the
        turn as of one in progress, and takes the suggestion back with it.
        """
        if event.value == OWN_TURN and state.status == "suggested":
            return state, state._replace(status="cancelled")
        if not self.free or self.caller:
            return (state,)
        return self._cancel(state, event)

    def _barred(self, state: Call) -> _Calls:
        if state.status != "claimed" or self.caller or state.effects:
            return (state,)
        return state._replace(barred=True), state._replace(status="cancelled", barred=True)

    def _delete(self, state: Call, event: Event) -> _Calls:
        gone = state._replace(status=GONE, barred=True)
        if event.outcome == "unknown" and self.free and not self.caller:  # its turn may have been cancelled
            return gone, *self._cancel(state, event)
        return (gone,)

    def _effect(self, state: Call, event: Event) -> _Calls:
        may = state.status == "claimed" and not (state.effects or state.barred or self.caller)
        return (state._replace(effects=1),) if may and state.arguments == event.detail else ()

    def _read(self, state: Call, event: Event) -> _Calls:
        status = GONE if state.status == NOTHING else state.status
        runs = event.detail in ("", state.arguments) or status not in _APPROVED
        # A socket answers a confirm of what was rejected with `cancelled`.
        closed = self.lossy and (event.value, status) == ("cancelled", "rejected")
        return (state,) if closed or (status == event.value and runs) else ()

    def _row(self, state: Call, event: Event) -> _Calls:
        """Read the ledger's row: there is none where nothing was claimed."""
        if event.value == GONE:
            never_ran = not state.effects and state.status not in ("claimed", "done", "unknown")
            return (state,) if never_ran else ()
        lost = event.value == "unknown" and state.status in ("done", "failed", "cancelled")
        late = (event.value, state.status, state.effects) == (
            "cancelled",
            "failed",
            0,
        )  # it was claimed too late
        return (state,) if state.status == event.value or (self.lossy and (lost or late)) else ()

    _STEPS: ClassVar[Mapping[str, Callable[["CallModel", Call, Event], _Calls]]] = {
        "make": _make,
        "approve": _approve,
        "answer": _answer,
        "reject": _reject,
        "begin": _begin,
        "report": _report,
        "cancel": _cancel,
        "cancel turn": _cancel_turn,
        "delete": _delete,
        "effect": _effect,
        "read": _read,
        "row": _row,
    }


class Item(NamedTuple):
    """The state of a memory item."""

    status: str = NOTHING


_Items: TypeAlias = tuple[Item, ...]
_LIVE: Final = "accepted"  # facts alone are told here, which are neither started nor blocked
_MOVES: Final[Mapping[str, Mapping[str, str]]] = {
    "accept": {"proposed": _LIVE, _LIVE: _LIVE},
    "reject": {"proposed": "rejected"},
    "reopen": {"rejected": "proposed"},
    "edit": {_LIVE: "superseded", "proposed": "rejected"},
    "supersede": {_LIVE: "superseded"},
    "forget": dict.fromkeys(("proposed", _LIVE, "rejected", "superseded", "forgotten"), "forgotten"),
}
"""The moves of a user's decisions, by status; in any other status a decision is refused."""
_UNTOLD: Final[Mapping[str, frozenset[str]]] = {
    "answer": frozenset(("forgotten", "rejected", "superseded")),
    "prompt": frozenset(("forgotten",)),  # it holds what was said, as what was said
    "recall": frozenset(("forgotten",)),
    "live": frozenset((NOTHING, "proposed", "forgotten", "rejected", "superseded")),
}
"""The statuses in which an item's number stands in no answer, no prompt, no search, and no live item that is found."""


@dataclass(frozen=True, slots=True)
class ItemModel:
    """The moves of an item. ordered: its user's words order to remember it, so that it needs no other acceptance."""

    ordered: bool = False

    @property
    def initial(self) -> Item:
        """An item that is not there."""
        return Item()

    def step(self, state: Item, event: Event) -> _Items:
        """Return the states that an operation can lead to."""
        moves = _MOVES.get(event.operation)
        if event.outcome == "refused":
            if event.value == "not_found":
                return (state,) if state.status == NOTHING else ()
            known = event.value == "refused" and moves is not None
            return () if known and moves is not None and state.status in moves else (state,)
        if moves is not None:
            return (Item(moves[state.status]),) if state.status in moves else ()
        if event.operation in _UNTOLD:
            return () if state.status in _UNTOLD[event.operation] else (state,)
        if event.operation == "make":
            return (Item(event.value),) if state.status == NOTHING else ()
        assert event.operation == "read", event.operation
        listed = GONE if state.status in (NOTHING, "forgotten") else state.status
        return (state,) if event.value in (listed, state.status) else ()

    def reads(self, event: Event) -> bool:
        """Return whether an operation changes nothing in any state."""
        return event.outcome == "refused" or event.operation == "read" or event.operation in _UNTOLD

    def drift(self, state: Item) -> _Items:
        """Return the states that the server can bring about by itself."""
        return (Item(_LIVE),) if self.ordered and state.status == "proposed" else ()
