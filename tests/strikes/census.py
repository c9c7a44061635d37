"""What must hold after a run in the lab, whatever was struck: the session's invariants, from its transcript.

What was owed to a client is told by time: what it said or was told of at least PATIENT seconds before its connection
began to end must have had its end by then. What a cancel must stop is told by order: the transcript has each frame
where it was handled and each effect where it began.
"""

import gc
from collections import Counter
from typing import Any

from agent.protocol import inbound
from agent.session.events import ClientDisconnected, DrainStarted, KillRequested
from agent.testing.breakable import SENTINEL, EffectBegan, EffectCutOff, EffectFailed, EffectFinished

from .call_census import draining, outlives, told, unsound, words
from .keeping_census import remembered
from .lab import STOPPED, Entry, Lab, is_frame, is_received
from .memory_plots import answers, remains
from .raw import is_close

PATIENT = 45.0  # virtual seconds in which everything has its end: a suggestion 30, an action's deadline 10 and 2 x 2


async def violations(lab: Lab, slow: bool) -> list[str]:
    """Return every broken invariant as a sentence; empty when all hold.

    slow: the client did not read all the time, so a `stream_end` may be written late.
    """
    found = [
        *_ends(lab.transcript),
        *_silence(lab.transcript, slow),
        *_numbers(lab.transcript, lab.figures.words),
        *_effects(lab),
        *await _records(lab),
        *_suggestions(lab.transcript),
        *told(lab.transcript, set(_made(lab.transcript)), _parting(lab.transcript), PATIENT),
        *answers(lab.transcript, _parting(lab.transcript), PATIENT),
        *remains(lab),
        *remembered(lab),
        *await _nothing_left(lab),
    ]
    return [f"{name}: {what}" for name, what in found]


TOLD = ("stream", "progress")  # of a turn, and never after its end


def overstays(lab: Lab) -> list[str]:
    """Return S6 when a connection goes on although the server has said goodbye, PATIENT seconds ago, and waits."""
    said = [entry for entry in lab.transcript if entry.who == "<-" and is_close(entry.what)]
    return [f"S6: it is still open after {said[0]}"] if said and not lab.parted.is_set() else []


def _parting(transcript: list[Entry]) -> float:
    """Return when the connection began to end, at the client's or the operator's wish; infinity when never."""
    return min((entry.at for entry in transcript if entry.who == "--"), default=float("inf"))


def _ends(transcript: list[Entry]) -> list[tuple[str, str]]:
    """S1: one stream_end per accepted message; `done` has one response, `cancelled` none."""
    messages = [(entry.what.id, entry.at) for entry in transcript if is_received(entry, inbound.Message)]
    messages += [(entry.what.suggestion_id, entry.at) for entry in words(transcript)]
    asked = Counter(message for message, _ in messages)
    last = dict(messages)
    parting = _parting(transcript)
    refused = Counter(entry.what.get("id") for entry in transcript if _is_rejection(entry))
    ends: Counter[str] = Counter()
    done: Counter[str] = Counter()
    for entry in transcript:
        if is_frame(entry, "stream_end"):
            ends[entry.what["id"]] += 1
            done[entry.what["id"]] += entry.what["reason"] == "done"
    responses = Counter(entry.what["id"] for entry in transcript if is_frame(entry, "response"))
    found = []
    for message, count in asked.items():
        owed = count - refused[message]
        cut = parting - last[message] < PATIENT
        if ends[message] > owed or (ends[message] < owed and not cut):
            found.append(("S1", f"{message}: {owed} accepted, {ends[message]} stream_end"))
        if responses[message] > done[message] or (responses[message] < done[message] and not cut):
            found.append(("S1", f"{message}: {done[message]} done, {responses[message]} responses"))
    return found


def _is_rejection(entry: Entry) -> bool:
    return is_frame(entry, "error") and entry.what["code"] in ("busy", "rate_limited", "shutting_down")


def _silence(transcript: list[Entry], slow: bool) -> list[tuple[str, str]]:
    """S2: after a cancel, or a message in its place, no delta of a turn is begun, and that turn ends at once."""
    found = []
    for place, entry in enumerate(transcript):
        if entry.turn is None or not _cuts(entry, transcript[:place]):
            continue
        later = [each for each in transcript[place:] if each.who == "<-" and isinstance(each.what, dict)]
        about = [each for each in later if each.what.get("id") == entry.turn]
        found += [("S2", f"{each} after {entry}") for each in about if each.what["type"] in TOLD]
        late = [each for each in about if is_frame(each, "stream_end") and each.at != entry.at]
        found += [("S2", f"{each} is late") for each in late if not slow]
    return found


def _cuts(entry: Entry, before: list[Entry]) -> bool:
    """Whether an entry ends the turn that was in progress, from which message ids differ here."""
    if is_received(entry, inbound.Message):
        return not draining(before)
    return is_received(entry, inbound.Cancel) and entry.what.id in (None, entry.turn)


def _numbers(transcript: list[Entry], words: set[str]) -> list[tuple[str, str]]:
    """S3: what was planted in a draft is in no frame and no metric label; deltas join to the response."""
    found = [("S3", f"{SENTINEL} in {entry}") for entry in transcript if SENTINEL in str(entry.what)]
    found += [("S3", f"{SENTINEL} in a label") for word in words if SENTINEL in word]
    said: dict[str, str] = {}
    for entry in transcript:
        if is_frame(entry, "stream"):
            said[entry.what["id"]] = said.get(entry.what["id"], "") + entry.what["delta"]
        elif is_frame(entry, "response") and said.pop(entry.what["id"], "") != entry.what["text"]:
            found.append(("S3", f"{entry.what['id']}: the deltas are not the response"))
        elif is_frame(entry, "stream_end") and entry.what["reason"] == "cancelled":
            said.pop(entry.what["id"], "")
    return found


def _effects(lab: Lab) -> list[tuple[str, str]]:
    """S4: an effect begins at most once. S5: never after its end was told. T1: only if, and as, its user confirmed it.

    T3, T5: never after it was stopped. T4: a call that needs no approval begins only inside its turn.
    """
    transcript = lab.transcript
    begun = Counter(entry.what.suggestion_id for entry in transcript if isinstance(entry.what, EffectBegan))
    found = [("S4", f"{sid} began {count} times") for sid, count in begun.items() if count > 1]
    closed = {
        entry.what["suggestionId"]
        for entry in transcript
        if is_frame(entry, "action_closed")
        or (is_frame(entry, "action_executed") and entry.what["result"] == {"cancelled": True})
    }
    found += [("S5", f"{sid} was told closed or cancelled, and began") for sid in sorted(closed & set(begun))]
    made = _made(transcript)
    for place, entry in enumerate(transcript):
        if isinstance(entry.what, EffectBegan):
            sid = entry.what.suggestion_id
            found += unsound(entry.what)
            if sid not in made and entry.what.action in lab.free:
                found += outlives(transcript[: place + 1])
                continue
            confirmed = _confirmed(transcript[:place], sid)
            if confirmed is None:
                found.append(("T1", f"{sid} began unconfirmed"))
                continue
            edit = transcript[confirmed].what.payload
            if sid in made and entry.what.payload != (edit or made[sid]["payload"]):
                found.append(("T1", f"{sid} began as {entry.what.payload}, which was not confirmed"))
            stops = _stops(transcript[: place + 1], confirmed, sid, made[sid]["id"] if sid in made else None)
            found += [(_broken_by(stop), f"{sid} began at {entry.at:g} after {stop}") for stop in stops[:1]]
    return found + _after_a_kill(transcript)


def _made(transcript: list[Entry]) -> dict[str, Any]:
    """Return what was suggested, by its id."""
    return {
        entry.what["suggestionId"]: entry.what for entry in transcript if is_frame(entry, "action_suggestion")
    }


def _confirmed(before: list[Entry], sid: str) -> int | None:
    """Return the place of the confirm that was taken: the first that was not answered as unknown or as a bad edit."""
    unknown = sum(
        is_frame(entry, "error")
        and entry.what["code"] in ("unknown_suggestion", "bad_edit")
        and entry.what.get("suggestionId") == sid
        for entry in before
    )
    confirms = [
        place
        for place, entry in enumerate(before)
        if is_received(entry, inbound.ConfirmAction) and entry.what.suggestion_id == sid
    ]
    return confirms[unknown] if len(confirms) > unknown else None


def _stops(before: list[Entry], confirmed: int, sid: str, message: str | None) -> list[Entry]:
    """Return what should have stopped an action for good, of all that happened until its effect began, the last entry.

    A drain counts before the confirm, and a client's leaving when the clock has moved on since (the server need not
    have noticed within the instant) and the session was still there (a kill leaves the action its deadline).
    """
    begins_at = before[-1].at
    killed = min((entry.at for entry in before if isinstance(entry.what, KillRequested)), default=begins_at)
    found = []
    for place, entry in enumerate(before):
        match entry.what:
            case DrainStarted():
                stops = place < confirmed
            case inbound.Cancel():
                stops = place > confirmed and _cancels(before[:place], entry, message)
            case inbound.RejectAction():
                stops = place > confirmed and entry.what.suggestion_id == sid and entry.what.text is None
            case ClientDisconnected():
                stops = True
            case _:
                left = entry.who == "--" and entry.at < min(begins_at, killed)
                stops = left or entry.what == STOPPED
        if stops:
            found.append(entry)
    return found


def _broken_by(stop: Entry) -> str:
    """Return the invariant that an effect breaks which begins after this entry."""
    return "T3" if isinstance(stop.what, inbound.Cancel | inbound.RejectAction) else "T5"


def _cancels(before: list[Entry], cancel: Entry, message: str | None) -> bool:
    """Whether a cancel is about the confirmed action that `message` led to.

    One without an id, or with that of the message in progress, stops whatever was confirmed. One with another id is
    about the message itself while that waits in the queue.
    """
    if cancel.what.id is None or cancel.what.id == cancel.turn:
        return True
    waits = 0
    for entry in before:
        if is_received(entry, inbound.Message) and entry.what.id == message:
            waits += 1
        elif (is_frame(entry, "stream_end") or _is_rejection(entry)) and entry.what.get("id") == message:
            waits -= 1
    return cancel.what.id == message and waits == 0


def _after_a_kill(transcript: list[Entry]) -> list[tuple[str, str]]:
    """T5: a kill leaves the action that runs its deadline; what only waits, as all does during a turn, never begins."""
    for place, entry in enumerate(transcript):
        if isinstance(entry.what, KillRequested):
            later = [each.what for each in transcript[place:] if isinstance(each.what, EffectBegan)]
            if len(later) > (entry.turn is None):
                return [("T5", f"{later[-1].suggestion_id} waited, and began after {entry}")]
    return []


async def _records(lab: Lab) -> list[tuple[str, str]]:
    """S5: what began is carried out or has its deadline. S9: the ledger has what became of it."""
    kinds: dict[str, set[type]] = {}
    for entry in lab.transcript:
        if isinstance(entry.what, EffectBegan | EffectFailed | EffectFinished | EffectCutOff):
            kinds.setdefault(entry.what.suggestion_id, set()).add(type(entry.what))
    found = [
        ("S5", f"{sid} began and was cut off before its deadline")
        for sid, kind in kinds.items()
        if EffectCutOff in kind and not lab.stopped
    ]
    for row in await lab.ledger.rows():
        kind = kinds.pop(row.suggestion_id, set())
        allowed = _ends_of(kind)
        if row.status not in allowed:
            found.append(("S9", f"{row.suggestion_id} is {row.status} in the ledger, and not {allowed}"))
    return found + [("S9", f"{sid} began without a row in the ledger") for sid in kinds]


def _ends_of(kinds: set[type]) -> tuple[str, ...]:
    """Return how the ledger may say that an action ended of which this happened."""
    if EffectFinished in kinds:
        return ("done",)
    if EffectFailed in kinds:
        return ("failed",)
    return ("unknown",) if EffectBegan in kinds else ("cancelled", "failed")


def _suggestions(transcript: list[Entry]) -> list[tuple[str, str]]:
    """S5: each suggestion ends once, and its client is told."""
    parting = _parting(transcript)
    rejects = Counter(
        entry.what.suggestion_id for entry in transcript if is_received(entry, inbound.RejectAction)
    )
    found = []
    for made in [entry for entry in transcript if is_frame(entry, "action_suggestion")]:
        sid = made.what["suggestionId"]
        about = [each.what for each in transcript if each.who == "<-" and _is_about(each.what, sid)]
        closed = sum(frame["type"] == "action_closed" for frame in about)
        results = [frame["result"] for frame in about if frame["type"] == "action_executed"]
        ran = sum("success" in result for result in results)
        # A confirm of what was closed unconfirmed is answered with the same words as a confirm that was stopped.
        stopped = 0 if closed else results.count({"cancelled": True})
        # A closed suggestion says so again to each reject that comes after.
        ends = min(closed, max(1, closed - rejects[sid])) + ran + stopped
        confirmed = _confirmed(transcript, sid)
        let_go = confirmed is not None and any(
            isinstance(each.what, KillRequested) for each in transcript[confirmed:]
        )
        latest = made.at if confirmed is None else transcript[confirmed].at
        cut = let_go or parting - latest < PATIENT
        if ends > 1 or (ends < 1 and not cut):
            found.append(("S5", f"{sid} was told of {ends} ends"))
    return found


def _is_about(what: Any, sid: str) -> bool:
    return isinstance(what, dict) and what.get("suggestionId") == sid


async def _nothing_left(lab: Lab) -> list[tuple[str, str]]:
    """S6: no task, timer, level, registry entry or object of a session is left; every claimed row has its end."""
    found = [("S6", f"when the connection had ended {what}") for what in lab.left_behind]
    if not lab.parted.is_set():
        found.append(("S6", "the connection did not end"))
    if not lab.over.is_set():
        found.append(("S6", "the server did not end"))
    runner, registry = lab.app.runner, lab.app.registry
    running = runner.running_count if runner else 0
    if len(registry) or registry.armed_count or lab.app.cap.used or running:
        found.append(
            (
                "S6",
                f"{len(registry)} sessions, {registry.armed_count} timers, {lab.app.cap.used} connections, "
                f"{running} actions left",
            )
        )
    open_rows = [row.suggestion_id for row in await lab.ledger.rows() if row.status == "claimed"]
    found += [("S6", f"{sid} has no end in the ledger") for sid in open_rows]
    found += [("S6", f"the level {name} is {level}") for name, level in lab.figures.levels.items() if level]
    tasks = [task.name for task in lab.nursery.child_tasks if not task.name.endswith("read_all")]
    found += [("S6", f"the task {name} is left") for name in tasks]
    gc.collect()
    found += [("S6", f"the {side} session is alive") for side, ref in lab.watched.items() if ref()]
    return found
