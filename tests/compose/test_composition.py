"""The wings of a server open one inside the other, and close in the opposite order whatever ends them."""

from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.compose.adapters import Adapters
from agent.compose.composition import Composition, open_composition
from agent.errors import UsageError
from agent.ports.conversation import Scope
from agent.settings import Settings
from agent.testing.fakes import Figures
from agent.testing.network import inline

WINGS = {
    "storage": "agent.compose.storage.open_store",
    "memory model": "agent.compose.memory.open_memory_model",
    "memory": "agent.compose.memory.open_memory_store",
    "MCP servers": "agent.compose.actions.open_servers",
    "executor": "agent.compose.actions.open_executor",
    "foreign files": "agent.compose.knowledge.open_foreign_files",
    "language model": "agent.compose.answering.open_language_model",
}
"""What is opened, in its order: a name, and the function that opens it, where it is called."""
OPENED = [f"+{name}" for name in WINGS]
CLOSED = [f"-{name}" for name in reversed(WINGS)]


class Broken(Exception):
    """Something that goes wrong while a server runs."""


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of what opens and closes from now on."""
    noted: list[str] = []

    def watch(name: str, open_it: Callable[..., AbstractAsyncContextManager[Any]]) -> Any:
        @asynccontextmanager
        async def watched(*arguments: Any, **named: Any) -> AsyncGenerator[Any, None]:
            async with open_it(*arguments, **named) as opened:
                noted.append(f"+{name}")
                try:
                    yield opened
                finally:
                    noted.append(f"-{name}")

        return watched

    def watch_sync(name: str, open_it: Callable[..., AbstractContextManager[Any]]) -> Any:
        @contextmanager
        def watched(*arguments: Any) -> Generator[Any, None, None]:
            with open_it(*arguments) as opened:
                noted.append(f"+{name}")
                try:
                    yield opened
                finally:
                    noted.append(f"-{name}")

        return watched

    for name, place in WINGS.items():
        module, _, function = place.rpartition(".")
        open_it = getattr(import_module(module), function)
        watcher = watch_sync if name == "foreign files" else watch
        monkeypatch.setattr(place, watcher(name, open_it))
    return noted


def opened(folder: Path, **settings: Any) -> AbstractAsyncContextManager[Composition]:
    """Open a server that uses every wing; nothing is asked of its models."""
    chosen: dict[str, Any] = {
        "kb": folder,
        "vectors": "off",
        "memory": "on",
        "client_tools": True,
        "model": "openai:m",
        "base_url": "http://127.0.0.1:1/v1",
        "memory_model": "openai:m",
        "memory_base_url": "http://127.0.0.1:1/v1",
    }
    return open_composition(
        settings=Settings.of(**(chosen | settings)),
        adapters=Adapters(run_sync=inline),
        observer=Figures(),
        on_ledger_trouble=lambda _: None,
    )


async def test_wings_close_in_the_opposite_order(events: list[str], tmp_path: Path) -> None:
    """The storage opens first and so closes last: whatever has an outcome can record it."""
    async with opened(tmp_path):
        assert events == OPENED
        events.clear()
    assert events == CLOSED


async def test_a_cancel_closes_them_in_that_order_too(events: list[str], tmp_path: Path) -> None:
    """So does an error, which comes out as it is."""
    with trio.CancelScope() as scope:
        async with opened(tmp_path):
            scope.cancel()
            await trio.sleep_forever()
    assert events == OPENED + CLOSED
    events.clear()
    with pytest.raises(Broken):
        async with opened(tmp_path):
            raise Broken
    assert events == OPENED + CLOSED


@pytest.mark.parametrize(
    ("settings", "opens"),
    [
        ({"data": "file/below"}, 0),
        ({"memory": "off"}, 1),  # and yet a memory model
        ({"action_webhook": "http://"}, 4),
        ({"kb": Path("nowhere")}, 6),
        ({"model": "replay:nowhere", "base_url": None}, 6),
    ],
)
async def test_a_wing_that_cannot_be_opened_closes_those_around_it(
    settings: dict[str, Any], opens: int, events: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The operator's mistake is told, and nothing stays open."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError):
        async with opened(tmp_path, **settings):
            pytest.fail("it was opened")
    assert events == OPENED[:opens] + CLOSED[len(CLOSED) - opens :]


async def test_an_adapter_takes_the_place_of_a_wing(events: list[str], tmp_path: Path) -> None:
    """Of the documents, too, which are not looked for where another brain answers."""
    async with opened(tmp_path) as composition:
        storage, executor, brain = composition.storage, composition.executor, composition.answering.brain
        adapters = Adapters(store=storage.store, executor=executor, brain=brain, run_sync=inline)
        events.clear()
        async with open_composition(
            settings=Settings.of(kb=tmp_path / "nowhere"),
            adapters=adapters,
            observer=Figures(),
            on_ledger_trouble=lambda _: None,
        ) as other:
            assert (other.storage, other.executor, other.answering.threads) == (storage, executor, brain)
            assert (other.documents.knowledge, other.memory, other.answering.prompts) == (None, None, None)
        assert events == ["+foreign files", "-foreign files"]


async def test_as_many_indexes_are_held_as_the_setting_says(tmp_path: Path) -> None:
    """Those of the users who asked last; the index of another is made anew."""
    async with opened(tmp_path, memory_indexes=2) as composition:
        assert composition.memory is not None
        recall = composition.memory.recall
        first, *later = [await recall.load_index(Scope("p", "t", user)) for user in ("ann", "ben", "eva")]
        assert [await recall.load_index(Scope("p", "t", user)) for user in ("ben", "eva")] == later
        assert await recall.load_index(Scope("p", "t", "ann")) is not first
