"""A reader directs a story over the wire: told is stored, and nothing else is."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from .harness import Reader, StoryServer, telling


async def scenes(server: StoryServer, story: str, branch: str) -> list[str]:
    """Return the stored texts of a branch."""
    page = await server.good("GET", f"/stories/{story}/scenes?branch={branch}&limit=200")
    return [each["text"] for each in page["scenes"]]


def files_with(folder: Path, words: bytes) -> list[Path]:
    """Return the files of a folder that hold some bytes."""
    return [each for each in folder.rglob("*") if each.is_file() and words in each.read_bytes()]


async def opened(server: StoryServer, reader: Reader) -> tuple[str, str]:
    """Begin a story, and open it."""
    story, branch = await server.story()
    assert (await reader.open(story))["type"] == "story"
    return story, branch


async def test_a_scene_is_told_and_stored_as_it_was_told(autojump_clock: trio.testing.MockClock) -> None:
    """The joined deltas, the response and the stored text are the same; choices follow."""
    async with telling() as server, server.reader() as reader:
        story, branch = await server.story()
        frame = await reader.open(story)
        assert (frame["type"], frame["branch"], frame["seq"], frame["id"]) == ("story", branch, 0, "open")
        text, stored = await reader.tell("Mira hides the copper key under the mill.")
        assert text == reader.deltas("m1")
        assert (stored["branch"], stored["seq"]) == (branch, 1)
        page = await server.good("GET", f"/stories/{story}/scenes?branch={branch}")
        assert [(each["text"], each["scene"]) for each in page["scenes"]] == [(text, stored["scene"])]
        choices = await reader.until("choices")
        assert choices["scene"] == stored["scene"]
        assert 2 <= len(choices["choices"]) <= 4
        _, second = await reader.tell(choice=choices["choices"][0]["id"])
        assert second["seq"] == 2


async def test_a_reader_s_own_scene_is_stored_word_for_word(autojump_clock: trio.testing.MockClock) -> None:
    """No model is asked for it."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        own = "The lantern went out.  Nobody\nspoke, and 3 of 4 doors were shut."
        text, _ = await reader.tell(own, own=True)
        assert text == own
        assert await scenes(server, story, branch) == [own]


async def test_a_retelling_is_another_version_of_the_last_scene(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It takes the place of the first version, which is shelved and can be picked again."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        first, stored = await reader.tell("Mira opens the gate.")
        second, again = await reader.tell(retell=stored["scene"])
        assert (again["scene"], again["seq"]) == (stored["scene"], 1)
        assert again["version"] != stored["version"]
        assert await scenes(server, story, branch) == [second]
        path = f"/stories/{story}/scenes/{stored['scene']}"
        versions = (await server.good("GET", path))["versions"]
        assert [(each["status"], each["text"]) for each in versions] == [
            ("shelved", first),
            ("active", second),
        ]
        await server.good("POST", f"{path}/pick", {"version": stored["version"]})
        assert await scenes(server, story, branch) == [first]


async def test_an_aside_is_in_no_scene(autojump_clock: trio.testing.MockClock) -> None:
    """It is answered, and kept beside the story."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        await reader.direct("Who is the miller?", aside=True)
        answer = await reader.until("response")
        assert answer["fiction"]
        await trio.sleep(1)
        asides = (await server.good("GET", f"/stories/{story}/asides"))["asides"]
        assert [(each["question"], each["answer"]) for each in asides] == [
            ("Who is the miller?", answer["text"])
        ]
        assert await scenes(server, story, branch) == []


async def test_a_deleted_story_is_in_no_index(autojump_clock: trio.testing.MockClock) -> None:
    """The index of a story leaves memory with it; that of another story stays."""
    async with telling() as server, server.reader() as reader:
        parts = server.net.app._edge_parts
        assert parts is not None
        for _ in range(2):
            story, branch = await opened(server, reader)
            await reader.tell("Mira hides the key.", own=True)
            found = await server.good("GET", f"/stories/{story}/recall?branch={branch}&query=key")
            assert [each["seq"] for each in found["scenes"]] == [1]
        indexes = parts.stories.desk._recall._open
        assert len(indexes) == 2
        await server.good("DELETE", f"/stories/{story}")
        assert len(indexes) == 1
        assert story not in indexes


@pytest.mark.parametrize("how", ["cancel", "message", "leave"])
async def test_a_scene_that_was_not_told_to_its_end_leaves_nothing(
    how: str, autojump_clock: trio.testing.MockClock, tmp_path: Path
) -> None:
    """Cancelled, pre-empted or without its client: no row, no prompt, no byte in a file; the branch goes on."""
    async with telling(pace_ms=50, data=str(tmp_path)) as server:
        async with server.reader() as reader:
            story, branch = await opened(server, reader)
            await reader.direct("The zwiebelfisch sinks in the quagmire.")
            await reader.until("stream")
            if how == "cancel":
                await reader.client.send({"type": "cancel"})
                assert (await reader.until("stream_end"))["reason"] == "cancelled"
            elif how == "message":
                assert (await reader.tell("Mira waits."))[1]["seq"] == 1
        await trio.sleep(3)
        async with server.reader() as other:
            await other.open(story)
            _, stored = await other.tell("Mira sleeps.")
        expected = 2 if how == "message" else 1
        assert stored["seq"] == expected
        assert len(await scenes(server, story, branch)) == expected
        shown = await server.good("GET", f"/stories/{story}/prompt?branch={branch}")
        assert "zwiebelfisch" not in json.dumps(shown)
    assert not files_with(tmp_path, b"zwiebelfisch")


async def test_of_two_readers_of_a_branch_one_tells(autojump_clock: trio.testing.MockClock) -> None:
    """The other is busy meanwhile, and has to look at what was told before it goes on."""
    async with telling(pace_ms=20) as server, server.reader() as one, server.reader() as other:
        story, _ = await opened(server, one)
        await other.open(story)
        message = await one.direct("Mira opens the gate.")
        await one.until("stream")
        assert await other.refused("Mira shuts the gate.") == "busy"
        assert (await one.until("scene_stored"))["id"] == message
        assert await other.refused("Mira shuts the gate.") == "moved"
        assert (await other.open(story))["seq"] == 1
        assert (await other.tell("Mira shuts the gate."))[1]["seq"] == 2


async def test_what_cannot_be_done_is_an_error_and_the_story_stays(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Each with its code: nothing open, an old choice, a scene that others have, another's story."""
    async with telling() as server, server.reader() as reader:
        assert await reader.refused("Go on.") == "no_story"
        frame = await reader.open("nonesuch")
        assert (frame["type"], frame["code"], frame["id"]) == ("error", "unknown_story", "open")
        story, branch = await opened(server, reader)
        await reader.tell("Mira opens the gate.")
        choice = (await reader.until("choices"))["choices"][0]["id"]
        _, stored = await reader.tell("Mira shuts the gate.")
        assert await reader.refused(choice=choice) == "stale_choice"
        assert await reader.refused(choice="nonesuch") == "stale_choice"
        await server.good("POST", f"/stories/{story}/branches", {"branch": branch, "seq": 2, "name": "other"})
        assert await reader.refused(retell=stored["scene"]) == "inherited"
        assert await server.code("POST", f"/stories/{story}/branches/{branch}/undo") == "inherited"
        assert (await reader.tell("Mira goes home."))[1]["seq"] == 3


async def test_a_fork_has_what_was_before_it_and_nothing_after(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Scenes, states and recall follow the lineage."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        for name, kind in (("the mill", "place"), ("the chapel", "place"), ("copper key", "thing")):
            await server.good("POST", f"/stories/{story}/cast", {"name": name, "kind": kind})
        await reader.tell("The copper key lies in the mill.", own=True)
        await reader.tell("She carried the copper key to the chapel and left it in the chapel.", own=True)
        fork = (
            await server.good("POST", f"/stories/{story}/branches", {"branch": branch, "seq": 1, "name": "b"})
        )["id"]

        async def place(of: str) -> list[str]:
            states = (await server.good("GET", f"/stories/{story}/states?branch={of}"))["states"]
            return [each["value"] for each in states if each["entity"] == "copper key"]

        assert (await place(branch), await place(fork)) == (["the chapel"], ["the mill"])
        found = await server.good("GET", f"/stories/{story}/recall?branch={fork}&query=copper+key")
        assert [each["seq"] for each in found["scenes"]] == [1]
        found = await server.good("GET", f"/stories/{story}/recall?branch={branch}&query=copper+key+chapel")
        assert found["scenes"][0]["seq"] == 2
        assert (await reader.open(story, fork))["seq"] == 1
        assert len(await scenes(server, story, fork)) == 1


async def test_the_branch_told_last_is_meant_where_none_is_named(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """For scenes, states, chapters, recall and the prompt."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        await reader.tell("The lamp is lit.", own=True)
        fork = {"branch": branch, "seq": 1, "name": "b"}
        await reader.open(story, (await server.good("POST", f"/stories/{story}/branches", fork))["id"])
        await reader.tell("The lamp goes out.", own=True)
        page = await server.good("GET", f"/stories/{story}/scenes")
        assert [each["text"] for each in page["scenes"]] == ["The lamp is lit.", "The lamp goes out."]
        found = await server.good("GET", f"/stories/{story}/recall?query=lamp")
        assert {each["seq"] for each in found["scenes"]} == {1, 2}
        for path in ("states", "chapters", "prompt"):
            await server.good("GET", f"/stories/{story}/{path}")


async def test_undo_and_redo_move_the_tip(autojump_clock: trio.testing.MockClock) -> None:
    """What was undone is in no listing; told on, it can no more be redone."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        path = f"/stories/{story}/branches/{branch}"
        first, _ = await reader.tell("Mira opens the gate.")
        second, _ = await reader.tell("Mira shuts the gate.")
        assert (await server.good("POST", f"{path}/undo"))["seq"] == 1
        assert await scenes(server, story, branch) == [first]
        assert (await server.good("POST", f"{path}/redo"))["seq"] == 2
        assert await scenes(server, story, branch) == [first, second]
        await server.good("POST", f"{path}/undo")
        assert await reader.refused("On.") == "moved"
        await reader.open(story)
        assert (await reader.tell("Mira goes home."))[1]["seq"] == 2
        assert await server.code("POST", f"{path}/redo") == "conflict"


async def test_the_mock_knows_what_the_last_scenes_said(autojump_clock: trio.testing.MockClock) -> None:
    """Also of a thing that is in no cast, and in a scene that stands in the prompt's window."""
    async with telling() as server, server.reader() as reader:
        await opened(server, reader)
        await reader.tell("The copper key lies in the old mill.", own=True)
        text, _ = await reader.tell("Where is the copper key?")
        assert "mill" in text


async def test_a_corrected_scene_sets_what_it_still_says(autojump_clock: trio.testing.MockClock) -> None:
    """A state that the shelved version set too is one of the new version; what is not said any more is gone."""
    async with telling() as server, server.reader() as reader:
        story, _ = await opened(server, reader)
        for name, kind in (("the mill", "place"), ("copper key", "thing"), ("silver cup", "thing")):
            await server.good("POST", f"/stories/{story}/cast", {"name": name, "kind": kind})
        _, stored = await reader.tell(
            "The copper key lies in the mill. The silver cup lies in the mill.", own=True
        )
        edit = {"text": "It rained. The copper key lies in the mill."}
        await server.good("POST", f"/stories/{story}/scenes/{stored['scene']}/edit", edit)
        states = (await server.good("GET", f"/stories/{story}/states"))["states"]
        assert [(each["entity"], each["value"], each["seq"]) for each in states] == [
            ("copper key", "the mill", 1)
        ]


async def test_a_story_can_be_taken_elsewhere(autojump_clock: trio.testing.MockClock) -> None:
    """An export is imported and exported again, byte for byte but for ids and times; Markdown is for reading."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        await server.good(
            "POST", f"/stories/{story}/cast", {"name": "Mira", "kind": "person", "look": "tall"}
        )
        _, stored = await reader.tell("Mira opens the gate.")
        await server.good(
            "POST", f"/stories/{story}/scenes/{stored['scene']}/edit", {"text": "The gate stood open."}
        )
        await server.good("POST", f"/stories/{story}/branches", {"branch": branch, "seq": 1, "name": "b"})
        once = await server.good("GET", f"/stories/{story}/export?form=json")
        made = await server.good("POST", "/stories/import", once)
        again = await server.good("GET", f"/stories/{made['id']}/export?form=json")
        assert json.dumps(again) == json.dumps(once)
        assert "The gate stood open." in await server.text(f"/stories/{story}/export?form=markdown")


def minimal(**changes: Any) -> dict[str, Any]:
    """Return an import of two scenes."""
    return {
        "format": "agent-story/1",
        "title": "The mill",
        "lang": "en",
        "foundation": "A valley.",
        "cast": [{"name": "copper key", "kind": "thing"}, {"name": "the mill", "kind": "place"}],
        "branches": [{"name": "main", "parent": None, "cut": 0}],
        "scenes": [
            {"branch": "main", "seq": 1, "text": "The copper key lies in the mill."},
            {"branch": "main", "seq": 2, "text": "It rains."},
        ],
    } | changes


async def test_an_import_is_taken_whole_with_the_states_of_its_scenes(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """The rules find in it what they find in a told scene."""
    async with telling() as server:
        made = await server.good("POST", "/stories/import", minimal())
        states = (await server.good("GET", f"/stories/{made['id']}/states?branch={made['branch']}"))["states"]
        assert [(each["entity"], each["value"], each["seq"]) for each in states] == [
            ("copper key", "the mill", 1)
        ]


@pytest.mark.parametrize(
    "document",
    [
        minimal(format="agent-story/2"),
        minimal(scenes=[{"branch": "main", "seq": 2, "text": "A hole."}]),
        minimal(scenes=[{"branch": "main", "seq": 1, "text": "a"}] * 2),
        minimal(branches=[{"name": "main", "parent": "main", "cut": 0}]),
        minimal(branches=[{"name": "main", "parent": "nobody", "cut": 1}]),
        [1],
        b'{"format": "agent-story/1", "title": "a", "title": "b"}',
        b"{",
    ],
)
async def test_an_import_with_a_fault_is_refused_whole(
    document: Any, autojump_clock: trio.testing.MockClock
) -> None:
    """Nothing of it is stored."""
    async with telling() as server:
        assert await server.code("POST", "/stories/import", document) == "bad_story"
        assert (await server.good("GET", "/stories"))["stories"] == []


async def test_an_import_that_is_too_large_is_refused(autojump_clock: trio.testing.MockClock) -> None:
    """Of 17 MiB, before it is read."""
    async with telling() as server:
        assert await server.code("POST", "/stories/import", b" " * (17 << 20)) == "too_large"


async def test_chapters_have_milestones_and_end_with_a_summary(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A milestone that came about is told, and marked; none is in the prompt of a scene."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        chapter = await server.good(
            "POST",
            f"/stories/{story}/chapters",
            {"branch": branch, "title": "One", "milestones": ["The lantern breaks", "The xylophone plays"]},
        )
        assert [each["met_at"] for each in chapter["milestones"]] == [None, None]
        await reader.tell("The lantern breaks.", own=True)
        plot = await reader.until("plot")
        assert plot["met"] == [1]
        shown = await server.good("GET", f"/stories/{story}/prompt?branch={branch}&text=Go+on")
        assert "xylophone" not in json.dumps(shown)
        listed = (await server.good("GET", f"/stories/{story}/chapters?branch={branch}"))["chapters"]
        assert [each["met_at"] for each in listed[0]["milestones"]] == [1, None]
        ended = await server.good("POST", f"/stories/{story}/chapters/{chapter['id']}/conclude", {})
        assert ended["status"] == "concluded"
        assert ended["summary"]
        target = f"/stories/{story}/chapters/{chapter['id']}"
        assert (await server.good("PUT", target, {"status": "open"}))["status"] == "open"
        assert await server.code("PUT", target, {"status": "open"}) == "conflict"


async def test_a_chapter_is_marked_and_concluded_for_the_branch_that_is_named(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """On a fork from before its end; a milestone comes about by hand in the last scene, so one must be told first."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        chapter = await server.good(
            "POST",
            f"/stories/{story}/chapters",
            {"branch": branch, "title": "One", "milestones": ["The xylophone plays"]},
        )
        target = f"/stories/{story}/chapters/{chapter['id']}"
        assert await server.code("PUT", target, {"met": {"1": True}}) == "conflict"
        await reader.tell("Mira waits.", own=True)
        fork = {"branch": branch, "seq": 1, "name": "elsewhere"}
        other = (await server.good("POST", f"/stories/{story}/branches", fork))["id"]
        await reader.tell("Mira sleeps.", own=True)
        marked = await server.good("PUT", target, {"met": {"1": True}, "branch": branch})
        assert [each["met_at"] for each in marked["milestones"]] == [2]
        await server.good("POST", f"{target}/conclude", {"branch": other})

        async def seen_from(branch: str) -> tuple[str, int | None]:
            path = f"/stories/{story}/chapters?branch={branch}"
            [seen] = (await server.good("GET", path))["chapters"]
            return seen["status"], seen["milestones"][0]["met_at"]

        assert [await seen_from(each) for each in (branch, other)] == [("open", 2), ("concluded", None)]
        assert (await server.good("PUT", target, {"status": "open", "branch": other}))["status"] == "open"


async def test_a_refused_change_of_a_chapter_changes_none_of_its_words(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Whichever part of it was refused."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        added = {"branch": branch, "title": "One", "milestones": ["The xylophone plays"]}
        chapter = await server.good("POST", f"/stories/{story}/chapters", added)
        target = f"/stories/{story}/chapters/{chapter['id']}"
        for refused, code in (
            ({"met": {"1": True}}, "conflict"),
            ({"met": {"9": True}}, "bad_request"),
            ({"status": "open"}, "conflict"),
        ):
            assert await server.code("PUT", target, {"title": "Two", **refused}) == code
            [seen] = (await server.good("GET", f"/stories/{story}/chapters?branch={branch}"))["chapters"]
            assert seen["title"] == "One"


async def test_a_milestone_that_is_met_on_a_fork_is_ahead_on_the_branch_that_it_forked_from(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """So a fork needs a scene of its own for it: the last scene that it shows before is the other branch's."""
    async with telling() as server, server.reader() as reader:
        story, branch = await opened(server, reader)
        added = {"branch": branch, "title": "One", "milestones": ["The xylophone plays"]}
        chapter = await server.good("POST", f"/stories/{story}/chapters", added)
        target = f"/stories/{story}/chapters/{chapter['id']}"
        await reader.tell("Mira waits.", own=True)
        fork = {"branch": branch, "seq": 1, "name": "elsewhere"}
        other = (await server.good("POST", f"/stories/{story}/branches", fork))["id"]
        mark = {"met": {"1": True}, "branch": other}

        async def met_at(branch: str) -> int | None:
            [seen] = (await server.good("GET", f"/stories/{story}/chapters?branch={branch}"))["chapters"]
            place: int | None = seen["milestones"][0]["met_at"]
            return place

        assert await server.code("PUT", target, mark) == "conflict"
        assert [await met_at(each) for each in (branch, other)] == [None, None]
        await reader.open(story, other)
        await reader.tell("Mira sleeps.", own=True)
        await server.good("PUT", target, mark)
        assert [await met_at(each) for each in (branch, other)] == [None, 2]
