"""Swedish talks: made up before it was looked at what recall does with Swedish."""

import statistics
from pathlib import Path

from agent.lang import Lang
from agent.recall.documents import comparison_form
from agent.recall.query import read_query
from tests.bench.recall import Asked, dialogues, recall_at

from .made import best, recall_of, search, turn

DATA = Path(__file__).parent / "data"
AT = 1_700_000_000_000


async def test_most_of_what_answers_is_found() -> None:
    """Four talks of some 70 turns, 25 questions each: `python -m tests.bench.recall tests/memory/recall/data`."""
    shares = []
    for talk in dialogues(DATA):
        asked = Asked(talk)
        shares += [recall_at(await asked.ranking(each.text), each.evidence) for each in talk.questions]
    assert len(shares) == 100
    assert statistics.fmean(shares) >= 0.85


def test_a_definite_form_is_the_word_itself() -> None:
    """The stemmer leaves the article on most of them."""
    for one, other in (
        ("larm", "larmet"),
        ("hyra", "hyran"),
        ("kurs", "kursen"),
        ("paket", "paketet"),
        ("turné", "turnén"),
        ("knä", "knät"),
        ("arbete", "arbetet"),
    ):
        assert comparison_form("sv", one) == comparison_form("sv", other), one
    assert comparison_form("en", "carpet") != comparison_form("en", "carp")
    assert comparison_form("sv", "rom") != comparison_form("sv", "rot")


def test_a_word_that_nothing_holds_is_taken_apart() -> None:
    """Into two that are known, or else into its last part: the first one says less."""

    def terms(word: str, *known: str, lang: Lang = "sv") -> set[str]:
        held = {comparison_form(lang, each) for each in known}
        found = read_query(word, lang, (), AT, known=lambda stem: stem if stem in held else None)
        return {*found.terms} - {comparison_form(lang, word)}

    assert terms("gruvjobbet", "gruva", "jobb") == {"gruv", "jobb"}
    assert terms("lördagsarbetet", "lördag", "arbete") == {
        comparison_form("sv", "lördag"),
        comparison_form("sv", "arbete"),
    }
    assert terms("gruvjobbet", "jobb") == {"jobb"}
    assert terms("gruvjobbet", "gruva") == set()
    assert terms("gruvjobbet", "gruvjobb", "gruva", "jobb") == set()
    assert terms("bookshelf", "book", "shelf", lang="en") == set()


async def test_a_word_of_one_language_is_not_unknown_in_another() -> None:
    """In a talk of two languages a question is as sure as in a talk of one."""
    said = turn(1, "Jag flyttade till en liten lägenhet i Umeå i augusti.", "Ann")
    alone = await recall_of(said).recall(search("Vart flyttade Ann i augusti?", lang="sv"))
    other = turn(2, "I would like to see the house that you have bought there.", "Ben", sitting=1)
    both = await recall_of(said, other).recall(search("Vart flyttade Ann i augusti?", lang="sv"))
    assert best(both)[0] == best(alone)[0] == "t1"
    assert both.score >= alone.score - 0.05


async def test_a_small_talk_is_not_refused() -> None:
    """Of what is found the floor leaves out little, though a talk of some 70 turns has few of a question's words."""
    floor, refused, foreign = 0.0, [], []
    talks = dialogues(DATA)
    for at, talk in enumerate(talks):
        asked = Asked(talk)
        floor = asked.within.floor
        for each in talk.questions:
            if recall_at(await asked.ranking(each.text), each.evidence):
                refused.append(await asked.sure(each.text) < floor)
        foreign += [await asked.sure(each.text) < floor for each in talks[at - 1].questions]
    assert statistics.fmean(refused) <= 0.12
    assert statistics.fmean(foreign) >= 0.6
