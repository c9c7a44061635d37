"""Questions that go on from the one before them."""

import pytest

from agent.lang import Lang
from agent.ports.search import Query
from agent.retrieval.follow_up import follows
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase

ENGLISH = """\
# Plans

| Plan | Price | Storage |
| --- | --- | --- |
| Basic | 149 kr | 20 GB |
| Premium | 399 kr | 500 GB |

# Parking

Visitors park behind the house.
"""
SWEDISH = """\
# Abonnemang

Bas kostar 149 kr i månaden.

Premium kostar 399 kr i månaden.

# Uppsägning

Ett abonnemang sägs upp på Mina sidor.
"""


@pytest.fixture(scope="module")
def kb() -> KnowledgeBase:
    """Two files."""
    return KnowledgeBase.build([SourceFile.of("kb/plans.md", ENGLISH), SourceFile.of("kb/bas.md", SWEDISH)])


@pytest.mark.parametrize(
    ("question", "lang", "expected"),
    [
        ("and the premium one?", "en", True),
        ("What about Premium?", "en", True),
        ("how much is it?", "en", True),
        ("Why?", "en", True),
        ("och vad kostar det?", "sv", True),
        ("Hur är det med Premium?", "sv", True),
        ("och premium?", "sv", True),
        ("please", "en", False),
        ("", "en", False),
        ("What does the Premium plan cost?", "en", False),
        ("Where do visitors park?", "en", False),
        ("Hur säger jag upp mitt abonnemang?", "sv", False),
        ("And where do visitors to the house park their cars?", "en", False),
    ],
)
def test_which_questions_go_on(question: str, lang: Lang, expected: bool) -> None:
    """Those that begin so, or stand on something named before, and name little themselves."""
    assert follows(question, lang) is expected


@pytest.mark.parametrize(
    ("before", "question", "lang", "found"),
    [
        ("What does the Basic plan cost?", "and the premium one?", "en", "399 kr"),
        ("What does the Premium plan cost?", "and Basic?", "en", "149 kr"),
        ("Which plan is Premium?", "how much is it?", "en", "399 kr"),
        ("Vad kostar Bas?", "och premium?", "sv", "399 kr"),
        ("Finns det Premium i ert abonnemang?", "och vad kostar det?", "sv", "399 kr"),
        ("What does the Basic plan cost?", "Where do visitors park?", "en", "behind"),
    ],
)
async def test_what_a_question_that_goes_on_finds(
    kb: KnowledgeBase, before: str, question: str, lang: Lang, found: str
) -> None:
    """What it asks about the old subject, or the new subject of the old question."""
    hits = await kb.search(Query(question, lang, 5, before))
    assert found in hits[0].snippet.text


@pytest.mark.parametrize("question", ["and the diamond one?", "And unicorns?"])
async def test_a_new_subject_that_nothing_holds_is_not_answered_with_the_old_one(
    kb: KnowledgeBase, question: str
) -> None:
    """What the old question found says nothing about it."""
    assert await kb.search(Query("Premium plan price storage", "en", 5))
    assert await kb.search(Query(question, "en", 5, "Premium plan price storage")) == ()
