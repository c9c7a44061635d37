"""What must hold of calls inside turns, which nobody confirms: that none outlives its turn, and what is told of it.

A call belongs to the turn that had decided on it last. What ends a turn is told by order, as what a cancel must stop.
"""

from agent.ports.decide import Act
from agent.protocol import inbound
from agent.session.events import ClientDisconnected, DrainStarted, KillRequested
from agent.testing.breakable import EffectBegan, EffectCutOff, EffectFinished

from .lab import STOPPED, Entry, is_frame, is_received
from .tooling import TOOLS, Orders

CUT = "cancel_of_the_scope"  # the strike that ends a turn behind its session's back

Broken = list[tuple[str, str]]


def outlives(before: list[Entry]) -> Broken:
    """T4: the last entry's effect began inside the turn that decided on it, which had not been ended, and alone."""
    began = before[-1]
    sid = began.what.suggestion_id
    decided = max((place for place, each in enumerate(before) if isinstance(each.what, Act)), default=None)
    if decided is None or before[decided].turn is None:
        return [("T4", f"{sid} began, and no turn had decided on it")]
    message = str(before[decided].turn)
    found = [
        ("T4", f"{sid} began at {began.at:g} after {each}")
        for place, each in enumerate(before[:-1])
        if place > decided and _ends(each, message, before, place)
    ][:1]
    found += [
        ("T4", f"{sid} was decided on after {each}")
        for each in before[:decided]
        if isinstance(each.what, DrainStarted)
    ]
    return found + [("T4", f"{sid} began while {other} ran") for other in _running(before[:-1])]


def _ends(entry: Entry, message: str, before: list[Entry], place: int) -> bool:
    """Whether an entry, at its place before an effect, ends the turn of a message that was in progress.

    A client's leaving, and a scope that something else cancels, count when the clock has moved on since.
    """
    begins_at = before[-1].at
    match entry.what:
        case inbound.Cancel():
            return entry.what.id in (None, message)
        case inbound.Message():
            return not draining(before[:place])
        case inbound.RejectAction():
            return entry.what.text is not None and answered(before, entry.what.suggestion_id)
        case ClientDisconnected() | KillRequested():
            return True
    if is_frame(entry, "stream_end"):
        return bool(entry.what["id"] == message)
    if entry.who == "--":
        return entry.at < begins_at or entry.what == STOPPED
    return entry.who == "!!" and entry.what == CUT and entry.turn == message and entry.at < begins_at


def draining(before: list[Entry]) -> bool:
    """Whether the server goes down, so that it takes no message."""
    return any(isinstance(each.what, DrainStarted) for each in before)


def unsound(began: EffectBegan) -> Broken:
    """T6: a tool's call begins with arguments that the tool takes, edited or not."""
    known = any(tool.name == began.action for tool in TOOLS)
    wrong = Orders().find_problems(began.payload) if known else ()
    return [("T6", f"{began.suggestion_id} began as {began.payload}: {each.expected}") for each in wrong]


def answered(transcript: list[Entry], sid: str) -> bool:
    """Whether words were taken in place of a yes, and so became a message."""
    return any(
        is_frame(entry, "action_closed")
        and (entry.what["suggestionId"], entry.what["reason"]) == (sid, "answered")
        for entry in transcript
    )


def _running(before: list[Entry]) -> set[str]:
    running = set()
    for entry in before:
        if isinstance(entry.what, EffectBegan):
            running.add(entry.what.suggestion_id)
        elif isinstance(entry.what, EffectFinished | EffectCutOff):
            running.discard(entry.what.suggestion_id)
        elif is_frame(entry, "action_executed") and entry.what["result"] != {"ignored": True}:
            running.discard(entry.what["suggestionId"])
    return running


def told(transcript: list[Entry], made: set[str], parting: float, patient: float) -> Broken:
    """S5: of a call that was never suggested one end is told, with what it was; of one that began what came of it.

    made: what was suggested. parting: when the connection began to end. patient: seconds in which all has its end.
    """
    ends: dict[str, list[Entry]] = {}
    for entry in transcript:
        inside = is_frame(entry, "action_executed") and "action" in entry.what
        if inside and entry.what["result"] != {"ignored": True}:
            ends.setdefault(entry.what["suggestionId"], []).append(entry)
    found = [("S5", f"{sid} was told of {len(each)} ends") for sid, each in ends.items() if len(each) > 1]
    for place, entry in enumerate(transcript):
        if isinstance(entry.what, EffectBegan) and entry.what.suggestion_id not in made:
            sid = entry.what.suggestion_id
            let_go = any(isinstance(each.what, KillRequested) for each in transcript[place:])
            if sid not in ends and not let_go and parting - entry.at >= patient:
                found.append(("S5", f"{sid} began, and its client was not told"))
            for each in ends.get(sid, []):
                if (each.what["action"], each.what["payload"]) != (entry.what.action, entry.what.payload):
                    found.append(("S5", f"{sid} was told as {each}"))
    return found


def words(transcript: list[Entry]) -> list[Entry]:
    """Return where words were taken in place of a yes, each suggestion's first: they are a message with its id."""
    taken: dict[str, Entry] = {}
    for entry in transcript:
        if is_received(entry, inbound.RejectAction) and entry.what.text is not None:
            sid = entry.what.suggestion_id
            if answered(transcript, sid):
                taken.setdefault(sid, entry)
    return list(taken.values())
