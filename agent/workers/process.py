"""A worker's process, from its first line to its exit status; started by `child`."""

import gc
import signal
import socket
import sys
from functools import partial

import structlog
import trio

from .. import log
from ..compose.adapters import Adapters
from ..config import LOG_FLUSH
from ..errors import UsageError
from ..heap import set_aside, set_aside_so_far, share_heaps
from ..host import switch_soon
from ..server.lag import watch_loop
from .channel import Channel
from .handed import Handed
from .messages import Begin, Ended, ToWorker
from .settings import unpacked
from .worker import Worker, shared_rates

_log = structlog.get_logger("agent.workers")
_USAGE = 2  # the exit status of an operator's mistake


def main() -> None:
    """Run the worker whose descriptors this process was given, and exit with its status.

    SIGTERM drains it, however often it comes: when a whole group of processes is told to end, the supervisor's word
    comes too. It is only the supervisor who ends a worker at once.
    """
    share_heaps()
    switch_soon()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    messages, handed, rates = map(int, sys.argv[1:4])
    try:
        status = trio.run(_run, messages, handed, rates)
    finally:
        log.close(LOG_FLUSH)
    gc.freeze()
    sys.exit(status)


async def _run(messages: int, handed: int, rates: int) -> int:
    stream = trio.SocketStream(trio.socket.from_stdlib_socket(socket.socket(fileno=messages)))
    source = socket.socket(fileno=handed)
    source.setblocking(False)
    channel: Channel[ToWorker] = Channel(stream, ToWorker)
    begin = await channel.receive()
    if not isinstance(begin, Begin):
        return 0  # the supervisor has ended meanwhile
    settings = unpacked(begin.settings)
    lost = partial(channel.send, Ended(1))
    worker = Worker(
        channel,
        begin,
        settings,
        partial(Handed, source, lost),
        shared_rates(rates, settings),
        Adapters(watch_loop=watch_loop),
    )
    dropped = partial(worker.server.metrics.count, "log_lines_dropped")
    log.configure(settings.log.log_format, settings.log.log_level, dropped=dropped, worker=begin.number)
    status = 0
    try:
        with log.python_too(), trio.open_signal_receiver(signal.SIGTERM) as signals:
            async with trio.open_nursery() as nursery:

                async def heed() -> None:
                    async for _ in signals:
                        worker.drain()

                nursery.start_soon(channel.write)
                nursery.start_soon(heed)
                await worker.run(set_aside, set_aside_so_far)
                nursery.cancel_scope.cancel()
    except* UsageError:
        status = _USAGE
    _log.info("worker ended", status=status)
    return status
