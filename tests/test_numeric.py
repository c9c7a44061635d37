"""How many threads numpy gets is said while it is loaded, and nowhere else."""

import os
import sys
from contextlib import suppress

import pytest

from agent.numeric import THREADS, use_one_thread


@pytest.fixture(autouse=True)
def _not_loaded_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numpy", raising=False)
    for name in THREADS:
        monkeypatch.delenv(name, raising=False)


def said() -> dict[str, str]:
    return {name: os.environ[name] for name in THREADS if name in os.environ}


def test_one_thread_is_said_inside_of_the_block_only() -> None:
    """Programs that are started later are not told, even when the import failed."""
    with suppress(ImportError), use_one_thread():
        assert said() == dict.fromkeys(THREADS, "1")
        raise ImportError
    assert said() == {}


def test_what_the_operator_set_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the names is enough to leave all of them alone."""
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with use_one_thread():
        assert said() == {"OMP_NUM_THREADS": "2"}
    assert said() == {"OMP_NUM_THREADS": "2"}


def test_where_numpy_is_loaded_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would not be heard."""
    monkeypatch.setitem(sys.modules, "numpy", sys)
    with use_one_thread():
        assert said() == {}
