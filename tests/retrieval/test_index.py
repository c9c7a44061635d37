"""The index: both arms, what is known of words, and what a search may cost."""

from collections.abc import Sequence

import pytest

from agent.lexical import searcher
from agent.lexical.searcher import RankedDocuments
from agent.ports.search import Lang, Passage
from agent.retrieval import index as module
from agent.retrieval.effort import Effort
from agent.retrieval.index import KnowledgeIndex
from agent.retrieval.terms import ASKS, CODE, HOLDS, LEADS, terms_of

from . import sections

TEXT = """# Plans

Cancelling is free.

## Standard

Costs 299 kr.

## Basic

- The price:
  - 149 kr
"""


@pytest.fixture
def passages() -> list[Passage]:
    """A few sections in both languages."""
    return [
        *sections(TEXT, "kb/plans.md"),
        *sections("# Paket\n\nUppsägningstiden är 1 månad.\n", "kb/sv/paket.md"),
    ]


def top(index: KnowledgeIndex, found: RankedDocuments) -> list[str]:
    """Return the innermost headings of what an arm found, best first."""
    ordered = sorted(found.scores, key=lambda number: -found.scores[number])
    read = [index.sections[number] for number in ordered]
    return [section.passage.headings[-1] for section in read if section is not None]


def stems(index: KnowledgeIndex, words: str, lang: Lang = "en") -> list[str]:
    """Return the headings of what the stem arm finds."""
    return top(index, index.search_stems(words.split(), lang, 10))


def test_a_section_is_found_by_its_headings_and_leads(passages: list[Passage]) -> None:
    """They are searched with its text, and the section with all of the words comes first."""
    index = KnowledgeIndex(passages)
    assert stems(index, "standard plan")[0] == "Standard"
    assert sorted(stems(index, "plan")) == ["Basic", "Plans", "Standard"]
    assert stems(index, "price") == ["Basic"]


def test_headings_count_more_than_text() -> None:
    """What a section is called says more than one word of it."""
    index = KnowledgeIndex(sections("# A\n\n## Zebra\n\nAn okapi.\n\n## Okapi\n\nA zebra.\n"))
    assert stems(index, "zebra") == ["Zebra", "Okapi"]
    assert stems(index, "okapi") == ["Okapi", "Zebra"]


def test_stems_are_kept_by_language(passages: list[Passage]) -> None:
    """A form is looked up in the field of its language."""
    index = KnowledgeIndex(passages)
    assert stems(index, "uppsägningstid", "sv") == ["Paket"]
    assert stems(index, "uppsägningstid", "en") == []


def test_grams_find_parts_of_compounds(passages: list[Passage]) -> None:
    """A word inside a longer one is found by its 4-grams, whatever the language."""
    index = KnowledgeIndex(passages)
    found = index.search_grams(["uppsägning"], 5)
    assert top(index, found)[0] == "Paket"
    assert 0 < max(found.scores.values()) < found.most
    assert index.search_grams([], 5) == RankedDocuments({}, 0.0)


def test_a_synonym_alone_finds_a_section(passages: list[Passage]) -> None:
    """Though it stands in none, and shares no letters with what does."""
    index = KnowledgeIndex(passages)
    assert stems(index, "tariff") == []
    index.lexicon.likeness.learn({"tariff": ("price",)}, None)
    assert stems(index, "tariff") == ["Basic"]


def test_terms_beyond_the_budget_are_left_out(
    passages: list[Passage], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When posting lists get long the rarest terms are read and the common ones are not."""
    monkeypatch.setattr(module, "STEM_POSTINGS", 1)
    assert stems(KnowledgeIndex(passages), "plan standard") == ["Standard"]


def test_a_query_has_a_bounded_number_of_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question of thousands of words is no more work."""
    monkeypatch.setattr(searcher, "_TERMS", 2)
    index = KnowledgeIndex(sections("".join(f"# H{n}\n\nword{n}\n\n" for n in range(5))))
    assert len(stems(index, "word0 word1 word2 word3")) == 2


def test_numbers_name_the_sections_in_every_segment() -> None:
    """Each address of the index leads to its own section, also with many sections."""
    index = KnowledgeIndex(sections("".join(f"# H{n}\n\nunique{n} word\n\n" for n in range(300))))
    for number in (0, 150, 299):
        assert stems(index, f"unique{number}") == [f"H{number}"]


def test_the_words_of_each_statement_are_known_by_number(passages: list[Passage]) -> None:
    """With its headings' and its lead's, and with what kind of thing it holds."""
    index = KnowledgeIndex([*passages, *sections("Why?\n\n```\nx = 1\n```\n", "kb/code.md")])
    read = [section for section in index.sections if section is not None]
    words = index.lexicon.vocabulary.words
    basic = read[2]
    assert [words[number] for number in basic.headings] == ["plans", "basic"]
    assert [words[number] for number in basic.own] == ["price", "149", "kr"]
    assert list(basic.ends) == [1, 3]
    assert [[words[number] for number in lead] for lead in basic.leads] == [[], ["price"]]
    assert list(basic.marks) == [LEADS, HOLDS["number"] | HOLDS["money"]]
    assert list(read[-1].marks) == [ASKS, CODE]


def test_a_word_tells_the_more_the_fewer_sections_hold_it(passages: list[Passage]) -> None:
    """One that stands nowhere tells most."""
    index = KnowledgeIndex(passages)
    known = [
        index.lexicon.rarity(index.lexicon.vocabulary.number_of(word))
        for word in ("plans", "standard", "okapi")
    ]
    assert known == sorted(known)
    assert 0 < known[0] < known[1] < known[2]


class General:
    """What is known of words in general: that one is common."""

    def find_near(self, word: str, least: float) -> Sequence[tuple[int, float]]:
        """Return that no word is like it."""
        return []

    def weight_of(self, word: str) -> float:
        """Return that all others tell all they can."""
        return 0.1 if word == "monday" else 1.0


def test_a_common_word_is_not_taken_for_a_rare_one_in_few_sections(passages: list[Passage]) -> None:
    """The fewer there are, the more what is known of words in general counts."""
    index = KnowledgeIndex(passages)
    index.lexicon.likeness.learn({}, General())
    common, rare = (index.lexicon.word_weight(word, 300) for word in ("monday", "okapi"))
    assert common < 0.2 * rare
    assert rare == pytest.approx(index.lexicon.rarity(None))
    plans = index.lexicon.rarity(index.lexicon.vocabulary.number_of("plans"))
    assert index.lexicon.word_weight("plans", 300) > index.lexicon.word_weight("plans", 1) > plans
    many = KnowledgeIndex(
        [*passages, *sections("\n".join(f"# Part {n}\n\nText {n}.\n" for n in range(1000)), "kb/b.md")]
    )
    many.lexicon.likeness.learn({}, General())
    assert many.lexicon.word_weight("monday", 300) > 0.7 * many.lexicon.word_weight("okapi", 300)


def test_only_rarity_tells_where_nothing_is_known_of_words(passages: list[Passage]) -> None:
    """Nor where that is not asked for, nor in an empty index."""
    index = KnowledgeIndex(passages)
    rare = index.lexicon.rarity(None)
    assert index.lexicon.word_weight("monday", 300) == rare
    index.lexicon.likeness.learn({}, General())
    assert index.lexicon.word_weight("monday") == rare
    empty = KnowledgeIndex([])
    empty.lexicon.likeness.learn({}, General())
    assert empty.lexicon.word_weight("monday") == empty.lexicon.word_weight("monday", 300) == 0


def test_an_empty_index_finds_nothing() -> None:
    """No sections, no hits."""
    index = KnowledgeIndex([])
    assert index.search_stems(["x"], "en", 5).scores == {}
    assert index.search_grams(["word"], 5).scores == {}


def test_the_letters_of_what_a_word_means_are_looked_for() -> None:
    """Where the operator says what a word stands for that no section holds; others stay as they are.

    What only a later snapshot holds is no such word here.
    """
    index = KnowledgeIndex(sections("A zebra."))
    index.lexicon.likeness.learn(
        {"horse": ("zebra",), "horses": ("unheard",), "zebra": ("okapi",), "gnu": ("cow",)}, None
    )
    asked = "The Horse, a zebra; or a gnu?"
    assert index.lexicon.reword_text(asked) == "The zebra, a zebra; or a gnu?"
    later = KnowledgeIndex(sections("A gnu and a cow."), after=index)
    later.lexicon.likeness.learn({"horse": ("cow",), "gnu": ("zebra",)}, None)
    assert index.lexicon.reword_text(asked) == "The zebra, a zebra; or a gnu?"
    assert later.lexicon.reword_text("horse gnu") == "cow gnu"


def test_files_have_their_words_in_common() -> None:
    """A word is held once however many files have it: those of a folder are mostly the same few."""
    one, other = (terms_of(sections(text), Effort()).words for text in ("A zebra sleeps.", "No zebra eats."))
    assert one[one.index("zebra")] is other[other.index("zebra")]
