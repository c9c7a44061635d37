"""Approving the calls of threads, and carrying each approval through.

An approval is one compare-and-set in the call's row. Only then the thread's session hears of it and runs the call, in a
task that goes on when the approver has left. Arguments that an approver edits are checked before.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import trio

from ..errors import BadEdit
from ..intents.fields import explain_mismatch
from ..ports.action import Payload
from ..ports.calls import CallApproval, CallTransition, StoredCall
from ..ports.clock import Clock
from ..ports.hints import Hint
from ..ports.threads import TurnStep
from ..ports.tools import CheckerFactory
from ..protocol import inbound
from ..protocol.payload import is_valid_payload
from ..session.events import FrameReceived
from ..structured.pointer import make_pointer
from ..tools.edits import parameter_of
from .awake_thread import proposal_of
from .call_ends import CallEnds
from .hashes import digest
from .thread_registry import AwakeThreads, Stores


class CallApprovals:
    """The approvals of the calls in `stores`, which the threads of `waking` run.

    `ends` hears of each call that has ended here. `arguments` checks edited arguments; it is `None` where no tool can
    be called.
    """

    def __init__(
        self,
        stores: Stores,
        waking: AwakeThreads,
        ends: CallEnds,
        arguments: CheckerFactory | None,
        clock: Clock,
    ) -> None:
        self._stores = stores
        self._waking = waking
        self._ends = ends
        self._arguments = arguments
        self._clock = clock

    async def approve_call(
        self, call: StoredCall, approval: CallApproval, arguments: Payload | None
    ) -> tuple[StoredCall, bool]:
        """Approve a call with `arguments`, or as it was suggested; return it, and whether a session runs it.

        Raises `BadEdit` for arguments that do not fit. The approval is carried through if its caller leaves.
        """
        edited = self._check_edit(call, arguments)
        if edited is not None:
            approval = replace(approval, arguments=edited, arguments_hash=digest(edited))
        return await self._waking.run_to_end(partial(self._carry_through, approval, arguments))

    async def _carry_through(
        self, approval: CallApproval, arguments: Payload | None
    ) -> tuple[StoredCall, bool]:
        """Approve a call in its row and let the thread's session run it."""
        call = await self._stores.calls.approve_call(approval)
        confirm = inbound.ConfirmAction(call.id, dict(arguments) if arguments is not None else None)
        if call.runs_at == "caller":
            self._waking.tell_session(call, confirm)
            return call, False
        awake = await self._waking.wake(call.project, call.thread)
        awake.learn(call, self._arguments)
        ended = awake.end_event(call.id)
        self._waking.start(partial(self._tell_end, call.id, ended))
        awake.post(FrameReceived(confirm, trio.current_time()))
        if awake.is_closed:  # the server is going down: it was approved, and will never run
            move = CallTransition(call.id, "cancelled")
            await self._stores.threads.record_step(
                TurnStep(
                    project=call.project,
                    thread=call.thread,
                    message=None,
                    status=None,
                    at=self._clock.now_ms(),
                    moves=(move,),
                )
            )
            ended.set()
        return call, True

    async def _tell_end(self, call: str, ended: trio.Event) -> None:
        """Let the tasks that wait for an approved call read it once it has ended here, in every process."""
        await ended.wait()
        self._ends.hear_call(call)
        self._stores.hints.send(Hint("call_ended", call))

    def _check_edit(self, call: StoredCall, arguments: Payload | None) -> Payload | None:
        """Return the arguments in place of the suggested ones, or `None` to run those. Raises `BadEdit`."""
        if arguments is None and not call.missing:
            return None
        if not is_valid_payload(arguments or {}):
            raise BadEdit("The arguments are too large or too deep.")
        if call.parameters is None:
            return _fill_missing(call, arguments or {})
        find_fault = proposal_of(call, self._arguments).accepts
        if find_fault is None:
            raise BadEdit("This server cannot check other arguments; approve the call as it is.")
        why = find_fault(arguments or {})
        if why is not None:
            raise BadEdit(why, self._find_parameter(call.parameters, arguments or {}))
        return arguments

    def _find_parameter(self, parameters: Mapping[str, Any], arguments: Payload) -> str:
        """Return the pointer to the first parameter whose argument does not fit, "" for an unknown one."""
        assert self._arguments is not None
        faults = self._arguments.make_checker(parameters).find_problems(arguments)
        name = parameter_of(faults[0].pointer) if faults else ""
        return make_pointer([name]) if name in parameters.get("properties", {}) else ""


def _fill_missing(call: StoredCall, filled: Mapping[str, Any]) -> Payload:
    why = explain_mismatch(call.missing, filled)
    if why is not None:
        raise BadEdit(why)
    return {**call.arguments, **{name: value.strip() for name, value in filled.items()}}
