"""The strike proof sees what it is there to see: each planted fault breaks its invariant, and no run hangs it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
import trio

from agent.actions.runner import Runner, RunningAction
from agent.actions.suggestions import Suggestion
from agent.answering import calls
from agent.server.websocket import Connection
from agent.session import core
from agent.session.consult_queue import ConsultQueue
from agent.session.core import make_engine
from agent.session.effects import AskConsultant
from agent.session.session import Session
from agent.session.states import TABLE, SessionDeed, SessionGuard, SessionRow, SessionState, SessionTrigger
from agent.storage.memory_ledger import MemoryLedger
from agent.tools.policy import Approval
from tests.examples import sample
from tests.strikes import inject
from tests.strikes.inject import quiet, run_point, strike_all
from tests.strikes.lab import Lab
from tests.strikes.plot import Plot
from tests.strikes.plots import plots
from tests.strikes.raw import RawClient


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with quiet():
        yield


def nothing(*_: Any) -> None:
    """Do nothing, where something was to be done."""


async def at_once(*_: Any) -> None:
    """Return at once, from what was to wait."""
    await trio.lowlevel.checkpoint()


def granted(action: RunningAction) -> None:
    """A `begin()` that refuses nobody."""
    action._begun = True


def falls(*_: Any) -> None:
    """Raise what no edge expects."""
    raise ValueError("as planted")


async def waits_on(connection: Connection) -> None:
    """Say goodbye and wait without end for the answer."""
    connection.close(1000)
    await connection._read_out()


def changed(change: Callable[[SessionRow], SessionRow | None]) -> tuple[Any, str, Any]:
    """Sessions with another table: its rows as they are changed, without those that are None."""
    kept = tuple(row for each in TABLE.rows if (row := change(each)) is not None)
    return core, "ENGINE", make_engine(replace(TABLE, rows=kept))


def undone(trigger: SessionTrigger, deed: SessionDeed) -> tuple[Any, str, Any]:
    """Sessions that leave something out when this happens during a call."""

    def change(row: SessionRow) -> SessionRow:
        here = (row.trigger, row.source) == (trigger, SessionState.EXECUTING)
        return replace(row, deeds=tuple(each for each in row.deeds if each is not deed)) if here else row

    return changed(change)


def without(trigger: SessionTrigger, guard: SessionGuard) -> tuple[Any, str, Any]:
    """Sessions without a row."""
    return changed(lambda row: None if (row.trigger, row.guard) == (trigger, guard) else row)


def never(*_: Any) -> Approval:
    """Ask for nobody's approval."""
    return Approval(False, "low", ())


def takes_any(suggestion: Suggestion, payload: Any) -> None:
    """Take any edit."""
    suggestion._confirmed_payload = payload or suggestion.payload


def at_a_time(consults: ConsultQueue, frame: Any) -> None:
    """Have everything asked now."""
    consults._frames.append(frame)
    consults._out.add(AskConsultant(frame, consults.scope))


FAULTS: list[tuple[str, tuple[Any, str, Any], Plot, str]] = [
    ("a stop does nothing", (RunningAction, "stop", nothing), plots()["confirm_then_cancel"], "T3"),
    (
        "begin() is granted after a stop",
        (RunningAction, "_begin", granted),
        replace(plots()["cancel_by_the_id_of_what_led_to_it"], deaf=True),
        "T3",
    ),
    (
        "a stop by the message's id does nothing",
        (RunningAction, "stop", nothing),
        plots()["cancel_by_the_id_of_what_led_to_it"],
        "T3",
    ),
    (
        "a lost client stops nothing",
        (RunningAction, "stop", nothing),
        plots()["client_gone_before_its_action_begins"],
        "T5",
    ),
    (
        "a session that left is held on to",
        (RunningAction, "detach", nothing),
        plots()["client_gone_while_its_action_runs"],
        "S6: when the connection had ended the session is alive",
    ),
    (
        "a drain does not wait for what runs",
        (Runner, "wait_idle", at_once),
        plots()["drain_after_the_client_has_gone"],
        "S5",
    ),
    (
        "an outcome is not recorded",
        (MemoryLedger, "record_outcome", at_once),
        plots()["suggestion_then_confirm"],
        "S9",
    ),
    (
        "a session waits without end for its client's close",
        (Connection, "_leave", waits_on),
        plots()["client_that_never_closes"],
        "S6: it is still open after",
    ),
    (
        "a session breaks",
        (Runner, "start", falls),
        plots()["suggestion_then_confirm"],
        "S7: the server logs a fault of its own: session broke",
    ),
    (
        "a message does not stop the call of the turn that it ends",
        undone(SessionTrigger.MESSAGE, SessionDeed.STOP_ACTION),
        plots()["message_during_a_call"],
        "T4: ID began at 0.15 after",
    ),
    (
        "a message does not end the turn that waits for a call",
        undone(SessionTrigger.MESSAGE, SessionDeed.CANCEL_TURN),
        plots()["message_during_the_claim_of_a_call"],
        "S2",
    ),
    (
        "a cancel does not end the turn that waits for a call",
        undone(SessionTrigger.CANCEL, SessionDeed.CANCEL_TURN),
        plots()["call_that_hears_late"],
        "S2",
    ),
    (
        "a lost client does not stop the call of its turn",
        (RunningAction, "stop", nothing),
        plots()["client_gone_before_its_call_begins"],
        "T4",
    ),
    (
        "a turn does not go on after its call",
        without(SessionTrigger.EXECUTED, SessionGuard.TURN_WAITS),
        plots()["call_in_a_turn"],
        "S1: a: 1 accepted, 0 stream_end",
    ),
    (
        "a call begins after a drain",
        without(SessionTrigger.ACT, SessionGuard.DRAINING),
        plots()["drain_during_a_call"],
        "T4: ID was decided on after",
    ),
    (
        "what needs approval runs inside a turn",
        (calls, "decide_approval", never),
        plots()["call_then_an_edit"],
        "T1: ID began unconfirmed",
    ),
    (
        "a model's wish for approval is not heard",
        (calls, "decide_approval", never),
        plots()["call_that_its_model_wants_approved"],
        "T1: ID began unconfirmed",
    ),
    (
        "an edit is not checked",
        (Suggestion, "_read_edit", takes_any),
        plots()["call_then_an_edit"],
        "T6: ID began as {'order': 'B-1'}",
    ),
    (
        "an edit is dropped",
        (Suggestion, "apply_payload", nothing),
        plots()["call_then_an_edit"],
        "T1: ID began as {'order': 'A-1'}, which was not confirmed",
    ),
    (
        "an answer of what is remembered gets lost",
        (ConsultQueue, "finish_first", nothing),
        plots()["memory_asked_in_a_turn"],
        "M7: q1 has no answer",
    ),
    (
        "what is asked of what is remembered is asked all at once",
        (ConsultQueue, "add_frame", at_a_time),
        plots()["memory_asked_in_a_turn"],
        "M7: asked",
    ),
]


@pytest.mark.parametrize(
    ("fault", "plot", "said"), sample((row[1:] for row in FAULTS), 3), ids=[row[0] for row in FAULTS]
)
def test_a_planted_fault_is_seen(
    fault: tuple[Any, str, Any], plot: Plot, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the fault, and only with it, the scenario breaks the invariant that the fault is about."""
    assert run_point(plot, "cancel", 0).broken == ()
    monkeypatch.setattr(*fault)
    broken = [re.sub(r"\bid\d+\b", "ID", each) for each in run_point(plot, "cancel", 0).broken]
    assert [each for each in broken if each.startswith(said)], broken


def test_a_server_that_falls_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error out of a session's own clean-up, which no edge is above, is told and not raised."""
    monkeypatch.setattr(Runner, "_count_finished", falls)
    point = run_point(plots()["suggestion_then_confirm"], "cancel", 0)
    assert point.broken[0].startswith("S7: the server fell: ValueError: as planted")


def test_the_closing_is_struck_too() -> None:
    """Steps are counted to the last of the connection, and a strike after the script's end strikes."""
    plot = plots()["plain_answer"]
    steps = inject.steps_of(plot)
    last = run_point(plot, "reset", steps)
    said = [line.split(maxsplit=2)[1:] for line in last.transcript]
    assert ["<-", "close 1000"] in said
    assert said.index(["!!", "reset"]) > said.index(["<-", "close 1000"])
    assert last.broken == ()
    assert not any("!!" in line for line in run_point(plot, "reset", steps + 1).transcript)


def spinning(task: Callable[[], Any]) -> Plot:
    async def script(lab: Lab, client: RawClient) -> None:
        await task()

    return Plot("spinning", script)


async def never_blocks() -> None:
    while True:
        await trio.lowlevel.checkpoint()


async def never_yields() -> None:
    while True:
        pass


@pytest.mark.parametrize("task", [never_blocks, never_yields])
def test_a_run_that_spins_is_ended_and_told(task: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one failure, with what was spinning, and the points after it are not run."""
    monkeypatch.setattr(inject, "STEPS", 3000)
    monkeypatch.setattr(inject, "REAL_SECONDS", 0.1 if task is never_yields else 20.0)
    points, bad = strike_all(spinning(task), "cancel")
    assert (points, len(bad), bad[0].hung) == (1, 1, True)
    said = "over 3000 steps, of the last 1000: " if task is never_blocks else f"{task.__name__}"
    assert said in bad[0].broken[0], bad[0].broken


def test_a_session_that_spins_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The task that takes the steps is in the message."""

    async def run(session: Session) -> None:
        await never_blocks()

    monkeypatch.setattr(Session, "run", run)
    monkeypatch.setattr(inject, "STEPS", 3000)
    (broken,) = run_point(plots()["plain_answer"], "cancel", 0).broken
    assert "connection" in broken
