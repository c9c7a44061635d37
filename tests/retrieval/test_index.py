"""The index: both arms, immutability, and what a search may cost."""

import pytest

from agent.ports.search import Lang
from agent.retrieval import index as module
from agent.retrieval.chunk import Piece, chunk
from agent.retrieval.index import Index, content_words, grams_of

TEXT = """# Plans

| Plan | Price |
| --- | --- |
| Basic | 149 kr |
| Standard | 299 kr |

Cancelling is free.
"""


@pytest.fixture
def pieces() -> list[Piece]:
    """A few pieces in both languages."""
    return [
        *chunk("kb/plans.md", TEXT),
        *chunk("kb/sv/paket.md", "# Paket\n\nUppsägningstiden är 1 månad.\n"),
    ]


def top(index: Index, concepts: list[dict[tuple[Lang, str], float]]) -> list[str]:
    """Return the texts that the stem arm finds."""
    return [index.pieces[found.piece].snippet.text for found in index.by_stems(concepts, 10)]


def test_a_row_is_found_by_its_header_and_heading(pieces: list[Piece]) -> None:
    """Context is searched with the row, and the row with all of the words comes first."""
    index = Index(pieces)
    found = top(index, [{("en", "standard"): 1.0}, {("en", "price"): 1.0}, {("en", "plan"): 1.0}])
    assert found[0] == "| Standard | 299 kr |"
    assert "| Basic | 149 kr |" in found


def test_a_header_row_is_not_searched(pieces: list[Piece]) -> None:
    """What only names other lines is no answer."""
    assert "| Plan | Price |" not in [piece.snippet.text for piece in Index(pieces).pieces]


def test_stems_are_kept_by_language(pieces: list[Piece]) -> None:
    """A stem is looked up in the field of its language."""
    index = Index(pieces)
    stem = index.vocabularies["sv"].stem("uppsägningstid")
    assert top(index, [{("sv", stem): 1.0}]) == ["Uppsägningstiden är 1 månad."]
    assert top(index, [{("en", stem): 1.0}]) == []


def test_grams_find_parts_of_compounds(pieces: list[Piece]) -> None:
    """A word inside a longer one is found by its 4-grams."""
    index = Index(pieces)
    best = index.by_grams({"uppsägning": 1.0}, 5)[0]
    assert index.pieces[best.piece].snippet.file == "kb/sv/paket.md"
    assert index.by_grams({}, 5) == []


def test_the_best_variant_of_a_concept_counts(pieces: list[Piece]) -> None:
    """Synonyms in one text do not add up."""
    index = Index(pieces)
    alone = index.by_stems([{("en", "price"): 1.0}], 1)[0].score
    both = index.by_stems([{("en", "price"): 1.0, ("en", "plan"): 0.5}], 1)[0].score
    assert both == pytest.approx(alone, rel=0.5)


def test_terms_beyond_the_budget_are_left_out(pieces: list[Piece], monkeypatch: pytest.MonkeyPatch) -> None:
    """When posting lists get long the rarest terms are read and the common ones are not."""
    monkeypatch.setattr(module, "_STEM_POSTINGS", 1)
    assert top(Index(pieces), [{("en", "plan"): 1.0}, {("en", "standard"): 1.0}]) == ["| Standard | 299 kr |"]


def test_numbers_name_the_pieces_in_every_segment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each address of the index leads to its own piece, also with many pieces."""
    text = "\n\n".join(f"unique{number} word" for number in range(300))
    index = Index(chunk("kb/a.md", text))
    for number in (0, 150, 299):
        found = index.by_stems([{("en", index.vocabularies["en"].stem(f"unique{number}")): 1.0}], 5)
        assert [index.pieces[one.piece].snippet.text for one in found] == [f"unique{number} word"]


def test_an_empty_index_finds_nothing() -> None:
    """No pieces, no hits."""
    index = Index([])
    assert index.by_stems([{("en", "x"): 1.0}], 5) == []
    assert index.by_grams({"word": 1.0}, 5) == []


def test_content_words_and_grams() -> None:
    """Function words of either language carry nothing; a word's grams span its borders."""
    assert content_words("Det är the price") == ["price"]
    assert grams_of("sms") == [" sms", "sms "]
    assert grams_of("a") == [" a "]
