"""The inside of a process that works on untrusted data (`sandbox.py` is its outside).

Strategy: every module that the work needs is imported before the first limit is set. From then on the process has a
limit on its memory, writes no file, and has a limit of CPU for each request; a request over a limit ends the process,
and its owner starts another one. It ends with its owner too, in any state of either process: the system signals it when
the other end of a pipe, to which nothing is ever written, is closed.
"""

import fcntl
import gc
import os
import resource
from collections.abc import Callable
from struct import Struct

from .config import SANDBOX_REPLY

SANDBOX_MEMORY = 512 * 1024 * 1024  # of the address space: the process itself takes some 75 MiB
SANDBOX_SPENT = 256 * 1024 * 1024  # of it still in use after a reply; with more the process ends
SANDBOX_CPU = 22  # whole seconds for one request; readers that watch their own time stop at FILE_SECONDS
SANDBOX_FILES = 16  # that it has open: a module that a file's marks ask for, beside its pipes

REQUEST = Struct(">I")
"""The header of a request: its length."""

REPLY = Struct(">?I")
"""The header of a reply: whether the process ends after it, and its length."""

_NICE = 5  # steps behind the server, whose turns come first
_PIECE = 1 << 20


def serve_requests(work: Callable[[bytes], bytes], lifeline: int) -> None:
    """Answer the requests of standard input on standard output, one at a time, until the input ends.

    `work`: makes a reply of a request; its exceptions end the process. `lifeline`: the descriptor of a pipe, of which
    the owner holds the other end.
    """
    _end_with_owner(lifeline)
    out = os.dup(1)
    os.dup2(2, 1)  # a library's prints are no replies
    os.nice(_NICE)
    gc.collect()
    gc.freeze()
    _set_limit(resource.RLIMIT_CORE, 0)
    _set_limit(resource.RLIMIT_FSIZE, 0)
    _set_limit(resource.RLIMIT_NOFILE, SANDBOX_FILES)
    _set_limit(resource.RLIMIT_AS, SANDBOX_MEMORY)
    _write_all(out, REPLY.pack(False, 0))
    while header := _read_exactly(REQUEST.size):
        request = _read_exactly(*REQUEST.unpack(header))
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = int(used.ru_utime + used.ru_stime + SANDBOX_CPU) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (until, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        reply = work(request)
        if len(reply) > SANDBOX_REPLY:
            return
        del request
        gc.collect()
        spent = _address_space() > SANDBOX_SPENT
        _write_all(out, REPLY.pack(spent, len(reply)))
        _write_all(out, reply)
        if spent:
            return


def _end_with_owner(lifeline: int) -> None:
    """Let the system kill this process, by SIGIO, when the other end of a pipe is closed."""
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)


def _set_limit(resource_id: int, most: int) -> None:
    """Set a limit that cannot be raised again, unless a lower one is set already."""
    hard = resource.getrlimit(resource_id)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource_id, (most, most))


def _address_space() -> int:
    """Return the size of this process's address space in bytes; 0 where /proc is missing."""
    try:
        with open("/proc/self/statm", "rb") as statm:
            return int(statm.read().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _read_exactly(length: int) -> bytes:
    """Return `length` bytes of standard input; b"" when it has ended."""
    data = bytearray()
    while len(data) < length:
        piece = os.read(0, min(length - len(data), _PIECE))
        if not piece:
            return b""
        data += piece
    return bytes(data)


def _write_all(out: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(out, view) :]
