"""What was told, what took effect and what is on disk: each way in which they can disagree is found."""

import io
from pathlib import Path

import pytest

from agent.host import WallClock
from agent.soak.reckoning import Notes, disagreements, read, rows_since, totals
from agent.storage.sqlite import ledger_in
from agent.storage.trust import FILE
from agent.testing.network import inline


def found(lines: list[str], rows: dict[str, str] | None) -> list[str]:
    """Return the promises that are broken."""
    return sorted(promise for promise, _ in disagreements(read(lines), rows))


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        ([], {}),
        (["confirmed a", "effect a", "done a"], {"a": "done"}),
        (["confirmed a", "confirmed a", "effect a", "done a"], {"a": "done"}),
        (["confirmed a", "failed a"], {"a": "failed"}),
        (["confirmed a", "failed a"], {}),
        (["confirmed a", "unknown a"], {"a": "unknown"}),
        (["confirmed a", "effect a", "unknown a"], {"a": "unknown"}),
        (["confirmed a", "cancelled a"], {"a": "cancelled"}),
        (["confirmed a", "cancelled a"], {}),
        (["confirmed a", "closed a"], {}),
        (["closed a"], {}),
        (["confirmed a"], {}),
        (["confirmed a", "effect a"], {"a": "done"}),
        (["confirmed a"], {"a": "cancelled"}),
    ],
)
def test_what_agrees_is_not_noted(lines: list[str], rows: dict[str, str]) -> None:
    """Whoever was told, with a ledger and without one."""
    assert found(lines, rows) == []
    assert found(lines, None) == []


@pytest.mark.parametrize(
    ("promise", "lines", "rows"),
    [
        ("I4", ["confirmed a", "effect a", "effect a", "done a"], {"a": "done"}),
        ("I4", ["effect a"], {}),
        ("I4", ["closed a"], {"a": "done"}),
        ("I4", [], {"a": "cancelled"}),
        ("ledger", ["confirmed a", "effect a", "done a"], {"a": "claimed"}),
        ("ledger", ["confirmed a", "effect a", "done a"], {}),
        ("ledger", ["confirmed a", "effect a", "done a"], {"a": "unknown"}),
        ("ledger", ["confirmed a", "done a"], {"a": "done"}),
        ("ledger", ["confirmed a", "failed a"], {"a": "claimed"}),
        ("ledger", ["confirmed a", "failed a"], {"a": "done"}),
        ("ledger", ["confirmed a", "effect a", "failed a"], {"a": "failed"}),
        ("ledger", ["confirmed a", "effect a", "cancelled a"], {"a": "cancelled"}),
        ("ledger", ["confirmed a", "unknown a"], {}),
        ("ledger", ["confirmed a"], {"a": "claimed"}),
        ("ledger", ["confirmed a"], {"a": "done"}),
        ("ledger", ["confirmed a", "effect a"], {}),
        ("ledger", ["confirmed a", "effect a", "closed a"], {}),
    ],
)
def test_what_disagrees_is_noted(promise: str, lines: list[str], rows: dict[str, str]) -> None:
    """Under the promise that it breaks."""
    assert promise in found(lines, rows)


def test_notes_are_lines() -> None:
    """They are read as they were written; of two ends the first is what the client was told."""
    file = io.StringIO()
    notes = Notes(file)
    notes.note("confirmed", "a")
    notes.effect("a")
    notes.note("closed", "b")
    notes.note("done", "b")
    actions = read(file.getvalue().splitlines())
    assert (actions["a"].confirmed, actions["a"].effects, actions["a"].told) == (True, 1, None)
    assert actions["b"].told == "closed"
    assert totals(actions, {"a": "done"}) == {
        "confirmed": 1,
        "told": {"nobody": 1},
        "effects": 1,
        "rows": {"done": 1},
    }
    assert "rows" not in totals(actions, None)


async def test_the_ledger_is_read_as_it_stands(tmp_path: Path) -> None:
    """What is claimed is not settled by looking, and what is older than the soak is not of it."""
    async with ledger_in(tmp_path, inline, WallClock()) as ledger:
        for at, id in enumerate("abc"):
            await ledger.claim(id, "send_sms", at)
        await ledger.record("b", "done", {"success": True}, 10**15)
    assert rows_since(tmp_path / FILE, 1) == {"b": "done", "c": "claimed"}
    assert rows_since(tmp_path / FILE, 0)["a"] == "claimed"
