"""What a load's figures say of hits that were kept."""

from collections.abc import Iterator

import pytest

from agent.server.metrics import Metrics
from tests.bench.load import searches as module
from tests.bench.load.client import Target
from tests.bench.load.searches import Searches, declared, told

HERE = Target(host="127.0.0.1", port=1)


def test_a_server_tells_of_its_searches() -> None:
    """As `/metrics` says it, also before the first one; what is no server of ours says nothing."""
    metrics = Metrics()
    assert told(metrics.text().decode()) == Searches(0, 0)
    for hits in ("kept", "searched", "kept"):
        metrics.count("searches", hits)
    assert told(metrics.text().decode()) == Searches(2, 1)
    assert told("") is None
    assert told("# TYPE other_total counter\nother_total 3\n") is None
    assert told('agent_searches_total{hits="kept"} many\n') == Searches(0, 0)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (Searches(5, 5), Searches(8, 6), {"kept_hits_percent": 75.0}),
        (Searches(5, 5), Searches(5, 9), {"kept_hits_percent": 0.0}),
        (Searches(0, 0), Searches(0, 0), {"kept_hits_percent": 0.0}),
        (None, Searches(1, 1), {}),
        (Searches(1, 1), None, {}),
    ],
)
def test_the_share_is_that_of_the_load(
    before: Searches | None,
    after: Searches | None,
    said: dict[str, float],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not of what was asked before it; a server that keeps nothing counts nothing, which is no hit."""
    looks: Iterator[Searches | None] = iter((before, after))
    monkeypatch.setattr(module, "searches", lambda target: next(looks))
    assert declared(HERE, lambda: {"turns": 4.0}) == {"turns": 4.0} | said
