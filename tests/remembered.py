"""Drafts, exchanges and items as the tests of what is remembered need them."""

from typing import Any

from agent.memory.items import make_draft
from agent.ports.conversation import Scope
from agent.ports.memory import (
    Candidate,
    Draft,
    ExchangeRecord,
    Item,
    ItemType,
    MemoryStore,
    ProposalOutcome,
    Remark,
    Source,
)
from agent.testing.fakes import Noon

NOW = Noon().now_ms()
HOUR = 3600 * 1000
DAY = 24 * HOUR
ANA = Scope("p1", "t1", "ana")
"""Somebody's thread; what she has stored is in every thread of hers."""

OTHERS = (
    Scope("p1", "t1", "bo"),
    Scope("p2", "t1", "ana"),
    Scope("p1", "t1", ""),
    Scope("", "", ""),
)
"""Who is not she."""


def a_draft(
    text: str = "The budget of atlas is 50 SEK",
    subject: str = "budget of atlas",
    type: ItemType = "fact",
    *,
    message: str = "m1",
    at: int = NOW,
    **other: Any,
) -> Draft:
    """What somebody said, made sound."""
    return make_draft(
        Candidate(
            type=type,
            subject=subject,
            text=text,
            lang="en",
            sources=(Source("message", message, quote=text),),
            **other,
        ),
        at,
    )


def budget(amount: int, **other: Any) -> Draft:
    """The budget of atlas: two of them contradict each other."""
    return a_draft(f"The budget of atlas is {amount} SEK", **other)


def an_exchange(
    message: str = "m1",
    asked: str = "What is it?",
    said: str = "It is so.",
    *drafts: Draft,
    scope: Scope = ANA,
    at: int = NOW,
    **other: Any,
) -> ExchangeRecord:
    """A question and its answer."""
    remarks = (
        Remark(message=message, role="user", text=asked, at=at),
        Remark(message=message, role="assistant", text=said, at=at + 1, **other),
    )
    return ExchangeRecord(scope, remarks, drafts)


async def proposed(memory: MemoryStore, draft: Draft, scope: Scope = ANA, at: int = NOW) -> ProposalOutcome:
    """Propose one."""
    return (await memory.propose_drafts(scope, [draft], at))[0]


async def accepted(memory: MemoryStore, draft: Draft, scope: Scope = ANA, at: int = NOW) -> Item:
    """Propose one and accept it."""
    return await memory.accept_item(scope, (await proposed(memory, draft, scope, at)).item.id, at)
