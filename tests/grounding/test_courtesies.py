"""The answers to greetings: fixed, without a number, and about what the documents are about."""

from typing import get_args

import pytest

from agent.grounding.courtesies import answer_courtesy
from agent.grounding.verify import check_numbers
from agent.ports.search import Lang
from agent.text.courtesy import Courtesy

UNFIT = ["24 hours", "Two plans", "Tre paket", "Chapter IV ½", "x" * 61, "a\nb", "٣ plans", "第三章"]


@pytest.mark.parametrize("lang", get_args(Lang))
@pytest.mark.parametrize("what", get_args(Courtesy))
def test_no_answer_holds_a_number(what: Courtesy, lang: Lang) -> None:
    """They cite nothing, so nothing could hold it; a topic with one is left out, as is one that is too long."""
    said = answer_courtesy(what, lang, [*UNFIT, "Prices"])
    assert check_numbers(said.text, ()).is_supported
    assert (said.citations, said.confidence, said.blocked) == ((), None, None)
    assert not any(topic in said.text for topic in UNFIT)
    assert ("• Prices" in said.text) == (what != "thanks")


def test_five_topics_are_told_at_most() -> None:
    """The first ones that are fit."""
    said = answer_courtesy("greeting", "en", [*UNFIT, *"ABCDEFG"])
    assert said.text.splitlines()[1:] == [f"• {topic}" for topic in "ABCDE"]
    assert "about:" not in answer_courtesy("greeting", "en").text
