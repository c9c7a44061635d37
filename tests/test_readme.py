"""What the README shows is what the code has."""

import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agent.llm.drafter import ModelDrafter
from agent.ports import model
from agent.ports.draft import Prompt
from agent.protocol import inbound, outbound
from agent.session.states import TABLE

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


def test_every_arrow_of_the_diagram_is_a_row_of_the_table() -> None:
    """The short diagram leaves rows out, and invents none."""
    rows = {(row.source.value, (row.target or row.source).value, row.trigger.value) for row in TABLE.rows}
    arrows = re.findall(r"^    (\w+) --> (\w+): (\w+)$", TEXT, re.MULTILINE)
    assert len(arrows) > 12
    assert set(arrows) <= rows


def test_every_message_of_the_wire_is_named() -> None:
    """The two tables of the wire name each type that can be sent."""
    kinds = {
        struct.__struct_config__.tag
        for union in (inbound.Inbound, outbound.Outbound)
        for struct in union.__args__
    }
    assert {kind for kind in kinds if f"`{kind}`" not in TEXT} == set()


def test_every_file_it_points_to_is_there() -> None:
    """Links and paths in code marks lead somewhere."""
    named = set(re.findall(r"\]\(([^)#:]+)\)|`((?:agent|tests|diagrams|kb)/[\w./]*)`", TEXT))
    paths = {link or path for link, path in named}
    assert paths
    assert {path for path in paths if not (README.parent / path).exists()} == set()


def test_every_module_that_it_runs_is_there() -> None:
    """What it runs with `python -m` is a module of this checkout, and one that can be run."""
    named = set(re.findall(r"python -m ((?:agent|tests)[\w.]*)", TEXT))
    assert len(named) > 8
    places = {name: README.parent / name.replace(".", "/") for name in named}
    missing = {
        name
        for name, path in places.items()
        if not (path / "__main__.py").exists()
        and not (
            path.with_suffix(".py").exists()
            and "__main__" in path.with_suffix(".py").read_text(encoding="utf-8")
        )
    }
    assert missing == set()


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m venv .venv && .venv/bin/pip install -q '.[vectors]' && .venv/bin/agent serve",
        "python3 -m venv .venv && .venv/bin/pip install -q -e '.[test]' && .venv/bin/pytest",
    ],
)
def test_the_two_commands_stand_word_for_word(command: str) -> None:
    """A newcomer copies them; the second is what is run before every change lands."""
    assert command in TEXT
    if "pytest" in command:
        assert command in (README.parent / ".ci" / "run").read_text(encoding="utf-8")


async def test_a_model_is_written_as_the_readme_shows() -> None:
    """Its example drafts: with the names of the port, and nothing else, it is a language model."""
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    names: dict[str, Any] = {"AsyncGenerator": AsyncGenerator, **vars(model)}
    exec(example, names)
    drafter = ModelDrafter(names["Parrot"]())
    async with aclosing(
        drafter.stream(Prompt(instructions="Rules.", question="What does it cost?", lang="en"), ())
    ) as pieces:
        assert "".join([piece.text async for piece in pieces]).endswith("What does it cost?")
