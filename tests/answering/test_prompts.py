"""What the model is told after a draft that did not stand."""

import pytest

from agent.answering.prompts import again, instructions
from agent.ports.search import Lang
from agent.text.numbers import tokens


def added(draft: str, wrong: str, lang: Lang = "en") -> list[str]:
    """Return the sentences quoted, when every token whose text is in `wrong` was refused."""
    first_told = instructions(lang)
    text = again(
        first_told, lang, draft, [token for token in tokens(draft) if token.text in wrong.split("|")]
    )
    first, _, *quoted = text.removeprefix(first_told).split("\n")
    assert first == ""
    return [line.removeprefix("- ") for line in quoted]


def test_only_the_sentences_that_failed_are_quoted() -> None:
    """A sentence without a refused number is not repeated."""
    draft = "It is 299 kr. Delivery takes 14 days! Call us.\nOr wait 20 days"
    assert added(draft, "14 days|20 days") == ["Delivery takes [...]!", "Or wait [...]"]


def test_every_number_is_taken_out() -> None:
    """Also numbers that were right, and those written as words."""
    assert added("Pay 299 kr in fourteen days.", "299 kr") == ["Pay [...] in [...]."]


def test_a_sentence_is_quoted_once_and_few_are() -> None:
    """Two refused numbers of a sentence quote it once; three sentences are enough."""
    assert added("It is 299 kr or 349 kr.", "299 kr|349 kr") == ["It is [...] or [...]."]
    many = " ".join(f"In {name} it is {n} kr." for n, name in enumerate("abcdef", 110))
    assert len(added(many, "|".join(f"{n} kr" for n in range(110, 116)))) == 3


def test_a_long_sentence_is_cut() -> None:
    """A sentence without an end does not fill the prompt."""
    assert len(added("It is 299 kr " + "and on " * 500, "299 kr")[0]) <= 300


@pytest.mark.parametrize("lang", ["en", "sv"])
def test_the_instructions_hold_no_number(lang: Lang) -> None:
    """Nothing that the model is told could be repeated as a number."""
    assert not tokens(again(instructions(lang), lang, "It is 299 kr.", tokens("It is 299 kr.")))
