"""The word lists of retrieval are well formed."""

import pytest

from agent.ports.search import Lang
from agent.retrieval.tables import generic_words, is_function_word, known_words, stop_words, synonyms
from agent.text.words import words

LANGS: list[Lang] = ["en", "sv"]


@pytest.mark.parametrize("lang", LANGS)
def test_entries_are_folded_words(lang: Lang) -> None:
    """An entry that is not one folded word could never match."""
    listed = [*stop_words(lang), *known_words(lang), *generic_words(lang)]
    entries = [*listed, *(word for group in synonyms(lang).groups for word in group)]
    assert [entry for entry in entries if words(entry) != [entry]] == []


@pytest.mark.parametrize("lang", LANGS)
def test_a_synonym_is_not_a_stop_word(lang: Lang) -> None:
    """A word that is dropped from questions cannot ask for a group."""
    members = {word for group in synonyms(lang).groups for word in group}
    assert sorted(word for word in members if word in stop_words(lang) or is_function_word(word)) == []


def test_groups_are_found_by_word_stem_and_phrase() -> None:
    """A word finds its group in whatever form; a phrase by its words; an unknown word has none."""
    table = synonyms("en")
    assert table.group("price") == table.group("prices") == table.phrases["how", "much"]
    assert table.group("mongolia") is None
    assert "price" in table.groups[table.group("fee") or 0]


def test_short_stems_do_not_join_words() -> None:
    """A stem of three letters is shared by words that have nothing to do with each other."""
    assert synonyms("sv").group("billig") is not None
    assert synonyms("sv").group("bilen") is None
