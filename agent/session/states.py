"""The session's state table. A transition that is not in `TABLE` does not happen.

A row's last column lists the deeds that the core does once the state has changed; `core.py` has one method for each
deed and each guard. Guards are tried in the order of the rows. "Live" means suggested, not yet confirmed, in time.

A tool that needs no approval is called inside its turn: `buffering -> executing -> buffering`. Meanwhile the turn
waits (`turn_waits`), and the triggers that end a turn end it there too.
"""

from typing import TypeAlias

from ..fsm import StateTable, TableWord, TransitionRow, make_rows


class SessionState(TableWord):
    """A state of a session. `closed` is final."""

    IDLE = "idle"
    BUFFERING = "buffering"
    VERIFYING = "verifying"
    STREAMING = "streaming"
    AWAITING = "awaiting_confirmation"
    EXECUTING = "executing"
    CLOSED = "closed"


class SessionTrigger(TableWord):
    """An occurrence that the table may have rows for."""

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


class SessionGuard(TableWord):
    """A condition of a row; `core.GUARDS` has the function for each."""

    CONFIRM_WAITS = "confirm_waits"
    DRAINING = "draining"
    ANY_LIVE = "any_live"
    NONE_LIVE = "none_live"
    WILL_BE_LIVE = "will_be_live"
    OVER_RATE = "over_rate"
    QUEUE_FULL = "queue_full"
    TURN_WAITS = "turn_waits"


class SessionDeed(TableWord):
    """A step that a row has done after its transition; `core.DEEDS` has the function for each."""

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


SessionRow: TypeAlias = TransitionRow[SessionState, SessionTrigger, SessionGuard, SessionDeed]
SessionTable: TypeAlias = StateTable[SessionState, SessionTrigger, SessionGuard, SessionDeed]

_TURN = (SessionState.BUFFERING, SessionState.VERIFYING, SessionState.STREAMING)
_BUSY = (*_TURN, SessionState.EXECUTING)
_CALM = (SessionState.IDLE, SessionState.AWAITING)


def _rows_to_rest(
    trigger: SessionTrigger, source: SessionState, live: SessionGuard, *does: SessionDeed
) -> tuple[SessionRow, ...]:
    """Return the rows for the end of a turn or an action: the one place where the next state is decided.

    A waiting confirm comes first, then a drain, then a waiting message (taken from `idle` or `awaiting_confirmation`).
    """
    return (
        TransitionRow(
            trigger, source, SessionGuard.CONFIRM_WAITS, SessionState.EXECUTING, (*does, SessionDeed.RUN_NEXT)
        ),
        TransitionRow(
            trigger, source, SessionGuard.DRAINING, SessionState.CLOSED, (*does, SessionDeed.GO_DOWN)
        ),
        TransitionRow(trigger, source, live, SessionState.AWAITING, (*does, SessionDeed.TAKE_QUEUED)),
        TransitionRow(trigger, source, None, SessionState.IDLE, (*does, SessionDeed.TAKE_QUEUED)),
    )


def _rows_of_report(trigger: SessionTrigger) -> tuple[SessionRow, ...]:
    """Return the rows for an action's report: back to the turn that waits for it, or to rest."""
    source = SessionState.EXECUTING
    return (
        TransitionRow(
            trigger,
            source,
            SessionGuard.TURN_WAITS,
            SessionState.BUFFERING,
            (SessionDeed.REPORT, SessionDeed.RESUME_TURN),
        ),
        *_rows_to_rest(trigger, source, SessionGuard.ANY_LIVE, SessionDeed.REPORT),
    )


def _rows_of_cancel(source: SessionState) -> tuple[SessionRow, ...]:
    does = (SessionDeed.CANCEL_TURN, SessionDeed.CANCEL_WAITING)
    return (
        TransitionRow(
            SessionTrigger.CANCEL,
            source,
            SessionGuard.DRAINING,
            SessionState.CLOSED,
            (*does, SessionDeed.GO_DOWN),
        ),
        TransitionRow(
            SessionTrigger.CANCEL,
            source,
            SessionGuard.ANY_LIVE,
            SessionState.AWAITING,
            (*does, SessionDeed.TAKE_QUEUED),
        ),
        TransitionRow(
            SessionTrigger.CANCEL, source, None, SessionState.IDLE, (*does, SessionDeed.TAKE_QUEUED)
        ),
    )


TABLE: SessionTable = StateTable(
    title="Session",
    states=SessionState,
    triggers=SessionTrigger,
    guards=SessionGuard,
    deeds=SessionDeed,
    initial=SessionState.IDLE,
    rows=(
        *make_rows(SessionTrigger.MESSAGE, _CALM, None, SessionState.BUFFERING, SessionDeed.BEGIN_TURN),
        *make_rows(SessionTrigger.MESSAGE, _BUSY, SessionGuard.DRAINING, None, SessionDeed.TURN_AWAY),
        *make_rows(SessionTrigger.MESSAGE, _BUSY, SessionGuard.OVER_RATE, None, SessionDeed.SLOW_DOWN),
        *make_rows(
            SessionTrigger.MESSAGE,
            _TURN,
            None,
            SessionState.BUFFERING,
            SessionDeed.CANCEL_TURN,
            SessionDeed.SPEND_RATE,
            SessionDeed.BEGIN_TURN,
        ),
        TransitionRow(
            SessionTrigger.MESSAGE,
            SessionState.EXECUTING,
            SessionGuard.TURN_WAITS,
            None,
            (SessionDeed.CANCEL_TURN, SessionDeed.STOP_ACTION, SessionDeed.SPEND_RATE, SessionDeed.ENQUEUE),
        ),
        TransitionRow(
            SessionTrigger.MESSAGE,
            SessionState.EXECUTING,
            SessionGuard.QUEUE_FULL,
            None,
            (SessionDeed.SAY_BUSY,),
        ),
        TransitionRow(
            SessionTrigger.MESSAGE,
            SessionState.EXECUTING,
            None,
            None,
            (SessionDeed.SPEND_RATE, SessionDeed.ENQUEUE),
        ),
        TransitionRow(SessionTrigger.DRAFTED, SessionState.BUFFERING, None, SessionState.VERIFYING),
        TransitionRow(SessionTrigger.REDRAFT, SessionState.VERIFYING, None, SessionState.BUFFERING),
        TransitionRow(
            SessionTrigger.VERIFIED,
            SessionState.VERIFYING,
            None,
            SessionState.STREAMING,
            (SessionDeed.SPEAK,),
        ),
        *make_rows(SessionTrigger.REFUSED, _TURN, None, SessionState.STREAMING, SessionDeed.SPEAK),
        TransitionRow(
            SessionTrigger.MORE,
            SessionState.STREAMING,
            None,
            SessionState.BUFFERING,
            (SessionDeed.HEAR_MORE,),
        ),
        TransitionRow(
            SessionTrigger.ACT, SessionState.BUFFERING, SessionGuard.DRAINING, None, (SessionDeed.TURN_DOWN,)
        ),
        TransitionRow(
            SessionTrigger.ACT, SessionState.BUFFERING, None, SessionState.EXECUTING, (SessionDeed.GRANT,)
        ),
        *_rows_to_rest(
            SessionTrigger.STREAMED,
            SessionState.STREAMING,
            SessionGuard.WILL_BE_LIVE,
            SessionDeed.FINISH_TURN,
        ),
        *(row for source in _TURN for row in _rows_of_cancel(source)),
        TransitionRow(
            SessionTrigger.CANCEL, SessionState.AWAITING, None, SessionState.IDLE, (SessionDeed.CANCEL_LIVE,)
        ),
        TransitionRow(
            SessionTrigger.CANCEL,
            SessionState.EXECUTING,
            None,
            None,
            (
                SessionDeed.CANCEL_TURN,
                SessionDeed.STOP_ACTION,
                SessionDeed.CANCEL_WAITING,
                SessionDeed.CANCEL_QUEUE,
            ),
        ),
        TransitionRow(SessionTrigger.CANCEL, SessionState.IDLE, None, None, (SessionDeed.CANCEL_NOTHING,)),
        TransitionRow(
            SessionTrigger.CONFIRM,
            SessionState.AWAITING,
            None,
            SessionState.EXECUTING,
            (SessionDeed.HOLD, SessionDeed.RUN_NEXT),
        ),
        *make_rows(SessionTrigger.CONFIRM, _BUSY, None, None, SessionDeed.HOLD),
        *_rows_of_report(SessionTrigger.UNCLAIMED),
        *_rows_of_report(SessionTrigger.EXECUTED),
        TransitionRow(
            SessionTrigger.LAPSED,
            SessionState.AWAITING,
            SessionGuard.NONE_LIVE,
            SessionState.IDLE,
            (SessionDeed.TELL_CLOSED,),
        ),
        *make_rows(
            SessionTrigger.LAPSED, (SessionState.AWAITING, *_BUSY), None, None, SessionDeed.TELL_CLOSED
        ),
        TransitionRow(
            SessionTrigger.OFFER, SessionState.IDLE, None, SessionState.AWAITING, (SessionDeed.SUGGEST,)
        ),
        *make_rows(SessionTrigger.OFFER, _BUSY, SessionGuard.DRAINING, None),
        *make_rows(SessionTrigger.OFFER, (SessionState.AWAITING, *_BUSY), None, None, SessionDeed.SUGGEST),
        *make_rows(SessionTrigger.DRAIN, _CALM, None, SessionState.CLOSED, SessionDeed.GO_DOWN),
        *make_rows(SessionTrigger.DRAIN, _BUSY, None, None, SessionDeed.BEGIN_DRAIN),
        TransitionRow(SessionTrigger.WAKE, SessionState.IDLE, SessionGuard.ANY_LIVE, SessionState.AWAITING),
        TransitionRow(
            SessionTrigger.RELEASED, SessionState.AWAITING, SessionGuard.NONE_LIVE, SessionState.IDLE
        ),
        *make_rows(SessionTrigger.SLEEP, _CALM, None, SessionState.CLOSED, SessionDeed.LIE_DOWN),
        *make_rows(
            SessionTrigger.DISCONNECT, (*_CALM, *_BUSY), None, SessionState.CLOSED, SessionDeed.ABANDON
        ),
        *make_rows(SessionTrigger.KILL, _CALM, None, SessionState.CLOSED, SessionDeed.GO_DOWN),
        *make_rows(
            SessionTrigger.KILL,
            _TURN,
            None,
            SessionState.CLOSED,
            SessionDeed.CANCEL_TURN,
            SessionDeed.CANCEL_WAITING,
            SessionDeed.GO_DOWN,
        ),
        TransitionRow(
            SessionTrigger.KILL,
            SessionState.EXECUTING,
            SessionGuard.TURN_WAITS,
            SessionState.CLOSED,
            (
                SessionDeed.CANCEL_TURN,
                SessionDeed.STOP_ACTION,
                SessionDeed.CANCEL_WAITING,
                SessionDeed.GO_DOWN,
            ),
        ),
        TransitionRow(
            SessionTrigger.KILL,
            SessionState.EXECUTING,
            None,
            SessionState.CLOSED,
            (SessionDeed.CANCEL_WAITING, SessionDeed.GO_DOWN),
        ),
    ),
)
