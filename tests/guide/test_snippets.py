"""Every block of the README and of the guide is true: commands run as printed, files are read by what reads them."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.compose.adapters import Adapters
from agent.guide.pages import PAGES, read_page
from agent.host import WorkerThreads
from agent.memory.settings import MemorySettings
from agent.models.health import ask_for_one_token
from agent.models.open import open_language_model
from agent.models.settings import ModelSettings, parse_model_name
from agent.ports.model import Finish, TextDelta
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.server.metrics import Metrics
from agent.settings import Settings
from agent.storage.settings import StorageSettings
from agent.testing.network import network
from tests.examples import sample
from tests.strikes.spoken import SHAPES, printed
from tests.strikes.upstream import reply, upstream

from .readers import ROOT
from .walk import Walk

README = (ROOT / "README.md").read_text("utf-8")
KNOWLEDGE = KnowledgeBase.build([SourceFile.of("kb/cards.md", "# Cards\n\nA lost card costs 25 EUR.\n")])
DRAFT = (TextDelta("A lost card costs 25 EUR."), Finish("stop"))


def ask_model(
    settings: Settings, variables: Mapping[str, str], folder: Path, patch: pytest.MonkeyPatch
) -> None:
    """Open the model that the settings name, with these variables; then answer from a fake of its service."""
    for name, value in variables.items():
        patch.setenv(name, value)
    wanted = parse_model_name(settings.model.model)
    if wanted.kind == "claude-cli":
        places = folder.parent / "claude"
        places.mkdir(exist_ok=True)
        (places / "lines").write_bytes(b"".join(printed(DRAFT)))
        (places / "claude").write_text(f"#!/bin/sh\ncat > /dev/null\ncat '{places}/lines'\n")
        (places / "claude").chmod(0o755)
        patch.setenv("PATH", str(places), prepend=":")

    async def open_and_ask() -> None:
        async with open_language_model(settings.model, Metrics(), WorkerThreads(1)) as model:
            # what it needs is there: its key, its address, its command, its class
            if wanted.kind == "custom":
                await ask_for_one_token(model)
                return
        if wanted.kind == "claude-cli":
            await answer(settings.model)
            return
        async with upstream(reply(SHAPES[wanted.kind](DRAFT))) as service:
            await answer(replace(settings.model, base_url=f"{service.url}/v1"))
        (asked,) = service.requests
        assert asked.body["model"] == wanted.name

    async def answer(model: ModelSettings) -> None:
        chosen = replace(settings, model=model, storage=StorageSettings(), memory=MemorySettings())
        async with network(chosen, Adapters(knowledge=KNOWLEDGE)) as server, server.connect() as client:
            await client.ask("What does a lost card cost?")
            with trio.fail_after(20):
                response = (await client.frames_until("response"))[-1]
        assert (response["text"], len(response["citations"])) == ("A lost card costs 25 EUR.", 1)

    trio.run(open_and_ask)


@pytest.fixture
def walk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A walk in an empty folder, which runs commands if the test's parameter says so."""
    folder = tmp_path / "empty"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def ask(settings: Settings, variables: Mapping[str, str]) -> None:
        ask_model(settings, variables, folder, monkeypatch)

    with Walk(folder, ask, runs=request.param) as made:
        yield made


RUNS = pytest.mark.parametrize("walk", [True], indirect=True, ids=["run"])
READS = pytest.mark.parametrize("walk", [False], indirect=True, ids=["read"])


@pytest.mark.parametrize(
    "walk", [False, pytest.param(True, marks=pytest.mark.proof)], indirect=True, ids=["read", "run"]
)
def test_the_readme_holds(walk: Walk) -> None:
    """Documents, a model, tools and a program: read, and as a proof run as printed from an empty folder."""
    walk.take_page("README.md", README)
    assert walk.taken == {"console": 7, "text": 1, "json": 1, "python": 1}


@READS
@pytest.mark.parametrize("name", sample(PAGES, 3))
def test_the_commands_and_files_of_a_page_are_read(walk: Walk, name: str) -> None:
    """Command lines by the parser of `agent`, files by what reads them, each model from a fake of its service."""
    walk.take_page(f"{name}.md", read_page(name))


@pytest.mark.proof
@RUNS
@pytest.mark.parametrize(
    "name", [each for each in PAGES if each != "servers"]
)  # test_servers_page.py runs that
def test_a_page_runs_as_printed(walk: Walk, name: str) -> None:
    """From an empty folder, each command with the output that the page shows."""
    walk.take_page(f"{name}.md", read_page(name))


@READS
@pytest.mark.parametrize(
    "block",
    [
        "```ruby\nputs 1\n```\n",
        '```json other.json\n{"a": 1}\n```\n',
        "```console\nagent serve --portt 1\n```\n",
        "```console\nagent asks why\n```\n",
        "```console\nagent serve --otel\n```\n",  # without its extra
        "```console\npip install '.[nothing]'\n```\n",
        "```console\npip install leftpad\n```\n",
        "```python\nimport openai\n```\n",
        "```python\nprint(\n```\n",
        "```python\nprint(2)\n```\n\n```text\n3\n```\n",
        '```json tools.json\n{"tools": [{"nam": "x"}]}\n```\n',
        '```toml agent.toml\nnothing = "x"\n```\n',
        '```toml users.toml\nbo = "short"\n```\n',
        "```ini agent.service\n[Service]\nExecStart=/x/agent serve --nothing\n```\n",
    ],
)
def test_an_untrue_block_fails(walk: Walk, block: str) -> None:
    """A block that no rule takes, a wrong flag, what is not installed above, a wrong file or output."""
    with pytest.raises(Exception, match=r"."):
        walk.take_page("page.md", block)
