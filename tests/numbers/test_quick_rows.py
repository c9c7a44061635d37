"""The first rows read the commonest numbers at once: exactly what the rows after them would read."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.numbers import digit_rows
from agent.numbers.number_tokens import NumberToken, tokens

from ..examples import examples

_WORDS = (
    "3|14|299|2012|0|100|5-7|555-1234|3-5|one|two|fjorton|en|ett|tusen|half|days|dagar|kr|SEK|$|%|procent"
    "|percentage|points|months|business|working|hours|to|till|or|eller|and|och|between|mellan|about|May|m"
    "aj|am|kl|at|öppet|minus|tel|million|degrees|F|of|a|the|plan|customers|x|by|in|per|,|.|;|:|(|)|-|14 d"
    "agar|24 months|50 %|299 kr|3-5 days|3-5 business days|9 am|5 pm|full|celsius|fahrenheit|below zero|u"
    "nder noll|12 celsius|3-5 celsius|TO|Or|And|BETWEEN|14 kr#3|14 kr@a|14 kr○|14 kr‱|3-5 kr#3|#3|@a"
)
PIECES = (*_WORDS.split("|"), "\n", "\n\n")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join)


def by_rows(text: str, source: bool) -> tuple[NumberToken, ...]:
    """Return the tokens of a text without those rows."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_ROWS", "_PLAIN"):
            rows = [
                row for row in getattr(digit_rows, name) if row.__name__ not in ("_count_row", "_span_row")
            ]
            patch.setattr(digit_rows, name, tuple(rows))
        return tokens(text, source=source)


@pytest.mark.parametrize(
    "text",
    [
        "12 celsius below zero",
        "12 fahrenheit below zero",
        "12 celsius under noll",
        "3-5 celsius below zero",
        "14 kr TO 20 kr",
        "14 kr To 20 kr",
        "between 14 kr And 20 kr",
        "3-5 days OR 8 days",
        "3-5 march",
        "10-20 may",
        "14 kr#3",
        "14 kr@a",
        "14 kr○",
        "3-5 kr#3",
        "3-5 kr●",
    ],
)
def test_what_follows_a_number_changes_it_all_the_same(text: str) -> None:
    for source in (False, True):
        assert tokens(text, source=source) == by_rows(text, source)


@settings(max_examples=examples(200), suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, st.booleans(), st.booleans())
def test_same_tokens(text: str, source: bool, tight: bool) -> None:
    """With and without them a text has the same tokens."""
    text = text.replace(" ,", ",").replace(" .", ".").replace("( ", "(").replace(" )", ")") if tight else text
    assert tokens(text, source=source) == by_rows(text, source)
