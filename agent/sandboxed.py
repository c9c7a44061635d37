"""The inside of a process that works on what others have sent (`sandbox` is its outside).

Strategy: everything that the work needs is imported before the first limit is set. From then on the process can take
no more memory, write no file, and use only so much CPU for one request; what goes over a limit ends it, and its owner
starts another one. It ends with its owner too, however that ends and whatever this process is at: the system signals
it when the other end of a pipe that nothing is ever written to is closed.
"""

import fcntl
import gc
import os
import resource
from collections.abc import Callable
from struct import Struct

from .config import SANDBOX_CPU, SANDBOX_FILES, SANDBOX_MEMORY, SANDBOX_REPLY, SANDBOX_SPENT

REQUEST = Struct(">I")
"""Before a request: its length."""

REPLY = Struct(">?I")
"""Before a reply: whether the process ends with it, and its length."""

_NICE = 5  # steps behind the server, whose turns come first
_PIECE = 1 << 20


def serve(work: Callable[[bytes], bytes], lifeline: int) -> None:
    """Answer the requests of standard input on standard output, one at a time, until it ends.

    work: makes a reply of a request; an error that it raises ends the process. lifeline: the descriptor of a pipe whose
    other end the owner holds.
    """
    _end_with(lifeline)
    out = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no reply
    os.nice(_NICE)
    gc.collect()
    gc.freeze()
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NOFILE, SANDBOX_FILES)
    _limit(resource.RLIMIT_AS, SANDBOX_MEMORY)
    _write(out, REPLY.pack(False, 0))
    while header := _read(REQUEST.size):
        request = _read(*REQUEST.unpack(header))
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = int(used.ru_utime + used.ru_stime + SANDBOX_CPU) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        reply = work(request)
        if len(reply) > SANDBOX_REPLY:
            return
        del request
        gc.collect()
        spent = _size() > SANDBOX_SPENT
        _write(out, REPLY.pack(spent, len(reply)))
        _write(out, reply)
        if spent:
            return


def _end_with(lifeline: int) -> None:
    """Let the system kill this process, by SIGIO, when the other end of a pipe is closed."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)


def _limit(what: int, most: int) -> None:
    """Set a limit that cannot be raised again, unless a lower one is set already."""
    hard = resource.getrlimit(what)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


def _size() -> int:
    """Return the bytes of this process's address space; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _read(length: int) -> bytes:
    """Return so many bytes of standard input; b"" when it has ended."""
    data = bytearray()
    while len(data) < length:
        piece = os.read(0, min(length - len(data), _PIECE))
        if not piece:
            return b""
        data += piece
    return bytes(data)


def _write(out: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]
