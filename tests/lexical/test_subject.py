"""The word lists of searches are well formed, and what they leave of a text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.lang import LANGUAGES
from agent.lexical.subject import WORD_MAX, stop_words, subject_words
from agent.ports.search import Lang
from agent.text.words import split_words


@pytest.mark.parametrize("lang", LANGUAGES)
def test_entries_are_folded_words(lang: Lang) -> None:
    """An entry that is not one folded word could never match."""
    assert stop_words(lang)
    assert [entry for entry in stop_words(lang) if split_words(entry) != [entry]] == []


@pytest.mark.parametrize(
    ("text", "lang", "expected"),
    [
        ("What does the Standard plan cost?", "en", ["standard", "plan", "cost"]),
        ("När öppnar ni på lördag?", "sv", ["öppnar", "lördag"]),
        ("Thanks, can you tell me about 5 B sensors", "en", ["5", "sensors"]),
        ("Ångra köpet", "sv", ["ångra", "köpet"]),
    ],
)
def test_what_carries_the_subject_is_kept(text: str, lang: Lang, expected: list[str]) -> None:
    """Function words, empty words and single letters go; the rest stays in order, folded."""
    assert subject_words(text, lang) == expected


@pytest.mark.parametrize("text", ["", "?!", "what is it", "vad är det", "how do I", "x y"])
@pytest.mark.parametrize("lang", LANGUAGES)
def test_common_words_alone_are_about_nothing(text: str, lang: Lang) -> None:
    """Whatever language they are asked in."""
    assert subject_words(text, lang) == []


@given(st.text(max_size=200), st.sampled_from(list(LANGUAGES)))
def test_words_are_bounded(text: str, lang: Lang) -> None:
    """However long a word is written."""
    assert all(0 < len(word) <= WORD_MAX for word in subject_words(text + "a" * 90, lang))
