"""The gate of calls, on cases of our own and on those of others where they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench import decisions

RIDE = {
    "name": "ride",
    "parameters": {
        "type": "dict",
        "properties": {"to": {"type": "string"}, "seats": {"type": "integer"}, "tip": {"type": "float"}},
        "required": ["to", "seats"],
    },
}


def row(name: str = "ride", **arguments: Any) -> dict[str, Any]:
    call = json.dumps({"name": name, "arguments": arguments})
    return {"question": "A ride to Lund for two", "tools": [json.dumps(RIDE)], "answers": {"tool_call": call}}


def test_a_call_passes_with_a_known_tool_its_arguments_and_their_sources() -> None:
    """And is stopped by the first of these that it lacks."""
    assert decisions.gate(row(to="Lund", seats=2)) == ""
    assert decisions.gate(row("fly", to="Lund", seats=2)) == "tool"
    assert decisions.gate(row(to="Lund")) == "schema"
    assert decisions.gate(row(to="Lund", seats="2")) == "schema"
    assert decisions.gate(row(to="Lund", seats=3)) == "source"
    assert decisions.gate(row(to="Malmö", seats=2)) == "source"
    assert decisions.gate(row(to="Lund", seats=2, tip=1.5)) == "source"


def test_types_as_python_spells_them_become_those_of_schemas() -> None:
    """At any depth; "any" says nothing, and a property of that name stays."""
    given = {"type": "dict", "properties": {"type": {"type": "float"}, "x": {"type": "any", "default": 1}}}
    assert decisions.mapped(given) == {
        "type": "object",
        "properties": {"type": {"type": "number"}, "x": {"default": 1}},
    }
    assert decisions.mapped([{"type": ["string", "null"]}, {"type": "tuple"}]) == [
        {"type": ["string", "null"]},
        {"type": "array"},
    ]


def test_data_that_is_not_there_is_left_out_and_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The rest is measured."""
    monkeypatch.setattr(decisions, "CALLS", tmp_path / "calls")
    monkeypatch.setattr(decisions, "SHOP", tmp_path / "shop")
    monkeypatch.setattr(decisions, "cost", lambda: 2.0)
    said: list[str] = []
    assert decisions.main(said.append) == 1
    assert [line.partition(" is left out")[0] for line in said[1:]] == ["calls", "shop"]


@pytest.mark.proof
@pytest.mark.skipif(not decisions.CALLS.is_file(), reason="set AGENT_SHARED to the folder of shared data")
def test_others_calls_pass_and_are_stopped_as_they_should() -> None:
    """No unknown tool passes; most right calls do, and most of those that should have been a question do not."""
    found = decisions.gated(decisions.calls())
    assert found["cannot_answer"]["tool"] == found["cannot_answer"].total()
    assert found["tool_call"][""] >= decisions.PASS * found["tool_call"].total()
    asking = found["request_for_info"]
    assert asking.total() - asking[""] >= decisions.STOP * asking.total()


@pytest.mark.proof
@pytest.mark.skipif(not decisions.SHOP.is_dir(), reason="set AGENT_SHARED to the folder of shared data")
def test_no_write_of_a_shops_tasks_is_asked_for_its_ids() -> None:
    """They stand in what the shop's tools return."""
    writes = [each for each in decisions.provenance() if each[0].startswith(decisions.WRITES)]
    assert len(writes) > 100
    assert [each for each in writes if decisions.ids_asked_for(each[2])] == []
