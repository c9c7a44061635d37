"""An index after another: what changed is found, what went is not, and the one before stays as it was."""

import random

import pytest

from agent.ports.search import Lang
from agent.retrieval.chunk import Piece, chunk
from agent.retrieval.index import LANGS, Index

WORDS = ["zebra", "quagga", "okapi", "tapir", "bongo", "dikdik", "gnu", "kudu", "oryx", "eland", "impala"]


def of(index: Index, lang: Lang, word: str) -> list[str]:
    """Return the texts that a word is found in by either arm, sorted; both must agree."""
    stem = index.vocabularies[lang].stem(word)
    by_stems = sorted(
        index.pieces[found.piece].snippet.text for found in index.by_stems([{(lang, stem): 1.0}], 500)
    )
    by_grams = {index.pieces[found.piece].snippet.text for found in index.by_grams({word: 1.0}, 500)}
    assert set(by_stems) <= by_grams
    return by_stems


def test_a_changed_file_takes_the_place_of_the_old_one() -> None:
    """Other files stay; the index before still has what it had; a file that went is gone."""
    one = Index([*chunk("kb/a.md", "A zebra.\n\nAn okapi."), *chunk("kb/b.md", "A zebra too.")])
    two = Index(chunk("kb/a.md", "A quagga.\n\nAn okapi."), after=one, gone={"kb/a.md"})
    three = Index([], after=two, gone={"kb/b.md", "kb/never.md"})
    assert [of(index, "en", "zebra") for index in (one, two, three)] == [
        ["A zebra too.", "A zebra."], ["A zebra too."], [],
    ]  # fmt: skip
    assert [of(index, "en", "quagga") for index in (one, two, three)] == [[], ["A quagga."], ["A quagga."]]
    assert [of(index, "en", "okapi") for index in (one, two, three)] == [["An okapi."]] * 3
    assert [index.live for index in (one, two, three)] == [3, 3, 2]


def test_an_index_can_be_emptied_and_filled_again() -> None:
    """Numbers go on where they were."""
    index = Index([], after=Index(chunk("kb/a.md", "A zebra.")), gone={"kb/a.md"})
    assert (of(index, "en", "zebra"), index.live) == ([], 0)
    index = Index(chunk("kb/a.md", "A zebra again."), after=index)
    assert (of(index, "en", "zebra"), index.live) == (["A zebra again."], 1)


@pytest.mark.parametrize("seed", range(3))
def test_any_series_of_changes_is_as_good_as_a_new_index(seed: int) -> None:
    """The same pieces are found, and the same words are known and as common."""
    draw = random.Random(seed)
    files: dict[str, tuple[Piece, ...]] = {}
    index = Index([])
    for _ in range(25):
        changed: list[Piece] = []
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
            files[name] = chunk(name, "# Animals\n\n" + "\n\n".join(paragraphs))
            changed.extend(files[name])
        index = Index(changed, after=index, gone=gone)
    fresh = Index(piece for pieces in files.values() for piece in pieces)
    assert index.live == fresh.live
    for lang in LANGS:
        for word in WORDS:
            assert of(index, lang, word) == of(fresh, lang, word)
            mine, theirs = index.vocabularies[lang], fresh.vocabularies[lang]
            assert mine.knows(word) == theirs.knows(word)
            assert mine.rarity(mine.stem(word)) == theirs.rarity(theirs.stem(word))


def test_a_word_that_went_is_no_correction() -> None:
    """A misspelt word is not taken for one that stands nowhere any more."""
    one = Index([*chunk("kb/en/a.md", "Subscription."), *chunk("kb/en/b.md", "Otherwise unrelated.")])
    two = Index([], after=one, gone={"kb/en/a.md"})
    assert one.vocabularies["en"].correct("subscripton") == "subscription"
    assert two.vocabularies["en"].correct("subscripton") == "subscripton"
    assert one.vocabularies["en"].correct("subscripton") == "subscription"
