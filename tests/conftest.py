"""What holds for every test: a deadline, and no server that a test starts writes to the user's own folders."""

import ctypes
import gc
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import count
from pathlib import Path

import pytest
import structlog

from agent.numeric import THREADS

from . import both, deadline, examples, share
from .deadline import (
    pytest_runtest_call,
    pytest_runtest_setup,
    pytest_runtest_teardown,
)

__all__ = [
    "pytest_runtest_call",
    "pytest_runtest_setup",
    "pytest_runtest_teardown",
]

# Tests import numpy when they like. It computes in the calling thread, as it does where the program imports it.
os.environ.update(dict.fromkeys(THREADS, "1"))

# What is compiled is kept, also by the processes that tests start: else each of these compiles the package anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A test that fails prints what was logged. Drawn with every local variable, each error that is meant costs 20 ms.
structlog.dev.ConsoleRenderer.get_active().exception_formatter = structlog.dev.plain_traceback

gc.disable()  # while modules are loaded: nothing of them is garbage, and to look for it takes a second in all

_folders = count()
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let a run choose a deadline, how many examples are drawn, and how many of the cases it runs."""
    deadline.add_option(parser)
    examples.add_option(parser)
    share.add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    """Set how many examples are drawn and which share is run, before a module of tests is imported."""
    examples.set_profile(config)
    share.set_share(config)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module of proofs for a run without them."""
    return examples.leave_out_proofs(collection_path, config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    """Decide which tests belong to this run: of those that pytest leaves after a look at the markers, a share."""
    examples.mark_properties(config, items)
    both.leave_out_lengths(config, items)
    yield
    share.leave_out_cases(config, items)


def pytest_collection_finish() -> None:
    """Collect garbage again, but none of what is there: to look at all of it once takes half a second."""
    if "sqlalchemy" in sys.modules:  # it is loaded by the tests that keep something
        import_module("tests.statements").share_statements()
        import_module("tests.schemas").share_schemas()
    if "cyclopts" in sys.modules:  # it is loaded by the tests of commands
        import_module("tests.command_lines").share_arguments()
    if "agent.embedding.open" in sys.modules:
        import_module("tests.encoders").share_encoder()
    if "agent.server.page_routes" in sys.modules:  # it is loaded by the tests that start a server
        import_module("tests.compressed").share_compressed()
    if "agent.app" in sys.modules:  # it is loaded by the tests that run a server in their own process
        import_module("tests.openers").share_openers()
    gc.freeze()
    gc.set_threshold(10_000)  # of Python's own 700 most come and go with one test
    gc.enable()
    _keep_freed_memory()


def _keep_freed_memory() -> None:
    """Have glibc use again what is freed.

    Else it returns the buffers of each index of tantivy to the system, some 10 MB, and the kernel fills as many pages
    with zeros for the next one, which takes more than half of its time. The numbers are those of mallopt(3).
    """
    with suppress(OSError, AttributeError, TypeError):
        for option in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            ctypes.CDLL(None).mallopt(option, 2**30)
        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


@pytest.fixture(scope="session", autouse=True)
def _home_of_its_own() -> Iterator[None]:
    """A home folder for this run, also for the processes that tests start."""
    with tempfile.TemporaryDirectory(prefix="agent-tests-") as folder:
        os.environ["HOME"] = os.environ["XDG_DATA_HOME"] = folder
        yield


@pytest.fixture
def tmp_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of its own, as pytest's: which looks through all earlier ones for a free name, and links to each."""
    return tmp_path_factory.mktemp(f"test{next(_folders)}", numbered=False)


@pytest.fixture(scope="module", autouse=True)
def _set_aside() -> None:
    """Leave what is there by now out of every later garbage collection: each census in a test makes one."""
    gc.collect()
    gc.freeze()
