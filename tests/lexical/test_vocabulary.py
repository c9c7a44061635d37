"""Words by number."""

import pytest

from agent.lexical.stems import stem_keys
from agent.lexical.vocabulary import PackedWords, Vocabulary, runs_of

WORDS = ["price", "prices", "plan"]


@pytest.fixture
def vocabulary() -> Vocabulary:
    """Some words, one of which came twice."""
    made = Vocabulary(stem_keys)
    assert made.number_words([*WORDS, "price"]) == [0, 1, 2, 0]
    return made


def test_each_word_has_one_number(vocabulary: Vocabulary) -> None:
    """Also when it is added again; an unknown one has none."""
    assert vocabulary.add_word("plan") == vocabulary.number_of("plan") == 2
    assert vocabulary.number_of("unheard") is None
    assert vocabulary.words == WORDS


def test_words_are_found_by_their_stems_and_runs(vocabulary: Vocabulary) -> None:
    """Those of a word span its borders."""
    assert list(vocabulary.by_stem.get("en price")) == [0, 1]
    assert list(vocabulary.by_run.get(" pl")) == [2]
    assert runs_of("plan") == {" pl", "pla", "lan", "an "}
    assert list(vocabulary.runs) == [5, 6, 4]


def test_what_is_kept_is_the_same_again(vocabulary: Vocabulary) -> None:
    """And grows on; what does not fit together is refused."""
    packed = vocabulary.pack()
    again = Vocabulary(stem_keys, packed)
    vocabulary.compact()
    for each in (vocabulary, again):
        assert each.add_word("plans") == 3
        assert list(each.by_stem.get("en plan")) == [2, 3]
    with pytest.raises(ValueError, match="fit"):
        Vocabulary(stem_keys, PackedWords(packed.words, packed.by_stem, packed.by_run, packed.runs[:-2]))
