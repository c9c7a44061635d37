"""A run under random faults keeps to its models; the long form is `python -m tests.chaos.histories --seconds 300`."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from .histories.run import Plan, draw_seed, run_plan
from .rig import built_shim

pytestmark = pytest.mark.proof

SECONDS = 24.0  # with faults; two starts and two ends take the rest of 40
SEED = 7  # where changes are judged; another seed each time elsewhere


async def test_the_model_explains_what_clients_see_amid_faults(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Two workers are stopped and killed on a slow and full disk; no call and no item breaks a promise.

    The server answers when the faults are over, ends in time, and leaves no process, claim, or forgotten number.
    """
    seed = SEED if "CI" in os.environ else draw_seed()
    report = await run_plan(Plan(SECONDS, seed, shim=built_shim(tmp_path)))
    record_property("run", str(report))
    assert not report.violations, str(report)
    assert report.verdict.undecided == 0
    assert min(report.verdict.calls, report.verdict.items) > 5
    assert len({each.operation for each in report.records.faults}) >= 4
