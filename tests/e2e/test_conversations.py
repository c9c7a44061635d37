"""Conversations that the server keeps: the same in each tab of a user, after a reload and a restart, and no one else's.

Whole servers over memory streams, with a model that quotes the house's document.
"""

import io
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import trio
import trio.testing

from agent import log
from agent.memory.thread_follower import FOLLOW_EVERY
from agent.soak.uncited_numbers import find_uncited
from tests.e2e.test_forgotten import holding
from tests.server.api import TOKEN
from tests.server.api.whole import Whole, whole

from .plain import Frame, Plain, plain

SECRET = "a-browsers_own-secret-0123456789"
OTHER = "another-browsers-secret-987654321"
ANNA = "a-token-of-anna-24-characters"
OPENS = "When does the house open?"
SAYS = "The house opens at 8."
NEW = ("threads", "messages", "thread_changed", "thread_deleted", "exchange")


class Tab:
    """A page of a user in a browser: a socket, and what it asks for."""

    def __init__(self, client: Plain) -> None:
        self.client = client
        self.asked = 0

    async def ask(self, text: str = OPENS) -> Frame:
        """Return the response to a question."""
        self.asked += 1
        await self.client.ask(text, id=f"m{self.asked}")
        return (await self.client.until("response"))[-1]

    async def told(self, kind: str, **fields: Any) -> Frame:
        """Return the answer to a request to the memory."""
        self.asked += 1
        await self.client.send(type=kind, id=f"m{self.asked}", **fields)
        while (frame := await self.client.next()).get("id") != f"m{self.asked}":
            pass
        return frame

    async def threads(self, **fields: Any) -> list[Frame]:
        """Return the list of its threads."""
        return list((await self.told("thread_list", **fields))["threads"])

    async def thread(self) -> str:
        """Return the id of the thread that is open."""
        return str((await self.told("open_thread"))["thread"])

    def came(self, *kinds: str) -> list[Frame]:
        """Return the frames of some types that came without being asked for."""
        return [frame for _, frame in self.client.frames if frame["type"] in kinds and "id" not in frame]


@asynccontextmanager
async def tabs(server: Whole, *offered: str) -> AsyncGenerator[list[Tab], None]:
    """Open a tab for each subprotocol beside the operator's token."""
    async with AsyncExitStack() as stack:
        names = [[f"bearer.{TOKEN}", each] if each.startswith("visitor.") else [each] for each in offered]
        yield [Tab(await stack.enter_async_context(plain(server.net.open(), each))) for each in names]


@asynccontextmanager
async def serving(folder: Path | None = None, **more: Any) -> AsyncGenerator[Whole, None]:
    """A server that remembers."""
    data = {} if folder is None else {"data": str(folder / "data")}
    async with whole(memory="on", **data, **more) as server:
        server.model.says = SAYS
        yield server


MINE, THEIRS = f"visitor.{SECRET}", f"visitor.{OTHER}"


async def test_a_second_tab_follows_the_first(autojump_clock: trio.testing.MockClock) -> None:
    """The answer comes as it was given, as soon as it is kept; the tab that asked is told of its thread only."""
    async with serving() as server, tabs(server, MINE, MINE, THEIRS) as (one, two, stranger):
        for each in (one, two, stranger):
            assert await each.threads(follow=True) == []
        thread = await one.thread()
        assert (await two.told("open_thread", thread=thread))["type"] == "error"  # nothing was said in it yet
        await one.ask()
        await trio.testing.wait_all_tasks_blocked()
        assert [each["thread"]["title"] for each in two.came("thread_changed")] == [OPENS]
        assert (await two.told("open_thread", thread=thread))["thread"] == thread
        response = await one.ask("And when does the house open?")
        await trio.testing.wait_all_tasks_blocked()
        ((exchange),) = two.came("exchange")
        question, answer = exchange["messages"]
        assert (exchange["thread"], question["text"]) == (thread, "And when does the house open?")
        assert {name: answer[name] for name in ("text", "citations", "confidence")} == {
            name: response[name] for name in ("text", "citations", "confidence")
        }
        assert answer["citations"][0]["spans"]
        assert not [*find_uncited(answer)]
        assert one.came("exchange") == []
        assert len(one.came("thread_changed")) == 2
        assert stranger.came(*NEW) == []
        await two.ask("When does the house open, then?")
        await trio.testing.wait_all_tasks_blocked()
        assert "then?" in server.model.asked[-1]
        assert "And when does the house open?" in server.model.asked[-1]  # the history is that of the thread
        assert [each["messages"][0]["text"] for each in one.came("exchange")] == [
            "When does the house open, then?"
        ]


async def test_without_a_name_and_a_secret_each_thread_is_on_its_own(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Nobody is told of another's, as long as nobody has its id."""
    async with serving() as server, tabs(server, *[f"bearer.{TOKEN}"] * 3) as (one, two, friend):
        for each in (one, two, friend):
            await each.threads(follow=True)
        await one.ask()
        thread = await one.thread()
        assert [each["thread"] for each in await one.threads()] == [thread]
        await friend.told("open_thread", thread=thread)
        await one.ask("When does the house open, then?")
        await one.told("thread_delete", thread=thread)
        await trio.sleep(10)
        assert two.came(*NEW) == []
        assert await two.threads() == []
        assert [each["type"] for each in friend.came(*NEW)] == [
            "thread_changed",
            "exchange",
            "thread_deleted",
        ]


async def test_who_does_not_follow_is_told_nothing_new(autojump_clock: trio.testing.MockClock) -> None:
    """A client of before: it gets the frames that it has always got."""
    async with serving() as server, tabs(server, MINE, MINE) as (one, old):
        await one.ask()
        thread = await one.thread()
        await old.told("open_thread", thread=thread)
        await one.ask()
        await one.told("thread_rename", thread=thread, title="Hours")
        await trio.sleep(10)
        assert old.came(*NEW) == []
        await one.told("thread_delete", thread=thread)
        await trio.sleep(10)
        assert old.came(*NEW) == []
        assert await old.thread() != thread  # what it says from here on is kept


async def test_conversations_outlive_the_server(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """With answers as they were shown, refusals as refusals and nothing of what was cancelled; a page at a time."""
    async with serving(tmp_path) as server, tabs(server, MINE) as (tab,):
        first = await tab.ask()
        server.model.says = "It opens at 9."
        refused = await tab.ask("When does it open on Sundays?")
        assert refused["blocked"]
        server.model.wait = 60.0
        await tab.client.ask("Will this be kept?", id="c")
        await tab.client.send(type="cancel")
        await tab.client.until("stream_end")
        server.model.wait = 0.0
        server.model.says = SAYS
        for number in range(12):
            await tab.ask(f"When does the house open, {number}?")
        thread = await tab.thread()
        await tab.told("thread_rename", thread=thread, title="  The\n house ")
        await trio.sleep(1)
    async with serving(tmp_path) as server, tabs(server, MINE, THEIRS) as (tab, stranger):
        (listed,) = await tab.threads()
        assert (listed["thread"], listed["title"], listed["count"]) == (thread, "The house", 28)
        latest = await tab.told("thread_messages", thread=thread)
        before = await tab.told("thread_messages", thread=thread, after=latest["after"])
        assert "after" not in before
        told = before["messages"] + latest["messages"]
        assert [each["role"] for each in told] == ["user", "assistant"] * 14
        assert told[1]["citations"] == first["citations"]
        assert (told[3]["text"], told[3]["blocked"]) == (refused["text"], refused["blocked"])
        assert not any("kept" in each["text"] for each in told)
        assert not [
            run
            for each in told
            if each["role"] == "assistant"
            for run in find_uncited({"citations": [], **each})
        ]
        await tab.told("open_thread", thread=thread)
        await tab.ask("When does the house open, then?")
        assert "When does the house open, 11?" in server.model.asked[-1]
        assert await stranger.threads() == []


async def test_another_users_thread_is_as_one_that_never_was(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Whoever asks, and whatever for: byte for byte, but for the label of the request."""
    users = tmp_path / "users.toml"
    users.write_text(f'anna = "{ANNA}"\n')
    async with (
        serving(users=users) as server,
        tabs(server, MINE, THEIRS, f"bearer.{ANNA}", f"bearer.{TOKEN}") as all,
    ):
        owner, *others = all
        await owner.ask()
        thread = await owner.thread()
        for each in others:
            for kind, fields in (
                ("open_thread", {}),
                ("thread_messages", {}),
                ("thread_messages", {"after": 2}),
                ("thread_rename", {"title": "Mine"}),
                ("thread_delete", {}),
            ):
                answers = [await each.told(kind, thread=asked, **fields) for asked in (thread, "never-was")]
                for answer in answers:
                    del answer["id"]
                assert answers[0] == answers[1]
                assert answers[0]["code"] == "unknown_thread"
            assert await each.threads() == []
        assert [each["title"] for each in await owner.threads()] == [OPENS]


async def test_a_named_users_token_wins_over_a_secret(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Her threads are hers in every browser, and a browser's own stay where they were."""
    users = tmp_path / "users.toml"
    users.write_text(f'anna = "{ANNA}"\n')
    async with serving(users=users) as server, AsyncExitStack() as stack:

        async def open_tab(*offered: str) -> Tab:
            return Tab(await stack.enter_async_context(plain(server.net.open(), offered)))

        anna = await open_tab(f"bearer.{ANNA}", MINE)
        await anna.ask()
        assert len(await (await open_tab(f"bearer.{ANNA}", THEIRS)).threads()) == 1
        assert await (await open_tab(f"bearer.{TOKEN}", MINE)).threads() == []
        for wrong in ("visitor.short", f"visitor.{'x' * 65}", f"visitor.{'.' * 30}"):
            assert await (await open_tab(f"bearer.{TOKEN}", wrong)).threads() == []
        _, store = server.memory
        assert {turn.scope.user for turn in await store.turns(0, 99)} == {"anna"}


async def test_a_secret_is_in_no_file_and_no_line_of_the_log(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Only a digest of it names its user."""
    lines = io.StringIO()
    log.configure("console", "debug", lines)
    async with serving(tmp_path) as server, tabs(server, MINE) as (tab,):
        await tab.threads(follow=True)
        await tab.ask("Call me back on 070-174 06 05.")
        await trio.sleep(1)
        _, store = server.memory
        (user,) = {turn.scope.user for turn in await store.turns(0, 99)}
    assert user.startswith("visitor:")
    assert len(user) == 72
    assert holding(tmp_path, SECRET) == []
    assert "turn ended" in lines.getvalue()
    assert SECRET not in lines.getvalue()


async def test_an_answer_of_a_thread_that_is_opened_again_can_be_rated(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """By its user, with the evidence it had; the thread shows what was said of it, and another's is unknown."""
    async with serving() as server, tabs(server, MINE, MINE, THEIRS) as (one, two, stranger):
        response = await one.ask()
        thread = await one.thread()
        assert (await two.told("open_thread", thread=thread))["thread"] == thread
        question, answer = (await two.told("thread_messages", thread=thread))["messages"]
        assert "feedback" not in answer
        rates = {"message": answer["message"], "verdict": "down", "text": "At 7!"}
        assert (await stranger.told("feedback", **rates)).get("code") == "unknown_answer"
        assert (await two.told("feedback", **rates | {"message": "never"}))["code"] == "unknown_answer"
        assert (await two.told("feedback", **rates))["type"] == "feedback_stored"
        question, answer = (await one.told("thread_messages", thread=thread))["messages"]
        assert "feedback" not in question
        assert answer["feedback"] == {"verdict": "down", "text": "At 7!"}
        (stored,) = (await server.good("GET", "/feedback"))["items"]
        assert (stored["question"], stored["answer"]) == (OPENS, response["text"])
        assert stored["citations"] == response["citations"]
        await one.told("feedback", **rates | {"message": "m1", "verdict": "up"})  # by the id of its own tab
        (stored,) = (await server.good("GET", "/feedback"))["items"]
        assert stored["verdict"] == "up"


async def test_a_thread_is_deleted_while_another_tab_writes_in_it(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """That tab is told, its turn ends as by a cancel, and nothing of either is in any file; both go on elsewhere."""
    async with serving(tmp_path) as server, tabs(server, MINE, MINE) as (one, two):
        await one.threads(follow=True)
        await two.threads(follow=True)
        await one.ask("When does the house open? Zanzibarium!")
        rates = {"message": f"m{one.asked}", "verdict": "up", "text": "Zanzibarium!"}
        assert (await one.told("feedback", **rates))["type"] == "feedback_stored"
        thread = await one.thread()
        assert (await one.told("recall", query="Zanzibarium"))["excerpts"]
        await two.told("open_thread", thread=thread)
        server.model.wait = 60.0
        await two.client.ask("When does the house open, Zanzibarium?", id="late")
        await trio.sleep(1)
        assert holding(tmp_path)
        gone = await one.told("thread_delete", thread=thread)
        assert (gone["type"], gone["thread"]) == ("thread_deleted", thread)
        assert holding(tmp_path) == []
        assert (await one.told("feedback", **rates))["type"] == "error"
        assert (await one.told("recall", query="Zanzibarium", limit=50))["excerpts"] == []
        ended = (await two.client.until("stream_end"))[-1]
        assert (ended["id"], ended["reason"]) == ("late", "cancelled")
        assert [each["thread"] for each in two.came("thread_deleted")] == [thread]
        await trio.sleep(120)
        assert holding(tmp_path) == []
        server.model.wait = 0.0
        fresh = await two.thread()
        assert fresh not in ("", thread)
        assert await one.thread() == fresh
        prompts = len(server.model.asked)
        await two.ask()
        assert "Zanzibarium" not in "".join(server.model.asked[prompts:])
        assert (await two.told("open_thread", thread=thread))["code"] == "unknown_thread"
        assert [each["thread"] for each in await one.threads()] == [fresh]


async def test_a_suggestion_of_a_deleted_thread_cannot_be_confirmed(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """It closes like one that is cancelled."""
    async with serving() as server, tabs(server, MINE) as (tab,):
        await tab.client.ask("Call me back on 070-174 06 05.", id="a")
        suggested = (await tab.client.until("action_suggestion"))[-1]
        await tab.told("thread_delete", thread=await tab.thread())
        closed = [frame for _, frame in tab.client.frames if frame["type"] == "action_closed"]
        assert [(each["suggestionId"], each["reason"]) for each in closed] == [
            (suggested["suggestionId"], "cancelled")
        ]
        await tab.client.send(type="confirm_action", suggestionId=suggested["suggestionId"])
        await tab.client.until("action_executed")
        assert server.carried.called == []


async def test_what_is_forgotten_is_told_to_tabs_that_show_it(autojump_clock: trio.testing.MockClock) -> None:
    """Its messages come again without a text, also in the tab that told it."""
    async with serving() as server, tabs(server, MINE) as (tab,):
        await tab.threads(follow=True)
        await tab.ask("Remember that my locker code is Zanzibarium.")
        await trio.sleep(1)
        (item,) = (await tab.told("memory_list"))["items"]
        await tab.told("memory_forget", item=item["id"])
        await trio.sleep(1)
        thread = await tab.thread()
        (exchange,) = tab.came("exchange")
        assert [(each["role"], each["text"]) for each in exchange["messages"]] == [
            ("user", ""),
            ("assistant", ""),
        ]
        assert "count" not in tab.came("thread_changed")[-1]["thread"]
        assert tab.came("thread_deleted") == []
        assert await tab.threads() == []
        await tab.ask()
        assert [each["thread"] for each in await tab.threads()] == [thread]


async def test_two_servers_over_one_folder_are_one(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """As two workers are: the other's tabs follow within a second, and leave a thread that is deleted there."""
    async with (
        serving(tmp_path) as here,
        serving(tmp_path) as there,
        tabs(here, MINE) as (one,),
        tabs(there, MINE) as (other,),
    ):
        await one.ask()
        await trio.sleep(1)
        thread = await one.thread()
        assert [each["thread"] for each in await other.threads(follow=True)] == [thread]
        await other.told("open_thread", thread=thread)
        response = await one.ask("When does the house open, again?")
        await trio.sleep(2 * FOLLOW_EVERY)
        (exchange,) = other.came("exchange")
        assert exchange["messages"][1]["citations"] == response["citations"]
        await one.told("thread_rename", thread=thread, title="Hours")
        await trio.sleep(2 * FOLLOW_EVERY)
        assert other.came("thread_changed")[-1]["thread"]["title"] == "Hours"
        there.model.wait = 60.0
        await other.client.ask("When does the house open, there?", id="late")
        await trio.sleep(1)
        await one.told("thread_delete", thread=thread)
        ended = (await other.client.until("stream_end"))[-1]
        assert ended["reason"] == "cancelled"
        assert other.came("thread_deleted")
        assert await other.threads() == []


async def test_a_list_and_its_requests_are_bounded(autojump_clock: trio.testing.MockClock) -> None:
    """What a request lacks is said in a sentence; reading is limited like a search."""
    async with serving() as server, tabs(server, MINE) as (tab,):
        for frame, said in (
            ({"type": "thread_messages"}, "Add the field thread"),
            ({"type": "thread_rename", "thread": "t", "title": "x" * 121}, "at most 120 characters"),
            ({"type": "thread_list", "follow": 1}, "true or false"),
            ({"type": "thread_list", "after": -1}, "the field after of the thread_list"),
            ({"type": "thread_delete", "thread": ""}, "Do not leave the field thread"),
        ):
            await tab.client.send(**frame)
            error = (await tab.client.until("error"))[-1]
            assert error["code"] == "bad_message"
            assert said in error["message"]
            await trio.sleep(30)
        await trio.sleep(10)
        for _ in range(11):
            await tab.client.send(type="thread_list")
        assert (await tab.client.until("error"))[-1]["code"] in ("rate_limited", "busy")
