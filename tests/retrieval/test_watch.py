"""The watch of a folder: the real one on a real folder, and what is done when the system cannot."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs
from watchfiles import Change

from agent.retrieval import watch as module
from agent.retrieval.watch import LOOK_AGAIN, LOOK_EVERY, watch_folder

PATIENCE = 10  # seconds of a loaded machine


async def test_what_happens_in_a_folder_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real watch: a first look, then a file, a folder moved in, one that takes its place; hidden ones are not."""
    monkeypatch.setattr(module, "LOOK_EVERY", 0.1)
    folder, other = tmp_path / "kb", tmp_path / "other"
    (folder / ".hidden").mkdir(parents=True)
    (other / "sub").mkdir(parents=True)
    with trio.fail_after(PATIENCE):
        async with watch_folder(folder) as batches:

            async def told(path: Path) -> None:
                async for batch in batches:
                    assert not any("hidden" in each for each in batch)
                    if str(path) in batch:
                        return

            assert list(await anext(batches)) == []
            (folder / ".hidden" / "x.md").write_text("x")
            (folder / "a.md").write_text("a")
            await told(folder / "a.md")
            (other / "sub").rename(folder / "sub")
            await told(folder / "sub")
            folder.rename(tmp_path / "gone")
            other.rename(folder)
            while list(await anext(batches)):  # an empty batch: another folder stands there
                pass
            await trio.sleep(0.3)
            (folder / "b.md").write_text("b")
            await told(folder / "b.md")


class Told:
    """Stands for the library: gives the batches of a script, then waits until it is stopped."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.watched: list[str] = []

    async def __call__(self, place: str, **options: Any) -> AsyncGenerator[set[tuple[Change, str]], None]:
        """Watch nothing; a callable of the script is called, an exception raised."""
        self.watched.append(place)
        while self.script:
            await trio.sleep(LOOK_EVERY)
            step = self.script.pop(0)
            if isinstance(step, BaseException):
                raise step
            if callable(step):
                step()
                step = set()
            yield step
        await options["stop_event"].wait()


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Put a script in the place of the library."""
    told = Told()
    monkeypatch.setattr(module, "awatch", told)
    return told


async def test_a_quiet_folder_is_looked_at_now_and_then(
    tmp_path: Path, told: Told, autojump_clock: trio.testing.MockClock
) -> None:
    """At first, and again after LOOK_AGAIN quiet ticks; a change counts them anew."""
    change = {(Change.added, str(tmp_path / "a.md"))}
    told.script = [set()] * (LOOK_AGAIN + 2) + [change] + [set()] * LOOK_AGAIN
    seen = []
    async with watch_folder(tmp_path) as batches:
        for _ in range(4):
            batch = await anext(batches)
            seen.append((trio.current_time() / LOOK_EVERY, list(batch)))
    assert seen == [
        (1, []),
        (1 + LOOK_AGAIN, []),
        (3 + LOOK_AGAIN, [str(tmp_path / "a.md")]),
        (3 + 2 * LOOK_AGAIN, []),
    ]


@pytest.mark.parametrize(
    "fault",
    [
        OSError(28, "no space left on device"),
        ExceptionGroup("", [RuntimeError("error in underlying watcher")]),
    ],
)
async def test_a_folder_that_cannot_be_watched_is_looked_at(
    tmp_path: Path, told: Told, autojump_clock: trio.testing.MockClock, fault: Exception
) -> None:
    """One line says so however often it fails, and every LOOK_EVERY seconds there is a look; then it is watched."""
    told.script = [fault, fault, fault, {(Change.added, "x")}]
    with capture_logs() as lines:
        async with watch_folder(tmp_path) as batches:
            for _ in range(3):
                assert list(await anext(batches)) == []
            assert list(await anext(batches)) == ["x"]
    assert [line["event"] for line in lines] == [
        "knowledge base cannot be watched, looking at it at intervals"
    ]
    assert len(told.watched) == 4


async def test_a_fault_of_ours_is_not_taken_for_the_system_s(
    tmp_path: Path, told: Told, autojump_clock: trio.testing.MockClock
) -> None:
    """Only what the system and the library say is outlived."""
    told.script = [KeyError("bug")]
    with pytest.raises(ExceptionGroup) as caught:
        async with watch_folder(tmp_path) as batches:
            await anext(batches)
    assert caught.group_contains(KeyError)


async def test_a_folder_that_is_not_there_is_waited_for(
    tmp_path: Path, told: Told, autojump_clock: trio.testing.MockClock
) -> None:
    """While it is away there are looks but no watch; the one that comes in its place is watched."""
    folder = tmp_path / "kb"
    folder.mkdir()
    told.script = [folder.rmdir, {(Change.added, "x")}]
    async with watch_folder(folder) as batches:
        for _ in range(3):
            assert list(await anext(batches)) == []
        assert told.watched == [str(folder)]
        folder.mkdir()
        while not (batch := list(await anext(batches))):
            pass
        assert batch == ["x"]
    assert told.watched == [str(folder)] * 2
