"""What a query word may stand for."""

import pytest

from agent.retrieval.vocabulary import Vocabulary


@pytest.fixture
def english() -> Vocabulary:
    """A few English words, `price` in most snippets."""
    vocabulary = Vocabulary("en", frozenset({"gold", "life"}))
    for line in (
        "standard plan price",
        "price customer's",
        "price delivered good",
        "subscription price line",
    ):
        vocabulary.add(line.split())
    return vocabulary


@pytest.fixture
def swedish() -> Vocabulary:
    """A few Swedish words."""
    vocabulary = Vocabulary("sv")
    for line in ("standard paketet", "rabatter studenter", "månader kundtjänst", "leveranstiden öppettider"):
        vocabulary.add(line.split())
    return vocabulary


def stems(vocabulary: Vocabulary, word: str) -> list[str]:
    """Return the stems that a word may stand for."""
    return [variant.stem for variant in vocabulary.variants(word)]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("prices", ["price"]),  # another form
        ("prise", ["price"]),  # one letter wrong
        ("standrad", ["standard"]),  # two swapped
        ("subscripsjon", ["subscript"]),  # two wrong in a long word
        ("customers", ["custom"]),  # the genitive is no letter
        ("rice", []),  # the first letter is not mistyped
        ("gold", []),  # an ordinary word is not `good` misspelt
        ("lives", []),  # nor is a form of one
        ("pan", []),  # too short to be corrected
        ("price2", []),  # digits are not letters
        ("mongolia", []),
        ("x" * 30, []),
    ],
)
def test_english_variants(english: Vocabulary, word: str, expected: list[str]) -> None:
    """A known word stands for itself, an unknown one for a near one unless it is another word."""
    assert stems(english, word) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("standardpaket", ["standard", "paket"]),
        ("studentrabatten", ["student", "rabat"]),
        ("rabattkod", ["rabat"]),
        ("sommarrabatt", ["rabat"]),
        ("leverans", ["leveranstid"]),
        ("kundtjänsten", ["kundtjänst"]),
        ("qwerty", []),
    ],
)
def test_swedish_variants(swedish: Vocabulary, word: str, expected: list[str]) -> None:
    """A compound stands for its known parts, a beginning for the longer word."""
    assert [stem[:5] for stem in stems(swedish, word)] == [stem[:5] for stem in expected]


def test_a_part_is_less_sure_than_the_whole(swedish: Vocabulary) -> None:
    """The more of a compound is known, the surer it is."""
    whole = swedish.variants("standardpaket")[0].weight
    part = swedish.variants("sommarrabatt")[0].weight
    assert 0 < part < whole < 1


def test_a_short_misspelling_is_less_sure(english: Vocabulary) -> None:
    """A near miss of a short word is often another word."""
    assert english.variants("linw")[0].weight < english.variants("standrad")[0].weight < 1


def test_rarity(english: Vocabulary) -> None:
    """A stem in one snippet tells all, one in all snippets hardly anything."""
    assert english.rarity("standard") == 1
    assert english.rarity("unheard") == 1
    assert 0 < english.rarity("price") < 0.2
    assert Vocabulary("en").rarity("price") == 1


def test_only_longer_words_are_corrected_outright(english: Vocabulary) -> None:
    """A short word is left for the search to weigh; a known or strange one is left as it is."""
    assert [english.correct(word) for word in ("standrad", "prise", "standard", "mongolia", "standrad2")] == [
        "standard",
        "prise",
        "standard",
        "mongolia",
        "standrad2",
    ]


def test_an_empty_vocabulary_knows_nothing() -> None:
    """Before anything is added every word is unknown."""
    assert Vocabulary("sv").variants("paket") == ()
    assert not Vocabulary("sv").knows("paket")
