"""The server's metrics for Prometheus; implements `agent.ports.observe.Observer`.

Every metric is in one of the tables `COUNTERS`, `HISTOGRAMS` and `GAUGES`; any other name is a bug of the caller.
Labels are short fixed words and checked for that shape, so neither a client's nor a model's text can become one.
"""

import re
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import Metric

# name: (label or None, help)
COUNTERS: dict[str, tuple[str | None, str]] = {
    "connections": ("kind", "Connections by what they turned out to be"),
    "rejections": ("status", "Requests refused before they were served, by HTTP status or close code"),
    "limited": ("limit", "What a limit refused or ended, by the limit"),
    "aborts": (None, "Connections dropped without a close frame"),
    "messages": (None, "Accepted messages"),
    "turns": ("outcome", "Turns by how they ended; a refusal by its code"),
    "searches": ("hits", "Searches of the knowledge base by where their hits came from: searched or kept"),
    "cancels": ("what", "Cancels that a client sent, by what they stopped"),
    "errors": ("code", "Error frames, and failed questions of plain requests, by code"),
    "suggestions": ("outcome", "Suggested actions made, and closed unconfirmed"),
    "confirms": (None, "Confirmed actions"),
    "confirms_ended": ("outcome", "Confirmed actions by what their client was told"),
    "actions": ("outcome", "Actions by how they ended"),
    "payloads": (
        "outcome",
        "Payloads that a language model was to fill in; those that it did not are from words",
    ),
    "decisions": (
        "what",
        "Decisions of turns with tools: to act, suggest, propose to remember, ask or answer (noop), and those mended",
    ),
    "exchanges": ("outcome", "Exchanges to remember: kept, or lost because nothing could be kept"),
    "memory_unread": (None, "Answers that were made without some of what is remembered, and say so"),
    "items": (
        "what",
        "What users' words had to remember: accepted at once, asked about, listed, or finished",
    ),
    "notes": ("outcome", "Messages that the memory model was to read: read, failed, or given up"),
    "consults": ("what", "Requests of clients that were answered beside their turns, by their kind"),
    "model_attempts": ("outcome", "Requests sent to language models by how they ended; open were not sent"),
    "model_retries": (None, "Requests to language models that were sent again"),
    "model_fallbacks": (None, "Requests that went to the fallback model"),
    "worker_deaths": (None, "Workers that ended while the server did not, and were started again"),
    "log_lines_dropped": (None, "Log lines that were lost because nobody read them, or the disk was full"),
}
# name: (upper bounds in seconds, help)
HISTOGRAMS: dict[str, tuple[tuple[float, ...], str]] = {
    "first_delta_seconds": (
        (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
        "Message received to first delta",
    ),
    "cancel_seconds": (
        (0.001, 0.005, 0.02, 0.1, 0.5, 1, 5),
        "Cancel decoded to stream_end handed to the stream",
    ),
    "action_seconds": ((0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10), "Run time of an action"),
    "model_first_seconds": (
        (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
        "Request to a language model to the first piece of its answer",
    ),
    "loop_lag_seconds": (
        (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
        "Longest round of the event loop in each tenth of a second that it ran in",
    ),
}
# name: (exposed as, help)
GAUGES: dict[str, tuple[str, str]] = {
    "sessions": ("sessions", "Connected sessions"),
    "turns": ("turns_running", "Turns whose work has not ended"),
    "actions_running": ("actions_running", "Actions started and not yet ended"),
    "actions_unrecorded": ("actions_unrecorded", "Outcomes of actions that wait to be written to the ledger"),
    "sections_unembedded": ("sections_unembedded", "Sections that a model of sentences has not embedded yet"),
    "model_open": ("model_open", "1 while the model rests after failures in a row, and is not asked"),
    "model_fallback_open": ("model_fallback_open", "The same of the fallback model"),
    "memory_model_open": ("memory_model_open", "The same of the memory model"),
}
_LABEL = re.compile(r"[a-z0-9_]{0,40}")


class Metrics:
    """Counters, histograms and gauges of one server, in a registry of its own."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._counters = {
            name: Counter(f"agent_{name}", text, [label] if label else [], registry=self._registry)
            for name, (label, text) in COUNTERS.items()
        }
        self._histograms = {
            name: Histogram(f"agent_{name}", text, buckets=bounds, registry=self._registry)
            for name, (bounds, text) in HISTOGRAMS.items()
        }
        self._gauges = {
            name: Gauge(f"agent_{exposed}", text, registry=self._registry)
            for name, (exposed, text) in GAUGES.items()
        }
        self._known: dict[
            tuple[str, str], Counter
        ] = {}  # by metric and label: few, since labels are fixed words
        ProcessCollector(registry=self._registry)

    def count(self, metric: str, label: str = "") -> None:
        """Add one to a counter. Raises `KeyError` for an unknown counter and `ValueError` for an impossible `label`."""
        known = self._known.get((metric, label))
        if known is None:
            known = self._known[metric, label] = self._find_counter(metric, label)
        known.inc()

    def _find_counter(self, metric: str, label: str) -> Counter:
        counter = self._counters[metric]
        if COUNTERS[metric][0] is None:
            if label:
                raise ValueError(f"the counter {metric} has no label")
            return counter
        if _LABEL.fullmatch(label) is None:
            raise ValueError(f"not a label of the counter {metric}")
        return counter.labels(label)

    def measure(self, metric: str, seconds: float) -> None:
        """Record a duration in seconds. Raises `KeyError` for an unknown histogram."""
        self._histograms[metric].observe(seconds)

    def gauge(self, metric: str, change: int) -> None:
        """Change the level of a gauge. Raises `KeyError` for an unknown gauge."""
        self._gauges[metric].inc(change)

    def collect(self) -> Iterable[Metric]:
        """Return all metrics as `prometheus_client` has them."""
        return self._registry.collect()

    def text(self) -> bytes:
        """Return all metrics in the Prometheus text format."""
        return generate_latest(self._registry)
