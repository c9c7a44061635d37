"""Reads the lines of standard input in a daemon thread."""

import os
import threading
from collections.abc import AsyncGenerator

import trio


async def read_stdin_lines(descriptor: int = 0) -> AsyncGenerator[str, None]:
    """Yield the lines of a file descriptor, terminal, pipe or file, until its end.

    They are read in a daemon thread that no exit waits for, even when the user types nothing. The thread reads the
    descriptor itself, because a thread inside `sys.stdin` holds a lock that the interpreter needs to end.
    """
    send, receive = trio.open_memory_channel[bytes](0)
    token = trio.lowlevel.current_trio_token()

    def send_pieces() -> None:
        data = b"x"
        try:
            while data:
                data = _read_some(descriptor)
                trio.from_thread.run(send.send, data, trio_token=token)
        except (trio.RunFinishedError, trio.Cancelled, trio.BrokenResourceError, trio.ClosedResourceError):
            return  # the reader of the channel has gone

    threading.Thread(target=send_pieces, name="stdin", daemon=True).start()
    rest = b""
    async with receive:
        async for data in receive:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                yield line.decode(errors="replace")
            if not data:
                break
    if rest:
        yield rest.decode(errors="replace")


def _read_some(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # a terminal that has gone
        return b""
