"""What must hold after a run in the lab, whatever was struck: the session's invariants, from its transcript."""

import gc
from collections import Counter
from typing import Any

from ..protocol import inbound
from .lab import SENTINEL, Entry, Lab, is_frame, is_received


async def violations(lab: Lab, cut: bool, slow: bool) -> list[str]:
    """Return every broken invariant as a sentence; empty when all hold.

    cut: the connection ended before the client closed it, so what was owed may not have been sent.
    slow: the client did not read all the time, so a `stream_end` may be written late.
    """
    found = [
        *_ends(lab.transcript, cut),
        *_silence(lab.transcript, slow),
        *_numbers(lab.transcript, lab.figures.words),
        *_effects(lab),
        *_suggestions(lab.transcript, cut),
        *await _nothing_left(lab),
    ]
    return [f"{name}: {what}" for name, what in found]


def _ends(transcript: list[Entry], cut: bool) -> list[tuple[str, str]]:
    """I1: one stream_end per accepted message; `done` has one response, `cancelled` none."""
    asked = Counter(entry.what.id for entry in transcript if is_received(entry, inbound.Message))
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
        if ends[message] > owed or (ends[message] < owed and not cut):
            found.append(("I1", f"{message}: {owed} accepted, {ends[message]} stream_end"))
        if responses[message] > done[message] or (responses[message] < done[message] and not cut):
            found.append(("I1", f"{message}: {done[message]} done, {responses[message]} responses"))
    return found


def _is_rejection(entry: Entry) -> bool:
    return is_frame(entry, "error") and entry.what["code"] in ("busy", "rate_limited", "shutting_down")


def _silence(transcript: list[Entry], slow: bool) -> list[tuple[str, str]]:
    """I2: after a cancel was handled no delta of the turn it found is begun, and that turn ends at once."""
    found = []
    for place, entry in enumerate(transcript):
        if (
            not is_received(entry, inbound.Cancel)
            or entry.turn is None
            or entry.what.id not in (None, entry.turn)
        ):
            continue
        later = [each for each in transcript[place:] if each.who == "<-" and isinstance(each.what, dict)]
        about = [each for each in later if each.what.get("id") == entry.turn]
        found += [("I2", f"{each} after the cancel") for each in about if is_frame(each, "stream")]
        late = [each for each in about if is_frame(each, "stream_end") and each.at != entry.at]
        found += [("I2", f"{each} is late") for each in late if not slow]
    return found


def _numbers(transcript: list[Entry], words: set[str]) -> list[tuple[str, str]]:
    """I3: what was planted in a draft is in no frame and no metric label; deltas join to the response."""
    found = [("I3", f"{SENTINEL} in {entry}") for entry in transcript if SENTINEL in str(entry.what)]
    found += [("I3", f"{SENTINEL} in a label") for word in words if SENTINEL in word]
    said: dict[str, str] = {}
    for entry in transcript:
        if is_frame(entry, "stream"):
            said[entry.what["id"]] = said.get(entry.what["id"], "") + entry.what["delta"]
        elif is_frame(entry, "response") and said.pop(entry.what["id"], "") != entry.what["text"]:
            found.append(("I3", f"{entry.what['id']}: the deltas are not the response"))
        elif is_frame(entry, "stream_end") and entry.what["reason"] == "cancelled":
            said.pop(entry.what["id"], "")
    return found


def _effects(lab: Lab) -> list[tuple[str, str]]:
    """I4: an effect begins at most once, and only if its user confirmed it; a stopped one never began."""
    confirmed = {
        entry.what.suggestion_id for entry in lab.transcript if is_received(entry, inbound.ConfirmAction)
    }
    begun = Counter(lab.executor.begun)
    found = [("I4", f"{sid} began {count} times") for sid, count in begun.items() if count > 1]
    found += [("I4", f"{sid} began unconfirmed") for sid in begun if sid not in confirmed]
    stopped = {
        entry.what["suggestionId"]
        for entry in lab.transcript
        if is_frame(entry, "action_executed") and entry.what["result"] == {"cancelled": True}
    }
    return found + [("I4", f"{sid} was told cancelled, and began") for sid in stopped & set(begun)]


def _suggestions(transcript: list[Entry], cut: bool) -> list[tuple[str, str]]:
    """I5: each suggestion ends once, and its client is told."""
    rejects = Counter(
        entry.what.suggestion_id for entry in transcript if is_received(entry, inbound.RejectAction)
    )
    found = []
    for made in [entry.what for entry in transcript if is_frame(entry, "action_suggestion")]:
        sid = made["suggestionId"]
        about = [each.what for each in transcript if each.who == "<-" and _is_about(each.what, sid)]
        closed = sum(frame["type"] == "action_closed" for frame in about)
        results = [frame["result"] for frame in about if frame["type"] == "action_executed"]
        ran = sum("success" in result for result in results)
        # A confirm of what was closed unconfirmed is answered with the same words as a confirm that was stopped.
        stopped = 0 if closed else results.count({"cancelled": True})
        # A closed suggestion says so again to each reject that comes after.
        ends = min(closed, max(1, closed - rejects[sid])) + ran + stopped
        if ends > 1 or (ends < 1 and not cut):
            found.append(("I5", f"{sid} was told of {ends} ends"))
    return found


def _is_about(what: Any, sid: str) -> bool:
    return isinstance(what, dict) and what.get("suggestionId") == sid


async def _nothing_left(lab: Lab) -> list[tuple[str, str]]:
    """I6: no task, timer, level, registry entry or object of a session is left; every claimed row has its end."""
    found = []
    if len(lab.registry) or lab.registry.armed or lab.edge.cap.used or lab.runner.running:
        found.append(
            (
                "I6",
                f"{len(lab.registry)} sessions, {lab.registry.armed} timers, {lab.edge.cap.used} connections, "
                f"{lab.runner.running} actions left",
            )
        )
    open_rows = [row.suggestion_id for row in await lab.ledger.rows() if row.status == "claimed"]
    found += [("I6", f"{sid} has no end in the ledger") for sid in open_rows]
    found += [("I6", f"the level {name} is {level}") for name, level in lab.figures.levels.items() if level]
    tasks = [
        task.name for task in lab.nursery.child_tasks if not task.name.endswith(("keep_time", "read_all"))
    ]
    found += [("I6", f"the task {name} is left") for name in tasks]
    gc.collect()
    alive = [ref() for ref in lab.watched]
    found += [("I6", f"{type(each).__name__} is still alive") for each in alive if each is not None]
    return found
