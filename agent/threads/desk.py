"""The threads of one server, as their callers use them (implements `agent.ports.desk.Desk`).

What is decided about a call is decided in its row, by one compare-and-set, and only then told to the thread's session,
which runs it or lets go of it: so of all who race, in this process or another one, exactly one decides. What was
decided is seen through in a task of the desk's own, whoever asked for it leaves or not.

A thread wakes when something is asked of it and sleeps when it was calm for a while. It may be awake in several
processes: each turn is begun in the rows, where only one can be in progress, and who finds that others have begun turns
meanwhile wakes anew. A turn is cancelled in its row too, whichever process has it: from then on it can neither claim
a call nor answer, and that process ends it when it next looks, every SWEEP_EVERY seconds. A call that it had claimed
and that has not begun it stops earlier; who cancels waits for that, so that nothing begins once it was answered.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec
import structlog
import trio

from ..actions.fields import lacking
from ..actions.runner import Runner
from ..config import BEGIN_LOOK, BEGIN_SURE, RECORD_TIMEOUT
from ..errors import AgentError, BadEdit, Conflict, NotFound, StorageFailed
from ..ports.action import Payload
from ..ports.brain import Question
from ..ports.calls import ApprovalGiven, CallReport, Move, StoredCall
from ..ports.conversation import Scope
from ..ports.decide import Result
from ..ports.desk import Asked, Listener, Reply
from ..ports.threads import Begun, Opening, Said
from ..ports.tools import Arguments, ReadTools, ToolDefinition
from ..protocol import inbound
from ..protocol.payload import fits
from ..session.events import Received
from ..session.turn import Parts, where
from ..session.unsaid import without_forgotten
from ..tools.results import told
from .awake import Awake, proposal_of
from .hashes import digest
from .journal import Waiter
from .settings import ThreadSettings
from .waking import Stores, Waking

_log = structlog.get_logger("agent.threads")
_RAN = frozenset(("done", "failed", "unknown"))


class ThreadDesk:
    """The threads of one server. Run it in a nursery; it takes requests once that has started.

    parts: what its sessions share; they have no pace, whoever listens sets it. runner: runs calls; its ledger is in the
    stores' database. operator: the tools that every thread may call. read: reads those of a message. arguments: checks
    what is approved in place of what was suggested; None where no tool can be called.
    """

    def __init__(
        self,
        stores: Stores,
        parts: Parts,
        runner: Runner,
        settings: ThreadSettings,
        operator: Collection[ToolDefinition],
        read: ReadTools,
        arguments: Arguments | None,
    ) -> None:
        self._stores = stores
        self._parts = parts
        self._settings = settings
        self._operator = operator
        self._read = read
        self._arguments = arguments
        self._waking = Waking(stores, parts, runner, settings, arguments)
        self._beginning: dict[tuple[str, str], trio.Event] = {}  # threads in which a turn is being begun

    @property
    def awake(self) -> Waking:
        """The threads that are awake here."""
        return self._waking

    async def run(self, task_status: "trio.TaskStatus[ThreadDesk]" = trio.TASK_STATUS_IGNORED) -> None:
        """Keep threads awake, and look after what is due, until cancelled; then every thread ends."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._waking.run)
            task_status.started(self)

    # --- asking

    async def chat(self, asked: Asked, listener: Listener | None = None) -> Reply:
        """Take a message, and return the reply once it is kept (see `agent.ports.desk.Desk.chat`)."""
        tools = self._read(asked.tools) if asked.tools else ()
        self._check_open()
        id, new = self._parts.new_id(), asked.thread is None
        thread = asked.thread or self._parts.new_id()
        if asked.interrupt and not new:
            await self.cancel_turn(asked.project, thread)
        opening = Opening(
            asked.project,
            thread,
            asked.user,
            id,
            asked.text,
            self._now(),
            new,
        )

        def begin(awake: Awake, results: tuple[Result, ...]) -> Waiter:
            return awake.ask(id, asked.text, asked.lang, tools, self._known(tools), listener, results)

        reply = await self._turn(opening, begin, listener)
        return await self._handed_over(reply) if asked.begin else reply

    async def preview(self, project: str, user: str, text: str, thread: str | None = None) -> Question:
        """Return the question of a message as its turn would be asked it (see `agent.ports.desk.Desk.preview`)."""
        if thread is None:
            return Question("", text, None, trio.current_time(), Scope(project, "", user))
        awake = await self._waking.wake(project, thread)
        woken = await self._stores.threads.wake(project, thread, 0)
        question = awake.preview(text, tuple(map(result_of, woken.ended)))
        memory = self._parts.memory
        return question if memory is None else (await without_forgotten(question, memory.desk))[0]

    async def respond(
        self, project: str, call: str, user: str, text: str, listener: Listener | None = None
    ) -> Reply:
        """Answer a suggested call with words, which become the thread's next message; return the reply."""
        self._check_open()
        kept = await self._stores.calls.call(project, call)
        # So that its session knows the call, which will not be live any more.
        await self._waking.wake(project, kept.thread)
        opening = Opening(
            project,
            kept.thread,
            user,
            call,
            text,
            self._now(),
            closes=call,
        )

        def begin(awake: Awake, results: tuple[Result, ...]) -> Waiter:
            awake.learn(kept, self._arguments)
            return awake.answer(call, text, self._known(()), listener)

        return await self._turn(opening, begin, listener)

    async def report(
        self, report: CallReport, go_on: bool = False, listener: Listener | None = None
    ) -> tuple[StoredCall, bool, Reply | None]:
        """Take how a call ended; return it, whether that was known, and with `go_on` the reply of a turn about it."""
        kept, known = await self._stores.calls.report(report)
        if kept.status == "rejected":
            self._waking.tell(kept, inbound.RejectAction(kept.id))
        if not go_on or known or kept.status not in _RAN:
            return kept, known, None
        return kept, known, await self.go_on(kept, listener)

    async def go_on(self, call: StoredCall, listener: Listener | None = None) -> Reply:
        """Begin a turn about how a call has ended, under the call's id; return the reply."""
        self._check_open()
        asked = await self._stores.threads.message(call.project, call.message)
        content = msgspec.json.encode(call.result).decode()
        now = self._now()
        opening = Opening(call.project, call.thread, "", call.id, content, now, role="tool", call=call.id)

        def begin(awake: Awake, results: tuple[Result, ...]) -> Waiter:
            every = results if call.id in [each.call_id for each in results] else (*results, result_of(call))
            return awake.ask(call.id, asked.content, None, (), self._known(()), listener, every)

        return await self._turn(opening, begin, listener)

    # --- calls

    async def approve(
        self,
        project: str,
        call: str,
        by: str,
        arguments: Payload | None = None,
        seen: str | None = None,
        wait: float = 0.0,
    ) -> StoredCall:
        """Approve a call; return it as it is after `wait` seconds at most (see `agent.ports.desk.Desk.approve`)."""
        kept = await self._stores.calls.call(project, call)
        if kept.runs_at != "caller":
            self._check_open()
        filled = self._edited(kept, arguments)
        approval = ApprovalGiven(
            project, call, by, self._now(), filled, None if filled is None else digest(filled), seen
        )
        ended, kept = await self._waking.see_through(partial(self._approve, approval, arguments))
        if ended is not None:
            with trio.move_on_after(wait):
                await ended.wait()
            with suppress(StorageFailed):  # it is approved, however it stands
                kept = await self._stores.calls.call(project, call)
        return kept

    async def reject(self, project: str, call: str, by: str | None = None) -> StoredCall:
        """Decline a suggested call, or cancel an approved one that nobody has begun. by: the user who decided that."""
        kept = await self._stores.calls.close(project, call, "rejected", self._now(), by)
        if kept.status == "rejected" or kept.runs_at != "caller":  # its session has let go of any other
            self._waking.tell(kept, inbound.RejectAction(call))
        return kept

    async def begin(self, project: str, call: str) -> StoredCall:
        """Take an approved call that the caller runs: exactly one gets it, with its arguments and a lease."""
        now = self._now()
        lease = now + round(self._settings.lease_time * 1000)
        return await self._stores.calls.begin(project, call, now, lease)

    # --- cancelling

    async def cancel_turn(self, project: str, thread: str) -> None:
        """Cancel the turn in progress, in whichever process it is; once that returns, no call of it begins."""
        await self._stores.threads.thread(project, thread)
        await self._begun(project, thread)
        await self._stop(self._waking.get(project, thread))
        await self._cancel_kept(project, thread)

    async def cancel(self, project: str, thread: str) -> None:
        """Cancel the turn in progress and every call that nobody has begun."""
        await self._stores.threads.thread(project, thread)
        await self._begun(project, thread)
        awake = await self._waking.wake(project, thread)
        awake.cancel()
        await awake.at_rest()
        await self._cancel_kept(project, thread, awake)

    async def _cancel_kept(self, project: str, thread: str, calls_of: Awake | None = None) -> None:
        """Cancel a turn in the rows, and wait until nothing of it can begin, BEGIN_SURE seconds at most.

        calls_of: cancel every call of that thread too.
        """
        calls = calls_of is not None
        claimed = await self._stores.threads.cancel_turn(project, thread, self._now(), calls)
        if calls_of is not None:
            calls_of.cancel()  # what was approved meanwhile, and claimed here before the rows said no
        with trio.move_on_after(BEGIN_SURE):
            while claimed:
                await trio.sleep(BEGIN_LOOK)
                with suppress(StorageFailed):  # then for all of that time
                    claimed = tuple([each for each in claimed if await self._is_claimed(project, each)])

    async def _is_claimed(self, project: str, call: str) -> bool:
        try:
            return (await self._stores.calls.call(project, call)).status == "claimed"
        except NotFound:
            return False

    async def delete_thread(self, project: str, thread: str) -> None:
        """Cancel what a thread does, then delete it."""
        await self._stores.threads.thread(project, thread)
        await self._begun(project, thread)
        await self._waking.end(project, thread)
        await self._cancel_kept(project, thread)
        await self._stores.threads.delete_thread(project, thread)

    async def delete_project(self, project: str) -> None:
        """Cancel what its threads do, then delete a project with all that is its own."""
        await self._stores.projects.project(project)
        for each, thread in [key for key in self._waking if key[0] == project]:
            await self._waking.end(each, thread)
        await self._stores.projects.delete_project(project)

    # --- a turn

    async def _turn(
        self,
        opening: Opening,
        begin: Callable[[Awake, tuple[Result, ...]], Waiter],
        listener: Listener | None,
    ) -> Reply:
        """Begin a turn and see it to its end. Cancelled, so is the turn, and that is kept."""
        key = opening.project, opening.thread
        if key in self._beginning:
            raise Conflict("turn_in_progress")
        awake = self._waking.get(*key)
        opening = replace(opening, alone=awake is None or not awake.asking)
        begun: Begun | None = None
        self._beginning[key] = trio.Event()
        try:
            begun = await self._stores.threads.begin_turn(opening)
            await self._stop(awake)  # what it was about was cancelled elsewhere, or no other could begin
            awake = await self._waking.wake(
                opening.project, opening.thread, begun.thread, begun.thread.turn - 1
            )
            if awake.closed:  # the server has begun to go down meanwhile
                raise Conflict("shutting_down")
            waiter = begin(awake, tuple(result_of(each) for each in begun.ended))
        except BaseException as error:
            if begun is not None or not isinstance(error, AgentError):  # it is kept, or may be
                self._give_up(opening)
            raise
        finally:
            self._beginning.pop(key).set()
        try:
            return await waiter.wait()
        finally:
            if not waiter.over.is_set() or isinstance(waiter.error, StorageFailed):
                awake.cancel(opening.id)
            if awake.closed and waiter.reply is None:
                self._give_up(opening)  # a session that broke, or was cut off, has said nothing of its end
            awake.leave(listener)

    async def _begun(self, project: str, thread: str) -> None:
        """Wait until the turn that is being begun in a thread, if any, is its session's, which can end it."""
        while (project, thread) in self._beginning:
            await self._beginning[project, thread].wait()

    async def _stop(self, awake: Awake | None) -> None:
        """Let a thread's session end its turn, if it has one, and wait until what it has said is kept and told."""
        if awake is None:
            return
        if awake.message is not None:
            awake.cancel(awake.message)
        await awake.at_rest()

    def _give_up(self, opening: Opening) -> None:
        """Let a message that may be kept, and whose turn will not begin, be kept as cancelled."""
        self._waking.start(partial(self._keep_cancelled, opening))

    async def _keep_cancelled(self, opening: Opening) -> None:
        said = Said(opening.project, opening.thread, opening.id, "cancelled", self._now())
        with trio.move_on_after(RECORD_TIMEOUT, shield=True):  # also where the server goes down at once
            try:
                await self._stores.threads.say(said)
            except (NotFound, Conflict, StorageFailed) as error:
                _log.warning("message left pending", **where(error))

    async def _handed_over(self, reply: Reply) -> Reply:
        """Begin what the caller is to run without anybody's approval, as it is given with the reply."""
        calls = []
        for call in reply.calls:
            if call.runs_at == "caller" and call.status == "confirmed":
                try:
                    call = await self.begin(call.project, call.id)
                except Conflict:  # it was taken back meanwhile
                    call = await self._stores.calls.call(call.project, call.id)
            calls.append(call)
        return replace(reply, calls=tuple(calls))

    def _known(self, tools: Sequence[ToolDefinition]) -> Mapping[str, ToolDefinition]:
        return {tool.name: tool for tool in (*self._operator, *tools)}

    # --- an approval

    def _edited(self, kept: StoredCall, arguments: Payload | None) -> Payload | None:
        """Return the arguments that run in place of the suggested ones, None for those. Raises `BadEdit`."""
        if arguments is None and not kept.missing:
            return None
        if not fits(arguments or {}):
            raise BadEdit("The arguments are too large or too deep.")
        if kept.parameters is None:
            return self._filled(kept, arguments or {})
        wrong = proposal_of(kept, self._arguments).accepts
        if wrong is None:
            raise BadEdit("This server cannot check other arguments; approve the call as it is.")
        why = wrong(arguments or {})
        if why is not None:
            raise BadEdit(why)
        return arguments

    def _filled(self, kept: StoredCall, filled: Mapping[str, Any]) -> Payload:
        why = lacking(kept.missing, filled)
        if why is not None:
            raise BadEdit(why)
        return {**kept.arguments, **{name: value.strip() for name, value in filled.items()}}

    async def _approve(
        self, approval: ApprovalGiven, arguments: Payload | None
    ) -> tuple[trio.Event | None, StoredCall]:
        """Approve, and let the thread's session run it; return what is set when that has ended."""
        kept = await self._stores.calls.approve(approval)
        confirm = inbound.ConfirmAction(kept.id, dict(arguments) if arguments is not None else None)
        if kept.runs_at == "caller":
            self._waking.tell(kept, confirm)
            return None, kept
        awake = await self._waking.wake(kept.project, kept.thread)
        awake.learn(kept, self._arguments)
        ended = awake.end_of(kept.id)
        awake.post(Received(confirm, trio.current_time()))
        if awake.closed:  # the server is going down: it was approved, and will never run
            move = Move(kept.id, "cancelled")
            await self._stores.threads.say(
                Said(kept.project, kept.thread, None, None, self._now(), moves=(move,))
            )
            ended.set()
        return ended, kept

    # --- helpers

    def _check_open(self) -> None:
        if self._parts.registry.draining:
            raise Conflict("shutting_down")

    def _now(self) -> int:
        return self._parts.clock.now_ms()


def result_of(call: StoredCall) -> Result:
    """Return how a call ended, as a turn is shown it."""
    done = call.status == "done"
    seen = told(done, call.result or {})
    return Result(call.id, call.tool, call.arguments, done, seen.lines, seen.cut)
