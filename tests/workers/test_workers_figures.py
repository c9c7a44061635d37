"""The figures of several workers are those of one server."""

from prometheus_client.parser import text_string_to_metric_families

from agent.server.metrics import Metrics
from agent.workers.figures import FigureSums, collect_families


def read(text: bytes) -> dict[str, float]:
    """Return each sample by its name and labels, as a scraper reads them."""
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_counters_histograms_and_gauges_add_up() -> None:
    """A label that only one has counts where it is; moments are the first of all; the form is that of one server."""
    one, two = Metrics(), Metrics()
    for _ in range(3):
        one.count("messages")
    two.count("messages")
    one.count("turns", "answered")
    two.count("turns", "answered")
    two.count("turns", "disconnected")
    one.gauge("sessions", 2)
    two.gauge("sessions", 3)
    one.measure("first_delta_seconds", 0.02)
    two.measure("first_delta_seconds", 0.2)
    sums = FigureSums()
    sums.set_report(1, collect_families(one))
    sums.set_report(2, collect_families(two))
    found, alone = read(sums.text()), read(one.text())
    assert set(found) >= set(alone)
    assert found["agent_messages_total[]"] == 4
    assert found["agent_turns_total[('outcome', 'answered')]"] == 2
    assert found["agent_turns_total[('outcome', 'disconnected')]"] == 1
    assert found["agent_sessions[]"] == 5
    buckets = [found[f"agent_first_delta_seconds_bucket[('le', '{le}')]"] for le in ("0.05", "0.25", "+Inf")]
    assert buckets == [1, 2, 2]
    assert found["agent_first_delta_seconds_count[]"] == 2
    assert found["agent_first_delta_seconds_sum[]"] == 0.22
    assert found["agent_messages_created[]"] == alone["agent_messages_created[]"], "of which one is older"
    assert found["process_start_time_seconds[]"] == alone["process_start_time_seconds[]"]
    assert found["process_resident_memory_bytes[]"] > 1.5 * alone["process_resident_memory_bytes[]"]
    kinds = [line for line in sums.text().decode().splitlines() if line.startswith("#")]
    assert kinds == [line for line in one.text().decode().splitlines() if line.startswith("#")]


def test_what_a_dead_worker_counted_stays_and_its_levels_go() -> None:
    """Else a sum would fall, which a scraper takes for a new start; the next of its number begins from nothing."""
    one, two = Metrics(), Metrics()
    for metrics in (one, two):
        metrics.count("messages")
        metrics.gauge("sessions", 1)
        metrics.measure("action_seconds", 1.0)
    sums = FigureSums()
    sums.set_report(1, collect_families(one))
    sums.set_report(2, collect_families(two))
    sums.end_worker(1)
    sums.end_worker(1)
    sums.set_report(1, collect_families(Metrics()))
    found = read(sums.text())
    assert found["agent_messages_total[]"] == 2
    assert found["agent_action_seconds_count[]"] == 2
    assert found["agent_sessions[]"] == 1
