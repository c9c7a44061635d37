"""One thread that is awake: its session, its wire and its journal, in tasks of their own.

Whatever ends it (sleep, a drain, a fault, storage that fails), who waits for a turn of it is told, and nothing of it is
left but what was kept: a turn that had not come to its end is kept as cancelled by who next begins one, or opens the
file.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from math import inf

import trio

from ..actions.runner import Runner
from ..config import RECORD_TIMEOUT
from ..errors import AgentError, Conflict
from ..ports.brain import Proposal, Question
from ..ports.calls import CallStore, StoredCall
from ..ports.conversation import Scope
from ..ports.decide import Result
from ..ports.desk import Listener
from ..ports.search import Lang
from ..ports.threads import ThreadStore, Woken
from ..ports.tools import Arguments, ToolDefinition
from ..protocol import inbound
from ..session.events import Disconnected, Event, Live, Posed, Received, Slept
from ..session.events import Woken as Wake
from ..session.session import Session
from ..session.turn import Parts
from ..tools.edits import accepts
from .journal import Journal, Waiter
from .recorder import ThreadRecorder
from .runner import ThreadRunner
from .wire import ThreadWire

_CALM = ("idle", "awaiting_confirmation")


class Awake:
    """A thread that is awake, once it is run, in a nursery that outlives who asks for it.

    turn: how many turns have begun in it, as this process knows. behind: some of them began in another one, and it does
    not know what was said in them. since: when something last happened in it, seconds on the loop's clock. over: set
    when it has ended.
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
    def asking(self) -> bool:
        """Whether a turn is in progress, or its end is still being kept."""
        return self._journal is not None and self._journal.asking

    @property
    def calm(self) -> bool:
        """Whether it does nothing, and nothing waits to be kept."""
        session, wire = self._session, self._wire
        return session is not None and wire is not None and session.state in _CALM and wire.quiet

    async def run(
        self,
        parts: Parts,
        runner: Runner,
        threads: ThreadStore,
        calls: CallStore,
        kept_for: float,
        woken: Woken,
        arguments: Arguments | None,
        task_status: "trio.TaskStatus[Awake]" = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Be awake until it sleeps or is ended. Started, with itself, when it takes events.

        Cancelled, its session ends as one whose client has left; what it has said is kept within RECORD_TIMEOUT.
        """
        project, thread = self.scope.project, self.scope.thread
        recorder = ThreadRecorder(parts.recorder)
        journal = Journal(project, thread, threads, calls, parts.clock, parts.new_id, kept_for, recorder)
        try:
            async with trio.open_nursery() as nursery:
                wire = ThreadWire(journal.keep, self.end, nursery)
                own = replace(
                    parts, runner=ThreadRunner(runner, journal.keep_call, journal.still), recorder=recorder
                )
                self._session = Session(own, wire, scope=self.scope, kept=kept_for)
                self._wire, self._journal = wire, journal
                self.post(Wake(woken.history, _live(woken.live, arguments, self.scope), trio.current_time()))
                keeping = trio.CancelScope(shield=True, deadline=inf)  # which is set when the session ends
                nursery.start_soon(_within, keeping, wire.run)
                task_status.started(self)
                try:
                    await self._session.run()
                finally:
                    keeping.deadline = trio.current_time() + RECORD_TIMEOUT
                    with trio.CancelScope(shield=True, deadline=keeping.deadline):
                        await wire.settled()
                    keeping.cancel()
                nursery.cancel_scope.cancel()
        finally:
            self.over.set()
            journal.fail(self._why)

    def post(self, event: Event) -> None:
        """Tell its session that something happens."""
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
        results: tuple[Result, ...] = (),
    ) -> Waiter:
        """Begin the turn of a message that is kept; return who waits for its end.

        tools: that came with it. known: every tool that it may call, by name. listener: is told its frames.
        results: of calls that no turn was told of yet.
        """
        waiter = self._begin(message, known, listener)
        question = self._question(message, text, lang, tools, results)
        self.post(Posed(question, question.at))
        return self._unless_over(waiter)

    def preview(self, text: str, results: tuple[Result, ...]) -> Question:
        """Return the question of a message as its turn would be asked it now; nothing is begun."""
        assert self._session is not None, "it is not awake yet"
        return self._session.complete(self._question("", text, None, (), results))

    def _question(
        self,
        message: str,
        text: str,
        lang: Lang | None,
        tools: tuple[ToolDefinition, ...],
        results: tuple[Result, ...],
    ) -> Question:
        return Question(message, text, lang, trio.current_time(), self.scope, tools=tools, results=results)

    def answer(
        self, call: str, text: str, known: Mapping[str, ToolDefinition], listener: Listener | None
    ) -> Waiter:
        """Begin the turn of words that were said in place of an approval; return who waits for its end."""
        waiter = self._begin(call, known, listener)
        self.post(Received(inbound.RejectAction(call, text), trio.current_time()))
        return self._unless_over(waiter)

    def learn(self, call: StoredCall, arguments: Arguments | None) -> None:
        """Let its session know a call that can be confirmed, where another process suggested it meanwhile."""
        self.post(Wake((), _live((call,), arguments, self.scope), trio.current_time()))

    def end_of(self, call: str) -> trio.Event:
        """Return what is set once a call has ended, or can no longer."""
        assert self._journal is not None
        return self._journal.end_of(call)

    def leave(self, listener: Listener | None) -> None:
        """Tell a listener nothing more."""
        if self._wire is not None and listener is not None and self._wire.listener is listener:
            self._wire.listener = None
            self._wire.flush()

    def cancel(self, message: str | None = None) -> None:
        """Cancel the turn of a message; without one whatever is in progress and every call that can be approved."""
        self.post(Received(inbound.Cancel(message), trio.current_time()))

    @property
    def message(self) -> str | None:
        """The id of the message whose turn is in progress."""
        return self._journal.message if self._journal is not None else None

    async def at_rest(self) -> None:
        """Wait until what its session has said so far is kept."""
        if self._wire is not None:
            await self._wire.settled()

    def sleep(self) -> None:
        """Let it sleep, unless something is in progress."""
        if self.calm and self._session is not None:
            self._session.post(Slept(trio.current_time()))

    def end(self, why: AgentError) -> None:
        """End it now, whatever it does; who waits is told why."""
        self._why = why
        if self._wire is not None:
            self._wire.abort()
        self.post(Disconnected(trio.current_time()))

    def _begin(self, message: str, known: Mapping[str, ToolDefinition], listener: Listener | None) -> Waiter:
        assert self._journal is not None
        assert self._wire is not None
        self.turn += 1
        self._wire.listener = listener
        return self._journal.open(message, self.turn, known)

    def _unless_over(self, waiter: Waiter) -> Waiter:
        if self.over.is_set():
            waiter.fail(self._why)
        return waiter

    @property
    def closed(self) -> bool:
        """Whether its session takes nothing any more."""
        return self._session is None or self._session.state == "closed"


async def _within(scope: trio.CancelScope, run: Callable[[], Awaitable[None]]) -> None:
    with scope:
        await run()


def _live(calls: Sequence[StoredCall], arguments: Arguments | None, scope: Scope) -> tuple[Live, ...]:
    """Return what can be confirmed, as its session knew it."""
    return tuple(
        (
            call.id,
            proposal_of(call, arguments),
            Question(call.message, "", None, trio.current_time(), scope),
        )
        for call in calls
    )


def proposal_of(call: StoredCall, arguments: Arguments | None) -> Proposal:
    """Return a kept call as it was proposed. arguments: makes what checks an edit; None where no tool can be called."""
    checks = None
    if call.parameters is not None and arguments is not None:
        checks = accepts(arguments.checker(call.parameters), call.parameters)
    return Proposal(
        call.tool,
        call.arguments,
        call.missing,
        risk=call.risk,
        sources=call.sources,
        why=call.why,
        runs_at=call.runs_at,
        accepts=checks,
    )
