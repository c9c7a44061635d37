"""What must hold of what is remembered after a run in the lab, from its rows and the transcript."""

from collections import Counter, defaultdict

from agent.protocol import inbound
from agent.testing.breakable import EffectFinished

from .call_census import Broken
from .keeping import Forgot, Rows, WatchedNoter, live
from .keeping_plots import ANOTHER, ORDER
from .lab import Entry, Lab, is_frame, is_received

INNOCENT = "about nothing"  # what the other client asks
ORDERED = frozenset((ORDER, ANOTHER))


def remembered(lab: Lab) -> Broken:
    """Return the broken invariants of memory, M1 to M6, with T3 for a suggestion that comes after a cancel."""
    memory = lab.kept
    if memory is None:
        return []
    if memory.rows is None:
        return [("M4", "what is remembered was not read")]
    rows, transcript = memory.rows, lab.transcript
    return [
        *_whole(rows),
        *_said(rows, transcript, lab.stopped),
        *_decided(rows, transcript),
        *_gone(rows, transcript),
        *_noted(lab.noter, rows),
    ]


def _noted(noter: WatchedNoter | None, rows: Rows) -> Broken:
    """M5: a memory model reads nothing but what is kept. S6: it has ended with the server."""
    if noter is None:
        return []
    kept = {turn.remark.message for turn in rows.turns}
    found = [
        ("M5", f"{each} was read by a model, and is not kept") for each in noter.seen if each not in kept
    ]
    return found + [("S6", "a memory model still reads")] * bool(noter.reading)


def _whole(rows: Rows) -> Broken:
    """M1: an item's status is the last of its history. M4: rows are whole. M6: one live item of a key and slot."""
    sides: dict[tuple[object, str], list[str]] = defaultdict(list)
    for turn in rows.turns:
        sides[turn.scope, turn.remark.message].append(turn.remark.role)
    found = [("M4", f"{key[1]} has {kept}") for key, kept in sides.items() if kept != ["user", "assistant"]]
    said = {turn.remark.message for turn in rows.turns}
    for item in rows.items:
        missing = [each.ref for each in item.sources if each.ref not in said]
        found += [("M4", f"{item.id} comes from {missing}, which is not kept")] if missing else []
        last = rows.history[item.id][-1].after if item.id in rows.history else None
        if last != item.status:
            found.append(("M1", f"{item.id} is {item.status}, and its history ends as {last}"))
    places = Counter((item.scope, item.key, item.slot) for item in live(rows))
    return found + [("M6", f"{count} live items of {place}") for place, count in places.items() if count > 1]


def _said(rows: Rows, transcript: list[Entry], stopped: bool) -> Broken:
    """M5: every message's words are kept as often as it was answered, and never those of one that was cancelled."""
    asked: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in transcript:
        if is_received(entry, inbound.Message):
            asked[entry.what.id][entry.what.text] += 1
    ends: dict[str, Counter[str]] = defaultdict(Counter)
    for entry in transcript:
        if is_frame(entry, "stream_end"):
            ends[entry.what["id"]][entry.what["reason"]] += 1
    kept = Counter(turn.remark.text for turn in rows.turns if turn.remark.role == "user")
    kept -= Counter({"": kept[""], INNOCENT: kept[INNOCENT]})
    forgotten = any(isinstance(entry.what, Forgot) for entry in transcript)
    found = []
    for text, count in kept.items():
        ids = [id for id, texts in asked.items() if text in texts]
        most = sum(asked[id].total() - ends[id]["cancelled"] for id in ids)
        if count > most:
            found.append(("M5", f"{text} is kept {count} times, and was not cancelled {most} times"))
    for id, texts in asked.items():
        owed = ends[id]["done"]
        if not stopped and not forgotten and owed and sum(kept[text] for text in texts) < owed:
            found.append(("M5", f"{id} was answered and is not kept"))
    return found


def _decided(rows: Rows, transcript: list[Entry]) -> Broken:
    """M1: an item is live, or was, only by an order or by a confirm; declined only by a reject; each once."""
    offers = {
        entry.what["payload"]["item"]: entry.what["suggestionId"]
        for entry in transcript
        if is_frame(entry, "action_suggestion") and entry.what["action"] == "remember"
    }
    confirmed = {
        entry.what.suggestion_id for entry in transcript if is_received(entry, inbound.ConfirmAction)
    }
    rejected = {entry.what.suggestion_id for entry in transcript if is_received(entry, inbound.RejectAction)}
    ran = {entry.what.suggestion_id for entry in transcript if isinstance(entry.what, EffectFinished)}
    found = []
    for id, changes in rows.history.items():
        triggers = Counter(change.trigger for change in changes if change.item == id)
        sid = offers.get(id, "")
        item = next(each for each in rows.items if each.id == id)
        ordered = not item.sources or any(source.quote in ORDERED for source in item.sources)
        if triggers["approve"] > 1:
            found.append(("M1", f"{id} was accepted {triggers['approve']} times"))
        if triggers["approve"] and sid and sid not in confirmed:
            found.append(("M1", f"{id} was asked about, and accepted without a confirm"))
        if triggers["approve"] and not sid and not ordered:
            found.append(("M1", f"{id} was accepted, and nobody was asked"))
        if triggers["reject"] and sid not in rejected:
            found.append(("M1", f"{id} was rejected by nobody"))
        if sid in ran and not triggers["approve"]:
            found.append(("M1", f"{id} was confirmed and is not accepted"))
    return found + _after_a_cancel(transcript)


def _after_a_cancel(transcript: list[Entry]) -> Broken:
    """T3: nothing is suggested any more of a message, once it was answered and a cancel has come."""
    found = []
    answered: dict[str, bool] = {}  # whether a cancel came since
    for entry in transcript:
        if is_frame(entry, "response"):
            answered[entry.what["id"]] = False
        elif is_received(entry, inbound.Cancel):
            for id in answered:
                answered[id] = answered[id] or entry.what.id in (None, id)
        elif is_frame(entry, "action_suggestion") and answered.get(entry.what["id"]):
            found.append(("T3", f"{entry} after a cancel"))
    return found


def _gone(rows: Rows, transcript: list[Entry]) -> Broken:
    """M2: what was forgotten is in no row."""
    forgotten = [entry.what for entry in transcript if isinstance(entry.what, Forgot)]
    texts = [turn.remark.text for turn in rows.turns] + [item.text for item in rows.items]
    return [
        ("M2", f"{gone.item} was forgotten, and there is: {text}")
        for gone in forgotten
        for text in texts
        if "20 metres" in text
    ]
