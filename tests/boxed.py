"""What runs in the processes of `tests.test_sandbox`: it does to itself what a request says."""

import os
import time

from agent.sandboxed import SANDBOX_CPU, serve_requests

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
        until = time.process_time() + SANDBOX_CPU + 5
        while time.process_time() < until:
            pass
    return request


def main(lifeline: int) -> None:
    """Serve."""
    serve_requests(work, lifeline)
