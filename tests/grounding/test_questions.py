"""What is asked for, by the names that a tool's definition gives it."""

import pytest

from agent.grounding.questions import NAME, ask_parameters
from agent.lang import LANGUAGES
from agent.numbers.number_tokens import tokens

SAYING = ("price_500", "fiveHundredCrowns", "five_hundred", "tjugo-fem", "half", "五百", "²", "", " _")


@pytest.mark.parametrize("name", [*SAYING, "x" * (NAME + 1)])
def test_no_name_of_a_parameter_says_a_number(name: str) -> None:
    """A definition is anybody's, and its names are cited by nothing; nor does one make a question long."""
    for lang, language in LANGUAGES.items():
        assert ask_parameters((name,), lang).text == language.tooling.anything
        assert ask_parameters((name, "city"), lang).text == ask_parameters(("city",), lang).text


def test_a_name_is_asked_for_in_words() -> None:
    """However it is written."""
    for name in ("order_id", "order-id"):
        assert "order id" in ask_parameters((name,), "en").text
    assert "order Id" in ask_parameters(("orderId",), "en").text
    assert not tokens(ask_parameters(("orderId", "city", "name", "more"), "en").text)
