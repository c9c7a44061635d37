"""Every character that shows a number lies in a token: no digit is ever skipped."""

import html
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.numbers.number_tokens import tokens

from ..examples import examples

PIECES = [
    *"①9½²₂٣&#;`\n \u200b\u0301xaé\\[]()-–.,:/Ⅳ五\U0001f0a1１𝟗\ue000\ue001㍘⅐↉\u20e3𒐕%|>_",
    *(
        "&#65;",
        "&#",
        "&#57;",
        "&frac12;",
        "<a ",
        "href=1",
        "<!--",
        "-->",
        "*",
        "**",
        "](",
        "kr",
        "en ",
        "one",
    ),
]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=2), max_size=9).map("".join)


@settings(max_examples=examples(300))
@given(TEXTS)
@example("①①&#65;&#①")
@example("\u0301₂\u200ben")
@example("五①.五")
@example("²\u0301Ⅳ\u0301\u200bⅣ")
def test_no_digit_is_skipped(text: str) -> None:
    """Each character of numeric value lies in a token; what only its decoded text shows makes one, too."""
    found = tokens(text)
    covered = {at for token in found for at in range(token.start, token.end)}
    assert [char for at, char in enumerate(text) if char.isnumeric() and at not in covered] == []
    assert found or not any(char.isnumeric() for char in html.unescape(text))


@settings(max_examples=examples(100))
@given(TEXTS)
def test_tokens_do_not_overlap(text: str) -> None:
    """Tokens stand in order, and none overlaps another, but for what markup hides."""
    found = [token for token in tokens(text) if token.kind != "unread"]
    assert all(one.end <= other.start for one, other in pairwise(found))
