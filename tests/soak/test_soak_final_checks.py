"""What was told, what took effect and what is on disk: each way in which they can disagree is found."""

import io
from pathlib import Path
from typing import Any

import pytest

from agent.host import WallClock
from agent.soak.final_checks import (
    find_disagreements,
    find_miscounts,
    find_open,
    parse_figures,
    summarize_calls,
)
from agent.soak.notes import REMEMBER, NoteFile, digest_of, read_notes
from agent.soak.server_file import ActionRow, CallRow, ServerFile, read_ledger_file
from agent.storage.database_ledger import open_database_ledger
from agent.storage.sqlite.trust import FILE
from agent.testing.network import inline

NOW = 1000
SAID = ["confirmed a x", "effect a x book_courier", "done a"]
FREE = ["effect a x find_parcel", "done a"]  # of a tool that needs nobody's yes


def found(lines: list[str], rows: dict[str, str] | None) -> list[str]:
    """Return the promises that are broken."""
    kept = None if rows is None else ServerFile({id: ActionRow(status) for id, status in rows.items()})
    return sorted(promise for promise, _ in find_disagreements(read_notes(lines), kept))


def of_call(lines: list[str], row: str | None = "done", **call: Any) -> list[tuple[str, str]]:
    """Return what is broken of one call of a thread, and of its row."""
    given = {"status": "done", "tool": "book_courier", "runs_at": "webhook", "digest": "x", **call}
    caller = given["runs_at"] == "caller"
    lease = given.get("lease_until")
    rows = {} if row is None else {"a": ActionRow(row, given["tool"], "caller" if caller else "it", lease)}
    return list(find_disagreements(read_notes(lines), ServerFile(rows, {"a": CallRow(**given)}, (), NOW)))


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
        (["confirmed a x", "confirmed a y", "withdrawn a x", "effect a y", "done a"], {"a": "done"}),
        (["confirmed a x", "confirmed a x", "withdrawn a x", "effect a x", "done a"], {"a": "done"}),
    ],
)
def test_what_agrees_is_not_noted(lines: list[str], rows: dict[str, str]) -> None:
    """Whoever was told, with a ledger and without one."""
    assert found(lines, rows) == []
    assert found(lines, None) == []


@pytest.mark.parametrize(
    ("promise", "lines", "rows"),
    [
        ("S4", ["confirmed a", "effect a", "effect a", "done a"], {"a": "done"}),
        ("T1", ["effect a"], {}),
        ("T1", ["closed a"], {"a": "done"}),
        ("T1", [], {"a": "cancelled"}),
        ("T1", ["confirmed a x", "effect a y", "done a"], {"a": "done"}),
        ("T1", ["confirmed a x", "withdrawn a x", "effect a x", "done a"], {"a": "done"}),
        ("T1", ["confirmed a x", "confirmed a y", "withdrawn a y", "effect a y", "done a"], {"a": "done"}),
        ("S4", ["effect a x find_parcel", "effect a x find_parcel", "done a"], {"a": "done"}),
        ("T1", ["effect a x book_courier", "done a"], {"a": "done"}),
        ("S9", ["confirmed a", "effect a", "done a"], {"a": "claimed"}),
        ("S9", ["confirmed a", "effect a", "done a"], {}),
        ("S9", ["confirmed a", "effect a", "done a"], {"a": "unknown"}),
        ("S9", ["confirmed a", "done a"], {"a": "done"}),
        ("S9", ["confirmed a", "failed a"], {"a": "claimed"}),
        ("S9", ["confirmed a", "failed a"], {"a": "done"}),
        ("S9", ["confirmed a", "effect a", "failed a"], {"a": "failed"}),
        ("S9", ["confirmed a", "effect a", "cancelled a"], {"a": "cancelled"}),
        ("S9", ["confirmed a", "unknown a"], {}),
        ("S9", ["confirmed a"], {"a": "claimed"}),
        ("S9", ["confirmed a"], {"a": "done"}),
        ("S9", ["confirmed a", "effect a"], {}),
        ("S9", ["confirmed a", "effect a", "closed a"], {}),
    ],
)
def test_what_disagrees_is_noted(promise: str, lines: list[str], rows: dict[str, str]) -> None:
    """Under the promise that it breaks."""
    assert promise in found(lines, rows)


@pytest.mark.parametrize("rows", [None, {"a": ActionRow("done", REMEMBER)}])
def test_an_item_that_is_remembered_is_no_effect_that_a_webhook_misses(
    rows: dict[str, ActionRow] | None,
) -> None:
    """Also of a server without a file, whose ledger cannot tell the action."""
    told = read_notes(["confirmed a x remember", "done a"])
    assert list(find_disagreements(told, None if rows is None else ServerFile(rows))) == []


def test_without_a_webhook_no_effect_is_missed() -> None:
    """Words and rows must agree all the same."""
    told = read_notes(["confirmed a", "done a"])
    assert list(find_disagreements(told, ServerFile({"a": ActionRow("done")}), effects_seen=False)) == []
    assert list(find_disagreements(told, ServerFile({"a": ActionRow("unknown")}), effects_seen=False)) != []


@pytest.mark.parametrize(
    ("lines", "row", "call"),
    [
        (SAID, "done", {}),
        (["confirmed a x", "effect a x", "unknown a"], "unknown", {"status": "unknown"}),
        ([], None, {"status": "suggested"}),
        (["closed a"], None, {"status": "answered"}),
        (["confirmed a x", "closed a"], "cancelled", {"status": "cancelled"}),
        (FREE, "done", {"tool": "find_parcel", "free": True}),
        (["confirmed a x"], None, {"status": "confirmed", "runs_at": "caller"}),
        (["confirmed a x"], "claimed", {"status": "claimed", "runs_at": "caller", "lease_until": NOW + 1}),
    ],
)
def test_a_call_that_agrees_is_not_noted(lines: list[str], row: str | None, call: dict[str, Any]) -> None:
    """Also one that its caller has taken, and may still report."""
    assert of_call(lines, row, **call) == []


@pytest.mark.parametrize(
    ("words", "lines", "row", "call"),
    [
        ("left claimed", ["confirmed a x"], "claimed", {"status": "claimed"}),
        ("left confirmed", ["confirmed a x"], None, {"status": "confirmed"}),
        (
            "its lease is over",
            ["confirmed a x"],
            "claimed",
            {"status": "claimed", "runs_at": "caller", "lease_until": NOW},
        ),
        ("no user has approved it", ["effect a x find_parcel"], "done", {}),
        ("no user has approved it", [], None, {"status": "confirmed", "runs_at": "caller"}),
        ("asked no user", SAID, "done", {"free": True}),
        ("with other arguments than somebody", ["confirmed a y", "effect a y", "done a"], "done", {}),
        ("than it is kept with", ["confirmed a x", "confirmed a y", "effect a y", "done a"], "done", {}),
        ("its row says failed", ["confirmed a x"], "failed", {"status": "unknown"}),
        ("its row says None", SAID, None, {}),
        ("its row says done", ["confirmed a x", "effect a x"], "done", {"status": "cancelled"}),
    ],
)
def test_a_call_that_disagrees_is_noted(
    words: str, lines: list[str], row: str | None, call: dict[str, Any]
) -> None:
    """With what was said, with what took effect, and with the ledger; and one that is left running."""
    assert any(words in what for _, what in of_call(lines, row, **call))


def test_a_message_that_is_left_pending_is_noted() -> None:
    """Nothing is in progress any more, and it has not ended."""
    assert list(find_open(ServerFile({}, {}, ("m",), NOW))) == [("S1", "message m is left pending")]


@pytest.mark.parametrize(
    ("figures", "statuses", "broken"),
    [
        ({"confirms_ended": 1, "actions": 1}, ["done", "done"], 0),
        ({"confirms_ended": 1}, ["done", "done"], 1),
        ({"confirms_ended": 3}, ["done", "done"], 1),
    ],
)
def test_figures_that_are_not_the_ledger_s_are_noted(
    figures: dict[str, int], statuses: list[str], broken: int
) -> None:
    """Told and untold together; what callers run is not counted there."""
    text = "".join(f'agent_{name}_total{{outcome="done"}} {count}.0\n' for name, count in figures.items())
    rows = {str(at): ActionRow(status) for at, status in enumerate(statuses)} | {
        "c": ActionRow("done", owner="caller")
    }
    read_back = parse_figures(f"# HELP x\n{text}agent_actions_running 0.0\n".encode())
    assert len(list(find_miscounts(read_back, rows))) == broken
    assert list(find_miscounts({"agent_actions_unrecorded": 2.0}, {})) == [
        ("S9", "/metrics tells of 2 agent_actions_unrecorded")
    ]


def test_what_could_not_be_claimed_has_no_row() -> None:
    """It is told as failed; a row that says so must have been told."""
    told = {'agent_confirms_ended_total{outcome="failed"}': 1.0}
    assert list(find_miscounts(told, {})) == []
    assert len(list(find_miscounts({}, {"a": ActionRow("failed")}))) == 1


def test_notes_are_lines() -> None:
    """They are read as they were written; of two ends the first is what the client was told."""
    file = io.StringIO()
    notes = NoteFile(file)
    notes.note("confirmed", "-a", "12")
    notes.effect("-a", "34", "remind_me")
    notes.note("closed", "b")
    notes.note("done", "b")
    actions = read_notes(file.getvalue().splitlines())
    a = actions["-a"]
    assert (a.is_confirmed, a.effects, a.reported_end, a.run_digests, a.tools) == (
        True,
        1,
        None,
        {"34"},
        {"remind_me"},
    )
    assert (a.allows("12"), a.allows("34")) == (True, False)
    assert actions["b"].reported_end == "closed"
    kept = ServerFile(
        {"-a": ActionRow("done")},
        {"-a": CallRow(status="done", tool="remind_me", runs_at="caller", digest="12", edited=True)},
    )
    assert summarize_calls(actions, kept) == {
        "confirmed": 1,
        "told": {"nobody": 1},
        "effects": 1,
        "rows": {"done": 1},
        "calls": {"caller done": 1},
        "edited": {"done": 1},
    }
    assert "rows" not in summarize_calls(actions, None)


def test_arguments_are_told_apart_by_their_hash() -> None:
    """As it is written on the wire: the keys in order, without blanks, in UTF-8."""
    assert digest_of({"b": 1, "a": "å"}) == digest_of({"a": "å", "b": 1})
    assert digest_of({"a": 1}) == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"


async def test_the_ledger_is_read_as_it_stands(tmp_path: Path) -> None:
    """What is claimed is not settled by looking, and what is older than the soak is not of it."""
    async with open_database_ledger(tmp_path, inline, WallClock()) as ledger:
        for at, id in enumerate("abc"):
            await ledger.claim(id, "send_sms", at)
        await ledger.record_outcome("b", "done", {"success": True}, 10**15)
    rows = read_ledger_file(tmp_path / FILE, 1, NOW).rows
    assert {id: (row.status, row.tool) for id, row in rows.items()} == {
        "b": ("done", "send_sms"),
        "c": ("claimed", "send_sms"),
    }
    assert read_ledger_file(tmp_path / FILE, 0, NOW).rows["a"].status == "claimed"
