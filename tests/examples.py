"""How many examples the properties draw: a few in the plain run, all of them in the proofs.

    pytest                  at most FEW of each property
    pytest -m proof         each property again, with all its examples, beside the proofs
    pytest --examples all   all of them, whichever tests are run: a mutant is judged by all of them

A property that wants another number than the profile's says `@settings(max_examples=examples(300))`. A test with many
cases that cost much leaves most of them to the proofs: `@pytest.mark.parametrize("name", sample(NAMES, 6))`.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import is_hypothesis_test, settings

FEW, USUAL = 3, 50
_drawn = {"at most": FEW}
_ALL_PROOFS = re.compile(r"^pytestmark = (\[\s*)?pytest\.mark\.proof\b", re.MULTILINE)


def examples(number: int) -> int:
    """Return how many examples a property draws in this run that draws `number` in the proofs."""
    return min(number, _drawn["at most"])


def sample(cases: Iterable[object], every: int) -> list[object]:
    """Return the cases of a test: the first and each `every`th after it for the plain run, the others as proofs."""
    return [case if number % every == 0 else _as_proof(case) for number, case in enumerate(cases)]


def _as_proof(case: Any) -> object:
    if isinstance(case, type(pytest.param())):
        return pytest.param(*case.values, marks=(*case.marks, pytest.mark.proof), id=case.id)
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.proof)


def add_option(parser: pytest.Parser) -> None:
    """Let a run choose how many examples are drawn."""
    parser.addoption(
        "--examples", choices=("few", "all"), help=f"draw at most {FEW} examples of a property, or all"
    )


def set_profile(config: pytest.Config) -> None:
    """Load the profile of the run, before any module with a property is imported."""
    chosen = config.option.examples or ("all" if _is_of_proofs(config) else "few")
    _drawn["at most"] = FEW if chosen == "few" else 1_000_000
    # Other examples each time, but where changes are judged; no deadline, since shared machines stall.
    settings.register_profile(
        "suite", max_examples=examples(USUAL), derandomize="CI" in os.environ, deadline=None
    )
    settings.load_profile("suite")


def mark_properties(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Make every property a proof where proofs are run: there it draws all its examples."""
    if _is_of_proofs(config):
        for item in items:
            if is_hypothesis_test(getattr(item, "obj", None)):
                item.add_marker(pytest.mark.proof)


def leave_out_proofs(path: Path, config: pytest.Config) -> bool | None:
    """Leave out a module of proofs alone where none is run: what it imports costs the plain run a tenth of its start.

    A module that is named on the command line is collected as ever.
    """
    if path.suffix == ".py" and "not proof" in config.option.markexpr and not _is_of_proofs(config):
        return _ALL_PROOFS.search(path.read_text(encoding="utf-8")) is not None or None
    return None


def _is_of_proofs(config: pytest.Config) -> bool:
    return "proof" in config.option.markexpr.replace("not proof", "").split()
