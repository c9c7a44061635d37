"""What every store of projects must do."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

import pytest

from agent.errors import Conflict, NotFound
from agent.ports.pages import Window
from agent.ports.projects import HOUSE, DocumentText, Project, ProjectKey
from agent.storage import projects as storage_projects
from agent.storage.store import Store
from tests.stored import NOW, a_call, a_document, an_opening, said, with_calls

ALL = Window(99)
DIGEST = "a" * 64


async def ids(asked: Awaitable[object]) -> list[str]:
    """The ids on a page."""
    return [each.id for each in (await asked).entries]  # type: ignore[attr-defined]


async def test_the_house_is_there_from_the_start(store: Store) -> None:
    """It can be changed, and not deleted."""
    assert await store.projects.project(HOUSE) == Project(HOUSE, HOUSE, "", NOW)
    changed = await store.projects.change_project(HOUSE, None, "You are kind.")
    assert changed == Project(HOUSE, HOUSE, "You are kind.", NOW, 1)
    with pytest.raises(Conflict, match="kept"):
        await store.projects.delete_project(HOUSE)
    assert await ids(store.projects.projects(ALL)) == [HOUSE]


async def test_projects_are_made_changed_and_listed(store: Store) -> None:
    """Oldest first, a page at a time; a name changes no revision, a role does."""
    made = await store.projects.create_project("p2", "Two", "You sell.", NOW + 1)
    assert made == Project("p2", "Two", "You sell.", NOW + 1)
    await store.projects.create_project("p1", "One", "", NOW + 2)
    assert await store.projects.change_project("p2", "Deux", None) == replace(made, name="Deux")
    assert await store.projects.change_project("p2", None, None) == replace(made, name="Deux")
    first = await store.projects.projects(Window(2))
    await store.projects.create_project("p0", "Zero", "", NOW)
    assert [each.id for each in first.entries] == [HOUSE, "p2"]
    assert await ids(store.projects.projects(Window(9, first.after or 0))) == ["p1", "p0"]


async def test_projects_have_a_bound(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over PROJECTS_MOST none is made."""
    monkeypatch.setattr(storage_projects, "PROJECTS_MOST", 2)
    await store.projects.create_project("p1", "One", "", NOW)
    with pytest.raises(Conflict, match="too_many_projects"):
        await store.projects.create_project("p2", "Two", "", NOW)
    assert await ids(store.projects.projects(ALL)) == [HOUSE, "p1"]


async def test_a_key_opens_its_project_until_it_is_revoked(store: Store) -> None:
    """By its digest; revoking it again changes nothing, and it stays listed."""
    await store.projects.create_project("p1", "One", "", NOW)
    key = await store.projects.add_key("p1", "k1", DIGEST, "n8n", NOW)
    assert key == ProjectKey("k1", "p1", "n8n", NOW)
    found = await store.projects.find_key(DIGEST)
    assert found is not None
    assert (found.project, found.revoked_at) == ("p1", None)
    assert await store.projects.find_key("b" * 64) is None
    for at in (NOW + 1, NOW + 2):
        await store.projects.revoke_key("p1", "k1", at)
    assert await store.projects.find_key(DIGEST) is None
    assert (await store.projects.keys("p1", ALL)).entries == (replace(key, revoked_at=NOW + 1),)


async def test_a_document_is_replaced_by_its_name(store: Store) -> None:
    """The same bytes change nothing; others get the next version, and the old text is nowhere."""
    first = await store.projects.put_document(a_document(), "The plan costs 299 kr.")
    assert first == a_document()
    assert await store.projects.put_document(a_document("d2", mime="text/plain"), "not read") == first
    assert await store.projects.texts(HOUSE) == (
        1,
        (DocumentText("d1", "FACTS", "prices.md", "The plan costs 299 kr."),),
    )
    new = a_document("d2", sha256="6" * 64, created_at=NOW + 1)
    assert await store.projects.put_document(new, "The plan costs 399 kr.") == replace(new, version=2)
    assert await store.projects.texts(HOUSE) == (
        2,
        (DocumentText("d2", "FACTS", "prices.md", "The plan costs 399 kr."),),
    )
    with pytest.raises(NotFound):
        await store.projects.document(HOUSE, "d1")
    assert await store.projects.document(HOUSE, "d2") == replace(new, version=2)
    await store.projects.delete_document(HOUSE, "d2")
    assert await store.projects.texts(HOUSE) == (3, ())


async def test_texts_come_by_category_and_name(store: Store) -> None:
    """Those that could not be read are listed, and have no text to answer from."""
    for id, category, name, error in (
        ("d1", "STATE", "a", ""),
        ("d2", "FACTS", "b", ""),
        ("d3", "FACTS", "a", ""),
        ("d4", "FACTS", "c", "it is no text"),
    ):
        document = a_document(id, category=category, filename=name, error=error)
        await store.projects.put_document(document, f"text of {id}")
    revision, texts = await store.projects.texts(HOUSE)
    assert (revision, [text.id for text in texts]) == (4, ["d3", "d2", "d1"])
    assert await ids(store.projects.documents(HOUSE, ALL)) == ["d1", "d2", "d3", "d4"]
    page = await store.projects.documents(HOUSE, Window(3))
    assert await ids(store.projects.documents(HOUSE, Window(3, page.after or 0))) == ["d4"]


async def test_documents_have_bounds(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many, so long in all, and rules so long; in place of an older one only what it adds counts."""
    monkeypatch.setattr(storage_projects, "DOCUMENTS_MOST", 3)
    monkeypatch.setattr(storage_projects, "DOCUMENTS_BYTES", 30)
    monkeypatch.setattr(storage_projects, "RULES_BYTES", 10)
    put = store.projects.put_document
    rules = a_document("r1", category="RULES", filename="a")
    await put(rules, "å" * 5)
    with pytest.raises(Conflict, match="rules_too_long"):
        await put(a_document("r2", category="RULES", filename="b"), "x")
    with pytest.raises(Conflict, match="rules_too_long"):
        await put(replace(rules, sha256="6" * 64), "x" * 11)
    await put(replace(rules, sha256="7" * 64), "x" * 10)
    with pytest.raises(Conflict, match="project_full"):
        await put(a_document("d1"), "x" * 21)
    await put(a_document("d1"), "x" * 20)
    await put(a_document("d2", filename="b"), "")
    with pytest.raises(Conflict, match="project_full"):
        await put(a_document("d3", filename="c"), "")
    assert await ids(store.projects.documents(HOUSE, ALL)) == ["r1", "d1", "d2"]
    assert (await store.projects.texts(HOUSE))[0] == 4


async def test_a_deleted_project_is_gone_with_all_that_is_its_own(store: Store) -> None:
    """Threads, messages, calls, documents, keys; what was confirmed never runs, and what was claimed keeps its row."""
    await store.projects.create_project("p1", "One", "", NOW)
    await store.projects.add_key("p1", "k1", DIGEST, "", NOW)
    await store.projects.put_document(a_document(project="p1"), "text")
    await store.threads.begin_turn(an_opening(project="p1"))
    run = {"project": "p1", "runs_at": "record", "needs_approval": False, "status": "confirmed"}
    await store.threads.record_step(said(project="p1", calls=(a_call("c1", **run), a_call("c2", **run))))
    await store.ledger.claim("c1", "refund", NOW)
    await store.projects.delete_project("p1")
    assert not await store.ledger.claim("c2", "refund", NOW)
    await store.ledger.record_outcome("c1", "done", {}, NOW)
    assert {row.suggestion_id: row.status for row in await store.ledger.rows()} == {
        "c1": "done",
        "c2": "cancelled",
    }
    assert await store.projects.find_key(DIGEST) is None
    await store.projects.create_project("p1", "One again", "", NOW)
    for listed in (store.projects.documents, store.projects.keys, store.threads.threads, store.calls.calls):
        assert await ids(listed("p1", ALL)) == []


async def test_what_is_another_projects_is_not_there(store: Store) -> None:
    """Every method says the same as of what never was."""
    await store.projects.create_project("p2", "Two", "", NOW)
    await with_calls(store)
    await store.projects.add_key(HOUSE, "k1", DIGEST, "", NOW)
    await store.projects.put_document(a_document(), "text")
    asked: tuple[Callable[[], Awaitable[object]], ...] = (
        partial(store.projects.project, "p0"),
        partial(store.projects.change_project, "p0", "x", None),
        partial(store.projects.change_project, "p0", None, None),
        partial(store.projects.delete_project, "p0"),
        partial(store.projects.add_key, "p0", "k2", "b" * 64, "", NOW),
        partial(store.projects.keys, "p0", ALL),
        partial(store.projects.revoke_key, "p2", "k1", NOW),
        partial(store.projects.put_document, a_document(project="p0"), "text"),
        partial(store.projects.document, "p2", "d1"),
        partial(store.projects.documents, "p0", ALL),
        partial(store.projects.delete_document, "p2", "d1"),
        partial(store.projects.texts, "p0"),
    )
    for one in asked:
        with pytest.raises(NotFound, match=r"^there is no such thing$"):
            await one()
    found = await store.projects.find_key(DIGEST)
    assert found is not None
    assert found.project == HOUSE
    assert (await store.projects.texts("p2")) == (0, ())
    await store.projects.put_document(a_document("d1", project="p2"), "theirs")  # the same id and name
    assert [text.text for text in (await store.projects.texts(HOUSE))[1]] == ["text"]
