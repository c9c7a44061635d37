"""A process that works on untrusted data, and can be killed at any moment (`sandboxed.py` is its inside).

Strategy: the process is a new interpreter, not a fork: it inherits nothing of this process but the module search path.
Its input and output are pipes; it has no other open descriptor of ours, no socket, an environment with only the
variables that Python needs to start, and its own process group. The first request starts the process, which then
answers one request at a time. A request that ends the process, or that is not answered in time, costs that request and
nothing else: the next request gets a new process. Everything here blocks, and is for worker threads; a request waits
for the request before it.
"""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from time import monotonic

from .config import PROCESS_LEAVE_TIMEOUT, SANDBOX_REPLY
from .errors import GivenUp, SandboxFailed, SandboxKilled
from .sandboxed import REPLY, REQUEST

SANDBOX_START = 30.0  # until the process answers; usually half a second

_RUN = "import sys; sys.path[:] = sys.argv[3:]; __import__(sys.argv[1], fromlist=['main']).main(int(sys.argv[2]))"
# Environment variables that Python needs to start on some systems.
_PASSED_VARIABLES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "PYTHONHOME")
_LOOK_INTERVAL = 0.05  # seconds between two checks whether the caller still waits
_PIECE = 1 << 20

WaitCheck = Callable[[], object]
"""A function that is called every few hundredths of a second; an exception that it raises ends the wait."""


def _do_nothing() -> None:
    pass


class Sandbox:
    """Lets `main` of a module answer requests in another process (implements `agent.ports.work.Isolate`).

    `module`: the name of the module. Its `main` gets the number of a descriptor, and calls `sandboxed.serve_requests`
    with that number. All methods may be called from any thread.
    """

    def __init__(self, module: str) -> None:
        self._module = module
        self._turn = Lock()
        self._child: SandboxProcess | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The id of the process; `None` while it is not running."""
        child = self._child
        return None if child is None else child.pid

    def start(self) -> None:
        """Start the process, unless it runs, and do not wait for it; `ask` reports a failure."""
        if self._turn.acquire(blocking=False):
            try:
                with suppress(SandboxFailed, GivenUp):
                    self._ensure_child()
            finally:
                self._turn.release()

    def ask(self, request: bytes, seconds: float, look: WaitCheck, begin: WaitCheck = _do_nothing) -> bytes:
        """Return the reply to a request.

        `seconds`: the limit, counted from when the process is ready for this request. `begin`: called at that moment.
        Raises `SandboxKilled` when the process ended during the request, or was killed because it took too long;
        `SandboxFailed` when the process cannot be started, which is no fault of the request; `GivenUp` once the sandbox
        is closed; and the exceptions of `look`, with the process killed if the request has begun.
        """
        while not self._turn.acquire(timeout=_LOOK_INTERVAL):
            look()
        try:
            child = self._ensure_child()
            try:
                child.wait_ready(look)
                begin()
                reply, ends = child.exchange(request, monotonic() + seconds, look)
            except BaseException:
                self._end_child()
                if self._closed:
                    raise GivenUp("the process was closed") from None
                raise
            if ends:
                self._end_child()
            return reply
        finally:
            self._turn.release()

    def close(self) -> None:
        """Kill the process, and never start another. Idempotent; takes a few milliseconds."""
        self._closed = True
        child = self._child
        if child is not None:
            child.kill()
        if self._turn.acquire(blocking=False):  # else the thread in `ask` ends it now
            try:
                self._end_child()
            finally:
                self._turn.release()

    def _ensure_child(self) -> "SandboxProcess":
        """Return the running process, or start a new one."""
        if self._child is not None and self._child.has_ended():
            self._end_child()
        if self._child is None and not self._closed:
            try:
                self._child = SandboxProcess(self._module)
            except OSError as error:
                raise SandboxFailed(f"a process cannot be started: {error.strerror}") from None
        if self._child is None or self._closed:
            self._end_child()
            raise GivenUp("the process was closed")
        return self._child

    def _end_child(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.end()


class SandboxProcess:
    """A running process and its pipes. Only one thread at a time may use it, except for `kill`."""

    def __init__(self, module: str) -> None:
        """Start the process. Raises OSError when that fails."""
        child_end, self._lifeline = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _RUN, module, str(child_end), *map(os.path.abspath, sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=(child_end,),
                cwd="/",
                env={name: os.environ[name] for name in _PASSED_VARIABLES if name in os.environ},
                start_new_session=True,
                bufsize=0,
            )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(child_end)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._output = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._input, False)
        self._start_deadline = monotonic() + SANDBOX_START
        self._ready = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def has_ended(self) -> bool:
        """Tell whether the process has ended, or has written without a request."""
        ready = select.poll()
        ready.register(self._output, 0 if not self._ready else select.POLLIN)
        return bool(ready.poll(0))

    def wait_ready(self, look: WaitCheck) -> None:
        """Wait until the process can take a request.

        Raises `SandboxFailed` when it does not start, and the exceptions of `look`.
        """
        if self._ready:
            return
        try:
            self._receive(REPLY.size, self._start_deadline, look)
        except SandboxKilled:
            raise SandboxFailed("the process that reads files of others does not start") from None
        self._ready = True

    def exchange(self, request: bytes, deadline: float, look: WaitCheck) -> tuple[bytes, bool]:
        """Return the reply to a request, and whether the process ends with it."""
        self._send(REQUEST.pack(len(request)), deadline, look)
        self._send(request, deadline, look)
        ends, length = REPLY.unpack(self._receive(REPLY.size, deadline, look))
        if length > SANDBOX_REPLY:
            raise SandboxKilled("its answer is too long")
        return self._receive(length, deadline, look), ends

    def kill(self) -> None:
        """Kill the process and its children at once. For any thread; idempotent."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill the process and close its pipes."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        os.close(self._lifeline)
        with suppress(subprocess.TimeoutExpired):  # the system does not end the process
            self._process.wait(PROCESS_LEAVE_TIMEOUT)

    def _send(self, data: bytes, deadline: float, look: WaitCheck) -> None:
        view = memoryview(data)
        while view:
            self._wait(self._input, select.POLLOUT, deadline, look)
            try:
                view = view[os.write(self._input, view[:_PIECE]) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                raise SandboxKilled("the process has ended") from None

    def _receive(self, length: int, deadline: float, look: WaitCheck) -> bytes:
        data = bytearray()
        while len(data) < length:
            self._wait(self._output, select.POLLIN, deadline, look)
            piece = os.read(self._output, min(length - len(data), _PIECE))
            if not piece:
                raise SandboxKilled("the process has ended")
            data += piece
        return bytes(data)

    def _wait(self, descriptor: int, event: int, deadline: float, look: WaitCheck) -> None:
        """Wait until a pipe is ready for `event`."""
        ready = select.poll()
        ready.register(descriptor, event)
        while True:
            look()
            if monotonic() > deadline:
                raise SandboxKilled("the process took too long")
            if ready.poll(_LOOK_INTERVAL * 1000):
                return
