"""Projects, threads and calls as the tests of what is kept need them."""

from dataclasses import replace
from typing import Any

from agent.ports.calls import StoredCall
from agent.ports.projects import HOUSE, StoredDocument
from agent.ports.threads import StoredMessage, TurnOpening, TurnStep
from agent.storage.store import Store
from agent.testing.fakes import Noon

NOW = Noon().now_ms()
LATER = NOW + 60_000
SHA = "5" * 64


def a_call(id: str = "c1", **other: Any) -> StoredCall:
    """A call of the first turn of thread t1 that waits to be approved, for a minute."""
    made = StoredCall(
        id=id,
        project=HOUSE,
        thread="t1",
        message="m1",
        turn=1,
        position=int("".join(filter(str.isdigit, id)) or 0),
        tool="refund",
        arguments={"order": "A-1", "amount": 299},
        arguments_hash="h1",
        proposed_hash="h1",
        runs_at="caller",
        needs_approval=True,
        status="suggested",
        created_at=NOW,
        deadline=LATER,
        sources={"/order": "user"},
        why=("definition",),
        parameters={"type": "object"},
    )
    return replace(made, **other)


def an_opening(id: str = "m1", **other: Any) -> TurnOpening:
    """A message that begins the house's thread t1."""
    return replace(
        TurnOpening(project=HOUSE, thread="t1", user="u1", id=id, content=f"text of {id}", at=NOW, new=True),
        **other,
    )


def said(message: str | None = "m1", **other: Any) -> TurnStep:
    """The end of a turn of thread t1."""
    return replace(TurnStep(project=HOUSE, thread="t1", message=message, status="done", at=NOW + 1), **other)


def an_answer(id: str = "a1", **other: Any) -> StoredMessage:
    """The assistant's message in the first turn of thread t1."""
    cited = ({"file": "pricing.md", "lines": [1, 2]},)
    made = StoredMessage(
        id=id,
        thread="t1",
        turn=1,
        role="assistant",
        content=f"text of {id}",
        status="done",
        created_at=NOW + 1,
        citations=cited,
    )
    return replace(made, **other)


def a_document(id: str = "d1", **other: Any) -> StoredDocument:
    """A document of the house."""
    made = StoredDocument(
        id=id,
        project=HOUSE,
        category="FACTS",
        filename="prices.md",
        mime="text/markdown",
        sha256=SHA,
        size=20,
        pieces=1,
        version=1,
        created_at=NOW,
    )
    return replace(made, **other)


async def with_calls(store: Store, *calls: StoredCall) -> None:
    """Keep the house's thread t1 with a turn that has ended and led to these."""
    await store.threads.begin_turn(an_opening())
    await store.threads.record_step(said(answer=an_answer(), calls=calls))
