"""Checks that the clients' reports, the effects and the server's file agree.

During a soak every approval, every end that a client was told and every effect is noted (`notes`). When all users have
left and the server has gone, the notes are read, with the server's file (`kept`). A row that still says `claimed` was
an action whose outcome was lost, unless its caller has it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from .calls import APPROVED_STATUSES
from .notes import REMEMBER, CallNotes
from .server_file import CALLER, ActionRow, ServerFile
from .tools import FREE

BrokenPromise = tuple[str, str]  # the promise, and words
# By the end that a client was told: the allowed rows (None: no row), and the least and the most effects.
AGREES: dict[str | None, tuple[tuple[str | None, ...], int, int]] = {
    "done": (("done",), 1, 1),
    "failed": (("failed", None), 0, 0),
    "unknown": (("unknown",), 0, 1),
    "cancelled": (("cancelled", None), 0, 0),
    "closed": (("cancelled", None), 0, 0),
    None: (("done", "failed", "unknown", "cancelled", None), 0, 1),
}
# By the status of a row, whether or not a client was told.
EFFECTS: dict[str | None, tuple[int, int]] = {
    "done": (1, 1),
    "failed": (0, 0),
    "unknown": (0, 1),
    "cancelled": (0, 0),
    None: (0, 0),
}
_ENDED = ("done", "failed", "unknown")  # statuses that the ledger must have too


def find_disagreements(
    actions: Mapping[str, CallNotes], kept: ServerFile | None, effects_seen: bool = True
) -> Iterator[BrokenPromise]:
    """Yield each broken promise and its words.

    `kept`: `None` where there is no file to read. `effects_seen`: `False` where no effect was noted, because there was
    no webhook.
    """
    rows = kept.rows if kept is not None else {}
    for id in actions.keys() | rows.keys():
        action, row = actions.get(id, CallNotes()), rows.get(id)
        yield from _find_unapproved(id, action, row)
        allowed, least, most = AGREES[action.reported_end]
        seen = effects_seen and REMEMBER not in _tools_of(action, row)
        if seen and not least <= min(action.effects, 1) <= most:
            yield "S9", f"{id} is told {action.reported_end}, and took effect {action.effects} times"
        if kept is None or (row is not None and row.is_leased(kept.at)):
            continue
        status = row.status if row is not None else None
        if status == "claimed":
            yield "S9", f"{id} is told {action.reported_end}, and is still claimed"
        elif status not in allowed:
            yield "S9", f"{id} is told {action.reported_end}, and its row says {status}"
        elif seen and not EFFECTS[status][0] <= min(action.effects, 1) <= EFFECTS[status][1]:
            yield "S9", f"{id}: its row says {status}, and it took effect {action.effects} times"
    if kept is not None:
        yield from find_open(kept)
        yield from _calls(actions, kept)


def _find_unapproved(id: str, action: CallNotes, row: ActionRow | None) -> Iterator[BrokenPromise]:
    """Yield the effects of a call that came twice, or without an approval of exactly their arguments."""
    if action.effects > 1:
        yield "S4", f"{id} took effect {action.effects} times"
    tools = _tools_of(action, row)
    if tools and tools <= FREE:
        return
    if not action.is_confirmed and (action.effects or row is not None):
        yield "T1", f"{id} was never confirmed, and took effect {action.effects} times"
    elif not all(map(action.allows, action.run_digests)):
        yield "T1", f"{id} took effect with other arguments than somebody has said yes to"


def _tools_of(action: CallNotes, row: ActionRow | None) -> set[str]:
    """Return the names of a call's tool; without a file only the notes have it."""
    return action.tools | ({row.tool} if row is not None else set())


def find_open(kept: ServerFile) -> Iterator[BrokenPromise]:
    """Yield the calls and messages that have not ended; a call that its caller has taken is the caller's to end."""
    for id, call in kept.calls.items():
        if call.runs:
            yield "S5", f"call {id} is left {call.status}"
        elif call.status == "claimed" and (call.lease_until or 0) <= kept.at:
            yield "S5", f"call {id} is left claimed, and its lease is over"
    for id in kept.pending:
        yield "S1", f"message {id} is left pending"


def _calls(actions: Mapping[str, CallNotes], kept: ServerFile) -> Iterator[BrokenPromise]:
    """Yield the disagreements of stored calls with the notes, the effects and the ledger."""
    for id, call in kept.calls.items():
        action, row = actions.get(id, CallNotes()), kept.rows.get(id)
        if call.free and call.tool not in FREE:
            yield "T1", f"call {id} of {call.tool} asked no user"
        if call.status in APPROVED_STATUSES and not call.free:
            if not action.is_confirmed:
                yield "T1", f"call {id} is {call.status}, and no user has approved it"
            elif not action.allows(call.digest):
                yield "T1", f"call {id} is {call.status} with other arguments than somebody has said yes to"
        if action.run_digests - {call.digest}:
            yield "T1", f"call {id} took effect with other arguments than it is kept with"
        status = row.status if row is not None else None
        if status != call.status and (call.status in _ENDED or status not in ("cancelled", None)):
            yield "S9", f"call {id} is {call.status}, and its row says {status}"


def parse_figures(text: bytes) -> dict[str, float]:
    """Return the figures of a text in Prometheus' format, by name and labels."""
    lines = (line.rpartition(" ") for line in text.decode().splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def find_miscounts(figures: Mapping[str, float], rows: Mapping[str, ActionRow]) -> Iterator[BrokenPromise]:
    """Yield the figures of a server (by name and labels) that differ from the rows of its ledger since it began.

    An action that could not be claimed is reported as failed, and has no row.
    """
    held = Counter(row.status for row in rows.values() if row.owner != CALLER)
    for status in _ENDED:
        told = sum(
            figures.get(f'agent_{name}_total{{outcome="{status}"}}', 0)
            for name in ("confirms_ended", "actions")
        )
        if told < held[status] or (told > held[status] and status != "failed"):
            yield "S9", f"/metrics tells of {told:g} actions {status}, the ledger of {held[status]}"
    for name in ("agent_actions_running", "agent_actions_unrecorded"):
        if figures.get(name, 0):
            yield "S9", f"/metrics tells of {figures[name]:g} {name}"


def summarize_calls(actions: Mapping[str, CallNotes], kept: ServerFile | None) -> dict[str, object]:
    """Return the figures of a reckoning."""
    told = Counter(str(action.reported_end or "nobody") for action in actions.values() if action.is_confirmed)
    figures: dict[str, object] = {
        "confirmed": sum(action.is_confirmed for action in actions.values()),
        "told": dict(sorted(told.items())),
        "effects": sum(action.effects for action in actions.values()),
    }
    if kept is not None:
        figures["rows"] = _count_words(row.status for row in kept.rows.values())
    if kept is not None and kept.calls:
        figures["calls"] = _count_words(f"{call.runs_at} {call.status}" for call in kept.calls.values())
        figures["edited"] = _count_words(call.status for call in kept.calls.values() if call.edited)
    return figures


def _count_words(words: Iterator[str]) -> dict[str, int]:
    return dict(sorted(Counter(words).items()))
