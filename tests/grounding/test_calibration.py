"""Confidence, held to the labelled answers of the shared data."""

import pytest

from tests.bench.grounding import labelled, sureness

ROWS = labelled()


@pytest.mark.skipif(not ROWS, reason="ragtruth_qa_dev.jsonl of the shared data is absent")
def test_high_is_right() -> None:
    """Of the answers that pass and are said to be sure, at least 95 % are right, and more than half are sure."""
    found = sureness(ROWS)
    right, of = found["high"]
    assert right / of >= 0.95
    assert of * 2 > sum(each for _, each in found.values())
