"""Drafts, exchanges and items as the tests of what is remembered need them."""

from typing import Any

from agent.memory.items import draft
from agent.ports.conversation import Scope
from agent.ports.memory import Candidate, Draft, Item, ItemType, Kept, MemoryStore, Proposed, Remark, Source
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
    return draft(Candidate(type, subject, text, "en", (Source("message", message, quote=text),), **other), at)


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
) -> Kept:
    """A question and its answer."""
    remarks = (Remark(message, "user", asked, at), Remark(message, "assistant", said, at + 1, **other))
    return Kept(scope, remarks, drafts)


async def proposed(memory: MemoryStore, draft: Draft, scope: Scope = ANA, at: int = NOW) -> Proposed:
    """Propose one."""
    return (await memory.propose(scope, [draft], at))[0]


async def accepted(memory: MemoryStore, draft: Draft, scope: Scope = ANA, at: int = NOW) -> Item:
    """Propose one and accept it."""
    return await memory.accept(scope, (await proposed(memory, draft, scope, at)).item.id, at)
