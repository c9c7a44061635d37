"""The figures: what is counted, and what cannot become a label."""

import ast
from collections.abc import Iterable

import pytest

from agent.ports.observe import Observer
from agent.server.metrics import COUNTERS, GAUGES, HISTOGRAMS, Metrics

from ..test_house import called, nodes


def lines(metrics: Metrics) -> list[str]:
    """Return the samples as Prometheus reads them."""
    return metrics.text().decode().splitlines()


def test_what_is_reported_is_published() -> None:
    """Counters, durations and levels show in the text."""
    metrics = Metrics()
    observer: Observer = metrics
    observer.count("messages")
    observer.count("turns", "number_mismatch")
    observer.count("turns", "number_mismatch")
    observer.measure("cancel_seconds", 0.003)
    observer.gauge("sessions", 3)
    observer.gauge("sessions", -1)
    text = lines(metrics)
    assert "agent_messages_total 1.0" in text
    assert 'agent_turns_total{outcome="number_mismatch"} 2.0' in text
    assert 'agent_cancel_seconds_bucket{le="0.001"} 0.0' in text
    assert 'agent_cancel_seconds_bucket{le="0.005"} 1.0' in text
    assert "agent_sessions 2.0" in text


def test_two_servers_do_not_share_figures() -> None:
    """Each has its own registry."""
    first, second = Metrics(), Metrics()
    first.count("messages")
    assert "agent_messages_total 0.0" in lines(second)


def test_an_unknown_metric_is_a_bug() -> None:
    """It is found by the first call, not by an empty graph."""
    metrics = Metrics()
    for call in (metrics.count, lambda name: metrics.measure(name, 1.0), lambda name: metrics.gauge(name, 1)):
        with pytest.raises(KeyError):
            call("nonsense")


@pytest.mark.parametrize(
    ("metric", "label"), [("turns", "It costs 299"), ("turns", "x" * 41), ("messages", "a")]
)
def test_text_cannot_become_a_label(metric: str, label: str) -> None:
    """Labels are short fixed words."""
    with pytest.raises(ValueError, match="label"):
        Metrics().count(metric, label)


def test_every_metric_that_the_package_names_is_in_the_tables() -> None:
    """Names are literals in the calls, so they can all be checked."""
    tables: dict[str, Iterable[str]] = {
        "count": COUNTERS,
        "measure": HISTOGRAMS,
        "gauge": GAUGES,
        "_note": COUNTERS,
        "Note": COUNTERS,
    }
    named: list[tuple[str, str]] = []
    for _, node in nodes(ast.Call):
        assert isinstance(node, ast.Call)
        if isinstance(node.func, ast.Attribute) and node.args:
            observed = called(node.func.value).endswith("observer") or node.func.attr == "_note"
            if observed and isinstance(node.args[0], ast.Constant):
                named.append((node.func.attr, str(node.args[0].value)))
    assert named
    assert [(method, name) for method, name in named if name not in set(tables[method])] == []
