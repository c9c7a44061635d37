"""Words, function words, and the pieces a text is streamed in."""

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.text.words import FUNCTION_WORDS, fold, normalize_text, split_deltas, split_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What does it cost?", ["what", "does", "it", "cost"]),
        ("Öppettider på Åland – ÄVEN helger!", ["öppettider", "på", "åland", "även", "helger"]),
        ("o\u0308ppet", ["öppet"]),
        ("don’t, don't", ["don't", "don't"]),
        ("'quoted' words'", ["quoted", "words"]),
        ("299 kr; 12,50", ["299", "kr", "12", "50"]),
        ("snake_case e-post", ["snake", "case", "e", "post"]),
        ("?! ...", []),
        ("", []),
    ],
)
def test_words_are_cut_and_folded(text: str, expected: list[str]) -> None:
    """Letters and digits make words, folded and composed; apostrophes stay inside them, other marks part them."""
    assert split_words(text) == expected


@given(st.text())
def test_folding_is_stable(text: str) -> None:
    """Words of a folded text are the words of the text."""
    assert split_words(fold(text)) == split_words(text)


@given(st.text(st.one_of(st.characters(), st.sampled_from("ao\u0308\u0301\u0323")), max_size=100))
def test_a_text_is_composed_as_unicode_has_it(text: str) -> None:
    """Unless more than thirty marks stand in a row."""
    assert normalize_text(text) == unicodedata.normalize("NFC", text)


def test_a_long_run_of_marks_is_composed_in_linear_time() -> None:
    """Its order is put right in stretches, and no mark is lost."""
    text = "x o" + "\u0308\u0323" * 40_000 + " o\u0308"
    began = time.thread_time()
    found = normalize_text(text)
    assert time.thread_time() - began < 0.5
    assert found.startswith("x \u1ecd\u0323")
    assert found.endswith(" ö")
    assert sorted(unicodedata.normalize("NFD", found[2:9])) == sorted("o" + "\u0323" * 7)


def test_function_words_are_folded_words() -> None:
    """Each entry of the tables is one folded word, so that looking one up can succeed."""
    assert [word for word in FUNCTION_WORDS if split_words(word) != [word]] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It costs 299 kr.", ["It ", "costs ", "299 ", "kr."]),
        ("  two\n\nlines \n", ["  ", "two\n\n", "lines \n"]),
        ("", []),
        (" \t", [" \t"]),
    ],
)
def test_a_delta_is_one_word_and_its_space(text: str, expected: list[str]) -> None:
    """Each piece is one word with the white space after it."""
    assert split_deltas(text) == expected


@given(st.text(alphabet=st.one_of(st.characters(), st.sampled_from(" \n\t\u00a0ab9,.\x85"))))
def test_deltas_joined_are_the_text(text: str) -> None:
    """Nothing is added, lost or empty."""
    pieces = split_deltas(text)
    assert "".join(pieces) == text
    assert all(pieces)
