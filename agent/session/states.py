"""The session's state table. What is not in it does not happen.

A row's last column names what the core does once the state has changed (`Core` has a method of each name). Guards
are tried in the order of the rows. "Live" means suggested, not yet confirmed, in time.
"""

from enum import Enum

from ..fsm import Row, Table, rows


class State(Enum):
    """Where a session is. `closed` is final."""

    IDLE = "idle"
    BUFFERING = "buffering"
    VERIFYING = "verifying"
    STREAMING = "streaming"
    AWAITING = "awaiting_confirmation"
    EXECUTING = "executing"
    CLOSED = "closed"


class Trigger(Enum):
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


_TURN = (State.BUFFERING, State.VERIFYING, State.STREAMING)
_BUSY = (*_TURN, State.EXECUTING)
_CALM = (State.IDLE, State.AWAITING)


def _settled(trigger: Trigger, source: State, live: str, *does: str) -> tuple[Row[State, Trigger], ...]:
    """Where a session goes when a turn or an action has ended: the one place where that is decided.

    A waiting confirm comes first, then a drain, then a message that waits (taken from where the session rests).
    """
    return (
        Row(trigger, source, "confirm_waits", State.EXECUTING, (*does, "run_next")),
        Row(trigger, source, "draining", State.CLOSED, (*does, "go_down")),
        Row(trigger, source, live, State.AWAITING, (*does, "take_queued")),
        Row(trigger, source, None, State.IDLE, (*does, "take_queued")),
    )


def _cancelled(source: State) -> tuple[Row[State, Trigger], ...]:
    does = ("cancel_turn", "cancel_waiting")
    return (
        Row(Trigger.CANCEL, source, "draining", State.CLOSED, (*does, "go_down")),
        Row(Trigger.CANCEL, source, "any_live", State.AWAITING, (*does, "take_queued")),
        Row(Trigger.CANCEL, source, None, State.IDLE, (*does, "take_queued")),
    )


TABLE: Table[State, Trigger] = Table(
    title="Session",
    states=State,
    triggers=Trigger,
    initial=State.IDLE,
    rows=(
        *rows(Trigger.MESSAGE, _CALM, None, State.BUFFERING, "begin_turn"),
        *rows(Trigger.MESSAGE, _BUSY, "draining", None, "turn_away"),
        *rows(Trigger.MESSAGE, _BUSY, "over_rate", None, "slow_down"),
        *rows(Trigger.MESSAGE, _TURN, None, State.BUFFERING, "cancel_turn", "spend_rate", "begin_turn"),
        Row(Trigger.MESSAGE, State.EXECUTING, "queue_full", None, ("say_busy",)),
        Row(Trigger.MESSAGE, State.EXECUTING, None, None, ("spend_rate", "enqueue")),
        Row(Trigger.DRAFTED, State.BUFFERING, None, State.VERIFYING),
        Row(Trigger.REDRAFT, State.VERIFYING, None, State.BUFFERING),
        Row(Trigger.VERIFIED, State.VERIFYING, None, State.STREAMING, ("speak",)),
        *rows(Trigger.REFUSED, _TURN, None, State.STREAMING, "speak"),
        Row(Trigger.MORE, State.STREAMING, None, State.BUFFERING, ("hear_more",)),
        *_settled(Trigger.STREAMED, State.STREAMING, "will_be_live", "finish_turn"),
        *(row for source in _TURN for row in _cancelled(source)),
        Row(Trigger.CANCEL, State.AWAITING, None, State.IDLE, ("cancel_live",)),
        Row(Trigger.CANCEL, State.EXECUTING, None, None, ("stop_action", "cancel_waiting", "cancel_queue")),
        Row(Trigger.CANCEL, State.IDLE, None, None, ("cancel_nothing",)),
        Row(Trigger.CONFIRM, State.AWAITING, None, State.EXECUTING, ("hold", "run_next")),
        *rows(Trigger.CONFIRM, _BUSY, None, None, "hold"),
        *_settled(Trigger.UNCLAIMED, State.EXECUTING, "any_live", "report"),
        *_settled(Trigger.EXECUTED, State.EXECUTING, "any_live", "report"),
        Row(Trigger.LAPSED, State.AWAITING, "none_live", State.IDLE, ("tell_closed",)),
        *rows(Trigger.LAPSED, (State.AWAITING, *_BUSY), None, None, "tell_closed"),
        *rows(Trigger.DRAIN, _CALM, None, State.CLOSED, "go_down"),
        *rows(Trigger.DRAIN, _BUSY, None, None, "begin_drain"),
        *rows(Trigger.DISCONNECT, (*_CALM, *_BUSY), None, State.CLOSED, "abandon"),
        *rows(Trigger.KILL, _CALM, None, State.CLOSED, "go_down"),
        *rows(Trigger.KILL, _TURN, None, State.CLOSED, "cancel_turn", "cancel_waiting", "go_down"),
        Row(Trigger.KILL, State.EXECUTING, None, State.CLOSED, ("cancel_waiting", "go_down")),
    ),
)
