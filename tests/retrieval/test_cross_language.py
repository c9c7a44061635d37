"""Names and numbers of a question are looked for in every language of the documents, and nothing else of it is."""

from collections.abc import Mapping, Sequence

import pytest

from agent.lang import Lang
from agent.ports.search import Query
from agent.retrieval.cross_language import read_cross_language
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase

from .foreign import ABROAD, ENGLISH, HOME, SWEDISH

OWN = {"sv": {"rabatt"}, "en": {"discount"}}


def knowledge(documents: Mapping[str, str]) -> KnowledgeBase:
    return KnowledgeBase.build([SourceFile.of(f"kb/{name}", text) for name, text in documents.items()])


async def found(base: KnowledgeBase, lang: Lang, question: str, before: str = "") -> str:
    """The three best statements that a question finds; "" for none."""
    hits = await base.search(Query(question, lang, 40, before))
    return "\n".join(hit.snippet.text for hit in hits[:3])


async def wrong(base: KnowledgeBase, lang: Lang, cases: Sequence[tuple[str, str, str]]) -> list[str]:
    """The questions that do not find what they are to find, or anything where there is nothing."""
    missed = []
    for question, before, holds in cases:
        text = await found(base, lang, question, before)
        if (holds not in text or not text) if holds else text:
            missed.append(question)
    return missed


async def test_what_is_named_is_found_in_documents_of_another_language() -> None:
    """Also by a question that goes on from another; what they do not know is refused. All but one of 48."""
    assert await wrong(knowledge(ENGLISH), "sv", ABROAD) == ["och hur mycket väger den?"]
    assert await wrong(knowledge(SWEDISH), "en", HOME) == []


async def test_documents_in_the_own_language_come_first() -> None:
    """What they say of a name stands; where that is no answer, another language's documents give none either."""
    both = ENGLISH | {"priser.md": "# Priser\n\n## Standard\n\nStandard kostar 319 kr i månaden.\n"}
    assert "319" in await found(knowledge(both), "sv", "Vad kostar Standard?")
    other = ENGLISH | {"namn.md": "# Namn\n\nStandard är en flagga på ett skepp.\n"}
    assert "299" not in await found(knowledge(other), "sv", "Vad kostar Standard?")
    assert "299" in await found(knowledge(other), "en", "What does Standard cost?")


@pytest.mark.parametrize(
    ("question", "words", "named"),
    [
        ("Vad kostar Standard?", ("standard",), True),
        ("vad kostar standard?", ("standard",), False),
        ("Hur snabb är leveransen med Standard?", ("standard",), True),
        ("hur snabb är leveransen med standard?", None, None),
        ("Hur tung är Nimbus 400?", ("nimbus", "400"), True),
        ("Hur tung är Nimbus 900?", None, None),
        ("Hur snabb är Standard från Telia?", None, None),
        ("Hur snabb är leveransen av 400?", None, None),
        ("Hur stor är rabatt på Standard?", ("rabatt", "standard"), True),
        ("Hur snabb är Rabatt?", None, None),
        ("Hej! Standard leverans, hur snabb?", None, None),
    ],
)
def test_what_is_looked_for_abroad(question: str, words: tuple[str, ...] | None, named: bool | None) -> None:
    """Names with what else is known; not where a name is unknown, or the own language knows it, or none is there."""

    def holds(word: str, lang: Lang) -> bool:
        return word in (OWN["sv"] if lang == "sv" else {"standard", "nimbus", "400", "rabatt"})

    read = read_cross_language(question, "sv", "en", holds)
    assert (read and read.parsed.words, read and read.has_name) == (words, named)


async def test_a_word_without_a_capital_is_looked_for_in_headings() -> None:
    """A word that two languages have by chance is no name."""
    base = knowledge({"a.md": "# Gifts\n\nWe sell paper. A gift card costs 50 SEK.\n"})
    assert await found(base, "sv", "vad kostar gift") != ""
    other = knowledge({"a.md": "# Paper\n\nWe sell paper. A gift card costs 50 SEK.\n"})
    assert await found(other, "sv", "vad kostar gift") == ""


async def test_what_is_found_abroad_is_of_the_kind_that_is_asked_for() -> None:
    """A price that another language's documents do not tell is not found."""
    base = knowledge({"a.md": "# Standard\n\nThe Standard plan is for small shops and their owners.\n"})
    assert await found(base, "sv", "Vad kostar Standard?") == ""
    assert "small shops" in await found(base, "sv", "Vad är Standard?")
