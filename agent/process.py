"""A command in a process group of its own, which ends with all that it started.

A command's children outlive it when only it is told to end. So the group is: SIGTERM, and SIGKILL after
PROCESS_TERMINATE seconds if anything of it is left. POSIX only.
"""

import os
import signal
import subprocess
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress

import trio

from .config import PROCESS_LEAVE_TIMEOUT, PROCESS_TERMINATE

_LOOK = 0.002  # seconds between two looks at whether the group has ended


@asynccontextmanager
async def group(
    command: Sequence[str], folder: str, environment: Mapping[str, str]
) -> AsyncGenerator[trio.Process, None]:
    """Run `command` in `folder` with pipes for its input and output, and end it and its children on leaving.

    What it writes to standard error is dropped, since it may repeat what it was given. Raises OSError when it cannot be
    started. Leaving, cancelled too, takes at most PROCESS_LEAVE_TIMEOUT seconds; some 50 ms where SIGTERM is ignored.
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
            await _end(process)


async def _end(process: trio.Process) -> None:
    deadline = trio.current_time() + PROCESS_TERMINATE
    _signal(process, signal.SIGTERM)
    while _runs(process) and trio.current_time() < deadline:  # noqa: ASYNC110 - nothing tells when a group has ended
        await trio.sleep(_LOOK)
    _signal(process, signal.SIGKILL)
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            await pipe.aclose()
    await process.wait()


def _signal(process: trio.Process, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _runs(process: trio.Process) -> bool:
    """Return whether anything of the group is left; the command itself is taken note of when it has ended."""
    process.poll()
    try:
        os.killpg(process.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
