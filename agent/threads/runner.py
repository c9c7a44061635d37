"""The runner of a thread: it stores a call before the call is claimed, so that every effect has a stored call."""

from collections.abc import Awaitable, Callable
from functools import partial

from ..actions.runner import Runner
from ..ports.action import ActionHandle, BeginCheck, Call, Outcome


class ThreadRunner:
    """Runs one thread's calls (implements `agent.ports.action.Runs`).

    `keep` stores a call; if it raises, the call fails and never runs. `still` returns the check whether a claimed call
    may begin, which another process may withdraw.
    """

    def __init__(
        self,
        runner: Runner,
        keep: Callable[[Call], Awaitable[None]],
        still: Callable[[Call], BeginCheck],
    ) -> None:
        self._runner = runner
        self._keep = keep
        self._still = still

    def start(self, call: Call, report: Callable[[Outcome], None]) -> ActionHandle:
        """Start a confirmed call and return its handle at once; storing the call takes part of its claim's time."""
        return self._runner.start(call, report, partial(self._keep, call), self._still(call))
