"""`agent soak`: a crowd of random users that check the invariants from their side, and censuses of the server.

With `--self` the server runs in this process, on a real loopback port, and the crowd in another, so that the figures
are the server's: cancels are timed from the frame decoded to the `stream_end` handed to the stream, against the PINGs
of an idle connection through the same loop; steps of the loop, memory, tasks and live objects are watched.

once all of everything -> census -> the crowd comes -> ... -> each settles and leaves -> census
-> the crowd comes again -> the server drains beneath it -> clients' reports, effects and the ledger agree

All the while the knowledge base is rewritten, the webhook is slow or fails, and so does the disk of the data folder.
Some users come over HTTP, with tools. Where the server has a memory, some of both kinds tell it items, decide about
them and have them forgotten, and each keeps an account of its own of them. All draw from a seed, hold no more than
that account and that of their connection or thread, and are bounded in number and time. Only this machine's own
servers can be soaked.
"""

import io
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TextIO, cast

import trio
from cyclopts import Parameter

from .. import log
from ..client.client import DEFAULT_URL
from ..config import check
from ..errors import AgentError, UsageError, WireClosed, find_cause
from ..heap import restore_collection, share_heaps
from ..protocol.url import parse_local_url
from .crowd import run_users
from .phases import probe_pings, show_figures, soak_inside
from .scene import Scene, Target
from .verdict import SoakRun, summarize_run
from .voices import VOICES_MAX

CLIENTS_MAX, CALLERS_MAX, SECONDS_MAX = 5000, 500, 24 * 3600.0
SHARE = 10  # users with a socket for each user over HTTP


@dataclass(frozen=True, slots=True)
class CrowdSize:
    """The size of the crowd. Raises `agent.errors.UsageError` for more users than one machine has room for."""

    clients: Annotated[int, Parameter(help="How many users there are at a time, each with a socket.")] = 200
    http: Annotated[
        int | None,
        Parameter(help="How many more there are over HTTP, with tools; as it is, one to ten with a socket."),
    ] = None
    voices: Annotated[
        int, Parameter(help="How many of those with a socket talk and listen, to beeps; with --self.")
    ] = 0
    seconds: Annotated[float, Parameter(help="How long they stay.")] = 60.0
    seed: Annotated[int, Parameter(help="Of everything that the users draw.")] = 1

    def __post_init__(self) -> None:
        """Check the bounds that the types cannot express."""
        check(
            (
                not 1 <= self.clients <= CLIENTS_MAX or not 1 <= self.seconds <= SECONDS_MAX,
                f"clients must be 1 to {CLIENTS_MAX} and seconds 1 to {SECONDS_MAX:g}",
            ),
            (not 0 <= self.callers <= CALLERS_MAX, f"http must be 0 to {CALLERS_MAX}"),
            (
                not 0 <= self.voices <= min(VOICES_MAX, self.clients),
                f"voices must be 0 to {VOICES_MAX}, and no more than clients",
            ),
        )

    @property
    def callers(self) -> int:
        """How many users come over HTTP."""
        return -(-self.clients // SHARE) if self.http is None else self.http


DEFAULT_CROWD = CrowdSize()


async def soak(
    *,
    url: Annotated[str, Parameter(env_var="AGENT_URL", help="The server's page or socket.")] = DEFAULT_URL,
    token: Annotated[str | None, Parameter(env_var="AGENT_TOKEN", help="The server's token.")] = None,
    users: Annotated[CrowdSize, Parameter(name="*")] = DEFAULT_CROWD,
    own: Annotated[
        bool, Parameter(name="--self", negative=(), help="Soak a server of its own, from the inside.")
    ] = False,
    data: Annotated[
        Path | None,
        Parameter(help="Folder that the server of its own keeps things in; else one that goes with it."),
    ] = None,
    slow_disk: Annotated[
        float,
        Parameter(help="Milliseconds that each of its writes takes longer; one in a hundred, 25 times that."),
    ] = 20.0,
) -> int:
    """Let random users ask, cancel, confirm, drop and come back, and check every promise; the result is JSON.

    Exit status: 0 every promise was kept, 1 one was broken, 2 a wrong setting.

    Example: agent soak --self --clients 200 --seconds 60
    """
    if not 0 <= slow_disk <= 1000:
        raise UsageError("slow-disk must be 0 to 1000 milliseconds")
    if data is not None and not own:
        raise UsageError("--data is for a server of the soak's own: add --self")
    if users.voices and not own:
        raise UsageError("--voices is for a server of the soak's own, which knows their sounds: add --self")
    errors = ErrorLines(sys.stderr)
    log.configure("console", "error", cast(TextIO, errors))
    share_heaps()
    run = SoakRun(clients=users.clients, seconds=users.seconds, callers=users.callers, voices=users.voices)
    try:
        if own:
            await soak_inside(run, users.seed, data, slow_disk / 1000)
            run.faults = errors.count
        else:
            await soak_outside(run, users.seed, _target(url, token, users.clients + users.callers))
    except (AgentError, BaseExceptionGroup) as error:
        cause = find_cause(error)
        if isinstance(cause, UsageError) or not isinstance(cause, AgentError):
            raise cause from None
        nobody = f"there is no session to be had at {url}"
        sys.stderr.write(f"agent: {nobody if isinstance(cause, WireClosed) else cause}\n")
        return 1
    finally:
        restore_collection()  # a census sets aside the objects that it has counted
    report = summarize_run(run)
    sys.stdout.write(json.dumps(report, indent=2) + "\n")
    return 0 if report["passed"] else 1


async def soak_outside(run: SoakRun, seed: int, target: Target) -> None:
    """Soak a running server from the outside; the figures are in `run`. Raises `WireClosed` when no server answers."""
    scene, began = Scene(target=target, tally=run.tally), trio.current_time()
    async with probe_pings(target, run), trio.open_nursery() as around:
        around.start_soon(show_figures, lambda: run.tally)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_users, scene, seed, run.clients, run.callers)
            await trio.sleep(run.seconds)
            scene.stop.set()
        around.cancel_scope.cancel()
    run.lasted = trio.current_time() - began


def _target(url: str, token: str | None, clients: int) -> Target:
    host, port, _ = parse_local_url(url)
    return Target(host=host, port=port, token=token, clients=clients)


class ErrorLines(io.TextIOBase):
    """Passes log lines on and counts them."""

    def __init__(self, stream: TextIO) -> None:
        self.count = 0
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a line."""
        self.count += text.endswith("\n")
        self._stream.write(text)
        return len(text)
