"""The words of one snapshot: how rare they are, and which documents hold them."""

import pytest

from agent.lexical.lexicon import Lexicon


def add(lexicon: Lexicon, document: int, text: str) -> set[int]:
    """Add a document of some words, and return their numbers."""
    words = set(lexicon.number_words(text.split()))
    lexicon.add_document(document, words)
    return words


@pytest.fixture
def lexicon() -> Lexicon:
    """Three documents, whose numbers need not be in a row."""
    made = Lexicon()
    for document, text in ((0, "zebra sleeps"), (3, "zebra eats"), (7, "okapi")):
        add(made, document, text)
    return made


def holding(lexicon: Lexicon, word: str) -> set[int]:
    """Return the documents that hold a word."""
    number = lexicon.vocabulary.number_of(word)
    return set(lexicon.find_surest({number: 1.0}, {0, 3, 7, 9})) if number is not None else set()


def test_documents_are_found_by_their_words(lexicon: Lexicon) -> None:
    """However they are held."""
    for _ in range(2):
        assert [holding(lexicon, word) for word in ("zebra", "okapi", "gnu")] == [{0, 3}, {7}, set()]
        lexicon.compact()


def test_a_forgotten_document_counts_no_more() -> None:
    """A word that only it held is as rare as one that none ever held."""
    lexicon = Lexicon()
    gone = add(lexicon, 0, "zebra")
    add(lexicon, 1, "okapi")
    zebra = lexicon.vocabulary.number_of("zebra")
    assert lexicon.rarity(zebra) < lexicon.rarity(None)
    lexicon.remove_document(gone)
    assert lexicon.live == 1
    assert lexicon.rarity(zebra) == lexicon.rarity(None)


def test_a_copy_changes_nothing_for_its_first(lexicon: Lexicon) -> None:
    """Not what is rare, nor what is learned, nor what holds a word among its own documents."""
    lexicon.likeness.learn({"horse": ("zebra",)}, None)
    rare = lexicon.rarity(lexicon.vocabulary.number_of("zebra"))
    later = lexicon.copy()
    add(later, 9, "zebra gnu")
    assert (lexicon.live, later.live) == (3, 4)
    assert lexicon.rarity(lexicon.vocabulary.number_of("zebra")) == rare
    assert lexicon.rarity(lexicon.vocabulary.number_of("gnu")) == lexicon.rarity(None)
    assert [each.spelled_as("horse") for each in (lexicon, later)] == ["zebra", "horse"]
    assert holding(later, "zebra") == {0, 3, 9}


def test_what_is_kept_is_the_same_again(lexicon: Lexicon) -> None:
    """But for what was learned; counts that do not fit their words are refused."""
    counts, holders, words = lexicon.pack()
    again = Lexicon.unpack(counts, holders, words, lexicon.live)
    for word in ("zebra", "okapi", "eats", "gnu"):
        assert holding(again, word) == holding(lexicon, word)
        numbers = [each.vocabulary.number_of(word) for each in (again, lexicon)]
        assert again.rarity(numbers[0]) == lexicon.rarity(numbers[1])
    with pytest.raises(ValueError, match="fit"):
        Lexicon.unpack(counts[:-4], holders, words, lexicon.live)
