"""A server's process logs without the libraries that paint tracebacks, and what it hides can be had all the same."""

import subprocess
import sys

import pytest

from agent.plain_structlog import hide_module

ASKED = "import sys, {}; sys.exit(' '.join({{'rich', 'pygments'}} & set(sys.modules)) or 0)"


@pytest.mark.proof
@pytest.mark.parametrize("program", ["agent.commands.serve", "agent.workers.process"])
def test_a_server_starts_without_the_painters_of_tracebacks(program: str) -> None:
    """Neither the process that an operator starts nor a worker imports them, in whichever order its imports stand."""
    done = subprocess.run(
        [sys.executable, "-c", ASKED.format(program)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_hidden_module_can_be_imported_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is missing within the block only, also when the block fails."""
    monkeypatch.delitem(sys.modules, "this", raising=False)
    with pytest.raises(ModuleNotFoundError), hide_module("this"):
        __import__("this")
    assert "this" not in sys.modules


def test_a_module_that_is_loaded_is_not_hidden() -> None:
    """A program that uses it already goes on with it."""
    with hide_module("json"):
        assert sys.modules["json"] is not None
