"""Runs a command in a process group of its own, which ends with all of its processes.

A command's children outlive it when only the command is signalled. So the whole group gets SIGTERM, and SIGKILL some
milliseconds later if a process of it is left. POSIX only.
"""

import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import trio

from .config import PROCESS_LEAVE_TIMEOUT, PROCESS_TERMINATE

_LOOK = 0.002  # seconds between two checks whether the group has ended


@asynccontextmanager
async def run_in_group(
    command: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    grace: float = PROCESS_TERMINATE,
) -> AsyncGenerator[trio.Process, None]:
    """Run `command` in `folder` with pipes for its input and output, and end it and its children on leaving.

    Its standard error is dropped, since it may repeat the input. Raises OSError when the command cannot be started.
    Leaving, also by a cancel, takes at most `PROCESS_LEAVE_TIMEOUT` seconds. `grace`: seconds between SIGTERM and
    SIGKILL, for a group that ignores SIGTERM.
    """
    process = await trio.lowlevel.open_process(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=dict(environment),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with trio.move_on_after(PROCESS_LEAVE_TIMEOUT, shield=True):
            await _end_group(process, grace)


async def _end_group(process: trio.Process, grace: float) -> None:
    deadline = trio.current_time() + grace
    _signal_group(process, signal.SIGTERM)
    while _is_running(process) and trio.current_time() < deadline:  # noqa: ASYNC110 - nothing tells when a group has ended
        await trio.sleep(_LOOK)
    _signal_group(process, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            await pipe.aclose()
    await process.wait()


def _signal_group(process: trio.Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _is_running(process: trio.Process) -> bool:
    """Tell whether a process of the group is left; the command itself is reaped when it has ended."""
    process.poll()
    try:
        os.killpg(process.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
