"""The stems that words are compared by."""

import threading

import pytest

from agent.lang import LANGUAGES
from agent.lexical.stems import stem
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
