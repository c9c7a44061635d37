"""The session's state table. A transition that is not in `TABLE` does not happen.

A row reads: on a trigger (`_T`), in these states (`_S`), if the guard holds (`_G`), go to that state (`None` stays) and
do the deeds (`_D`). `core.py` has one function for each guard and each deed. The rows of one trigger and state are
tried in their order. "Live" means suggested, not yet confirmed, in time.

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
    DRAFT_BEGUN = "draft_begun"
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
    LASTED = "lasted"
    FORGOTTEN = "forgotten"


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
    DRAFTING = "drafting"


class SessionDeed(TableWord):
    """A step that a row has done after its transition; `core.DEEDS` has the function for each."""

    RUN_NEXT_ACTION = "run_next_action"
    CLOSE_SESSION = "close_session"
    HANDLE_QUEUED_MESSAGE = "handle_queued_message"
    CANCEL_TURN = "cancel_turn"
    CANCEL_CONFIRMED = "cancel_confirmed"
    BEGIN_TURN = "begin_turn"
    REFUSE_WHILE_DRAINING = "refuse_while_draining"
    REFUSE_OVER_RATE = "refuse_over_rate"
    TAKE_TOKEN = "take_token"
    REFUSE_QUEUE_FULL = "refuse_queue_full"
    QUEUE_MESSAGE = "queue_message"
    STREAM_TEXT = "stream_text"
    HANDLE_WAITING_EVENTS = "handle_waiting_events"
    FINISH_TURN = "finish_turn"
    CANCEL_LIVE_SUGGESTIONS = "cancel_live_suggestions"
    STOP_ACTION = "stop_action"
    CANCEL_QUEUED = "cancel_queued"
    COUNT_IDLE_CANCEL = "count_idle_cancel"
    QUEUE_ACTION = "queue_action"
    REPORT_OUTCOME = "report_outcome"
    SEND_CLOSED = "send_closed"
    BEGIN_DRAIN = "begin_drain"
    ABANDON_SESSION = "abandon_session"
    REFUSE_CALL = "refuse_call"
    RUN_PENDING_CALL = "run_pending_call"
    RESUME_TURN = "resume_turn"
    SUSPEND_SESSION = "suspend_session"
    SUGGEST_ACTION = "suggest_action"
    NOTE_DRAFT = "note_draft"
    TELL_SEARCHING = "tell_searching"
    TELL_DRAFTING = "tell_drafting"
    TELL_CHECKING = "tell_checking"
    TELL_CALLING = "tell_calling"


SessionRow: TypeAlias = TransitionRow[SessionState, SessionTrigger, SessionGuard, SessionDeed]
SessionTable: TypeAlias = StateTable[SessionState, SessionTrigger, SessionGuard, SessionDeed]

_S, _T, _G, _D = SessionState, SessionTrigger, SessionGuard, SessionDeed

_TURN = (_S.BUFFERING, _S.VERIFYING, _S.STREAMING)
_BUSY = (*_TURN, _S.EXECUTING)
_CALM = (_S.IDLE, _S.AWAITING)
_END_TURN = (_D.CANCEL_TURN, _D.CANCEL_CONFIRMED)
_END_CALL = (_D.CANCEL_TURN, _D.STOP_ACTION)  # of a turn that waits for its call


def _rows_to_rest(
    trigger: SessionTrigger, source: SessionState, live: SessionGuard, *deeds: SessionDeed
) -> tuple[SessionRow, ...]:
    """Return the rows for the end of a turn or an action: the one place where the next state is decided.

    A waiting confirm comes first, then a drain, then a waiting message (taken from `idle` or `awaiting_confirmation`).
    """
    return (
        *make_rows(trigger, source, _G.CONFIRM_WAITS, _S.EXECUTING, *deeds, _D.RUN_NEXT_ACTION),
        *make_rows(trigger, source, _G.DRAINING, _S.CLOSED, *deeds, _D.CLOSE_SESSION),
        *make_rows(trigger, source, live, _S.AWAITING, *deeds, _D.HANDLE_QUEUED_MESSAGE),
        *make_rows(trigger, source, None, _S.IDLE, *deeds, _D.HANDLE_QUEUED_MESSAGE),
    )


def _rows_of_report(trigger: SessionTrigger) -> tuple[SessionRow, ...]:
    """Return the rows for an action's report: back to the turn that waits for it, or to rest."""
    source = _S.EXECUTING
    return (
        *make_rows(trigger, source, _G.TURN_WAITS, _S.BUFFERING, _D.REPORT_OUTCOME, _D.RESUME_TURN),
        *_rows_to_rest(trigger, source, _G.ANY_LIVE, _D.REPORT_OUTCOME),
    )


def _rows_of_cancel(source: SessionState) -> tuple[SessionRow, ...]:
    """Return the rows for a cancel of the turn in the state `source`."""
    return (
        *make_rows(_T.CANCEL, source, _G.DRAINING, _S.CLOSED, *_END_TURN, _D.CLOSE_SESSION),
        *make_rows(_T.CANCEL, source, _G.ANY_LIVE, _S.AWAITING, *_END_TURN, _D.HANDLE_QUEUED_MESSAGE),
        *make_rows(_T.CANCEL, source, None, _S.IDLE, *_END_TURN, _D.HANDLE_QUEUED_MESSAGE),
    )


TABLE: SessionTable = StateTable(
    title="Session",
    states=SessionState,
    triggers=SessionTrigger,
    guards=SessionGuard,
    deeds=SessionDeed,
    initial=_S.IDLE,
    rows=(
        *make_rows(_T.MESSAGE, _CALM, None, _S.BUFFERING, _D.BEGIN_TURN),
        *make_rows(_T.MESSAGE, _BUSY, _G.DRAINING, None, _D.REFUSE_WHILE_DRAINING),
        *make_rows(_T.MESSAGE, _BUSY, _G.OVER_RATE, None, _D.REFUSE_OVER_RATE),
        *make_rows(_T.MESSAGE, _TURN, None, _S.BUFFERING, _D.CANCEL_TURN, _D.TAKE_TOKEN, _D.BEGIN_TURN),
        *make_rows(
            _T.MESSAGE, _S.EXECUTING, _G.TURN_WAITS, None, *_END_CALL, _D.TAKE_TOKEN, _D.QUEUE_MESSAGE
        ),
        *make_rows(_T.MESSAGE, _S.EXECUTING, _G.QUEUE_FULL, None, _D.REFUSE_QUEUE_FULL),
        *make_rows(_T.MESSAGE, _S.EXECUTING, None, None, _D.TAKE_TOKEN, _D.QUEUE_MESSAGE),
        *make_rows(_T.DRAFT_BEGUN, _S.BUFFERING, None, None, _D.NOTE_DRAFT),
        *make_rows(_T.DRAFTED, _S.BUFFERING, None, _S.VERIFYING),
        *make_rows(_T.REDRAFT, _S.VERIFYING, None, _S.BUFFERING),
        *make_rows(_T.VERIFIED, _S.VERIFYING, None, _S.STREAMING, _D.STREAM_TEXT),
        *make_rows(_T.REFUSED, _TURN, None, _S.STREAMING, _D.STREAM_TEXT),
        *make_rows(_T.MORE, _S.STREAMING, None, _S.BUFFERING, _D.HANDLE_WAITING_EVENTS),
        *make_rows(_T.ACT, _S.BUFFERING, _G.DRAINING, None, _D.REFUSE_CALL),
        *make_rows(_T.ACT, _S.BUFFERING, None, _S.EXECUTING, _D.RUN_PENDING_CALL),
        *_rows_to_rest(_T.STREAMED, _S.STREAMING, _G.WILL_BE_LIVE, _D.FINISH_TURN),
        *(row for source in _TURN for row in _rows_of_cancel(source)),
        *(
            row
            for source in _TURN
            for row in _rows_to_rest(_T.FORGOTTEN, source, _G.ANY_LIVE, _D.CANCEL_TURN)
        ),
        *make_rows(_T.CANCEL, _S.AWAITING, None, _S.IDLE, _D.CANCEL_LIVE_SUGGESTIONS),
        *make_rows(_T.CANCEL, _S.EXECUTING, None, None, *_END_CALL, _D.CANCEL_CONFIRMED, _D.CANCEL_QUEUED),
        *make_rows(_T.CANCEL, _S.IDLE, None, None, _D.COUNT_IDLE_CANCEL),
        *make_rows(_T.CONFIRM, _S.AWAITING, None, _S.EXECUTING, _D.QUEUE_ACTION, _D.RUN_NEXT_ACTION),
        *make_rows(_T.CONFIRM, _BUSY, None, None, _D.QUEUE_ACTION),
        *_rows_of_report(_T.UNCLAIMED),
        *_rows_of_report(_T.EXECUTED),
        *make_rows(_T.LAPSED, _S.AWAITING, _G.NONE_LIVE, _S.IDLE, _D.SEND_CLOSED),
        *make_rows(_T.LAPSED, (_S.AWAITING, *_BUSY), None, None, _D.SEND_CLOSED),
        *make_rows(_T.OFFER, _S.IDLE, None, _S.AWAITING, _D.SUGGEST_ACTION),
        *make_rows(_T.OFFER, _BUSY, _G.DRAINING, None),
        *make_rows(_T.OFFER, (_S.AWAITING, *_BUSY), None, None, _D.SUGGEST_ACTION),
        *make_rows(_T.LASTED, _S.BUFFERING, _G.DRAFTING, None, _D.TELL_DRAFTING),
        *make_rows(_T.LASTED, _S.BUFFERING, None, None, _D.TELL_SEARCHING),
        *make_rows(_T.LASTED, _S.VERIFYING, None, None, _D.TELL_CHECKING),
        *make_rows(_T.LASTED, _S.EXECUTING, None, None, _D.TELL_CALLING),
        *make_rows(_T.DRAIN, _CALM, None, _S.CLOSED, _D.CLOSE_SESSION),
        *make_rows(_T.DRAIN, _BUSY, None, None, _D.BEGIN_DRAIN),
        *make_rows(_T.WAKE, _S.IDLE, _G.ANY_LIVE, _S.AWAITING),
        *make_rows(_T.RELEASED, _S.AWAITING, _G.NONE_LIVE, _S.IDLE),
        *make_rows(_T.SLEEP, _CALM, None, _S.CLOSED, _D.SUSPEND_SESSION),
        *make_rows(_T.DISCONNECT, (*_CALM, *_BUSY), None, _S.CLOSED, _D.ABANDON_SESSION),
        *make_rows(_T.KILL, _CALM, None, _S.CLOSED, _D.CLOSE_SESSION),
        *make_rows(_T.KILL, _TURN, None, _S.CLOSED, *_END_TURN, _D.CLOSE_SESSION),
        *make_rows(
            _T.KILL, _S.EXECUTING, _G.TURN_WAITS, _S.CLOSED, *_END_CALL, _D.CANCEL_CONFIRMED, _D.CLOSE_SESSION
        ),
        *make_rows(_T.KILL, _S.EXECUTING, None, _S.CLOSED, _D.CANCEL_CONFIRMED, _D.CLOSE_SESSION),
    ),
)
