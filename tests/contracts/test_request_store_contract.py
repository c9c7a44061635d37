"""What every store of requests must do."""

from dataclasses import replace

import pytest

from agent.errors import Conflict
from agent.ports.projects import HOUSE
from agent.ports.requests import StoredAnswer
from agent.storage.settings import IDEMPOTENCY_SECONDS
from agent.storage.store import Store
from tests.stored import NOW

ANSWER = StoredAnswer(201, b'{"id":"\xff"}')
DAY = int(IDEMPOTENCY_SECONDS * 1000)


async def test_the_same_request_again_gets_the_same_answer(store: Store) -> None:
    """Once it is answered; meanwhile it is in progress, and something else under its key is neither."""
    first = store.requests.begin_request
    assert await first("o1", "k", "d1", NOW) is None
    with pytest.raises(Conflict, match="in_progress"):
        await first("o1", "k", "d1", NOW)
    await store.requests.record_answer("o1", "k", ANSWER)
    assert await first("o1", "k", "d1", NOW) == ANSWER
    with pytest.raises(Conflict, match="key_reused"):
        await first("o1", "k", "d2", NOW)
    await store.requests.record_answer("o1", "k", StoredAnswer(500, b""))
    await store.requests.record_answer("o1", "k", None)
    assert await first("o1", "k", "d1", NOW) == ANSWER  # the first answer stands
    assert await first("o2", "k", "d2", NOW) is None  # another's key


async def test_a_request_that_came_to_nothing_may_be_tried_again(store: Store) -> None:
    """Forgotten, its key is free, for something else too."""
    assert await store.requests.begin_request("o1", "k", "d1", NOW) is None
    await store.requests.record_answer("o1", "k", None)
    assert await store.requests.begin_request("o1", "k", "d2", NOW) is None


async def test_answers_are_forgotten_after_a_day(store: Store) -> None:
    """Not a millisecond before."""
    await store.requests.begin_request("o1", "k", "d1", NOW)
    await store.requests.record_answer("o1", "k", ANSWER)
    assert await store.requests.begin_request("o1", "k", "d1", NOW + DAY) == ANSWER
    assert await store.requests.begin_request("o1", "k", "d2", NOW + DAY + 1) is None


async def test_the_answers_of_a_deleted_project_go_with_it(store: Store) -> None:
    """Whoever asked, also for what made it, and what is not answered yet; those of others stay."""
    await store.projects.create_project("p1", "One", "", NOW)
    asked = {"of it": "p1", "another's": HOUSE, "that made it": HOUSE, "in progress": "p1"}
    for key, project in asked.items():
        assert await store.requests.begin_request("o1", key, "d1", NOW, project) is None
    await store.requests.record_answer("o1", "of it", ANSWER)
    await store.requests.record_answer("o1", "another's", ANSWER)
    await store.requests.record_answer("o1", "that made it", replace(ANSWER, project="p1"))
    await store.projects.delete_project("p1")
    await store.requests.record_answer("o1", "in progress", ANSWER)  # too late
    again = {
        key: await store.requests.begin_request("o1", key, "d1", NOW, project)
        for key, project in asked.items()
    }
    assert again == {"of it": None, "another's": ANSWER, "that made it": None, "in progress": None}


async def test_the_audit_takes_ids_of_anything(store: Store) -> None:
    """A line for each, also of a project that is gone."""
    for subject in ("c1", "c2"):
        await store.requests.write_audit(NOW, "p0", "u1", "approved", subject)
