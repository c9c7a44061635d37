"""What runs in the processes of `tests.test_sandbox`: it does to itself what a request says."""

import os
import time

from agent import sandboxed
from agent.sandboxed import serve_requests

CPU = 2
"""Whole seconds for one request here: a process that computes to its end takes as long as its limit."""

_held: list[bytes] = []


def work(request: bytes) -> bytes:
    """Do one thing; return what was asked for, or the request itself."""
    word, _, rest = request.partition(b" ")
    if word == b"pid":
        return str(os.getpid()).encode()
    if word == b"environment":
        return repr(dict(os.environ)).encode()
    if word == b"exit":
        os._exit(0)
    if word == b"memory":
        _held.append(bytes(int(rest)))
    if word == b"sleep":
        time.sleep(float(rest))
    if word == b"print":
        os.write(1, b"no reply")
    if word == b"write":
        with open(rest.decode(), "wb") as file:
            file.write(b"x")
    if word == b"long":
        return bytes(int(rest))
    if word == b"compute":
        until = time.process_time() + CPU + 5
        while time.process_time() < until:
            pass
    return request


def main(lifeline: int) -> None:
    """Serve, with the lower limit."""
    sandboxed.SANDBOX_CPU = CPU
    serve_requests(work, lifeline)
