"""A thread's way to the runner: a call is kept before it is claimed, so that there is no effect of one that is not."""

from collections.abc import Awaitable, Callable
from functools import partial

from ..actions.runner import Runner
from ..ports.action import Call, Outcome, Running, Still


class ThreadRunner:
    """Runs one thread's calls (implements `agent.ports.action.Runs`).

    keep: keeps a call; where it raises, the call is failed and never run. still: returns what tells whether the turn
    that makes a call goes on, whichever process may have cancelled it; None for a call that somebody approved.
    """

    def __init__(
        self, runner: Runner, keep: Callable[[Call], Awaitable[None]], still: Callable[[Call], Still | None]
    ) -> None:
        self._runner = runner
        self._keep = keep
        self._still = still

    def start(self, call: Call, report: Callable[[Outcome], None]) -> Running:
        """Start a confirmed call and return its handle at once; it is kept within the time of its claim."""
        return self._runner.start(call, report, partial(self._keep, call), self._still(call))
