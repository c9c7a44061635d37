"""The shortcuts for common numbers: they read exactly what the rows read."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.text import runs, scanner
from agent.text.numbers import Token, tokens

_WORDS = (
    "3|14|299|2012|0|100|5-7|555-1234|3-5|one|two|fjorton|en|ett|tusen|half|days|dagar|kr|SEK|$|%|procent"
    "|percentage|points|months|business|working|hours|to|till|or|eller|and|och|between|mellan|about|May|m"
    "aj|am|kl|at|öppet|minus|tel|million|degrees|F|of|a|the|plan|customers|x|by|in|per|,|.|;|:|(|)|-|14 d"
    "agar|24 months|50 %|299 kr|3-5 days|3-5 business days|9 am|5 pm|full"
)
PIECES = (*_WORDS.split("|"), "\n", "\n\n")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join)


def by_rows(text: str, source: bool) -> tuple[Token, ...]:
    """Return the tokens of a text with the shortcuts switched off."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scanner, "count_at", lambda s, at, low: None)
        patch.setattr(scanner, "span_at", lambda s, at, low: None)
        patch.setattr(runs, "after", lambda word: None)
        return tokens(text, source=source)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, st.booleans(), st.booleans())
def test_same_tokens(text: str, source: bool, tight: bool) -> None:
    """With and without the shortcuts a text has the same tokens."""
    text = text.replace(" ,", ",").replace(" .", ".").replace("( ", "(").replace(" )", ")") if tight else text
    assert tokens(text, source=source) == by_rows(text, source)
