"""The words of SQL `CHECK` constraints, which the schemas write down, and the `Literal` types of the ports."""

from typing import Any, Final, get_args

import pytest

from agent.ports.calls import CallStatus
from agent.ports.memory import LIVE, ItemDecider, ItemStatus, ItemType, Side, SourceKind
from agent.ports.projects import Category
from agent.ports.threads import MessageRole, MessageStatus
from agent.ports.tools import Risk, RunsAt
from agent.storage import schema
from agent.storage.memories import schema as memory_schema

LEDGER: Final = "agent/storage/schema.py"
MEMORY: Final = "agent/storage/memories/schema.py"
CHANGED: Final = (
    "{kind} and {words} in {module} have other words. A new word is a new schema: add the word, and a step with the"
    " next number in agent/storage/migrations.py that adds it to the table in a file of an earlier schema. Otherwise a"
    " new folder works and an old one answers that storage is unavailable. Then keep a folder of the new schema (see"
    " tests/storage/released.py)."
)


@pytest.mark.parametrize(
    ("module", "words", "kind", "expected"),
    [
        (LEDGER, "CATEGORIES", "Category", get_args(Category)),
        (LEDGER, "MESSAGE_ROLES", "MessageRole", get_args(MessageRole)),
        (LEDGER, "MESSAGE_STATUSES", "MessageStatus", get_args(MessageStatus)),
        (LEDGER, "RUNS_AT", "RunsAt", get_args(RunsAt)),
        (LEDGER, "RISKS", "Risk", get_args(Risk)),
        (LEDGER, "CALL_STATUSES", "CallStatus", get_args(CallStatus)),
        (MEMORY, "SIDES", "Side", get_args(Side)),
        (MEMORY, "ITEM_TYPES", "ItemType", get_args(ItemType)),
        (MEMORY, "ITEM_STATUSES", "ItemStatus", get_args(ItemStatus)),
        (MEMORY, "LIVE_STATUSES", "LIVE", LIVE),
        (MEMORY, "ITEM_DECIDERS", "ItemDecider", get_args(ItemDecider)),
        (MEMORY, "SOURCE_KINDS", "SourceKind", get_args(SourceKind)),
    ],
)
def test_the_words_of_a_schema_are_those_of_its_port(
    module: str, words: str, kind: str, expected: tuple[str, ...]
) -> None:
    """A word that is added to a port alone would be refused by the tables of every file that exists."""
    written: Any = {LEDGER: schema, MEMORY: memory_schema}[module]
    assert getattr(written, words) == expected, CHANGED.format(kind=kind, words=words, module=module)
