"""An index after another: what changed is found, what went is not, and the one before stays as it was."""

import random
from math import log

import pytest

from agent.lang import LANGUAGES
from agent.lexical.searcher import RankedDocuments
from agent.ports.search import Lang, Passage
from agent.retrieval.index import KnowledgeIndex
from agent.retrieval.ranking import rank_sections
from agent.retrieval.search import KnowledgeBase

from ..examples import sample
from . import sections

WORDS = ["zebra", "quagga", "okapi", "tapir", "bongo", "dikdik", "gnu", "kudu", "oryx", "eland", "impala"]


def texts(index: KnowledgeIndex, found: RankedDocuments) -> list[str]:
    """Return the first statements of what an arm found, sorted."""
    read = [index.sections[number] for number in found.scores]
    return sorted(section.passage.snippets[0].text for section in read if section is not None)


def of(index: KnowledgeIndex, lang: Lang, word: str) -> list[str]:
    """Return the sections that a word is found in by either arm, by their first statements; both must agree."""
    by_stems = texts(index, index.search_stems([word], lang, 500))
    assert set(by_stems) <= set(texts(index, index.search_grams([word], 500)))
    return by_stems


def test_a_changed_file_takes_the_place_of_the_old_one() -> None:
    """Other files stay; the index before still has what it had; a file that went is gone."""
    one = KnowledgeIndex(
        [*sections("# 1\n\nA zebra.\n\n# 2\n\nAn okapi."), *sections("A zebra too.", "kb/b.md")]
    )
    two = KnowledgeIndex(sections("# 1\n\nA quagga.\n\n# 2\n\nAn okapi."), after=one, gone={"kb/a.md"})
    three = KnowledgeIndex([], after=two, gone={"kb/b.md", "kb/never.md"})
    assert [of(index, "en", "zebra") for index in (one, two, three)] == [
        ["A zebra too.", "A zebra."], ["A zebra too."], [],
    ]  # fmt: skip
    assert [of(index, "en", "quagga") for index in (one, two, three)] == [[], ["A quagga."], ["A quagga."]]
    assert [of(index, "en", "okapi") for index in (one, two, three)] == [["An okapi."]] * 3
    assert [index.live for index in (one, two, three)] == [3, 3, 2]


def test_terms_that_are_kept_are_those_of_their_own_index_and_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one index knows of a term says nothing of the next; over the bound they are asked for anew."""
    monkeypatch.setattr("agent.lexical.searcher._TERMS_KEPT", 2)
    one = KnowledgeIndex(sections("A zebra."))
    assert of(one, "en", "zebra") == ["A zebra."]
    assert len(one._searcher._terms) <= 2
    two = KnowledgeIndex(sections("A zebra too.", "kb/b.md"), after=one)
    assert of(two, "en", "zebra") == ["A zebra too.", "A zebra."]
    assert of(one, "en", "zebra") == ["A zebra."]
    assert [one.search_stems(["zebra"], "en", 5).most, two.search_stems(["zebra"], "en", 5).most] == [
        pytest.approx(2.2 * log(1 + 0.5 / 1.5)), pytest.approx(2.2 * log(1 + 0.5 / 2.5))
    ]  # fmt: skip


def test_an_index_can_be_emptied_and_filled_again() -> None:
    """Numbers go on where they were."""
    index = KnowledgeIndex([], after=KnowledgeIndex(sections("A zebra.")), gone={"kb/a.md"})
    assert (of(index, "en", "zebra"), index.live) == ([], 0)
    index = KnowledgeIndex(sections("A zebra again."), after=index)
    assert (of(index, "en", "zebra"), index.live) == (["A zebra again."], 1)


@pytest.mark.parametrize("seed", sample(range(3), 3))
def test_any_series_of_changes_is_as_good_as_a_new_index(seed: int) -> None:
    """The same sections are found, and words are as common."""
    draw = random.Random(seed)
    files: dict[str, tuple[Passage, ...]] = {}
    index = KnowledgeIndex([])
    for _ in range(25):
        changed: list[Passage] = []
        gone = set()
        for _ in range(draw.randint(1, 3)):
            name = f"kb/{draw.choice(['en', 'sv'])}/{draw.randrange(6)}.md"
            if name in gone:
                continue
            gone.add(name)
            if draw.random() < 0.25:
                files.pop(name, None)
                continue
            paragraphs = [" ".join(draw.choices(WORDS, k=4)) for _ in range(draw.randint(0, 8))]
            files[name] = sections("# Animals\n\n" + "\n\n## More\n\n".join(paragraphs), name)
            changed.extend(files[name])
        index = KnowledgeIndex(changed, after=index, gone=gone)
    fresh = KnowledgeIndex(passage for passages in files.values() for passage in passages)
    assert index.live == fresh.live
    for lang in LANGUAGES:
        for word in WORDS:
            assert of(index, lang, word) == of(fresh, lang, word)
            mine, theirs = index.lexicon.vocabulary.number_of(word), fresh.lexicon.vocabulary.number_of(word)
            assert index.lexicon.rarity(mine) == fresh.lexicon.rarity(theirs)


def test_numbers_go_on_and_a_file_keeps_its_own() -> None:
    """What is gone leaves a gap, so that whoever holds the index before reads its own sections."""
    one = KnowledgeIndex([*sections("A zebra."), *sections("An okapi.", "kb/b.md")])
    two = KnowledgeIndex(sections("A quagga."), after=one, gone={"kb/a.md"})
    assert [section is None for section in two.sections] == [True, False, False]
    assert [section is None for section in one.sections] == [False, False]
    assert [section.file for section in two.sections if section is not None] == [1, 0]


def test_a_word_that_went_stands_for_nothing() -> None:
    """Nor does one that came later, in the index before it."""
    one = KnowledgeIndex([*sections("Subscription.", "kb/en/a.md"), *sections("Otherwise.", "kb/en/b.md")])
    two = KnowledgeIndex([], after=one, gone={"kb/en/a.md"})
    three = KnowledgeIndex(sections("Guarantee.", "kb/en/a.md"), after=two)

    def asked(index: KnowledgeIndex, word: str) -> int:
        return len(KnowledgeBase(index).find_hits(word, "en", 5, 0))

    assert [asked(index, "subscripton") for index in (one, two, three)] == [1, 0, 0]
    assert [asked(index, "guarante") for index in (one, two, three)] == [0, 0, 1]


def test_two_indexes_rank_as_one_that_was_built_anew() -> None:
    """The same statements with the same scores, but for what BM25 still counts of what is gone."""
    first = [
        *sections("# A\n\nThe zebra costs 5 kr.\n\n# B\n\nThe okapi is free."),
        *sections("Hi.", "kb/b.md"),
    ]
    more = sections("# C\n\nThe quagga costs 7 kr.", "kb/c.md")
    after, fresh = KnowledgeIndex(more, after=KnowledgeIndex(first)), KnowledgeIndex([*first, *more])
    for question in ("what does the zebra cost", "price of a quagga", "is an okapi free", "zebras"):
        mine, theirs = rank_sections(question, after, "en"), rank_sections(question, fresh, "en")
        assert mine is not None
        assert theirs is not None
        assert mine.sure == pytest.approx(theirs.sure)
        assert [each.section for each in mine.statements] == [each.section for each in theirs.statements]


def test_each_index_knows_which_of_its_sections_hold_a_word() -> None:
    """Of few or many; a later one adds its own, and what it is just making known is in none of the one before."""

    def held(index: KnowledgeIndex, word: str, *among: int) -> set[int]:
        number = index.lexicon.vocabulary.number_of(word)
        assert number is not None
        found = index.lexicon.find_surest({number: 0.5}, among)
        assert set(found.values()) <= {0.5}
        return set(found)

    one = KnowledgeIndex(
        sections("\n\n".join(f"# {at}\n\nA zebra{' and an okapi' * (at == 7)}." for at in range(20)))
    )
    assert held(one, "zebra", 0, 19) == {0, 19}
    assert held(one, "zebra", *range(20)) == set(range(20))
    assert held(one, "okapi", 7) == held(one, "okapi", 6, 7, 8) == {7}
    assert held(one, "okapi", 6) == held(one, "zebra") == set()
    two = KnowledgeIndex(sections("An okapi, a quagga.", "kb/b.md"), after=one)
    assert held(two, "okapi", 7, 8, 20) == {7, 20}
    assert held(two, "quagga", 20) == {20}
    assert held(one, "okapi", 7, 8) == {7}
    one.lexicon.vocabulary.add_word("bongo")
    assert held(one, "bongo", 7) == set()


def test_the_surest_word_that_a_section_holds_counts() -> None:
    """Whichever others it holds; in headings, in what leads to a statement, and in statements."""
    index = KnowledgeIndex(
        sections("# Zebra\n\nAn okapi.\n\n# Kudu\n\nOkapi and:\n\n- the gnu\n\n# Bongo\n\nOryx")
    )
    zebra, okapi, gnu, unheard = (
        index.lexicon.vocabulary.add_word(word) for word in ("zebra", "okapi", "gnu", "unheard")
    )
    sure = {unheard: 1.0, zebra: 0.9, gnu: 0.8, okapi: 0.7}
    assert index.lexicon.find_surest(sure, [0, 1, 2]) == {0: 0.9, 1: 0.8}
    assert index.lexicon.find_surest({okapi: 0.7}, [1, 2]) == {1: 0.7}
    assert index.lexicon.find_surest({}, [0]) == index.lexicon.find_surest(sure, []) == {}
