"""What follows a scene, and what becomes of one that cannot be stored."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from .harness import telling

TOLD = {"match": "", "text": "Mira opened the gate."}
SLOW = {"match": "choices", "text": '["Go on.", "Go back."]', "delay_ms": 4_000}


def script(folder: Path, *entries: dict[str, Any]) -> str:
    """Write a script; return the setting that names it."""
    path = folder / "script.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    return f"script:{path}"


async def test_the_next_message_ends_what_follows_a_scene(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """Choices come for the last scene only, though a model is slow with them."""
    async with telling(model=script(tmp_path, SLOW, TOLD)) as server, server.reader() as reader:
        story, _ = await server.story()
        await reader.open(story)
        await reader.tell("One.")
        _, stored = await reader.tell("Two.")
        assert (await reader.until("choices"))["scene"] == stored["scene"]
        await trio.sleep(20)
        await reader.open(story)
        assert [each["scene"] for each in reader.told if each["type"] == "choices"] == [stored["scene"]]


async def test_what_follows_a_scene_is_bounded(
    autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """Choices that take longer than fifteen seconds are none."""
    slow = SLOW | {"delay_ms": 16_000}
    async with telling(model=script(tmp_path, slow, TOLD)) as server, server.reader() as reader:
        story, _ = await server.story()
        await reader.open(story)
        await reader.tell("One.")
        await trio.sleep(30)
        assert "choices" not in await reader.open(story)
        assert not any(each["type"] == "choices" for each in reader.told)


async def test_a_reader_that_opens_another_branch_directs_that(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The scene that is told meanwhile goes to the branch that it was directed on."""
    async with telling(pace_ms=20) as server, server.reader() as reader:
        story, branch = await server.story()
        await reader.open(story)
        first, _ = await reader.tell("One.")
        made = await server.good(
            "POST", f"/stories/{story}/branches", {"branch": branch, "seq": 1, "name": "b"}
        )
        await reader.direct("Two.")
        await reader.until("stream")
        assert (await reader.open(story, made["id"]))["seq"] == 1
        stored = await reader.until("scene_stored")
        assert (stored["branch"], stored["seq"]) == (branch, 2)
        other, stored = await reader.tell("Other two.", own=True)
        assert (stored["branch"], stored["seq"]) == (made["id"], 2)
        page = await server.good("GET", f"/stories/{story}/scenes?branch={made['id']}")
        assert [each["text"] for each in page["scenes"]] == [first, other]


async def test_a_scene_that_cannot_be_stored_frees_its_branch(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """A fault of our own in storing is told, and the branch goes on without that scene."""
    async with telling() as server, server.reader() as reader:
        story, _ = await server.story()
        await reader.open(story)

        def broken(*_: Any) -> None:
            raise ValueError("planted")

        with monkeypatch.context() as patch:
            patch.setattr("agent.stories.keeper.find_scene_states", broken)
            await reader.direct("One.")
            error = await reader.until("error")
            assert (error["code"], error["id"]) == ("story_failed", "m1")
        assert (await reader.tell("Two."))[1]["seq"] == 1


async def test_a_lost_reader_s_branch_is_free(autojump_clock: trio.testing.MockClock) -> None:
    """Nothing is held for a connection that has ended."""
    async with telling(pace_ms=20) as server:
        story, _ = await server.story()
        async with server.reader() as reader:
            await reader.open(story)
            await reader.direct("One.")
            await reader.until("stream")
        await trio.sleep(2)
        parts = server.net.app._edge_parts
        assert parts is not None
        branches, keeper = parts.stories.brain._branches, parts.stories.keeper
        assert (branches._by_thread, branches._threads, keeper._taken, keeper._work) == ({}, {}, {}, {})
