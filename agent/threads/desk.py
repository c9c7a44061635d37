"""The threads of one server, as its callers use them (implements `agent.ports.thread_service.ThreadService`).

A decision about a call is made in the call's row, by one compare-and-set, and only then told to the thread's session,
which runs the call or drops it. So of all racing requests, in this process or another one, exactly one decides. A
decision is carried through in a task of the desk, even if its caller leaves.

A thread wakes when a request needs it, and sleeps when it was calm for a while. It may be awake in several processes.
Each turn begins in the rows, where only one can be in progress, and a process that finds turns of another one wakes the
thread anew. A turn is cancelled in its row too, in whichever process it runs. From then on it can neither claim a call
nor answer, and its process ends it at its next sweep, every `SWEEP_EVERY` seconds. A call that is claimed and not begun
stops earlier; cancelling and deleting wait for that, so that nothing begins after their answer. The wait is at most
`BEGIN_SURE` seconds, and as long for a call that runs in another process.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import structlog
import trio

from ..actions.runner import Runner
from ..config import BEGIN_LOOK, BEGIN_SURE, RECORD_TIMEOUT
from ..errors import AgentError, BadEdit, Conflict, NotFound, StorageFailed
from ..intents.fields import explain_mismatch
from ..ports.action import Payload
from ..ports.brain import Question
from ..ports.calls import CallApproval, CallReport, CallTransition, StoredCall
from ..ports.conversation import Scope
from ..ports.decide import CallResult
from ..ports.thread_service import ChatRequest, Listener, Reply
from ..ports.threads import TurnOpening, TurnStart, TurnStep
from ..ports.tools import CheckerFactory, ReadTools, ToolDefinition
from ..protocol import inbound
from ..protocol.payload import is_valid_payload
from ..session.events import FrameReceived
from ..session.forgotten_exchanges import drop_forgotten
from ..session.turn import SessionContext, describe_error
from ..tools.results import format_outcome
from .awake_thread import AwakeThread, proposal_of
from .hashes import digest
from .journal import TurnWaiter
from .settings import ThreadSettings
from .thread_registry import AwakeThreads, Stores

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
        self._beginning: dict[tuple[str, str], trio.Event] = {}  # threads in which a turn is being begun

    @property
    def awake(self) -> AwakeThreads:
        """The threads that are awake in this process."""
        return self._waking

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

        reply = await self._run_turn(opening, start_turn, listener)
        return await self._hand_over(reply) if request.begin else reply

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
        self, project: str, call: str, user: str, text: str, listener: Listener | None = None
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
        )

        def start_turn(awake: AwakeThread, results: tuple[CallResult, ...]) -> TurnWaiter:
            awake.learn(stored_call, self._arguments)
            return awake.answer(call, text, self._tools_by_name(()), listener)

        return await self._run_turn(opening, start_turn, listener)

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

        return await self._run_turn(opening, start_turn, listener)

    # --- calls

    async def approve_call(
        self,
        project: str,
        call: str,
        by: str,
        arguments: Payload | None = None,
        seen: str | None = None,
        wait: float = 0.0,
    ) -> StoredCall:
        """Approve a call; return it as it is after `wait` seconds at most (see
        `agent.ports.thread_service.ThreadService.approve_call`).
        """
        stored_call = await self._stores.calls.call(project, call)
        if stored_call.runs_at != "caller":
            self._check_open()
        filled = self._check_edit(stored_call, arguments)
        approval = CallApproval(
            project=project,
            call=call,
            by=by,
            at=self._now(),
            arguments=filled,
            arguments_hash=None if filled is None else digest(filled),
            seen=seen,
        )
        ended, stored_call = await self._waking.run_to_end(partial(self._approve, approval, arguments))
        if ended is not None:
            with trio.move_on_after(wait):
                await ended.wait()
            with suppress(
                StorageFailed, NotFound
            ):  # the approval stands, also when the call cannot be read or was deleted
                stored_call = await self._stores.calls.call(project, call)
        return stored_call

    async def reject_call(self, project: str, call: str, by: str | None = None) -> StoredCall:
        """Decline a suggested call, or cancel an approved call that has not begun. `by`: the user who decided."""
        stored_call = await self._stores.calls.close_call(project, call, "rejected", self._now(), by)
        if (
            stored_call.status == "rejected" or stored_call.runs_at != "caller"
        ):  # the session no longer tracks a released call of its caller
            self._waking.tell_session(stored_call, inbound.RejectAction(call))
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
        await self._await_begin(project, thread)
        await self._stop_turn(self._waking.get(project, thread))
        await self._cancel_kept(project, thread)

    async def cancel_thread(self, project: str, thread: str) -> None:
        """Cancel the turn in progress and every call that has not begun; afterwards none of them begins.

        That takes up to `BEGIN_SURE` seconds while a call runs in another process.
        """
        await self._stores.threads.thread(project, thread)
        await self._await_begin(project, thread)
        awake = await self._waking.wake(project, thread)
        awake.cancel()
        await awake.wait_until_stored()
        await self._cancel_kept(project, thread, awake)

    async def _cancel_kept(self, project: str, thread: str, calls_of: AwakeThread | None = None) -> None:
        """Cancel a turn in the rows, and wait until no call of it can begin, at most `BEGIN_SURE` seconds.

        With `calls_of` cancel every call of that thread too, also an approved one.
        """
        calls = calls_of is not None
        claimed = await self._stores.threads.cancel_turn(project, thread, self._now(), calls)
        if calls_of is not None:
            calls_of.cancel()  # calls that were approved, and claimed here, before the rows refused a claim
        with trio.move_on_after(BEGIN_SURE):
            while claimed:
                await trio.sleep(BEGIN_LOOK)
                with suppress(StorageFailed):  # a store that cannot be read: wait until the time is over
                    claimed = tuple([each for each in claimed if await self._is_claimed(project, each)])

    async def _is_claimed(self, project: str, call: str) -> bool:
        try:
            return (await self._stores.calls.call(project, call)).status == "claimed"
        except NotFound:
            return False

    async def delete_thread(self, project: str, thread: str) -> None:
        """Cancel the work of a thread and delete it; afterwards no call of it begins.

        That takes `BEGIN_SURE` seconds more if another process has claimed a call of it.
        """
        await self._stores.threads.thread(project, thread)
        await self._await_begin(project, thread)
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

    # --- a turn

    async def _run_turn(
        self,
        opening: TurnOpening,
        begin: Callable[[AwakeThread, tuple[CallResult, ...]], TurnWaiter],
        listener: Listener | None,
    ) -> Reply:
        """Begin a turn and return its reply. Cancelled, the turn is cancelled too, and stored as such."""
        key = opening.project, opening.thread
        if key in self._beginning:
            raise Conflict("turn_in_progress")
        awake = self._waking.get(*key)
        opening = replace(opening, alone=awake is None or not awake.is_asking)
        begun: TurnStart | None = None
        self._beginning[key] = trio.Event()
        try:
            begun = await self._stores.threads.begin_turn(opening)
            await self._stop_turn(
                awake
            )  # another process has cancelled its turn, else this turn could not begin
            awake = await self._waking.wake(
                opening.project, opening.thread, begun.thread, begun.thread.turn - 1
            )
            if awake.is_closed:  # the server has begun to go down meanwhile
                raise Conflict("shutting_down")
            waiter = begin(awake, tuple(result_of(each) for each in begun.ended))
        except BaseException as error:
            if begun is not None or not isinstance(error, AgentError):  # the message is stored, or may be
                self._abandon_message(opening)
            raise
        finally:
            self._beginning.pop(key).set()
        try:
            return await waiter.wait()
        finally:
            if not waiter.over.is_set() or isinstance(waiter.error, StorageFailed):
                awake.cancel(opening.id)
            if awake.is_closed and waiter.reply is None:
                self._abandon_message(opening)  # a session that broke, or was cut off, has stored no end
            awake.leave(listener)

    async def _await_begin(self, project: str, thread: str) -> None:
        """Wait until a turn that is being begun in the thread, if any, has reached its session, which can end it."""
        while (project, thread) in self._beginning:
            await self._beginning[project, thread].wait()

    async def _stop_turn(self, awake: AwakeThread | None) -> None:
        """Cancel the turn of an awake thread, if it has one, and wait until its frames are stored and told."""
        if awake is None:
            return
        if awake.message is not None:
            awake.cancel(awake.message)
        await awake.wait_until_stored()

    def _abandon_message(self, opening: TurnOpening) -> None:
        """Mark a message as cancelled that may be stored without a turn."""
        self._waking.start(partial(self._keep_cancelled, opening))

    async def _keep_cancelled(self, opening: TurnOpening) -> None:
        step = TurnStep(
            project=opening.project,
            thread=opening.thread,
            message=opening.id,
            status="cancelled",
            at=self._now(),
        )
        with trio.move_on_after(RECORD_TIMEOUT, shield=True):  # also where the server goes down at once
            try:
                await self._stores.threads.record_step(step)
            except (NotFound, Conflict, StorageFailed) as error:
                _log.warning(
                    "cancelled message could not be stored; it stays pending until its thread wakes",
                    **describe_error(error),
                )

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

    # --- an approval

    def _check_edit(self, call: StoredCall, arguments: Payload | None) -> Payload | None:
        """Return the arguments in place of the suggested ones, or `None` to run those. Raises `BadEdit`."""
        if arguments is None and not call.missing:
            return None
        if not is_valid_payload(arguments or {}):
            raise BadEdit("The arguments are too large or too deep.")
        if call.parameters is None:
            return self._fill_missing(call, arguments or {})
        find_fault = proposal_of(call, self._arguments).accepts
        if find_fault is None:
            raise BadEdit("This server cannot check other arguments; approve the call as it is.")
        why = find_fault(arguments or {})
        if why is not None:
            raise BadEdit(why)
        return arguments

    def _fill_missing(self, call: StoredCall, filled: Mapping[str, Any]) -> Payload:
        why = explain_mismatch(call.missing, filled)
        if why is not None:
            raise BadEdit(why)
        return {**call.arguments, **{name: value.strip() for name, value in filled.items()}}

    async def _approve(
        self, approval: CallApproval, arguments: Payload | None
    ) -> tuple[trio.Event | None, StoredCall]:
        """Approve a call and let the thread's session run it; return the event of its end, and the call."""
        call = await self._stores.calls.approve_call(approval)
        confirm = inbound.ConfirmAction(call.id, dict(arguments) if arguments is not None else None)
        if call.runs_at == "caller":
            self._waking.tell_session(call, confirm)
            return None, call
        awake = await self._waking.wake(call.project, call.thread)
        awake.learn(call, self._arguments)
        ended = awake.end_event(call.id)
        awake.post(FrameReceived(confirm, trio.current_time()))
        if awake.is_closed:  # the server is going down: it was approved, and will never run
            move = CallTransition(call.id, "cancelled")
            await self._stores.threads.record_step(
                TurnStep(
                    project=call.project,
                    thread=call.thread,
                    message=None,
                    status=None,
                    at=self._now(),
                    moves=(move,),
                )
            )
            ended.set()
        return ended, call

    # --- helpers

    def _check_open(self) -> None:
        if self._parts.registry.draining:
            raise Conflict("shutting_down")

    def _now(self) -> int:
        return self._parts.clock.now_ms()


def result_of(call: StoredCall) -> CallResult:
    """Return the outcome of a call in the form that a turn's prompt has."""
    succeeded = call.status == "done"
    formatted = format_outcome(succeeded, call.result or {})
    return CallResult(
        call_id=call.id,
        tool=call.tool,
        arguments=call.arguments,
        ok=succeeded,
        lines=formatted.lines,
        cut=formatted.cut,
    )
