"""A thread that is awake: its session, its wire and its journal, in tasks of their own.

Whatever ends it (sleep, a drain, a fault, failing storage), tasks that wait for a turn of it get an answer or an error,
and only stored rows stay. A turn without a stored end is marked cancelled by the next process that begins a turn or
opens the file.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf

import trio

from ..actions.runner import Runner
from ..config import RECORD_TIMEOUT
from ..errors import AgentError, Conflict
from ..ports.action import ActionHandle, BeginCheck, Call, Outcome
from ..ports.brain import Proposal, Question
from ..ports.calls import CallStore, StoredCall
from ..ports.conversation import Scope
from ..ports.decide import CallResult
from ..ports.search import Lang
from ..ports.thread_service import Listener
from ..ports.threads import ThreadState, ThreadStore
from ..ports.tools import CheckerFactory, ToolDefinition
from ..protocol import inbound
from ..session.context import SessionContext
from ..session.events import (
    ClientDisconnected,
    Event,
    FrameReceived,
    IdleTimedOut,
    LiveSuggestion,
    QuestionPosed,
)
from ..session.events import ConversationResumed as Wake
from ..session.session import Session
from ..tools.edits import make_edit_check
from .journal import Journal
from .recorder import ThreadRecorder
from .turn_rows import TurnWaiter
from .wire import ThreadWire


class ThreadRunner:
    """Runs one thread's calls (implements `agent.ports.action.ActionRunner`).

    `keep` stores a call; if it raises, the call fails and never runs. `make_begin_check` returns the check whether a
    claimed call may begin, which another process may withdraw.
    """

    def __init__(
        self,
        runner: Runner,
        keep: Callable[[Call], Awaitable[None]],
        make_begin_check: Callable[[Call], BeginCheck],
    ) -> None:
        self._runner = runner
        self._keep = keep
        self._make_begin_check = make_begin_check

    def start(self, call: Call, report: Callable[[Outcome], None]) -> ActionHandle:
        """Start a confirmed call and return its handle at once; storing the call takes part of its claim's time."""
        return self._runner.start(call, report, partial(self._keep, call), self._make_begin_check(call))


_CALM = ("idle", "awaiting_confirmation")


class AwakeThread:
    """A thread that is awake once `run` has started, in a nursery that outlives its callers.

    `turn` counts the turns that have begun in it, as far as this process knows. `behind` says that some of them began
    in another process, so that their messages are missing here. `since` is when something last happened in it, in
    seconds on the loop's clock. `over` is set when it has ended.
    """

    def __init__(self, project: str, thread: str, user: str, turn: int) -> None:
        self.scope = Scope(project, thread, user)
        self.turn = turn
        self.behind = False
        self.over = trio.Event()
        self.since = trio.current_time()
        self._session: Session | None = None
        self._wire: ThreadWire | None = None
        self._journal: Journal | None = None
        self._why: AgentError = Conflict("internal")

    @property
    def is_asking(self) -> bool:
        """Whether a turn is in progress, or its end is still being stored."""
        return self._journal is not None and self._journal.is_asking

    @property
    def is_calm(self) -> bool:
        """Whether it is idle, and nothing waits to be stored."""
        session, wire = self._session, self._wire
        return session is not None and wire is not None and session.state in _CALM and wire.is_quiet

    async def run(
        self,
        parts: SessionContext,
        runner: Runner,
        threads: ThreadStore,
        calls: CallStore,
        approval_time: float,
        woken: ThreadState,
        arguments: CheckerFactory | None,
        task_status: "trio.TaskStatus[AwakeThread]" = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Be awake until sleep or `end`. `task_status` gets the thread once it takes events.

        Cancelled, its session ends as if its client had left; its frames are stored within `RECORD_TIMEOUT`.
        """
        project, thread = self.scope.project, self.scope.thread
        recorder = ThreadRecorder(parts.recorder)
        journal = Journal(project, thread, threads, calls, parts.clock, parts.new_id, approval_time, recorder)
        try:
            async with trio.open_nursery() as nursery:
                wire = ThreadWire(journal.keep_frames, self.end, nursery)
                own = replace(
                    parts,
                    runner=ThreadRunner(runner, journal.keep_call, journal.begin_check),
                    recorder=recorder,
                )
                self._session = Session(own, wire, scope=self.scope, stored_seconds=approval_time)
                self._wire, self._journal = wire, journal
                self.post(Wake(woken.history, _live(woken.live, arguments, self.scope), trio.current_time()))
                # The deadline is set as the session ends.
                keeping = trio.CancelScope(shield=True, deadline=inf)
                nursery.start_soon(_run_within, keeping, wire.run)
                task_status.started(self)
                try:
                    await self._session.run()
                finally:
                    keeping.deadline = trio.current_time() + RECORD_TIMEOUT
                    with trio.CancelScope(shield=True, deadline=keeping.deadline):
                        await wire.wait_until_stored()
                    keeping.cancel()
                nursery.cancel_scope.cancel()
        finally:
            self.over.set()
            journal.fail(self._why)

    def post(self, event: Event) -> None:
        """Pass `event` to its `Session`."""
        self.since = trio.current_time()
        if self._session is not None:
            self._session.post(event)

    def ask(
        self,
        message: str,
        text: str,
        lang: Lang | None,
        tools: tuple[ToolDefinition, ...],
        known: Mapping[str, ToolDefinition],
        listener: Listener | None,
        results: tuple[CallResult, ...] = (),
        context: str = "",
    ) -> TurnWaiter:
        """Begin the turn of a stored message; return the waiter for its end.

        `tools` came with the message. `known` holds every tool that the turn may call, by name. `listener` hears its
        frames. `results` are those of calls that no turn has seen yet. `context` is JSON of the caller about the
        message.
        """
        waiter = self._begin(message, known, listener)
        question = replace(self._question(message, text, lang, tools, results), context=context)
        self.post(QuestionPosed(question, question.at))
        return self._unless_over(waiter)

    def preview(self, text: str, results: tuple[CallResult, ...]) -> Question:
        """Return the question that a turn about `text` would ask now, without beginning one."""
        assert self._session is not None, "it is not awake yet"
        return self._session.complete_question(self._question("", text, None, (), results))

    def _question(
        self,
        message: str,
        text: str,
        lang: Lang | None,
        tools: tuple[ToolDefinition, ...],
        results: tuple[CallResult, ...],
    ) -> Question:
        return Question(
            id=message,
            text=text,
            lang=lang,
            at=trio.current_time(),
            scope=self.scope,
            tools=tools,
            results=results,
        )

    def answer(
        self, call: str, text: str, known: Mapping[str, ToolDefinition], listener: Listener | None
    ) -> TurnWaiter:
        """Begin the turn of words that answer a suggestion in place of an approval; return the waiter for its end."""
        waiter = self._begin(call, known, listener)
        self.post(FrameReceived(inbound.RejectAction(call, text), trio.current_time()))
        return self._unless_over(waiter)

    def learn(self, call: StoredCall, arguments: CheckerFactory | None) -> None:
        """Tell its session about a call that can be confirmed, in case another process suggested it."""
        self.post(Wake((), _live((call,), arguments, self.scope), trio.current_time()))

    def end_event(self, call: str) -> trio.Event:
        """Return an event that is set once the call has ended, or cannot end here any more."""
        assert self._journal is not None
        return self._journal.end_event(call)

    def leave(self, listener: Listener | None) -> None:
        """Stop telling `listener` about frames."""
        if self._wire is not None and listener is not None and self._wire.listener is listener:
            self._wire.listener = None
            self._wire.flush()

    def cancel(self, message: str | None = None) -> None:
        """Cancel the turn of a message; without a message any turn, and every call that can be approved."""
        self.post(FrameReceived(inbound.Cancel(message), trio.current_time()))

    @property
    def message(self) -> str | None:
        """The id of the message of the current turn."""
        return self._journal.message if self._journal is not None else None

    async def wait_until_stored(self) -> None:
        """Wait until the frames of its session are stored."""
        if self._wire is not None:
            await self._wire.wait_until_stored()

    def sleep(self) -> None:
        """Let it sleep, unless a turn is in progress or a frame waits."""
        if self.is_calm and self._session is not None:
            self._session.post(IdleTimedOut(trio.current_time()))

    def end(self, why: AgentError) -> None:
        """End it now, even during a turn; waiting tasks get the error `why`."""
        self._why = why
        if self._wire is not None:
            self._wire.abort()
        self.post(ClientDisconnected(trio.current_time()))

    def _begin(
        self, message: str, known: Mapping[str, ToolDefinition], listener: Listener | None
    ) -> TurnWaiter:
        assert self._journal is not None
        assert self._wire is not None
        self.turn += 1
        self._wire.listener = listener
        return self._journal.open_turn(message, self.turn, known)

    def _unless_over(self, waiter: TurnWaiter) -> TurnWaiter:
        if self.over.is_set():
            waiter.fail(self._why)
        return waiter

    @property
    def is_closed(self) -> bool:
        """Whether its session takes no more events."""
        return self._session is None or self._session.state == "closed"


async def _run_within(scope: trio.CancelScope, run: Callable[[], Awaitable[None]]) -> None:
    with scope:
        await run()


def _live(
    calls: Sequence[StoredCall], arguments: CheckerFactory | None, scope: Scope
) -> tuple[LiveSuggestion, ...]:
    """Return the `calls` that can be confirmed, as its session had suggested them."""
    return tuple(
        (
            call.id,
            proposal_of(call, arguments),
            Question(id=call.message, text="", lang=None, at=trio.current_time(), scope=scope),
        )
        for call in calls
    )


def proposal_of(call: StoredCall, arguments: CheckerFactory | None) -> Proposal:
    """Return a stored call as it was proposed.

    `arguments` makes the check of an edit; it is `None` where no tool can be called.
    """
    checks = None
    if call.parameters is not None and arguments is not None:
        checks = make_edit_check(arguments.make_checker(call.parameters), call.parameters)
    return Proposal(
        action=call.tool,
        payload=call.arguments,
        missing=call.missing,
        risk=call.risk,
        sources=call.sources,
        why=call.why,
        runs_at=call.runs_at,
        accepts=checks,
    )
