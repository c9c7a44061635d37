"""`agent top`: shows the load of a server in a terminal, from its `/metrics`.

Strategy: one GET a round, on a connection of its own and bounded in time, and two samples make the rates. A server that
cannot be reached is reported in one line and asked again. The terminal gets its former screen back at the end, also
after Ctrl-C.
"""

import math
import signal
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated

import h11
import trio
from cyclopts import Parameter
from prometheus_client.parser import text_string_to_metric_families

from ..client.client import CONNECT_TIMEOUT, DEFAULT_URL, open_stream
from ..client.source_view import CannotOpen, send_get
from ..errors import CannotConnect, UsageError
from .output import FAILED, OK, complain, on_a_terminal, steer, write
from .talk import Secret, Url

_TROUBLE = {
    401: "the server wants its token: --token or AGENT_TOKEN",
    404: "it has no /metrics: is this an agent server?",
}
_FULL_SCREEN, _FORMER_SCREEN = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
_TOP_LEFT, _CLEAR_BELOW = "\x1b[H", "\x1b[J"

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class MetricsSample:
    """The figures of a server at a time, by name and labels. `at`: seconds of a clock."""

    at: float = 0.0
    values: Mapping[str, Mapping[Labels, float]] = field(default_factory=dict)

    def sum(self, name: str) -> float:
        """Return the sum of a figure over its labels."""
        return sum(self.values.get(name, {}).values())


async def top(
    url: Url = DEFAULT_URL,
    *,
    token: Secret = None,
    every: Annotated[float, Parameter(help="Seconds between two looks.")] = 2.0,
    once: Annotated[bool, Parameter(negative=(), help="Look twice, print the result and end.")] = False,
) -> int:
    """Show sessions, turns, cancels, refusals, the model and memory of a server, until Ctrl-C.

    Example: agent top http://127.0.0.1:8787 --every 5
    """
    if not 0.1 <= every <= 3600:
        raise UsageError("every must be 0.1 to 3600")
    full = on_a_terminal() and not once
    with trio.open_signal_receiver(signal.SIGINT) as interrupts, _screen(full):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_end_at_interrupt, interrupts, nursery.cancel_scope)
            status = await _watch(url, token, every, once, full)
            nursery.cancel_scope.cancel()
            return status
    return OK


async def _end_at_interrupt(interrupts: AsyncIterator[int], scope: trio.CancelScope) -> None:
    async for _ in interrupts:
        scope.cancel()


@contextmanager
def _screen(full: bool) -> Iterator[None]:
    """Use the whole terminal for the time of a block, where `full`."""
    if not full:
        yield
        return
    steer(_FULL_SCREEN)
    try:
        yield
    finally:
        steer(_FORMER_SCREEN)


async def _watch(url: str, token: str | None, every: float, once: bool, full: bool) -> int:
    """Show the load again and again; return the exit status of a single look."""
    before: MetricsSample | None = None
    while True:
        lines = []
        try:
            sample = await fetch_sample(url, token)
        except (CannotConnect, CannotOpen) as error:
            if once:
                complain(str(error))
                return FAILED
            before = None
            lines = [f"{error}; looking again in {every:g} s"]
        else:
            if before is not None:
                lines = describe_load(before, sample)
            before = sample
        if lines:
            shown = "\n".join([f"{url}  {time.strftime('%H:%M:%S')}", "", *lines, ""])
            if full:
                steer(_TOP_LEFT)
                write(shown)
                steer(_CLEAR_BELOW)
            else:
                write(f"{shown}\n")
            if once:
                return OK
        await trio.sleep(every)


async def fetch_sample(url: str, token: str | None) -> MetricsSample:
    """Return the figures of the server at `url`. Raises `CannotConnect` and `CannotOpen`."""
    try:
        with trio.fail_after(CONNECT_TIMEOUT):
            stream, host, _ = await open_stream(url)
            async with stream:
                status, body = await send_get(stream, host, "/metrics", token)
    except trio.TooSlowError:
        raise CannotOpen(f"the server did not answer within {CONNECT_TIMEOUT:g} s") from None
    except (OSError, trio.BrokenResourceError, h11.RemoteProtocolError):
        raise CannotOpen("the server cannot be reached") from None
    if status != 200:
        raise CannotOpen(_TROUBLE.get(status, f"the server answered with HTTP status {status}"))
    return read_sample(body, time.monotonic())


def read_sample(body: bytes, at: float) -> MetricsSample:
    """Return the figures in the Prometheus text `body`. Raises `CannotOpen` when it is none."""
    values: dict[str, dict[Labels, float]] = {}
    try:
        for family in text_string_to_metric_families(body.decode("utf-8", "replace")):
            for sample in family.samples:
                values.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    except ValueError:
        raise CannotOpen("the server sent no metrics") from None
    return MetricsSample(at, values)


def describe_load(before: MetricsSample, now: MetricsSample) -> list[str]:
    """Return the load between two samples, a line for each subject."""
    seconds = max(now.at - before.at, 1e-3)

    def rates(name: str) -> str:
        grown = _growth(before, now, name)
        parts = [f"{dict(labels).popitem()[1]} {more / seconds:.1f}" for labels, more in grown if more]
        total = sum(more for _, more in grown) / seconds
        return f"{total:.1f}/s" + (f"  ({', '.join(parts)})" if parts and grown[0][0] else "")

    def times(name: str, *shares: float) -> str:
        found = [(share, _quantile(before, now, name, share)) for share in shares]
        parts = [f"{_format_seconds(value)} for {share:.0%}" for share, value in found if value is not None]
        return f"  within {', '.join(parts)}" if parts else ""

    resting = now.sum("agent_model_open") > 0
    rows = [
        ("sessions", f"{now.sum('agent_sessions'):.0f}, {now.sum('agent_turns_running'):.0f} turns running"),
        ("turns", rates("agent_turns_total") + times("agent_first_delta_seconds", 0.5, 0.95)),
        ("cancels", rates("agent_cancels_total") + times("agent_cancel_seconds", 0.99)),
        ("refused", rates("agent_rejections_total")),
        ("model", rates("agent_model_attempts_total") + ("  it rests after failures" if resting else "")),
        ("actions", rates("agent_actions_total")),
        ("memory", f"{now.sum('process_resident_memory_bytes') / 2**20:.0f} MiB"),
        ("event loop", (times("agent_loop_lag_seconds", 0.99) or "  idle").strip()),
    ]
    return [f"{name:<11} {text}" for name, text in rows]


def _growth(before: MetricsSample, now: MetricsSample, name: str) -> list[tuple[Labels, float]]:
    """Return how much a counter has grown, by its labels; from zero where the server has started again."""
    earlier, later = before.values.get(name, {}), now.values.get(name, {})
    return [
        (labels, value - earlier.get(labels, 0.0) if value >= earlier.get(labels, 0.0) else value)
        for labels, value in sorted(later.items())
    ]


def _quantile(before: MetricsSample, now: MetricsSample, name: str, share: float) -> float | None:
    """Return the bound of the bucket that `share` of the new values of a histogram lie in; None without new values."""
    sums: dict[float, float] = {}
    for labels, more in _growth(before, now, f"{name}_bucket"):
        bound = float(dict(labels)["le"])
        sums[bound] = sums.get(bound, 0.0) + more
    total = sums.get(math.inf, 0.0)
    if not total:
        return None
    return next((bound for bound in sorted(sums) if sums[bound] >= share * total), None)


def _format_seconds(value: float) -> str:
    if math.isinf(value):
        return "more than any bound"
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"
