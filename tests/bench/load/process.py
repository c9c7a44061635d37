"""What a process on this machine takes, read from /proc: processor time, memory, and who listens on a port.

A server may be several processes: its children count as it does. Processor time is that of user and kernel together,
in nanoseconds where the kernel keeps them (schedstat), else in its clock's ticks. schedstat also tells for how long a
thread could have run and had no core: what others did to it. Threads that end meanwhile are left out with what they
took.
"""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from .line import Failed

PROC = Path("/proc")
_TICK = os.sysconf("SC_CLK_TCK")
_LISTEN, _ESTABLISHED = "0A", "01"

Taken: TypeAlias = dict[int, tuple[float, float | None]]
"""By each thread's id, the seconds of the processor that it took, and those that it waited for one, where known."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds of the processor between two looks, and seconds of waiting for one; None is not known."""

    cpu: float
    waited: float | None


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of a process and its children. rss: resident. pss: the same, what is shared counted by its share."""

    rss: int
    pss: int


def family(pid: int) -> list[int]:
    """Return a process and its children, and theirs.

    By each process's own word on its parent: what a thread is said to have started (task/*/children) is with another
    thread once that one has ended, and is missed by who reads them meanwhile.
    """
    children: dict[int, list[int]] = {}
    for process in PROC.glob("[0-9]*"):
        with suppress(OSError):
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(process.name))
    found = [pid]
    for each in found:
        found += sorted(children.get(each, ()))
    return found


def taken(pid: int) -> Taken:
    """Return the processor time of each thread of a process and its children until now. Raises Failed without one."""
    threads: Taken = {}
    for each in family(pid):
        for task in (PROC / str(each) / "task").glob("[0-9]*"):
            with suppress(OSError):
                threads[int(task.name)] = _thread(task)
    if not threads:
        raise Failed(f"there is no process {pid} to be measured")
    return threads


def between(before: Taken, after: Taken) -> Spent:
    """Return what was spent from one look to another."""
    cpu, waited = 0.0, 0.0
    known = True
    for thread, (ran, stood) in after.items():
        ran_before, stood_before = before.get(thread, (0.0, 0.0))
        cpu += ran - ran_before
        if stood is None or stood_before is None:
            known = False
        else:
            waited += stood - stood_before
    return Spent(cpu, waited if known else None)


def memory(pid: int) -> Memory:
    """Return what a process and its children hold. Raises Failed when that may not be read."""
    rss = pss = 0
    try:
        for each in family(pid):
            for line in (PROC / str(each) / "smaps_rollup").read_text().splitlines():
                name, _, value = line.partition(":")
                if name == "Rss":
                    rss += 1024 * int(value.split()[0])
                elif name == "Pss":
                    pss += 1024 * int(value.split()[0])
    except OSError as error:
        raise Failed(f"the memory of process {pid} cannot be read ({error.strerror})") from None
    return Memory(rss, pss)


def listens_on(port: int) -> int | None:
    """Return the process that listens on a TCP port, the eldest of several; None when that cannot be seen."""
    sockets = {
        f"socket:[{inode}]" for local, _, state, inode in _sockets() if state == _LISTEN and local == port
    }
    if not sockets:
        return None
    for process in sorted(
        (each for each in PROC.iterdir() if each.name.isdigit()), key=lambda each: int(each.name)
    ):
        with suppress(OSError):
            if any(os.readlink(descriptor) in sockets for descriptor in (process / "fd").iterdir()):
                return int(process.name)
    return None


def holds(port: int, client: int) -> bool:
    """Return whether the server on `port` still holds its connection to the client's port on this machine."""
    return any(
        (local, remote, state) == (port, client, _ESTABLISHED) for local, remote, state, _ in _sockets()
    )


def _thread(task: Path) -> tuple[float, float | None]:
    with suppress(OSError):
        ran, stood = (task / "schedstat").read_text().split()[:2]
        return int(ran) / 1e9, int(stood) / 1e9
    fields = (task / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK, None


def _sockets() -> list[tuple[int, int, str, str]]:
    """Return each TCP socket's own port, the other end's port, its state and its inode."""
    found = []
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (PROC / "net" / table).read_text().splitlines()[1:]:
                fields = line.split()
                local, remote = (int(place.rpartition(":")[2], 16) for place in fields[1:3])
                found.append((local, remote, fields[3], fields[9]))
    return found
