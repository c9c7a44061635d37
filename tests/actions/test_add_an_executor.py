"""The guide's recipe for an executor: its lines, applied to a copy of the package that opens older data folders."""

import json
import re
import shutil
import subprocess
import sys
import textwrap
from os import environ
from pathlib import Path
from typing import Any

import pytest

from agent.storage.migrations import LEDGER_STEPS
from tests.storage.released import list_folders, read_rows, read_structure, unpack_folder
from tests.storage.test_storage_released import IN_THE_MAKING

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "agent" / "guide" / "extending.md"
BLOCK = re.compile(r"`(agent/[\w/.]+)`:\n\n   ```(\w+)\n(.*?\n)   ```\n", re.DOTALL)
LEDGER = "ledger.sqlite"
TOOL = {
    "name": "print_it",
    "description": "Prints a document.",
    "parameters": {"title": {"type": "string", "required": True}},
    "requires_approval": False,
    "risk": "low",
    "runs_at": "printer",
}
PRINTED = {"action": "print_it", "payload": {"title": "invoice"}}


@pytest.mark.proof
def test_an_executor_is_added_as_the_guide_says(tmp_path: Path) -> None:
    """Its word is good in new data folders and in those of every earlier schema, and their rows are still there."""
    shutil.copytree(ROOT / "agent", tmp_path / "agent")
    _apply_recipe(tmp_path)
    folders = {noted["files"][LEDGER]["version"]: name for name, noted in list_folders().items()}
    assert folders.keys() | {IN_THE_MAKING.get(LEDGER, 1)} == {1, *LEDGER_STEPS}
    for name in folders.values():
        unpack_folder(name, tmp_path / name)
    calls = {name: _read_calls(tmp_path / name) for name in folders.values()}

    answers = _call_printer(tmp_path, ["new", *folders.values()])

    for status, body in answers:
        assert status == 200, body
        assert [(call["runs_at"], call["status"]) for call in body["calls"]] == [("printer", "done")]
    today = read_structure(tmp_path / "new" / LEDGER)
    assert today["version"] == (max(LEDGER_STEPS) + 1,)
    for name in folders.values():
        after = _read_calls(tmp_path / name)
        assert calls[name].items() <= after.items()
        assert [runs_at for id, runs_at in after.items() if id not in calls[name]] == ["printer"]
        assert read_structure(tmp_path / name / LEDGER) == today


def _apply_recipe(folder: Path) -> None:
    """Write and change the files below `folder` as the recipe's blocks say."""
    text = GUIDE.read_text(encoding="utf-8")
    recipe = text[text.index("## Add an executor\n") :].split("\n## ")[0]
    blocks = BLOCK.findall(recipe)
    assert len(blocks) == recipe.count("```") / 2
    for path, kind, block in blocks:
        written = textwrap.dedent(block)
        file = folder / path
        if kind == "diff":
            written = _apply_diff(file.read_text(encoding="utf-8"), written)
        else:
            assert not file.exists()
        file.write_text(written, encoding="utf-8")


def _apply_diff(text: str, diff: str) -> str:
    """Return `text` with the lines of each hunk changed; those that are there before stand in it exactly once."""
    for hunk in diff.split("@@\n"):
        old, new = (
            "".join(line[1:] for line in hunk.splitlines(True) if line[0] in f" {sign}") for sign in "-+"
        )
        assert text.count(old) == 1, f"the recipe changes lines that are not there:\n{old}"
        text = text.replace(old, new)
    return text


def _call_printer(package: Path, folders: list[str]) -> list[tuple[int, Any]]:
    """Return the answers to a call at the printer in each folder, with the code of `package`; each must be printed."""
    (package / "tools.json").write_text(json.dumps({"tools": [TOOL]}), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "tests.actions.printing", "tools.json", *folders],
        cwd=package,
        env={**environ, "PYTHONPATH": f"{package}:{ROOT}"},
        capture_output=True,
        text=True,
        check=True,
    )
    answers = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("[")]
    assert ran.stdout.splitlines().count(json.dumps(PRINTED)) == len(folders)
    return answers


def _read_calls(folder: Path) -> dict[str, str]:
    """Return the place of each call in a folder's ledger, by its id."""
    return {row["id"]: row["runs_at"] for row in read_rows(folder / LEDGER).get("calls", [])}
