"""Cancels at a chosen step, so that a test can be made of every one."""

import trio


class Strike(trio.abc.Instrument):
    """Cancels a scope after so many steps of the task that makes it."""

    def __init__(self, steps: int, scope: trio.CancelScope) -> None:
        self.left = steps
        self._task = trio.lowlevel.current_task()
        self._scope = scope

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is self._task:
            self.left -= 1
            if self.left == 0:
                self._scope.cancel()
