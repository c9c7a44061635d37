"""Drawn steps over real sessions: several clients at once on virtual time, and what must always hold at the end.

One run per example: the steps are drawn inside it, so that Hypothesis can shrink them; a failure prints the steps and
every frame that was written. What a client is owed is counted from the frames alone.
"""

import gc
import logging
import os
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
import structlog
import trio
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from agent.ports.brain import (
    Blocked,
    DraftCompleted,
    Proposal,
    Question,
    Redraft,
    RunCall,
    TurnRefusal,
    VerifiedPart,
)
from agent.session.events import DrainStarted
from agent.testing.wires import MemoryWire

from ..examples import examples
from .driver import CALL, text
from .harness import Emit, World, world

STEPS = 25
KINDS = (
    *("say", "offer", "offer", "sentences", "redraft", "refuse", "hang", "slow"),
    *("broken", "plain", "disorder", "silent", "stubborn", "talkative"),
    "acts",
)
OFFER = Proposal(action="create_ticket", payload={"subject": "s"})
LATE = ({"ignored": True}, {"expired": True}, {"cancelled": True})  # answers to a confirm that came too late


class Client:
    """One connection, what was sent over it, and what it is owed."""

    def __init__(self, name: str, wire: MemoryWire) -> None:
        self.name = name
        self.wire = wire
        self.asked: list[str] = []  # message ids, in order
        self.confirmed: set[str] = set()
        self.left = False
        self.blocked = False

    @property
    def over(self) -> bool:
        """Whether the connection has ended, whoever ended it."""
        return self.left or self.wire.aborted or any(raw.startswith(b"CLOSE") for raw in self.wire.raw)

    @property
    def offers(self) -> list[str]:
        return [frame["suggestionId"] for frame in self.wire.sent("action_suggestion")]

    @property
    def streaming(self) -> str | None:
        """The message whose words are coming now, by the serial that each of its words carries."""
        for frame in reversed(self.wire.sent("stream", "stream_end")):
            return frame["delta"].split()[0] if frame["type"] == "stream" else None
        return None


class Run:
    """One example."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], world: World) -> None:
        self.draw = draw
        self.world = world
        self.clients: list[Client] = []
        self.serial = 0
        self.overlapped = False
        self.thinking: Counter[str] = Counter()  # turns whose Brain is at work, by client
        world.brain.script = self.answer
        world.executor.before, world.executor.after = draw(
            st.sampled_from(((0.0, 0.0), (0.1, 0.0), (0.1, 20.0)))
        )

    # --- the Brain

    async def answer(self, question: Question, emit: Emit, act: RunCall | None = None) -> None:
        """Answer in the way the question names; at most one turn of a session at a time."""
        client, serial, kind = question.text.split()
        act = self.world.brain.act  # this turn's: nothing else has run since it was given
        self.thinking[client] += 1
        self.overlapped |= self.thinking[client] > 1  # an exception here would only be a fault of the turn
        try:
            await trio.sleep(0.01)
            if kind == "acts" and act is not None:
                await act(CALL)
                await act(CALL)
            await self.behave(kind, f"{serial} {serial} {serial} ", emit)
        finally:
            self.thinking[client] -= 1

    async def behave(self, kind: str, words: str, emit: Any) -> None:
        offers = (OFFER, OFFER) if kind == "offer" else (OFFER,) if kind in ("refuse", "slow") else ()
        if kind == "hang":
            await trio.sleep_forever()
        if kind == "stubborn":
            with trio.CancelScope(shield=True):
                await trio.sleep(1.5)
        if kind == "slow":
            await trio.sleep(2)
        if kind == "broken":
            raise ValueError("a bug")
        if kind == "silent":
            return
        if kind == "plain":
            emit("299 kr")
        if kind != "disorder":
            emit(DraftCompleted())
        if kind == "redraft":
            emit(Redraft())
            emit(DraftCompleted())
        if kind == "sentences":
            emit(VerifiedPart(text=text(words), last=False))
            await trio.sleep(self.draw(st.sampled_from((0.0, 0.3))))
            emit(DraftCompleted())
        if kind == "refuse":
            emit(TurnRefusal(text(words, Blocked("no_sources", "No sources.")), offers))
        else:
            emit(VerifiedPart(text=text(words), last=True, proposals=offers))
        if kind == "talkative":
            emit(VerifiedPart(text=text(words), last=True, proposals=(OFFER,)))
            await trio.sleep_forever()

    # --- the steps

    async def play(self, steps: int) -> None:
        """Two clients and an innocent one; then whatever is drawn."""
        await self.connect()
        await self.connect()
        often = (
            self.message,
            self.message,
            self.offered,
            self.offered,
            self.confirm,
            self.confirm,
            self.wait,
        )
        moves = (
            *often,
            *often,
            *often,
            self.called,
            self.called,
            self.cancel,
            self.cancel,
            self.cancel,
            self.reject,
            self.reject,
        )
        rare = (self.garbage, self.drop, self.block, self.connect, self.drain)
        for _ in range(self.draw(st.integers(steps // 3, steps))):
            await self.draw(st.sampled_from(moves + rare))()
            await wait_all_tasks_blocked()

    def someone(self, offered: bool = False) -> Client | None:
        """One that is still there, with a suggestion if asked for and there is such a one."""
        there = [client for client in self.clients if not client.over]
        there = [client for client in there if offered and client.offers] or there
        return self.draw(st.sampled_from(there)) if there else None

    def push(self, client: Client, frame: Any) -> None:
        note(f"{trio.current_time():9.2f}  {client.name}: {frame}")
        client.wire.push(frame)

    async def connect(self) -> None:
        if len(self.clients) < 6:
            name = f"c{len(self.clients)}"
            note(f"{trio.current_time():9.2f}  {name} connects")
            self.clients.append(Client(name, await self.world.connect()))

    async def message(self) -> None:
        client = self.someone()
        if client is not None:
            self.ask(client, self.draw(st.sampled_from(KINDS)))

    def ask(self, client: Client, kind: str) -> str:
        self.serial += 1
        id = f"m{self.serial % 7}"  # ids repeat: they are the client's labels
        client.asked.append(id)
        text = f"{client.name} w{self.serial} {kind}"
        self.push(
            client, {"type": "message", "id": id, "text": text, "progress": client.name in ("c0", "c2")}
        )
        return id

    async def offered(self) -> None:
        """Someone asks and waits for the answer and the suggestions after it."""
        client = self.someone()
        if client is not None:
            self.ask(client, self.draw(st.sampled_from(("offer", "refuse"))))
            await trio.sleep(0.1)

    async def called(self) -> None:
        """Someone asks for what a tool is called for, and waits for a part of that or for all of it."""
        client = self.someone()
        if client is not None:
            self.ask(client, "acts")
            await trio.sleep(self.draw(st.sampled_from((0.05, 0.15, 0.5))))

    async def cancel(self) -> None:
        client = self.someone()
        if client is None:
            return
        id = self.draw(st.sampled_from((None, None, *client.asked[-3:])))
        streaming, before = client.streaming, len(client.wire.frames)
        self.push(client, {"type": "cancel"} if id is None else {"type": "cancel", "id": id})
        if id is None and streaming is not None:
            await wait_all_tasks_blocked()
            self.silent(client, streaming, before)

    def silent(self, client: Client, serial: str, before: int) -> None:
        """S2: no word of the cancelled turn is begun after the cancel, and its end is written at once."""
        after = client.wire.frames[before:]
        words = [frame["delta"] for _, frame in after if frame["type"] == "stream"]
        assert not any(serial in delta.split() for delta in words)
        if not client.blocked and not client.over:
            ends = [at for at, frame in after if frame["type"] == "stream_end"]
            assert ends[:1] == [trio.current_time()]

    async def confirm(self) -> None:
        client = self.someone(offered=True)
        if client is not None:
            id = self.some_offer(client)
            client.confirmed.add(id)
            self.push(client, {"type": "confirm_action", "suggestionId": id})

    async def reject(self) -> None:
        client = self.someone(offered=True)
        if client is not None:
            self.push(client, {"type": "reject_action", "suggestionId": self.some_offer(client)})

    def some_offer(self, client: Client) -> str:
        """One of its own, or, now and then, another's or a guess."""
        foreign = [id for other in self.clients for id in other.offers]
        known: str = self.draw(st.sampled_from([*client.offers[-3:] * 3, *foreign, "guess"]))
        return known

    async def wait(self) -> None:
        await trio.sleep(self.draw(st.sampled_from((0.0, 0.01, 0.03, 0.05, 0.5, 2.0, 29.9, 31.0))))

    async def garbage(self) -> None:
        client = self.someone()
        if client is not None:
            self.push(client, self.draw(st.sampled_from(("{", b"\x00", '{"type": "message"}', "[" * 40))))

    async def drop(self) -> None:
        client = self.someone()
        if client is not None:
            note(f"{trio.current_time():9.2f}  {client.name} leaves")
            client.left = True
            client.wire.leave()

    async def block(self) -> None:
        """It stops reading, or reads again."""
        client = self.someone()
        if client is not None:
            client.blocked = not client.blocked
            note(
                f"{trio.current_time():9.2f}  {client.name} {'stops reading' if client.blocked else 'reads'}"
            )
            (client.wire.block if client.blocked else client.wire.unblock)()

    async def drain(self) -> None:
        if self.draw(st.integers(0, 3)) == 3:
            note(f"{trio.current_time():9.2f}  drain")
            self.world.registry.draining = True
            self.world.registry.post_all(DrainStarted(trio.current_time()))

    # --- the end

    async def settle(self) -> None:
        """Everyone reads again; what hangs or is live is cancelled, what runs ends; then everyone asks once more."""
        for client in self.clients:
            client.wire.unblock()
        for _ in range(9):  # the turn, and each message that was queued
            for client in self.clients:
                if not client.over:
                    client.wire.push({"type": "cancel"})
            await trio.sleep(3)
        assert set(self.world.states) <= {"idle"}
        assert self.world.registry.armed_count == 0
        there = [client for client in self.clients if not client.over]
        for client in there:
            answered = len(client.wire.sent("response")) + 1
            self.ask(client, "say")
            with trio.fail_after(1):
                await client.wire.until("response", answered)

    async def innocent(self) -> None:
        """S7: after all that a new client gets its answer as if nothing had been."""
        if self.world.registry.draining:
            return
        client = Client("innocent", await self.world.connect())
        began = trio.current_time()
        self.ask(client, "say")
        with trio.fail_after(1):
            await client.wire.until("response")
        assert trio.current_time() - began < 0.1
        self.clients.append(client)

    async def leave(self) -> None:
        """S6: when the clients have gone nothing of them is left."""
        for client in self.clients:
            client.left = True
            client.wire.leave()
        await trio.sleep(30)
        self.world.nothing_is_left()

    async def judge(self) -> None:
        """S1, S4, S5 and T1; what began unconfirmed is a call that a turn may make."""
        assert not self.overlapped
        begun = Counter(self.world.executor.begun)
        assert not [id for id, times in begun.items() if times > 1]
        for client in self.clients:
            self.turns_end_once(client)
            for id in client.offers:
                self.ends_once(client, id)
                assert id not in begun or id in client.confirmed
        rows = await self.world.ledger.rows(10_000)
        inside = {row.suggestion_id for row in rows if row.action == CALL.action}
        assert set(begun) <= {id for client in self.clients for id in client.offers} | inside
        for client in self.clients:
            told = Counter(each["suggestionId"] for each in client.wire.sent("action_executed"))
            assert not [id for id in inside if told[id] > 1]

    def turns_end_once(self, client: Client) -> None:
        frames = client.wire.sent()
        turned_away = ("busy", "shutting_down", "rate_limited")
        owed = Counter(client.asked)
        errors = [frame for frame in client.wire.sent("error") if frame["code"] in turned_away]
        owed -= Counter(
            frame["id"] for frame in errors if "id" in frame
        )  # a confirm's error names no message
        ends = Counter(frame["id"] for frame in client.wire.sent("stream_end"))
        assert ends <= owed if client.over else ends == owed
        said = ""
        for frame, following in zip(frames, [*frames[1:], None], strict=False):
            if frame["type"] == "stream":
                said += frame["delta"]
            elif frame["type"] == "response":
                assert frame["text"] == said
                said = ""
            elif frame["type"] == "stream_end" and frame["reason"] == "done":
                if following is not None:  # else the connection was cut between the two
                    assert (following["type"], following.get("id")) == ("response", frame["id"])
            elif frame["type"] == "stream_end":
                said = ""

    def ends_once(self, client: Client, id: str) -> None:
        told = [
            frame.get("reason", frame.get("result"))
            for frame in client.wire.sent("action_closed", "action_executed")
            if frame["suggestionId"] == id
        ]
        endings = {
            "cancelled" if each == {"cancelled": True} else str(each) for each in told if each != LATE[0]
        }
        if {"rejected", "expired"} & endings:
            endings -= {"cancelled", str(LATE[1])}  # what a later confirm is answered
        assert len(endings) <= 1 if client.over else len(endings) == 1
        ran = [each for each in told if isinstance(each, dict) and each not in LATE]
        assert len(ran) <= 1


def transcript(clients: list[Client]) -> None:
    """Show what was written to whom, should this example fail."""
    for client in clients:
        for at, frame in client.wire.frames:
            note(f"{at:9.2f}  to {client.name}: {frame}")


async def example(draw: Callable[[st.SearchStrategy[Any]], Any], steps: int) -> None:
    async with world() as made:
        run = Run(draw, made)
        try:
            await run.play(steps)
            await run.settle()
            await run.innocent()
            alive = [client for client in run.clients if not client.over]
            await run.judge()
            assert len(made.registry) == len(alive)
            await run.leave()
            await run.judge()
        except BaseException:
            transcript(run.clients)
            raise


@contextmanager
def quickly() -> Generator[None, None, None]:
    """No log lines; and what exists already is not looked at again by each example's garbage collection."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    gc.collect()
    gc.freeze()  # for good: every census of a later test would look at all of it again
    try:
        yield
    finally:
        structlog.configure(**before)


def drawn(examples: int, steps: int, derandomize: bool) -> None:
    """Run that many examples of that many steps."""

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=derandomize,
        database=None,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.data())
    def examples_of(data: st.DataObject) -> None:
        trio.run(partial(example, data.draw, steps), clock=MockClock(autojump_threshold=0))

    with quickly():
        examples_of()


def test_whatever_clients_do_what_must_hold_holds() -> None:
    """S1, S2, S4 to S7 and T1 after drawn steps of several clients at once."""
    drawn(examples(60), STEPS, derandomize=True)


@pytest.mark.proof
def test_whatever_clients_do_what_must_hold_holds_at_length() -> None:
    """The same with many more and longer runs; other ones each time, but where changes are judged."""
    drawn(int(os.environ.get("SESSION_RUNS", "100")), 2 * STEPS, derandomize="CI" in os.environ)
