"""The threads of one server, as its callers use them (implements `agent.ports.thread_service.ThreadService`).

A decision about a call is made in the call's row, by one compare-and-set, and only then told to the thread's session,
which runs the call or drops it. So of all racing requests, in this process or another one, exactly one decides.
Approvals are in `call_approvals.py`.

A thread wakes when a request needs it, and sleeps when it was calm for a while. It may be awake in several processes.
The beginning and the end of its turns, in this process or another one, are in `thread_turns.py`.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import msgspec
import structlog
import trio

from ..actions.runner import Runner
from ..config import BEGIN_SURE
from ..errors import Conflict, NotFound, StorageFailed
from ..ports.action import Payload
from ..ports.brain import Question
from ..ports.calls import (
    UNNAMED,
    Approver,
    CallApproval,
    CallRejection,
    CallReport,
    StoredCall,
)
from ..ports.conversation import Scope
from ..ports.decide import CallResult
from ..ports.hints import Hint
from ..ports.thread_service import ChatRequest, Listener, Reply
from ..ports.threads import TurnOpening
from ..ports.tools import CheckerFactory, ReadTools, ToolDefinition
from ..protocol import inbound
from ..session.context import SessionContext
from ..session.forgotten_exchanges import drop_forgotten
from .awake_thread import AwakeThread
from .call_approvals import CallApprovals
from .call_ends import CallEnds
from .settings import ThreadSettings
from .thread_registry import AwakeThreads, Stores
from .thread_turns import ThreadTurns, result_of
from .turn_rows import TurnWaiter

_log = structlog.get_logger("agent.threads")
_RAN = frozenset(("done", "failed", "unknown"))


class ThreadDesk:
    """The threads of one server. Run it in a nursery; it takes requests once that has started.

    `parts` are shared by its sessions, which have no pace: a listener sets it. `runner` runs calls; its ledger is in
    the database of `stores`. `operator` holds the tools that every thread may call. `read_tools` parses the tools of a
    message. `arguments` checks edited arguments; it is `None` where no tool can be called.
    """

    def __init__(
        self,
        stores: Stores,
        parts: SessionContext,
        runner: Runner,
        settings: ThreadSettings,
        operator: Collection[ToolDefinition],
        read_tools: ReadTools,
        arguments: CheckerFactory | None,
    ) -> None:
        self._stores = stores
        self._parts = parts
        self._settings = settings
        self._operator = operator
        self._read_tools = read_tools
        self._arguments = arguments
        self._waking = AwakeThreads(stores, parts, runner, settings, arguments)
        self._turns = ThreadTurns(stores, self._waking, parts.clock)
        self._ends = CallEnds(stores.calls)
        self._approvals = CallApprovals(stores, self._waking, self._ends, arguments, parts.clock)
        stores.hints.subscribe(self._hear)

    @property
    def awake(self) -> AwakeThreads:
        """The threads that are awake in this process."""
        return self._waking

    @property
    def beginning(self) -> tuple[tuple[str, str], ...]:
        """The project and the id of each thread in which a turn is being begun."""
        return self._turns.beginning

    async def run(self, task_status: "trio.TaskStatus[ThreadDesk]" = trio.TASK_STATUS_IGNORED) -> None:
        """Keep threads awake and sweep them until cancelled; then end every thread."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._waking.run)
            task_status.started(self)

    # --- asking

    async def chat(self, request: ChatRequest, listener: Listener | None = None) -> Reply:
        """Take a message, and return the reply once it is stored (see `agent.ports.thread_service.ThreadService`)."""
        tools = self._read_tools(request.tools) if request.tools else ()
        self._check_open()
        id, new = self._parts.new_id(), request.thread is None
        thread = request.thread or self._parts.new_id()
        if request.interrupt and not new:
            await self.cancel_turn(request.project, thread)
        opening = TurnOpening(
            project=request.project,
            thread=thread,
            user=request.user,
            id=id,
            content=request.text,
            at=self._now(),
            new=new,
        )

        def start_turn(awake: AwakeThread, results: tuple[CallResult, ...]) -> TurnWaiter:
            known = self._tools_by_name(tools)
            return awake.ask(id, request.text, request.lang, tools, known, listener, results, request.context)

        reply = await self._turns.run_turn(opening, start_turn, listener)
        return await self._hand_over(reply) if request.begin else reply

    def find_user(self, project: str, thread: str) -> str | None:
        """Return the user of a thread that is awake here, else `None`."""
        awake = self._waking.get(project, thread)
        return None if awake is None else awake.scope.user

    async def preview_question(
        self, project: str, user: str, text: str, thread: str | None = None
    ) -> Question:
        """Return the question of a message as its turn would be asked it (see `ThreadService.preview`)."""
        if thread is None:
            return Question(
                id="", text=text, lang=None, at=trio.current_time(), scope=Scope(project, "", user)
            )
        awake = await self._waking.wake(project, thread)
        woken = await self._stores.threads.load_state(project, thread, 0)
        question = awake.preview(text, tuple(map(result_of, woken.ended)))
        memory = self._parts.memory
        return question if memory is None else (await drop_forgotten(question, memory.desk))[0]

    async def answer_call(
        self,
        project: str,
        call: str,
        user: str,
        text: str,
        listener: Listener | None = None,
        approver: Approver = UNNAMED,
    ) -> Reply:
        """Answer a suggested call with words, which become the thread's next message; return the reply."""
        self._check_open()
        stored_call = await self._stores.calls.call(project, call)
        # Woken before the call is closed, the session knows the call.
        await self._waking.wake(project, stored_call.thread)
        opening = TurnOpening(
            project=project,
            thread=stored_call.thread,
            user=user,
            id=call,
            content=text,
            at=self._now(),
            closes=call,
            approver=approver,
        )

        def start_turn(awake: AwakeThread, results: tuple[CallResult, ...]) -> TurnWaiter:
            awake.learn(stored_call, self._arguments)
            return awake.answer(call, text, self._tools_by_name(()), listener)

        return await self._turns.run_turn(opening, start_turn, listener)

    async def report_call(
        self, report: CallReport, go_on: bool = False, listener: Listener | None = None
    ) -> tuple[StoredCall, bool, Reply | None]:
        """Record the outcome of a call; return the call, whether the outcome was known, and the reply of a turn about
        it.

        There is a reply only with `go_on`, and only if a turn can begin now: the outcome is recorded either way.
        """
        stored_call, known = await self._stores.calls.report_call(report)
        if stored_call.status == "rejected":
            self._waking.tell_session(stored_call, inbound.RejectAction(stored_call.id))
        if not go_on or known or stored_call.status not in _RAN:
            return stored_call, known, None
        reply: Reply | None = None
        with suppress(Conflict, NotFound, StorageFailed):
            reply = await self.continue_turn(stored_call, listener)
        return stored_call, known, reply

    async def continue_turn(self, call: StoredCall, listener: Listener | None = None) -> Reply:
        """Begin a turn about the outcome of a call, under the call's id; return the reply."""
        self._check_open()
        message = await self._stores.threads.message(call.project, call.message)
        content = msgspec.json.encode(call.result).decode()
        now = self._now()
        opening = TurnOpening(
            project=call.project,
            thread=call.thread,
            user="",
            id=call.id,
            content=content,
            at=now,
            role="tool",
            call=call.id,
        )

        def start_turn(awake: AwakeThread, results: tuple[CallResult, ...]) -> TurnWaiter:
            all_results = (
                results if call.id in [each.call_id for each in results] else (*results, result_of(call))
            )
            return awake.ask(
                call.id, message.content, None, (), self._tools_by_name(()), listener, all_results
            )

        return await self._turns.run_turn(opening, start_turn, listener)

    # --- calls

    async def approve_call(
        self,
        project: str,
        call: str,
        by: str,
        arguments: Payload | None = None,
        seen: str | None = None,
        wait: float = 0.0,
        approver: Approver = UNNAMED,
    ) -> StoredCall:
        """Approve a call; return it as it is after `wait` seconds at most (see
        `agent.ports.thread_service.ThreadService.approve_call`).
        """
        stored_call = await self._stores.calls.call(project, call)
        if stored_call.runs_at != "caller":
            self._check_open()
        approval = CallApproval(
            project=project, call=call, by=by, at=self._now(), seen=seen, approver=approver
        )
        stored_call, runs_here = await self._approvals.approve_call(stored_call, approval, arguments)
        if not runs_here:
            return stored_call
        with suppress(NotFound):  # the approval stands, also when the call was deleted meanwhile
            return await self._ends.wait_for_end(stored_call, wait)
        return stored_call

    async def wait_for_end(self, project: str, call: str, wait: float) -> StoredCall:
        """Return a call once it has ended in any process (see `agent.ports.thread_service.ThreadService`)."""
        return await self._ends.wait_for_end(await self._stores.calls.call(project, call), wait)

    async def reject_call(
        self,
        project: str,
        call: str,
        by: str | None = None,
        approver: Approver = UNNAMED,
        reason: str | None = None,
        waiting: bool = False,
    ) -> StoredCall:
        """Decline a suggested call, or cancel an approved one (see `agent.ports.thread_service.ThreadService`)."""
        stored_call = await self._stores.calls.reject_call(
            CallRejection(
                project=project,
                call=call,
                at=self._now(),
                by=by,
                approver=approver,
                reason=reason,
                waiting=waiting,
            )
        )
        if stored_call.status == "rejected" or stored_call.runs_at != "caller":
            # The session no longer tracks a released call of its caller.
            self._waking.tell_session(stored_call, inbound.RejectAction(call))
        if stored_call.status == "cancelled" and stored_call.runs_at != "caller":
            self._stores.hints.send(Hint("call_ended", call))
        return stored_call

    async def begin_call(self, project: str, call: str) -> StoredCall:
        """Claim an approved call for its caller: exactly one gets it, with its arguments and a lease."""
        now = self._now()
        lease = now + round(self._settings.lease_time * 1000)
        return await self._stores.calls.begin_call(project, call, now, lease)

    # --- cancelling

    async def cancel_turn(self, project: str, thread: str) -> None:
        """Cancel the turn in progress, also in another process; afterwards no call of it begins."""
        await self._stores.threads.thread(project, thread)
        await self._turns.await_begin(project, thread)
        await self._turns.stop_turn(self._waking.get(project, thread))
        await self._turns.cancel_stored(project, thread)

    async def cancel_thread(self, project: str, thread: str) -> None:
        """Cancel the turn in progress and every call that has not begun; afterwards none of them begins.

        That takes up to `BEGIN_SURE` seconds while a call runs in another process.
        """
        await self._stores.threads.thread(project, thread)
        await self._turns.await_begin(project, thread)
        awake = await self._waking.wake(project, thread)
        awake.cancel()
        await awake.wait_until_stored()
        await self._turns.cancel_stored(project, thread, awake)

    async def delete_thread(self, project: str, thread: str) -> None:
        """Cancel the work of a thread and delete it; afterwards no call of it begins.

        That takes `BEGIN_SURE` seconds more if another process has claimed a call of it.
        """
        await self._stores.threads.thread(project, thread)
        await self._turns.await_begin(project, thread)
        await self._waking.end(project, thread)
        if await self._stores.threads.delete_thread(project, thread):
            await trio.sleep(BEGIN_SURE)

    async def delete_project(self, project: str) -> None:
        """Cancel the work of its threads and delete a project with everything in it, as `delete_thread` does."""
        await self._stores.projects.project(project)
        for each, thread in [key for key in self._waking if key[0] == project]:
            await self._waking.end(each, thread)
        if await self._stores.projects.delete_project(project):
            await trio.sleep(BEGIN_SURE)

    # --- helpers

    async def _hand_over(self, reply: Reply) -> Reply:
        """Begin the calls of a reply that its caller runs without an approval, so that the reply hands them over."""
        calls = []
        for call in reply.calls:
            if call.runs_at == "caller" and call.status == "confirmed":
                try:
                    call = await self.begin_call(call.project, call.id)
                except Conflict:  # the call was cancelled before it was claimed
                    call = await self._stores.calls.call(call.project, call.id)
            calls.append(call)
        return replace(reply, calls=tuple(calls))

    def _tools_by_name(self, tools: Sequence[ToolDefinition]) -> Mapping[str, ToolDefinition]:
        return {tool.name: tool for tool in (*self._operator, *tools)}

    def _hear(self, hint: Hint) -> None:
        """Let this process look at what another one has changed."""
        if hint.kind == "thread_cancelled":
            self._waking.hear_thread(hint.id)
            self._ends.hear_thread(hint.id)
        else:
            self._ends.hear_call(hint.id)

    def _check_open(self) -> None:
        if self._parts.registry.draining:
            raise Conflict("shutting_down")

    def _now(self) -> int:
        return self._parts.clock.now_ms()
