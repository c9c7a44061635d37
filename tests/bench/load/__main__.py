"""Puts a load on a server of one's own, and says how it bore it: `python -m tests.bench.load [QUESTION...]`."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, CycloptsError, Parameter

from agent.client.client import DEFAULT_URL
from agent.commands.output import FAILED, OK, USAGE, complain, write
from agent.commands.talk import Secret
from agent.config import check, finite
from agent.errors import UsageError
from agent.protocol.url import parse_local_url

from .chart import Chart, draw
from .client import Load, Target, room_for
from .counters import Perf, why_no_perf
from .line import Failed
from .meter import Measured, Meter
from .process import listens_on
from .report import COLUMNS, table
from .searches import declared
from .workloads import Plan, beside_slow, idle, storm, talk

SESSIONS_MAX, TURNS_MAX = 20_000, 100_000
QUESTION = "What does the standard plan cost?"
STORM = 1.5  # seconds in which a turn of the storm is cancelled
SLOW = 10  # a slow reader for so many sessions
Workload = Literal["turns", "cancel", "idle", "slow"]


@dataclass(frozen=True, slots=True)
class Options:
    """What a load is made of.

    Raises `agent.errors.UsageError` for what cannot be.

    Args:
        workload: turns: ask and be answered. cancel: cancel each turn at a random moment of its first 1.5 seconds.
            idle: connect and ask nothing; a fresh server gives the right memory. slow: turns, beside a slow reader for
            every ten sessions and one that takes a byte a second, which the server should cut once the buffers between
            them are full; that takes an answer of 100 KiB or more.
        sessions: How many there are at a time; the server's --max-connections must allow them.
        turns: How many questions each session asks, one after the other.
        stagger: Seconds over which the sessions' first questions are spread.
        pace_ms: The server's --pace-ms, to tell by how much turns are late; 0 tells nothing.
        seconds: How long the answers are waited for at most.
        pid: The server's process, whose processor time is measured; by default whoever listens on the port.
    """

    workload: Workload = "turns"
    sessions: int = 50
    turns: int = 4
    stagger: float = 0.0
    pace_ms: float = 0.0
    seconds: float = 300.0
    pid: int | None = None

    def __post_init__(self) -> None:
        """Check what the types cannot say."""
        check(
            finite(self.stagger, self.pace_ms, self.seconds),
            (not 1 <= self.sessions <= SESSIONS_MAX, f"sessions must be 1 to {SESSIONS_MAX}"),
            (not 1 <= self.turns <= TURNS_MAX, f"turns must be 1 to {TURNS_MAX}"),
            (self.stagger < 0, "stagger must not be negative"),
            (self.pace_ms < 0, "pace-ms must not be negative"),
            (self.seconds <= 0, "seconds must be more than 0"),
        )


app = App(
    name="python -m tests.bench.load",
    default_parameter=Parameter(negative_iterable=()),
    help_format="plaintext",
    version_flags=(),
    print_error=False,
    exit_on_error=False,
    result_action="return_value",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (default: the process's own) and return its exit status."""
    try:
        status = app(sys.argv[1:] if arguments is None else list(arguments))
    except (CycloptsError, UsageError) as error:
        complain(str(error))
        return USAGE
    return status if isinstance(status, int) else OK


@app.default
def bench(
    *question: str,
    url: Annotated[str, Parameter(env_var="AGENT_URL")] = DEFAULT_URL,
    token: Secret = None,
    options: Annotated[Options, Parameter(name="*")] = Options(),  # frozen
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
    plot: Path | None = None,
) -> int:
    """Put a load on a server of this machine; print how it answered, and what that took of the machine.

    The load client is one thread; `client %` is what it takes of its core, and near 100 the figures are its own.
    Give it another core than the server's: taskset -c 1 python -m tests.bench.load. `waited %` is for how long the
    server could have run while others had its core: times are theirs then, not its own. `kept hits %` of the
    questions needed no search, since they had been asked before: start the server with --no-hit-cache to measure
    searches. Linux only.

    Exit status: 0 measured, 1 no server, or no answers, 2 a wrong setting.

    Example: python -m tests.bench.load --url ws://127.0.0.1:8787/ws --sessions 100 --turns 10 "What does it cost?"

    Parameters
    ----------
    question
        What each session asks; several, each in quotes, are taken in turn.
    url
        The server's page or socket; a server on this machine.
    as_json
        Print the figures as JSON.
    plot
        Draw them into this PNG file too; needs `pip install -e '.[bench]'`.
    """
    if not sys.platform.startswith("linux"):
        raise UsageError("the load client needs Linux: it reads /proc and waits with epoll")
    if any(not each.strip() for each in question):
        raise UsageError("a question must not be empty")
    target = _target(url, token)
    asked = question or (QUESTION,)
    plan = Plan(
        options.sessions,
        options.turns,
        asked,
        options.stagger,
        pace=options.pace_ms / 1000 or None,
        patience=options.seconds,
    )
    try:
        found = _measured(target, options.workload, plan, options.pid)
        if plot is not None:
            draw(_charts(options.workload, found), plot)
    except Failed as error:
        complain(str(error))
        return FAILED
    if as_json:
        write(json.dumps({name: round(value, 4) for name, value in found.items()}, indent=2) + "\n")
    else:
        write(table(options.workload, [(f"{options.sessions} sessions", found)]))
    return OK


def _measured(target: Target, workload: Workload, plan: Plan, pid: int | None) -> Measured:
    room_for(plan.sessions + plan.sessions // SLOW + 1)
    found = pid or listens_on(target.port)
    if found is None:
        complain("whose server that is cannot be seen: give --pid to measure its processor time and memory")
    with Load() as load:
        if workload == "idle":
            if found is None:
                raise Failed("idle measures the server's memory: give --pid")
            return idle(load, target, found, plan.sessions)
        counter = Perf(found) if found is not None and why_no_perf() is None else None
        meter = Meter(found, counter)
        runs: dict[str, Callable[[], Measured]] = {
            "turns": lambda: talk(load, target, meter, plan),
            "cancel": lambda: storm(load, target, meter, plan, STORM),
            "slow": lambda: beside_slow(
                load, target, meter, plan, max(1, plan.sessions // SLOW), plan.questions[0]
            ),
        }
        return declared(target, runs[workload])


def _target(url: str, token: str | None) -> Target:
    host, port, path = parse_local_url(url)
    if token is not None and not (token.isascii() and token.isprintable()):
        raise UsageError("the token must be printable ASCII")
    return Target(
        "127.0.0.1" if host == "localhost" else host, port, path if path not in ("", "/") else "/ws", token
    )


def _charts(workload: Workload, found: Measured) -> list[Chart]:
    """Return a chart for each figure that was measured, of one bar each."""
    return [
        Chart(workload, column.heading, [""], {workload: [found[column.name]]})
        for column in COLUMNS[workload]
        if column.name in found
    ]


if __name__ == "__main__":
    sys.exit(main())
