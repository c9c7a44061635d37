"""Strikes a thread's scenarios at every one of their steps: cancellation over HTTP, proved by exhaustion.

A step is a time that the event loop resumes any task. A first run of a scenario counts them; then it is run once per
step k, on virtual time with seeded scheduling, and struck just before its k-th step. After each run what was kept is
held against what was told and what has happened.

    python -m tests.threads.strikes                          every scenario and strike, with the number of points
    python -m tests.threads.strikes SCENARIO STRIKE K        one point again
"""

import sys
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog
import trio
import trio._core._run as trio_run
from trio.testing import MockClock

from agent.errors import AgentError, BadEdit, Conflict, NotFound
from agent.memory.exchange_keeper import ExchangeKeeper
from agent.memory.message_items import read_items
from agent.memory.own_memory import OwnMemory
from agent.memory.recall.recall import IndexRecaller
from agent.memory.recollection import Recollection
from agent.ports.calls import CallReport, StoredCall
from agent.ports.change_mark import BEGINNING
from agent.ports.conversation import Scope
from agent.ports.decide import Decision
from agent.ports.memory import LIVE, Item
from agent.ports.memory import ItemDecision as Decided
from agent.ports.note import ReadStore
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.ports.remember import MemoryAccess
from agent.ports.thread_service import Reply
from agent.session.events import DrainStarted
from agent.session.forgotten_exchanges import Conversations
from agent.session.registry import Registry
from agent.storage.open import open_memory_store, open_store
from agent.storage.settings import StorageSettings
from agent.storage.store import Store
from agent.testing.breakable import DraftScript
from agent.testing.fakes import Figures
from agent.testing.network import inline
from agent.threads import thread_registry
from agent.threads.settings import THREAD_CALM

from .lab import ANSWER, LOOK_UP, NOTE, REFUND, SHIP, Ear, Lab, Wall, lab

SEED = 1
SELDOM = (
    THREAD_CALM / 2
)  # seconds between two sweeps once a scenario is over: nothing is asked of them but sleep
ALL = Window(200)
ORDER = "Remember that my wall is 20 metres long."
STATED = "My fence is 40 metres."
ASKED = "How long is my wall?"
CITING = (DraftScript("My wall is 20 metres long."),)
ANNA = Scope(HOUSE, "", "anna")
RAN = ("done", "failed", "unknown")
SHUT = ("cancelled", "rejected", "expired", "answered")


@dataclass(eq=False)
class Asking:
    """A message that was sent, and what was heard of its turn."""

    ear: Ear = field(default_factory=Ear)
    over: bool = False


@dataclass(frozen=True)
class TakenBack:
    """A cancel or a deletion that was answered, and what had happened by then.

    whole: it ends everything that its thread does, not only the turn in progress. effects, begun: how many there were.
    heard: of each turn that was in progress when it was sent, the number of its frames. rows: the messages and calls of
    the thread's turns that were over.
    """

    thread: str
    whole: bool
    effects: int
    begun: int
    heard: tuple[tuple[Asking, int], ...]
    rows: "Rows"


@dataclass
class Caller:
    """Who uses the desk; what it was told is noted."""

    lab: Lab
    asking: list[Asking] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)  # calls that it was told to run itself
    taken_back: list[TakenBack] = field(default_factory=list)
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)
    replies: list[Reply] = field(default_factory=list)
    ended: list[StoredCall] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    proposed: dict[str, str] = field(default_factory=dict)  # items that replies tell of, with their texts
    forgetting: list[str] = field(default_factory=list)  # items that were to be forgotten
    forgotten: list[str] = field(default_factory=list)  # and that it was told of
    decided: list[Item] = field(default_factory=list)  # how an item was told to stand after its user's word
    wants: set[str] = field(default_factory=set)  # items that a user accepts or corrects, told of it or not

    @property
    def thread(self) -> str | None:
        """The one that it uses, once it is there."""
        if self.replies:
            return self.replies[0].thread
        return next((thread for _, thread in (*self.lab.desk.awake, *self.lab.desk.beginning)), None)

    async def chat(self, text: str) -> Any:
        """Send a message and listen to its turn; return the reply, None where there is none."""
        asking = Asking()
        self.asking.append(asking)
        try:
            return await self.try_to(self.lab.chat(text, self.thread, listener=asking.ear))
        finally:
            asking.over = True

    async def take_back(self, thread: str, act: Callable[[str, str], Awaitable[None]], whole: bool) -> None:
        """Cancel or delete, and note what had happened when that was answered."""
        key = HOUSE, thread
        awake = self.lab.desk.awake.get(*key)
        in_progress = key in self.lab.desk.beginning or (awake is not None and awake.is_asking)
        turns = [each for each in self.asking if in_progress and not each.over]
        try:
            await act(*key)
        except (Conflict, NotFound):
            return
        effects, begun = len(self.lab.effects), len(self.begun)
        heard = tuple((each, len(each.ear.frames)) for each in turns)
        rows = await _rows_of(self.lab, thread)
        self.taken_back.append(TakenBack(thread, whole, effects, begun, heard, rows))

    async def try_to(self, act: Awaitable[Any]) -> Any:
        """Do something; note what came of it, or why nothing did."""
        try:
            came = await act
        except (Conflict, NotFound, BadEdit) as why:
            self.refused.append(getattr(why, "code", type(why).__name__))
            return None
        if isinstance(came, Reply):
            self.replies.append(came)
            self.proposed |= {each.item.id: each.item.text for each in came.remembered}
        elif isinstance(came, StoredCall):
            self.ended.append(came)
        return came

    async def decide(self, item: str, decision: Decided) -> None:
        """Say what is to become of an item."""
        if decision == "accept":
            self.wants.add(item)
        await self.try_to(self._decided(self.lab.remembers.decide_item(ANNA, item, decision)))

    async def edit(self, item: str, text: str) -> None:
        """Say an item otherwise."""
        self.wants.add(item)
        await self.try_to(self._decided(self.lab.remembers.edit_item(ANNA, item, text, "en")))

    async def forget(self, item: str) -> None:
        """Have an item forgotten."""
        self.forgetting.append(item)
        if await self.try_to(self.lab.remembers.forget_item(ANNA, item)) is not None:
            self.forgotten.append(item)

    async def _decided(self, deciding: Awaitable[Item]) -> None:
        self.decided.append(await deciding)

    async def offered(self, text: str = "what about orders A-1 and A-2?") -> str:
        """Ask; return the call that was suggested, "" where none was."""
        reply = await self.chat(text)
        return reply.calls[-1].id if reply is not None and reply.calls else ""


Script = Callable[[Caller], Awaitable[None]]
PLOTS: dict[str, tuple[tuple[Decision | float, ...], Script]] = {}
STRIKES: dict[str, Callable[[Caller, trio.Nursery], None]] = {}


def plot(*decisions: Decision | float) -> Callable[[Script], Script]:
    def named(script: Script) -> Script:
        PLOTS[script.__name__] = (decisions, script)
        return script

    return named


def strike(function: Callable[[Caller, trio.Nursery], None]) -> Callable[[Caller, trio.Nursery], None]:
    STRIKES[function.__name__] = function
    return function


@plot(0.1, ANSWER)
async def question(c: Caller) -> None:
    await c.chat("price?")


@plot(0.1, LOOK_UP, 0.1, ANSWER)
async def call_in_its_turn(c: Caller) -> None:
    await c.offered()


@plot(LOOK_UP, 0.1, REFUND)
async def call_then_one_to_approve(c: Caller) -> None:
    call = await c.offered()
    await c.try_to(c.lab.desk.approve_call(HOUSE, call, "bo", wait=5.0))


@plot(REFUND)
async def edit(c: Caller) -> None:
    call = await c.offered()
    await c.try_to(c.lab.desk.approve_call(HOUSE, call, "bo", {"order": "A-2"}, wait=5.0))


@plot(REFUND, 0.1, ANSWER)
async def words(c: Caller) -> None:
    call = await c.offered()
    await c.try_to(c.lab.desk.answer_call(HOUSE, call, "anna", "no, what is the price?"))


@plot(REFUND)
async def sleep_and_wake(c: Caller) -> None:
    call = await c.offered()
    await trio.sleep(2 * THREAD_CALM)
    await c.try_to(c.lab.desk.approve_call(HOUSE, call, "bo", wait=5.0))
    await trio.sleep(2 * THREAD_CALM)
    await c.offered("and again?")


@plot(0.1, ANSWER)
async def told_and_asked(c: Caller) -> None:
    await c.chat(ORDER)
    await c.chat(STATED)


@plot(0.1, ANSWER)
async def told_and_forgotten(c: Caller) -> None:
    await c.chat(ORDER)
    await c.chat(ASKED)
    for item in list(c.proposed)[:1]:
        await c.forget(item)
    await c.chat(ASKED)


@plot(0.1, ANSWER)
async def forgotten_while_it_is_told(c: Caller) -> None:
    await c.chat(ORDER)
    async with trio.open_nursery() as both:
        both.start_soon(c.chat, ASKED)
        await trio.sleep(0.15)
        for item in list(c.proposed)[:1]:
            await c.forget(item)


@plot(0.1, ANSWER)
async def accepted_and_corrected(c: Caller) -> None:
    await c.chat(STATED)
    for item in list(c.proposed)[:1]:
        await c.decide(item, "accept")
        await c.edit(item, "My fence is 50 metres.")


@plot(0.1, ANSWER)
async def corrected_before_it_is_accepted(c: Caller) -> None:
    await c.chat(STATED)
    for item in list(c.proposed)[:1]:
        await c.edit(item, "My fence is 50 metres.")


@plot(0.1, ANSWER)
async def declined(c: Caller) -> None:
    await c.chat(STATED)
    for item in list(c.proposed)[:1]:
        await c.decide(item, "reject")


MEMORIES = frozenset(
    each.__name__
    for each in (
        told_and_asked,
        told_and_forgotten,
        forgotten_while_it_is_told,
        accepted_and_corrected,
        corrected_before_it_is_accepted,
        declined,
    )
)
"""The scenarios in which something is remembered."""


@plot(SHIP, 0.1, ANSWER)
async def caller_runs_it(c: Caller) -> None:
    call = await c.offered()
    await c.try_to(c.lab.desk.approve_call(HOUSE, call, "bo"))
    if await c.try_to(c.lab.desk.begin_call(HOUSE, call)) is not None:
        c.begun.append(call)
        report = CallReport(
            project=HOUSE, call=call, ok=True, result={"success": True, "data": 7}, digest="d", at=0
        )
        with suppress(Conflict, NotFound):
            await c.lab.desk.report_call(report, go_on=True)


@plot(NOTE)
async def handed_over(c: Caller) -> None:
    await c.offered()


@strike
def leave(c: Caller, nursery: trio.Nursery) -> None:
    """The caller closes its connection."""
    c.scope.cancel()


@strike
def cancel_turn(c: Caller, nursery: trio.Nursery) -> None:
    """Somebody cancels the turn."""
    if c.thread is not None:
        nursery.start_soon(c.take_back, c.thread, c.lab.desk.cancel_turn, False)


@strike
def cancel(c: Caller, nursery: trio.Nursery) -> None:
    """Somebody cancels whatever the thread does."""
    if c.thread is not None:
        nursery.start_soon(c.take_back, c.thread, c.lab.desk.cancel_thread, True)


@strike
def interrupt(c: Caller, nursery: trio.Nursery) -> None:
    """Another message takes the turn's place."""

    async def ask() -> None:
        with suppress(Conflict, NotFound):
            await c.lab.chat("price?", c.thread, interrupt=True)

    nursery.start_soon(ask)


@strike
def reject(c: Caller, nursery: trio.Nursery) -> None:
    """Somebody declines what is suggested."""
    if c.replies and c.replies[-1].calls:
        nursery.start_soon(_quietly, c.lab.desk.reject_call, HOUSE, c.replies[-1].calls[-1].id)


@strike
def approve(c: Caller, nursery: trio.Nursery) -> None:
    """Somebody else approves what is suggested."""
    if c.replies and c.replies[-1].calls:
        nursery.start_soon(_quietly, c.lab.desk.approve_call, HOUSE, c.replies[-1].calls[-1].id, "cy")


@strike
def forget(c: Caller, nursery: trio.Nursery) -> None:
    """Somebody has the first item forgotten that there is."""
    for item in list(c.proposed)[:1]:
        nursery.start_soon(c.forget, item)


@strike
def drain(c: Caller, nursery: trio.Nursery) -> None:
    """The server goes down."""
    c.lab.registry.draining = True
    c.lab.registry.post_all(DrainStarted(trio.current_time()))


@strike
def delete(c: Caller, nursery: trio.Nursery) -> None:
    """Somebody deletes the thread."""
    if c.thread is not None:
        nursery.start_soon(c.take_back, c.thread, c.lab.desk.delete_thread, True)


async def _quietly(act: Callable[..., Awaitable[Any]], *args: Any) -> None:
    with suppress(Conflict, NotFound, BadEdit):
        await act(*args)


CASES = [(name, by) for name in PLOTS for by in STRIKES if by != forget.__name__ or name in MEMORIES]
"""Scenarios and what each is struck with: where nothing is remembered, nothing is forgotten."""


class Striker(trio.abc.Instrument):
    """Counts steps and strikes before the k-th. What it raises is kept: inside an instrument it would be lost."""

    def __init__(self, k: int, hit: Callable[[], None]) -> None:
        self.steps = 0
        self.counting = True
        self.error: Exception | None = None
        self._k = k
        self._hit = hit

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        if not self.counting:
            return
        self.steps += 1
        if self.steps == self._k:
            try:
                self._hit()
            except Exception as error:  # noqa: BLE001 - see above
                self.error = error


@dataclass
class Point:
    steps: int
    broken: list[str]


def run_point(name: str, struck_by: str, k: int, seed: int = SEED) -> Point:
    """Run a scenario and strike before its k-th step (0: never); return what was found."""
    setattr(trio_run, "_ALLOW_DETERMINISTIC_SCHEDULING", True)  # noqa: B010 - a Final, for tests of trio's own
    trio_run._r.seed(seed)
    return trio.run(_run, name, struck_by, k, clock=MockClock(autojump_threshold=0))


async def _run(name: str, struck_by: str, k: int) -> Point:
    decisions, script = PLOTS[name]
    broken: list[str] = []
    struck: list[float] = []
    async with (
        open_store(StorageSettings(), Path("kb"), inline, Wall()) as stores,
        memory_of(name, stores) as (memory, remembering),
        lab(*decisions, before=0.1, after=0.1, stores=stores, **remembering) as r,
        trio.open_nursery() as nursery,
    ):
        caller = Caller(r)

        def hit() -> None:
            struck.append(trio.current_time())
            STRIKES[struck_by](caller, nursery)

        striker = Striker(k, hit)
        trio.lowlevel.add_instrument(striker)
        with trio.move_on_after(1000) as late, caller.scope:
            await script(caller)
        if late.cancelled_caught:
            broken.append("the scenario hangs")
        striker.counting = False
        trio.lowlevel.remove_instrument(striker)
        if striker.error is not None:
            raise striker.error
        with _sweeping_seldom():
            await trio.sleep(3 * THREAD_CALM)
        broken += await _census(caller, struck[0] if struck and struck_by == "leave" else None)
        for taken_back in caller.taken_back:
            broken += await _after(caller, taken_back)
        if memory is not None:
            broken += await _remembered(caller, memory)
            broken += await _taken_back(caller, memory)
        nursery.cancel_scope.cancel()
    return Point(striker.steps, broken)


@asynccontextmanager
async def memory_of(
    name: str, stores: Store
) -> AsyncGenerator[tuple[ReadStore | None, dict[str, Any]], None]:
    """What remembers in a scenario about that, and what its lab is made with; in the others nothing does."""
    if name not in MEMORIES:
        yield None, {}
        return
    async with open_memory_store(StorageSettings(), inline, Wall()) as store, trio.open_nursery() as nursery:
        keeper = ExchangeKeeper(store, Wall(), Figures(), read_items, stores.threads)
        recall = IndexRecaller(store, inline, floor=0.0)
        nursery.start_soon(keeper.run)

        def consulted(registry: Registry) -> MemoryAccess:
            desk = OwnMemory(store, Wall(), (Conversations(registry), stores.threads))
            return MemoryAccess(desk, recall, keeper)

        yield (
            store,
            {
                "recorder": keeper,
                "memory": Recollection(store, recall, Wall(), keeper),
                "consulted": consulted,
                "drafts": CITING,
            },
        )
        nursery.cancel_scope.cancel()


async def _remembered(c: Caller, memory: ReadStore) -> list[str]:
    """Return what is remembered and should not be: all that is kept was said, to its end, and nothing is half kept."""
    r = c.lab
    sides: dict[str, list[str]] = {}
    for turn in await memory.turns(0, 999):
        sides.setdefault(turn.remark.message, []).append(turn.remark.role)
    found = [f"{message} has {kept}" for message, kept in sides.items() if kept != ["user", "assistant"]]
    said: dict[str, str] = {}
    for thread in (await r.stores.threads.threads(HOUSE, ALL)).entries:
        said |= {each.id: each.status for each in await r.messages(thread.id)}
    found += [
        f"{message} is {said[message]}, and remembered"
        for message in sides
        if said.get(message, "done") not in ("done", "refused")
    ]
    items = {item.id: item for item in (await memory.changes_after(BEGINNING, 999)).items}
    wanted = {each.id for each in c.decided} | c.wants
    for item in items.values():
        messages = [each.ref for each in item.sources if not each.ref.startswith("edit:")]
        found += [f"{item.id} comes from nothing" for each in messages if each not in sides]
        ordered = any("Remember" in each.quote for each in item.sources)
        corrects = any(each.ref.removeprefix("edit:") in c.wants for each in item.sources)
        if item.status == "proposed" and (ordered or corrects):
            found.append(f"{item.id} is proposed, which its user's words have approved: {item.text}")
        if item.status in LIVE and not (ordered or corrects or item.id in wanted):
            found.append(f"{item.id} is {item.status}, and nobody approved it: {item.text}")
        words = bool(item.text or item.key or item.numbers or item.sources)
        if words is (item.status == "forgotten"):
            found.append(f"{item.id} is {item.status}, half written: {item}")
        moves = Counter(
            each.trigger for each in await memory.history(item.scope, item.id) if each.item == item.id
        )
        found += [f"{item.id}: {count} times {move}" for move, count in moves.items() if count > 1]
    live = Counter((item.key, item.slot) for item in items.values() if item.status in LIVE)
    found += [f"{count} live items of {place}" for place, count in live.items() if count > 1]
    for told in c.decided:
        if items[told.id].status not in (told.status, "forgotten", "superseded"):
            found.append(f"{told.id} was told as {told.status} and is {items[told.id].status}")
    return found


async def _taken_back(c: Caller, memory: ReadStore) -> list[str]:
    """Return what is left of items that were to be forgotten; those of which nobody was told so are forgotten again."""
    found = []
    for item in dict.fromkeys(c.forgetting):
        if item not in c.forgotten:
            await c.lab.remembers.forget_item(ANNA, item)
        if (await memory.item(ANNA, item)).status != "forgotten":
            found.append(f"{item} is not forgotten")
    words = [c.proposed[item].removeprefix("My ") for item in c.forgetting]
    if not words:
        return []
    places = {"turns": [each.remark.text for each in await memory.turns(0, 999)]}
    places["items"] = [repr(each) for each in (await memory.changes_after(BEGINNING, 999)).items]
    for thread in (await c.lab.stores.threads.threads(HOUSE, ALL)).entries:
        places[f"messages of {thread.id}"] = [repr(each) for each in await c.lab.messages(thread.id)]
        before = len(c.lab.decider.briefings)
        await c.try_to(c.lab.chat("price?", thread.id))
        places[f"prompts of {thread.id}"] = [repr(each) for each in c.lab.decider.briefings[before:]]
    return found + [
        f"what was forgotten is in the {place}"
        for place, texts in places.items()
        if any(each.lower() in text.lower() for text in texts for each in words)
    ]


@contextmanager
def _sweeping_seldom() -> Iterator[None]:
    names = vars(thread_registry)
    usual = names["SWEEP_EVERY"]
    names["SWEEP_EVERY"] = SELDOM
    try:
        yield
    finally:
        names["SWEEP_EVERY"] = usual


async def _census(c: Caller, left_at: float | None) -> list[str]:
    """Return what is not as it must be, once all is calm."""
    r = c.lab
    found = []
    if len(r.desk.awake) or len(r.registry) or r.runner.running_count:
        found.append(
            f"left: {len(r.desk.awake)} threads, {len(r.registry)} sessions, {r.runner.running_count} actions"
        )
    calls = {call.id: call for call in (await r.stores.calls.calls(HOUSE, ALL)).entries}
    effects: dict[str, int] = {}
    for id, payload in r.began():
        effects[id] = effects.get(id, 0) + 1
        call = calls.get(id)
        if call is None:
            continue  # its thread was deleted
        if effects[id] > 1:
            found.append(f"S4: {id} took effect twice")
        if payload != call.arguments:
            found.append(f"T1: {id} ran other arguments than were approved")
        if call.approved_by is None:
            found.append(f"T1: {id} ran unapproved")
        if call.status not in RAN:
            found.append(f"{id} took effect and is {call.status}")
    for call in calls.values():
        if call.status == "done" and call.runs_at != "caller" and call.id not in effects:
            found.append(f"{call.id} is done and had no effect")
        if call.status in ("confirmed", "claimed") and call.runs_at != "caller":
            found.append(f"{call.id} is still {call.status}")
    threads = (await r.stores.threads.threads(HOUSE, ALL)).entries
    kept = {}
    for thread in threads:
        for message in await r.messages(thread.id):
            kept[message.id] = message
            if message.status == "pending":
                found.append(f"{message.id} is still pending")
    known = {thread.id for thread in threads}
    for reply in c.replies:
        if reply.thread not in known:
            continue
        if kept[reply.message].status not in ("done", "refused"):
            found.append(f"{reply.message} was answered and is {kept[reply.message].status}")
        answers = [each.content for each in kept.values() if each.role == "assistant"]
        if reply.text not in answers and not (c.forgetting and "" in answers):
            found.append(f"the answer to {reply.message} is not kept")
    for ended in c.ended:
        if ended.id in calls and ended.status in (*RAN, *SHUT) and calls[ended.id].status != ended.status:
            found.append(f"{ended.id} was told as {ended.status} and is {calls[ended.id].status}")
    if left_at is not None:
        found += [
            f"T4: {each.suggestion_id} began after its caller had left" for each in _late(r, calls, left_at)
        ]
    if known and not r.registry.draining:
        try:
            with trio.fail_after(60):
                await r.chat("price?", next(iter(known)))
        except (AgentError, trio.TooSlowError) as why:
            found.append(f"the thread answers no more: {why!r}")
    return found


Rows = dict[int, set[tuple[str, ...]]]
"""What is kept of each turn of a thread: of its messages and calls the ids and how they stand."""


async def _rows_of(r: Lab, thread: str) -> Rows:
    """Return what is kept of a thread's turns that are over; nothing of one that is not there."""
    rows: Rows = {}
    try:
        messages = await r.messages(thread)
        calls = (await r.stores.calls.calls(HOUSE, ALL, thread=thread)).entries
    except NotFound:
        return rows
    for message in messages:
        rows.setdefault(message.turn, set()).add((message.role, message.id, message.status))
    for call in calls:
        rows.setdefault(call.turn, set()).add(("call", call.id, call.status))
    return {turn: kept for turn, kept in rows.items() if "pending" not in {status for *_, status in kept}}


async def _after(c: Caller, taken_back: TakenBack) -> list[str]:
    """Return what began, was heard or was kept of the turns in progress after their cancel or deletion was answered."""
    r, thread = c.lab, taken_back.thread
    found = [
        f"after it was taken back it was heard: {asking.ear.frames[heard:]}"
        for asking, heard in taken_back.heard
        if len(asking.ear.frames) > heard
    ]
    calls = {call.id: call for call in (await r.stores.calls.calls(HOUSE, ALL)).entries}
    earlier = {id for kept in taken_back.rows.values() for role, id, _ in kept if role == "call"}
    began = [each.suggestion_id for each in r.effects[taken_back.effects :]] + c.begun[taken_back.begun :]
    for id in began:
        if id not in calls or (id in earlier and (taken_back.whole or not calls[id].needs_approval)):
            found.append(f"{id} began after it was taken back")
    now = await _rows_of(r, thread)
    for turn, kept in taken_back.rows.items():
        calls_kept = [row for row in kept if row[0] == "call"]
        goes_on = {id for _, id, status in calls_kept if status == "claimed" or not taken_back.whole}
        late = {row for row in now.get(turn, set()) - kept if row[1] not in goes_on and row[0] != "tool"}
        found += [f"after it was taken back it was kept: {row}" for row in sorted(late)]
    return found


def _late(r: Lab, calls: dict[str, StoredCall], left_at: float) -> list[Any]:
    """Return the effects of calls within a turn that began after its caller had left."""
    turns = {call.id for call in calls.values() if not call.needs_approval}
    return [
        each
        for each, at in zip(r.effects, r.times, strict=True)
        if each.suggestion_id in turns and at > left_at
    ]


def strike_all(
    name: str, struck_by: str, every: int = 1, seed: int = SEED
) -> tuple[int, list[tuple[int, list[str]]]]:
    """Strike a scenario at each of its steps; return how many points that were, and the ones that broke something.

    every: strike at every so-manieth step only, each way of striking beginning at another one.
    """
    steps = run_point(name, struck_by, 0, seed).steps
    points = range(1 + list(STRIKES).index(struck_by) % every, steps + 1, every)
    bad = []
    for k in points:
        point = run_point(name, struck_by, k, seed)
        if point.broken:
            bad.append((k, point.broken))
    return len(points), bad


def quiet() -> None:
    """Log nothing."""
    structlog.configure(processors=[lambda *_: (_ for _ in ()).throw(structlog.DropEvent)])


def main(arguments: list[str], say: Callable[[str], object] = sys.stdout.write) -> int:
    """Strike everything, or one point again; exit status 1 when something broke."""
    if len(arguments) == 3:
        point = run_point(arguments[0], arguments[1], int(arguments[2]))
        say("\n".join([f"{point.steps} steps", *point.broken, ""]))
        return bool(point.broken)
    quiet()
    total, broken = 0, 0
    for name in arguments[:1] or PLOTS:
        for struck_by in arguments[1:2] or STRIKES:
            if (name, struck_by) not in CASES:
                continue
            points, bad = strike_all(name, struck_by)
            total += points
            broken += len(bad)
            say(f"{name:30}{struck_by:14}{points:6} points {len(bad):6} broken\n")
            for k, why in bad[:2]:
                say(f"    {k}: {'; '.join(why)}\n")
    say(f"{total} distinct points struck, {broken} broke something\n")
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
