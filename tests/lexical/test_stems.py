"""The stems that words are compared by."""

import threading
from dataclasses import replace

import pytest

from agent.lang import LANGUAGES
from agent.lexical.stems import StemTable, stem, stem_keys, stem_keys_of, stem_words
from agent.ports.search import Lang


@pytest.mark.parametrize(
    ("lang", "forms"),
    [
        ("en", ["price", "prices", "pricing", "price's"]),
        ("en", ["delivery", "deliveries"]),
        ("sv", ["faktura", "fakturor"]),
        ("sv", ["paket", "paketet", "paketen"]),
    ],
)
def test_forms_of_a_word_have_one_stem(lang: Lang, forms: list[str]) -> None:
    """As the language has it."""
    assert len({stem(lang, form) for form in forms}) == 1


@pytest.mark.parametrize("word", ["", "a", "'s", "x" * 5000, "\u0301", "12", "日本", "\x00"])
@pytest.mark.parametrize("lang", LANGUAGES)
def test_any_word_has_a_stem(lang: Lang, word: str) -> None:
    """Itself, where there is nothing to take off."""
    assert isinstance(stem(lang, word), str)


def test_threads_may_ask_at_a_time() -> None:
    """The reader's thread and the event loop do."""
    words = [f"price{n}s" for n in range(2000)]
    found: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: found.append([stem("en", word) for word in words])) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[f"price{n}" for n in range(2000)]] * 4


@pytest.mark.parametrize("lang", LANGUAGES)
def test_words_have_the_same_stems_together(lang: Lang) -> None:
    """Those that the stemmer would cut in two as well, and however many there are."""
    words = [
        "prices",
        "don't",
        "price's",
        "",
        "fakturor",
        "ﬁnes",
        "日本",
        "\u0301",
        "naïve",
        "åren",
        "12",
        "x_y",
    ]
    words += [f"price{n}s" for n in range(3000)]
    expected = [stem(lang, word) for word in words]
    assert stem_words(lang, words) == expected
    table = StemTable(lang)
    assert table.find_stems(words[:5]) == expected[:5]
    assert table.find_stems(words) == expected
    assert [key for keys in stem_keys_of(words) for key in keys] == [
        key for word in words for key in stem_keys(word)
    ]


def test_a_language_without_a_stemmer_takes_nothing_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each word is its own stem."""
    searching = replace(LANGUAGES["sv"].searching, stemmer="")
    monkeypatch.setattr(
        "agent.lexical.stems.LANGUAGES", {"sv": replace(LANGUAGES["sv"], searching=searching)}
    )
    assert stem_words("sv", ["prices", "don't"]) == ["prices", "don't"]
