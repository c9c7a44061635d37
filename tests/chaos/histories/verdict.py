"""Hold the records of a run against the models, one call and one item after the other; pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from .history import Event, Finding, explain_history, format_history
from .models import OWN_TURN, CallModel, ItemModel
from .records import CALLERS, FREE, Attempt, CallRecord, Effect, ItemRecord, Records, label_arguments

_MAKES_LIVE = ("accept", "make")


@dataclass
class Verdict:
    """The result of a run.

    violations: each with the history of its call or item. undecided: searches that were given up. lengths: of the
    histories.
    """

    violations: list[str] = field(default_factory=list)
    undecided: int = 0
    calls: int = 0
    items: int = 0
    lengths: list[int] = field(default_factory=list)


def judge_run(records: Records) -> Verdict:
    """Return the violations of a run."""
    verdict = Verdict([*dict.fromkeys(records.wrong)])
    for effect in records.effects:
        if effect.key not in records.calls:
            records.calls[effect.key] = CallRecord(effect.key, effect.tool, effect.order, "http")
    verdict.violations += _find_surplus(records)
    effects: dict[str, list[Effect]] = {}
    for effect in records.effects:
        effects.setdefault(effect.key, []).append(effect)
    for call in records.calls.values():
        verdict.calls += 1
        model = CallModel(call.tool in CALLERS, call.tool in FREE, call.where == "socket")
        events = [*_collect_call_events(records, call), *_collect_effects(records, effects.get(call.id, ()))]
        _search(verdict, records, f"call {call.id} ({call.tool} {call.order})", events, model)
    for item in records.items.values():
        verdict.items += 1
        kinds = {each.kind for each in records.told[item.number]}
        title = f"item {item.id} of {item.user} ({item.thing} {item.number})"
        events = [*_collect_item_events(records, item)]
        _search(verdict, records, title, events, ItemModel("order" in kinds))
        forgotten = any((each.operation, each.outcome) == ("forget", "ok") for each in events)
        if forgotten and item.number in records.in_files:
            why = f"it is forgotten, and its number stands in {records.in_files[item.number]}"
            tries = [each.event(each.kind, "", f"thread {each.thread}") for each in records.told[item.number]]
            verdict.violations.append(
                _format_violation(f"{title}: {why}", [*events, *tries], Finding(True), records)
            )
    return verdict


def _search(
    verdict: Verdict, records: Records, title: str, events: list[Event], model: "CallModel | ItemModel"
) -> None:
    verdict.lengths.append(len(events))
    finding: Finding[Any] = explain_history(events, model)
    if finding.legal is None:
        verdict.undecided += 1
    elif not finding.legal:
        states = ", ".join(sorted(map(str, finding.states)))
        said = f"{title}: no order explains what is marked; before it the state is {states}"
        verdict.violations.append(_format_violation(said, events, finding, records))


def _format_violation(said: str, events: list[Event], finding: Finding[Any], records: Records) -> str:
    """Return a violation with the whole history of its subject, and the faults during it."""
    beside = [fault for fault in records.faults if any(_meet(fault, each) for each in events)]
    return "\n".join([said, *format_history([*events, *beside], finding, records.began)])


def _meet(fault: Event, event: Event) -> bool:
    end = event.begin if event.end == inf else event.end
    return fault.begin <= end and fault.end >= event.begin


def _find_surplus(records: Records) -> Iterator[str]:
    """Yield the orders and the numbers of which there are more calls or items than messages."""
    made = Counter(call.order for call in records.calls.values())
    for order, times in made.items():
        if times > len(records.asked[order]):
            yield f"{times} calls of {order}, which {len(records.asked[order])} messages have asked for"
    items = Counter(item.number for item in records.items.values())
    for number, times in items.items():
        if times > len(records.told[number]):
            yield f"{times} items of {number}, which {len(records.told[number])} messages have told"


def _collect_call_events(records: Records, call: CallRecord) -> Iterator[Event]:
    makers = [*_find_makers(records.asked[call.order], call.id, "", label_arguments(""))]
    yield from makers
    if call.tool in CALLERS & FREE:
        yield from _find_handovers(records.asked[call.order], call.id)
    yield from call.events
    for each in records.threads[call.thread] if call.thread else ():
        met = any(each.begin <= make.deadline and make.begin <= each.deadline for make in makers)
        yield replace(each, value=OWN_TURN) if each.operation == "cancel turn" and met else each


def _find_handovers(attempts: Iterable[Attempt], id: str) -> Iterator[Event]:
    """Yield the messages that may have begun a call: it is handed over with an answer that has not come."""
    if not any(id in attempt.made for attempt in attempts):
        yield from (each.event("begin") for each in attempts if each.outcome == "unknown")


def _collect_effects(records: Records, effects: Iterable[Effect]) -> Iterator[Event]:
    """Yield the effects of a call: each started before it was read, by as long as this process may be late."""
    slack = 1.0 + records.lag
    for each in effects:
        yield Event("effect", each.at - slack, each.at, detail=label_arguments(each.note), client="webhook")


def _collect_item_events(records: Records, item: ItemRecord) -> Iterator[Event]:
    attempts = records.told[item.number]
    edited = any(each.kind == "edit" for each in attempts)
    yield from _find_makers(attempts, item.id, "accepted" if edited else "proposed")
    yield from item.events
    yield from records.shown[item.number]
    seen = [each for each in item.events if each.value in ("superseded", "refused")]
    if seen:
        yield from _find_replacements(records, item, max(each.end for each in seen))


def _find_replacements(records: Records, item: ItemRecord, until: float) -> Iterator[Event]:
    """Yield the operations that may have put another item of the same thing in the place of `item`."""
    for other in records.items.values():
        if other is item or (other.user, other.thing) != (item.user, item.thing):
            continue
        attempts = [each.event("make") for each in records.told[other.number]]
        for each in (*attempts, *other.events):
            if each.operation in _MAKES_LIVE and each.outcome != "refused" and each.begin <= until:
                about = {"value": f"by {other.id}", "client": each.client}
                yield Event("supersede", each.begin, each.end, "unknown", **about)


def _find_makers(attempts: Iterable[Attempt], id: str, value: str, detail: str = "") -> Iterator[Event]:
    """Yield the message that made a call or an item: the one answered with it, else one with an unknown outcome.

    The one that was answered may repeat an earlier one, by its key, that had made it and whose answer was lost.
    """
    unknown: list[Attempt] = []
    for attempt in attempts:
        if id in attempt.made:
            made = attempt.event("make", value, detail)
            yield replace(made, begin=min([made.begin, *(each.begin for each in unknown)]))
            return
        if attempt.outcome == "unknown":
            unknown.append(attempt)
    if unknown:
        first = min(unknown, key=lambda each: each.begin)
        yield first.event("make", value, detail)
