"""The session's state table. What is not in it does not happen.

A row's last column says what the core does once the state has changed; core.py has the method for each deed, and
for each guard. Guards are tried in the order of the rows. "Live" means suggested, not yet confirmed, in time.

A tool that needs no approval is called inside its turn: `buffering -> executing -> buffering`. Meanwhile the turn
waits (`turn_waits`), and what ends a turn ends it there too.
"""

from typing import TypeAlias

from ..fsm import Row, Table, Word, rows


class State(Word):
    """Where a session is. `closed` is final."""

    IDLE = "idle"
    BUFFERING = "buffering"
    VERIFYING = "verifying"
    STREAMING = "streaming"
    AWAITING = "awaiting_confirmation"
    EXECUTING = "executing"
    CLOSED = "closed"


class Trigger(Word):
    """What can happen to a session."""

    MESSAGE = "message"
    DRAFTED = "drafted"
    REDRAFT = "redraft"
    VERIFIED = "verified"
    REFUSED = "refused"
    MORE = "more"
    STREAMED = "streamed"
    CANCEL = "cancel"
    CONFIRM = "confirm"
    UNCLAIMED = "unclaimed"
    EXECUTED = "executed"
    LAPSED = "lapsed"
    DRAIN = "drain"
    DISCONNECT = "disconnect"
    KILL = "kill"
    ACT = "act"
    WAKE = "wake"
    SLEEP = "sleep"
    RELEASED = "released"
    OFFER = "offer"


class Guard(Word):
    """What a row can ask for."""

    CONFIRM_WAITS = "confirm_waits"
    DRAINING = "draining"
    ANY_LIVE = "any_live"
    NONE_LIVE = "none_live"
    WILL_BE_LIVE = "will_be_live"
    OVER_RATE = "over_rate"
    QUEUE_FULL = "queue_full"
    TURN_WAITS = "turn_waits"


class Deed(Word):
    """What a row can do."""

    RUN_NEXT = "run_next"
    GO_DOWN = "go_down"
    TAKE_QUEUED = "take_queued"
    CANCEL_TURN = "cancel_turn"
    CANCEL_WAITING = "cancel_waiting"
    BEGIN_TURN = "begin_turn"
    TURN_AWAY = "turn_away"
    SLOW_DOWN = "slow_down"
    SPEND_RATE = "spend_rate"
    SAY_BUSY = "say_busy"
    ENQUEUE = "enqueue"
    SPEAK = "speak"
    HEAR_MORE = "hear_more"
    FINISH_TURN = "finish_turn"
    CANCEL_LIVE = "cancel_live"
    STOP_ACTION = "stop_action"
    CANCEL_QUEUE = "cancel_queue"
    CANCEL_NOTHING = "cancel_nothing"
    HOLD = "hold"
    REPORT = "report"
    TELL_CLOSED = "tell_closed"
    BEGIN_DRAIN = "begin_drain"
    ABANDON = "abandon"
    TURN_DOWN = "turn_down"
    GRANT = "grant"
    RESUME_TURN = "resume_turn"
    LIE_DOWN = "lie_down"
    SUGGEST = "suggest"


SessionRow: TypeAlias = Row[State, Trigger, Guard, Deed]
SessionTable: TypeAlias = Table[State, Trigger, Guard, Deed]

_TURN = (State.BUFFERING, State.VERIFYING, State.STREAMING)
_BUSY = (*_TURN, State.EXECUTING)
_CALM = (State.IDLE, State.AWAITING)


def _settled(trigger: Trigger, source: State, live: Guard, *does: Deed) -> tuple[SessionRow, ...]:
    """Where a session goes when a turn or an action has ended: the one place where that is decided.

    A waiting confirm comes first, then a drain, then a message that waits (taken from where the session rests).
    """
    return (
        Row(trigger, source, Guard.CONFIRM_WAITS, State.EXECUTING, (*does, Deed.RUN_NEXT)),
        Row(trigger, source, Guard.DRAINING, State.CLOSED, (*does, Deed.GO_DOWN)),
        Row(trigger, source, live, State.AWAITING, (*does, Deed.TAKE_QUEUED)),
        Row(trigger, source, None, State.IDLE, (*does, Deed.TAKE_QUEUED)),
    )


def _reported(trigger: Trigger) -> tuple[SessionRow, ...]:
    """Where a session goes when an action has reported: on with the turn that waits for it, or to rest."""
    source = State.EXECUTING
    return (
        Row(trigger, source, Guard.TURN_WAITS, State.BUFFERING, (Deed.REPORT, Deed.RESUME_TURN)),
        *_settled(trigger, source, Guard.ANY_LIVE, Deed.REPORT),
    )


def _cancelled(source: State) -> tuple[SessionRow, ...]:
    does = (Deed.CANCEL_TURN, Deed.CANCEL_WAITING)
    return (
        Row(Trigger.CANCEL, source, Guard.DRAINING, State.CLOSED, (*does, Deed.GO_DOWN)),
        Row(Trigger.CANCEL, source, Guard.ANY_LIVE, State.AWAITING, (*does, Deed.TAKE_QUEUED)),
        Row(Trigger.CANCEL, source, None, State.IDLE, (*does, Deed.TAKE_QUEUED)),
    )


TABLE: SessionTable = Table(
    title="Session",
    states=State,
    triggers=Trigger,
    guards=Guard,
    deeds=Deed,
    initial=State.IDLE,
    rows=(
        *rows(Trigger.MESSAGE, _CALM, None, State.BUFFERING, Deed.BEGIN_TURN),
        *rows(Trigger.MESSAGE, _BUSY, Guard.DRAINING, None, Deed.TURN_AWAY),
        *rows(Trigger.MESSAGE, _BUSY, Guard.OVER_RATE, None, Deed.SLOW_DOWN),
        *rows(
            Trigger.MESSAGE, _TURN, None, State.BUFFERING, Deed.CANCEL_TURN, Deed.SPEND_RATE, Deed.BEGIN_TURN
        ),
        Row(
            Trigger.MESSAGE,
            State.EXECUTING,
            Guard.TURN_WAITS,
            None,
            (Deed.CANCEL_TURN, Deed.STOP_ACTION, Deed.SPEND_RATE, Deed.ENQUEUE),
        ),
        Row(Trigger.MESSAGE, State.EXECUTING, Guard.QUEUE_FULL, None, (Deed.SAY_BUSY,)),
        Row(Trigger.MESSAGE, State.EXECUTING, None, None, (Deed.SPEND_RATE, Deed.ENQUEUE)),
        Row(Trigger.DRAFTED, State.BUFFERING, None, State.VERIFYING),
        Row(Trigger.REDRAFT, State.VERIFYING, None, State.BUFFERING),
        Row(Trigger.VERIFIED, State.VERIFYING, None, State.STREAMING, (Deed.SPEAK,)),
        *rows(Trigger.REFUSED, _TURN, None, State.STREAMING, Deed.SPEAK),
        Row(Trigger.MORE, State.STREAMING, None, State.BUFFERING, (Deed.HEAR_MORE,)),
        Row(Trigger.ACT, State.BUFFERING, Guard.DRAINING, None, (Deed.TURN_DOWN,)),
        Row(Trigger.ACT, State.BUFFERING, None, State.EXECUTING, (Deed.GRANT,)),
        *_settled(Trigger.STREAMED, State.STREAMING, Guard.WILL_BE_LIVE, Deed.FINISH_TURN),
        *(row for source in _TURN for row in _cancelled(source)),
        Row(Trigger.CANCEL, State.AWAITING, None, State.IDLE, (Deed.CANCEL_LIVE,)),
        Row(
            Trigger.CANCEL,
            State.EXECUTING,
            None,
            None,
            (Deed.CANCEL_TURN, Deed.STOP_ACTION, Deed.CANCEL_WAITING, Deed.CANCEL_QUEUE),
        ),
        Row(Trigger.CANCEL, State.IDLE, None, None, (Deed.CANCEL_NOTHING,)),
        Row(Trigger.CONFIRM, State.AWAITING, None, State.EXECUTING, (Deed.HOLD, Deed.RUN_NEXT)),
        *rows(Trigger.CONFIRM, _BUSY, None, None, Deed.HOLD),
        *_reported(Trigger.UNCLAIMED),
        *_reported(Trigger.EXECUTED),
        Row(Trigger.LAPSED, State.AWAITING, Guard.NONE_LIVE, State.IDLE, (Deed.TELL_CLOSED,)),
        *rows(Trigger.LAPSED, (State.AWAITING, *_BUSY), None, None, Deed.TELL_CLOSED),
        Row(Trigger.OFFER, State.IDLE, None, State.AWAITING, (Deed.SUGGEST,)),
        *rows(Trigger.OFFER, _BUSY, Guard.DRAINING, None),
        *rows(Trigger.OFFER, (State.AWAITING, *_BUSY), None, None, Deed.SUGGEST),
        *rows(Trigger.DRAIN, _CALM, None, State.CLOSED, Deed.GO_DOWN),
        *rows(Trigger.DRAIN, _BUSY, None, None, Deed.BEGIN_DRAIN),
        Row(Trigger.WAKE, State.IDLE, Guard.ANY_LIVE, State.AWAITING),
        Row(Trigger.RELEASED, State.AWAITING, Guard.NONE_LIVE, State.IDLE),
        *rows(Trigger.SLEEP, _CALM, None, State.CLOSED, Deed.LIE_DOWN),
        *rows(Trigger.DISCONNECT, (*_CALM, *_BUSY), None, State.CLOSED, Deed.ABANDON),
        *rows(Trigger.KILL, _CALM, None, State.CLOSED, Deed.GO_DOWN),
        *rows(Trigger.KILL, _TURN, None, State.CLOSED, Deed.CANCEL_TURN, Deed.CANCEL_WAITING, Deed.GO_DOWN),
        Row(
            Trigger.KILL,
            State.EXECUTING,
            Guard.TURN_WAITS,
            State.CLOSED,
            (Deed.CANCEL_TURN, Deed.STOP_ACTION, Deed.CANCEL_WAITING, Deed.GO_DOWN),
        ),
        Row(Trigger.KILL, State.EXECUTING, None, State.CLOSED, (Deed.CANCEL_WAITING, Deed.GO_DOWN)),
    ),
)
