"""What cannot be done, and models that misbehave: each is a typed error that says what to do, and the story stays."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from agent.errors import StorageFailed
from agent.ports.stories import SCENE_BYTES
from agent.storage.database import Database
from agent.storage.stories.store import DatabaseStories

from .harness import Reader, StoryServer, telling

TOLD = "Mira opened the gate."


async def opened(server: StoryServer, reader: Reader) -> tuple[str, str]:
    """Begin a story, and open it."""
    story, branch = await server.story()
    assert (await reader.open(story))["type"] == "story"
    return story, branch


async def texts(server: StoryServer, story: str, branch: str) -> list[str]:
    """Return the texts of a branch."""
    page = await server.good("GET", f"/stories/{story}/scenes?branch={branch}&limit=200")
    return [each["text"] for each in page["scenes"]]


async def stays(server: StoryServer, reader: Reader, story: str, branch: str, before: list[str]) -> None:
    """Check that a story has the scenes that it had, and goes on."""
    assert await texts(server, story, branch) == before
    await reader.open(story, branch)
    await reader.tell("It goes on.", own=True)
    assert await texts(server, story, branch) == [*before, "It goes on."]


@pytest.mark.parametrize(
    "fields",
    [
        {"choice": "c1", "retell": "c1"},
        {"choice": "c1", "own": True, "text": "One."},
        {"retell": "c1", "aside": True, "text": "One."},
        {"own": True, "aside": True, "text": "One."},
        {"text": "x" * 8_001},
        {"text": "x" * 8_001, "own": True},
        {"text": ""},
        {"text": "", "own": True},
        {"text": "", "aside": True},
        {"text": 7},
        {"choice": ""},
    ],
    ids=lambda fields: " ".join(fields),
)
async def test_a_message_that_is_none(fields: dict[str, Any], autojump_clock: trio.testing.MockClock) -> None:
    """It begins no turn: `bad_message` says what to change."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        await reader.client.send({"type": "message", "id": "m", **fields})
        error = await reader.until("error")
        assert (error["code"], error["id"]) == ("bad_message", "m")
        assert error["message"].endswith(".")
        await stays(server, reader, story, branch, [])


@pytest.mark.parametrize("text", ["  \n ", "...", "\x00\x07"])
async def test_a_scene_of_ones_own_without_words(text: str, autojump_clock: trio.testing.MockClock) -> None:
    """It is refused before anything is told, and holds nothing up."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        assert await reader.refused(text, own=True) == "bad_message"
        assert not any(each["type"] == "stream" for each in reader.told)
        await stays(server, reader, story, branch, [])


async def test_a_scene_of_ones_own_is_told_without_control_characters(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Told and stored alike; its line breaks and tabs stay."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        text, _ = await reader.tell("One\x07\x1b two.\n\tThree\u2026", own=True)
        assert text == "One two.\n\tThree\u2026"
        assert await texts(server, story, branch) == [text]


@pytest.mark.parametrize("is_edited", [False, True])
async def test_a_scene_that_no_model_told_is_not_told_again(
    is_edited: bool, autojump_clock: trio.testing.MockClock
) -> None:
    """There is no prompt to ask again, and the error says what to do."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        _, stored = await reader.tell(TOLD, own=True)
        if is_edited:
            path = f"/stories/{story}/scenes/{stored['scene']}/edit"
            await server.good("POST", path, {"text": TOLD})
            await reader.open(story)
        assert await reader.refused(retell=stored["scene"]) == "bad_message"
        assert "edit it" in reader.told[-1]["blocked"]["message"]
        await stays(server, reader, story, branch, [TOLD])


async def test_what_is_anothers_or_was_never(autojump_clock: trio.testing.MockClock) -> None:
    """A story, branch, scene, version or choice of another story is as one that never was."""
    async with telling() as server, server.reader() as reader:
        other, elsewhere = await opened(server, reader)
        _, foreign = await reader.tell("Elsewhere.")
        offered = (await reader.until("choices"))["choices"][0]["id"]
        story, branch = await opened(server, reader)
        _, stored = await reader.tell(TOLD, own=True)
        for named in ((f"{story}x", None), ("s999", None), (story, elsewhere), (story, "b999")):
            assert (await reader.open(*named))["code"] == "unknown_story"
        for choice in (offered, "nonesuch", foreign["scene"]):
            assert await reader.refused(choice=choice) == "stale_choice"
        codes = [await reader.refused(retell=scene) for scene in (foreign["scene"], "c999", "nonesuch")]
        assert codes == ["unknown_story"] * 3
        path = f"/stories/{story}"
        requests: list[tuple[str, str, Any]] = [
            ("GET", "/stories/s999", None),
            ("GET", f"{path}/scenes?branch={elsewhere}", None),
            ("GET", f"{path}/scenes/{foreign['scene']}", None),
            ("POST", f"{path}/scenes/{foreign['scene']}/edit", {"text": "Mine."}),
            ("POST", f"{path}/scenes/{stored['scene']}/pick", {"version": foreign["version"]}),
            ("POST", f"{path}/scenes/{stored['scene']}/pick", {"version": "nonesuch"}),
            ("POST", f"{path}/branches/{elsewhere}/undo", None),
            ("POST", f"{path}/branches", {"branch": elsewhere, "seq": 1, "name": "mine"}),
            ("GET", f"{path}/recall?branch={elsewhere}&query=elsewhere", None),
            ("GET", f"{path}/states?branch={elsewhere}", None),
            ("GET", f"{path}/prompt?branch={elsewhere}", None),
        ]
        assert [await server.code(*request) for request in requests] == ["not_found"] * len(requests)
        assert await texts(server, other, elsewhere) == [reader.deltas("m1")]
        await stays(server, reader, story, branch, [TOLD])


async def test_forks_have_bounds(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """Past the tip, too deep, too many, a name twice; each says so, and none leaves a row."""
    monkeypatch.setattr("agent.storage.stories.branching.BRANCH_DEPTH", 3)
    monkeypatch.setattr("agent.storage.stories.branching.STORY_BRANCHES", 6)
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        await reader.tell(TOLD, own=True)

        async def fork(of: str, seq: int, name: str) -> tuple[int, Any]:
            body = {"branch": of, "seq": seq, "name": name}
            return await server.ask("POST", f"/stories/{story}/branches", body)

        tips = [branch]
        for depth in range(
            3
        ):  # each forks at a scene of its own: a fork names the owner of the scene at its cut
            status, made = await fork(tips[-1], depth + 1, f"deep {depth}")
            assert status == 201
            tips.append(made["id"])
            await reader.open(story, made["id"])
            await reader.tell(f"Down {depth}.", own=True)
        refusals = [
            await fork(branch, 2, "past"),
            await fork(tips[-1], 4, "deep"),
            await fork(branch, 1, "deep 1"),
        ]
        assert [(status, found["code"]) for status, found in refusals] == [
            (409, "conflict"),
            (409, "story_full"),
            (409, "conflict"),
        ]
        for name in ("five", "six"):
            assert (await fork(branch, 1, name))[0] == 201
        status, found = await fork(branch, 1, "seven")
        assert (status, found["code"]) == (409, "story_full")
        assert "delete one" in found["detail"]
        listed = (await server.good("GET", f"/stories/{story}/branches"))["branches"]
        assert [each["name"] for each in listed] == ["main", "deep 0", "deep 1", "deep 2", "five", "six"]
        await stays(server, reader, story, branch, [TOLD])


def script(folder: Path, *entries: dict[str, Any]) -> str:
    """Write a script; return the setting that names it."""
    path = folder / "script.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    return f"script:{path}"


ANSWERS = ({"match": "choices", "text": '["Go on.", "Go back."]'}, {"match": "milestones", "text": "{}"})
LONG = "The rain fell on the old mill. " * 7_000  # 217 KB


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"text": "One\x00\x1b. Two\u2028.\x07 "}, "One. Two\u2028."),
        ({"text": "One. Two. \nReader: go on\nThree."}, "One. Two."),
        ({"deltas": ["One. Tw", "o"]}, "One. Two"),
        ({"text": LONG}, LONG[: len(LONG[:SCENE_BYTES].rsplit(". ", 1)[0]) + 1]),
    ],
    ids=["control characters", "the reader's next turn", "no end of the last sentence", "217 KB"],
)
async def test_a_model_s_text_is_made_a_scene(
    entry: dict[str, Any], expected: str, autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """It is cut where it must be, told and stored alike."""
    model = script(tmp_path, *ANSWERS, {"match": "", **entry})
    async with telling(model=model) as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        text, _ = await reader.tell("Tell.")
        assert text == expected
        assert len(text.encode()) <= SCENE_BYTES
        assert await texts(server, story, branch) == [text]


@pytest.mark.parametrize(
    "entry",
    [
        {"text": ""},
        {"text": " \n\x00 "},
        {"text": "Reader: go on"},
        {"text": "One. ", "error": "cut off"},
        {"error": "broken"},
        {"text": "One. ", "hang": True},
        {"hang": True},
    ],
    ids=["nothing", "no words", "the reader's turn alone", "cut off", "fails", "hangs in the midst", "hangs"],
)
async def test_a_model_that_gives_no_scene(
    entry: dict[str, Any], autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """It is `model_failed`, with what to do, and nothing is stored; the branch is free."""
    model = script(tmp_path, *ANSWERS, {"match": "zwiebelfisch", **entry})
    async with telling(model=model, turn_timeout=5) as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        await reader.direct("The zwiebelfisch sinks.")
        response = await reader.until("response")
        assert response["fiction"]
        assert "blocked" in response
        assert response["blocked"]["code"] == "model_failed"
        assert "send the directive again" in response["blocked"]["message"]
        export = json.dumps(await server.good("GET", f"/stories/{story}/export?form=json"))
        assert "zwiebelfisch" not in export
        assert "One." not in export
        await stays(server, reader, story, branch, [])


@pytest.mark.parametrize(
    "entry",
    [
        {"text": "no JSON"},
        {"text": '["one alone"]'},
        {"text": '{"a": 1}'},
        {"text": "[" * 5_000},
        {"text": '["' + "x" * 100_000 + '", "Go."]'},
        {"error": "broken"},
        {"hang": True},
    ],
    ids=["no JSON", "one", "no array", "nested", "long", "fails", "hangs"],
)
async def test_choices_that_are_none(
    entry: dict[str, Any], autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """The scene is stored without choices, and the story goes on at once."""
    model = script(tmp_path, {"match": "choices", **entry}, {"match": "", "text": TOLD})
    async with telling(model=model) as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        await reader.tell("Tell.")
        began = trio.current_time()
        await reader.tell("Tell on.")
        assert trio.current_time() - began < 2
        await trio.sleep(20)
        await server.good("GET", "/stories")
        await reader.open(story)
        assert "choices" not in reader.told[-1]
        assert not any(each["type"] in ("choices", "error") for each in reader.told)
        await stays(server, reader, story, branch, [TOLD, TOLD])


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """A switch of a disk that is full: reads work, and no write does."""
    full = False

    def switch(value: bool) -> None:
        nonlocal full
        full = value

    real = Database.write

    async def write(*args: Any, **other: Any) -> Any:
        if full:
            await trio.lowlevel.checkpoint()
            raise StorageFailed("the stories: database or disk is full")
        return await real(*args, **other)

    monkeypatch.setattr(Database, "write", write)
    return switch


async def test_a_full_disk_before_a_scene(
    disk: Callable[[bool], None], autojump_clock: trio.testing.MockClock
) -> None:
    """Nothing is told; over HTTP it is a problem too. With room again all goes on."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        await reader.tell(TOLD, own=True)
        disk(True)
        assert await reader.refused("Tell.") == "story_failed"
        body = {"branch": branch, "seq": 1, "name": "b"}
        assert await server.code("POST", f"/stories/{story}/branches", body) == "story_failed"
        assert await texts(server, story, branch) == [TOLD]
        disk(False)
        await stays(server, reader, story, branch, [TOLD])


async def test_a_full_disk_after_a_scene(
    monkeypatch: pytest.MonkeyPatch, autojump_clock: trio.testing.MockClock
) -> None:
    """A told scene waits for room, and the next message five seconds for it; no scene is lost, or told before it."""

    async def full(*_: Any) -> None:
        await trio.lowlevel.checkpoint()
        raise StorageFailed("the stories: database or disk is full")

    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        with monkeypatch.context() as patch:
            patch.setattr(DatabaseStories, "store_scene", full)
            text = await say(reader, "Tell.")
            began = trio.current_time()
            assert await reader.refused("Tell on.") == "story_failed"
            assert 5 <= trio.current_time() - began < 6
            assert await texts(server, story, branch) == []
        assert (await reader.until("scene_stored"))["seq"] == 1
        await stays(server, reader, story, branch, [text])


async def say(reader: Reader, text: str) -> str:
    """Have a scene told that is not stored yet; return its text."""
    await reader.direct(text)
    return str((await reader.until("response"))["text"])


async def test_a_story_that_is_deleted_while_it_is_told(autojump_clock: trio.testing.MockClock) -> None:
    """Nothing of the scene is stored, and the reader hears why; another story goes on."""
    async with telling(pace_ms=20) as server, server.reader() as reader:
        story, _ = await opened(server, reader)
        await reader.direct("Tell.")
        await reader.until("stream")
        await server.good("DELETE", f"/stories/{story}")
        error = await reader.until("error")
        assert error["code"] == "unknown_story"
        assert (await server.good("GET", "/stories"))["stories"] == []
        story, branch = await opened(server, reader)
        await stays(server, reader, story, branch, [])
