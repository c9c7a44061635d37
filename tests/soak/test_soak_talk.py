"""A talk over HTTP with a real server: an edit is what runs, and a server that takes what it must not is found out."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
import trio

from agent.soak.figures import Tally
from agent.soak.http_talk import Talk
from agent.soak.local_server import Surroundings, run_server
from agent.soak.pages import Pages
from agent.soak.scene import Scene, Target
from agent.soak.tools import BOOKING
from agent.threads.desk import ThreadDesk


@asynccontextmanager
async def talking(tmp_path: Path) -> AsyncGenerator[tuple[Talk, Tally], None]:
    """Begin a talk with a server that only records its actions, and let it suggest a call."""
    knowledge = tmp_path / "kb"
    knowledge.mkdir()
    Pages(knowledge, trio.current_time)
    tally = Tally()
    async with run_server(
        1, 1, Surroundings(knowledge=knowledge, data=tmp_path / "data"), callers=1
    ) as server:
        talk = Talk(
            "anna",
            "anna",
            Scene(target=Target(host="127.0.0.1", port=server.app.port), tally=tally),
            Random(1),
            False,
        )
        await talk._chat(saying=BOOKING)
        yield talk, tally


async def test_an_edit_is_what_runs(tmp_path: Path) -> None:
    """It is taken, and the hash that is shown is that of what the user wrote."""
    async with talking(tmp_path) as (talk, tally):
        await talk._edit_badly()
        await talk._approve_unseen()
        await talk._edit()
        await talk.settle()
        (view,) = talk.calls.of_status("done")
        assert view["arguments"].keys() == {"order", "note"}
        await talk.delete()
    assert tally.broken == {}
    assert tally.counts == tally.counts | {
        "edit 200": 1,
        "bad edit bad_edit": 1,
        "approve unseen arguments_changed": 1,
        "talks settled": 1,
        "delete 204": 1,
    }


async def test_a_server_that_runs_something_else_is_found_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another call than was approved, and one of which the user has not seen the arguments."""
    approve: Any = ThreadDesk.approve_call

    def careless(self: ThreadDesk, project: str, call: str, by: str, *about: Any) -> Any:
        return approve(self, project, call, by, {"order": "Z-9"}, None, *about[2:])

    monkeypatch.setattr(ThreadDesk, "approve_call", careless)
    async with talking(tmp_path) as (talk, tally):
        await talk._chat(saying=BOOKING)
        await talk._edit()
        await talk._approve_unseen()
    assert tally.broken == {"T1": 2}
    assert "with other arguments than somebody has said yes to" in tally.examples[0]
    assert "approve unseen of" in tally.examples[1]
