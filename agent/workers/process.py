"""The main program of a worker's process, started by `child.py`."""

import gc
import signal
import socket
import sys
from functools import partial

import trio

from .. import log
from ..compose.adapters import Adapters
from ..config import LOG_FLUSH
from ..errors import UsageError
from ..heap import freeze_heap, freeze_so_far, share_heaps
from ..host import shorten_switch_interval
from ..plain_structlog import structlog
from ..server.lag import watch_loop
from .channel import Channel
from .connection_passing import PassedConnections
from .messages import BeginWork, ConnectionsEnded, ToWorker
from .settings import unpack_settings
from .worker import Worker, shared_rates

_log = structlog.get_logger("agent.workers")
_USAGE = 2  # the exit status of an operator's mistake


def main() -> None:
    """Run the worker on the descriptors in `sys.argv`, and exit with its status.

    SIGTERM drains the worker, however often it comes: when a whole process group is told to end, the supervisor's
    message comes too. Only the supervisor ends a worker at once. Before and after its work a worker ignores SIGTERM, so
    that one that has drained is not taken for killed while the interpreter goes down.
    """
    share_heaps()
    shorten_switch_interval()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
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
    if not isinstance(begin, BeginWork):
        return 0  # the supervisor has ended meanwhile
    settings = unpack_settings(begin.settings)
    lost = partial(channel.send, ConnectionsEnded(1))
    worker = Worker(
        channel,
        begin,
        settings,
        partial(PassedConnections, source, lost),
        shared_rates(rates, settings),
        Adapters(watch_loop=watch_loop, probes_model=settings.model.is_probed),
    )
    dropped = partial(worker.server.metrics.count, "log_lines_dropped")
    log.configure(settings.log.log_format, settings.log.log_level, on_dropped=dropped, worker=begin.number)
    status = 0
    try:
        with log.log_python_errors(), trio.open_signal_receiver(signal.SIGTERM) as signals:
            async with trio.open_nursery() as nursery:

                async def heed() -> None:
                    async for _ in signals:
                        worker.drain()

                nursery.start_soon(channel.write)
                nursery.start_soon(heed)
                await worker.run(freeze_heap, freeze_so_far)
                nursery.cancel_scope.cancel()
    except* UsageError:
        status = _USAGE
    _log.info("worker ended", status=status)
    return status
