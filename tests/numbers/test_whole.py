"""The whole rule: a number that no snippet holds is found, however it is written, split or decorated."""

import unicodedata
from collections.abc import Callable

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from agent.grounding.verify import check_numbers
from agent.numbers.number_tokens import TOO_MANY, tokens
from agent.ports.search import Snippet

from ..examples import examples
from .test_kinds import english, grouped, swedish

SOURCE = (
    Snippet(
        file="kb/a.md",
        text="Basic costs 149 kr and has 12 months.\nDelivery takes 3-5 days, on 2025-12-12.",
        first=1,
        last=2,
    ),
    Snippet(
        file="kb/b.md",
        text="Öppet 09:00-17:00. Ring 08-123 45 67. Rabatt 50 %, 9 butiker och 99 lager, 1 eller 2.",
        first=1,
        last=1,
    ),
)
WORDS = st.sampled_from(
    [
        "the",
        "plan",
        "costs",
        "and",
        "you",
        "get",
        "a",
        "price",
        "for",
        "each",
        "of",
        "them",
        "vi",
        "har",
        "den",
        "som",
        "kan",
        "till",
        "och",
        "eller",
        "med",
        ",",
        ".",
        "!",
        "-",
        "(",
        ")",
        "*",
        "_",
        "\n",
    ]
)
HELD = {149, 12, 3, 5, 2025, 50, 9, 99, 1, 2, 4}
FRESH = st.integers(6, 99_999).filter(
    lambda n: n not in HELD and not {*_parts(n)} & {"149"} and n not in (10, 11, 100, 1000)
)


def _parts(value: int) -> list[str]:
    return [str(value)]


def _shift(text: str, zero: str) -> str:
    return "".join(chr(ord(zero) + int(c)) if c.isdecimal() else c for c in text)


FORMS: dict[str, Callable[[int], str]] = {
    "plain": str,
    "grouped": lambda n: grouped(n, " "),
    "apostrophes": lambda n: grouped(n, "’"),
    "Arabic-Indic": lambda n: _shift(str(n), "٠"),
    "Thai": lambda n: _shift(str(n), "๐"),
    "fullwidth": lambda n: _shift(str(n), "０"),
    "bold": lambda n: _shift(str(n), "𝟎"),
    "circled": lambda n: "".join("⓪①②③④⑤⑥⑦⑧⑨"[int(c)] for c in str(n)),
    "superscript": lambda n: "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(c)] for c in str(n)),
    "keycaps": lambda n: "".join(c + "\ufe0f\u20e3" for c in str(n)),
    "entities": lambda n: "".join(f"&#{ord(c)};" for c in str(n)),
    "hex entities": lambda n: "".join(f"&#x{ord(c):x};" for c in str(n)),
    "zero-width": lambda n: "\u200b".join(str(n)),
    "soft hyphens": lambda n: "\u00ad".join(str(n)),
    "joiners": lambda n: "\u2060".join(str(n)),
    "no-break spaces": lambda n: "\u00a0".join(str(n)),
    "lines": lambda n: "\n".join(str(n)),
    "comments": lambda n: "<!-- -->".join(str(n)),
    "tags": lambda n: "".join(f"<b>{c}</b>" for c in str(n)),
    "links": lambda n: "".join(f"[{c}](a.md)" for c in str(n)),
    "code": lambda n: "".join(f"`{c}`" for c in str(n)),
    "emphasis": lambda n: "".join(f"**{c}**" for c in str(n)),
    "dots": lambda n: "..".join(str(n)),
    "strokes": lambda n: "\u0336".join(str(n)) + "\u0336",
    "English": english,
    "English, split": lambda n: "\u200b".join(english(n)),
    "English, upper": lambda n: english(n).upper(),
    "English, fullwidth": lambda n: "".join(chr(ord(c) + 0xFEE0) if "a" <= c <= "z" else c for c in english(n)),
    "Swedish": swedish,
    "Swedish, decomposed": lambda n: unicodedata.normalize("NFD", swedish(n)),
    "percent": lambda n: f"{n} %",
    "money": lambda n: f"${n}",
    "crowns": lambda n: f"{n}:-",
    "days": lambda n: f"{n} dagar",
    "ordinal": lambda n: f"{n}th",
    "decimal": lambda n: f"{n}.75",
    "negative": lambda n: f"−{n}",
    "range": lambda n: f"3–{n}",
    "code number": lambda n: f"AB-{n}",
    "URL": lambda n: f"https://x.se/{n}",
    "link target": lambda n: f"[här](p/{n})",
    "attribute": lambda n: f'<a href="{n}">här</a>',
    "phone": lambda n: f"08-{n:07}",
    "version": lambda n: f"1.2.{n}",
    "power": lambda n: f"10^{n}",
}  # fmt: skip


@settings(max_examples=examples(200))
@given(st.lists(WORDS, max_size=12), FRESH, st.sampled_from(sorted(FORMS)), st.integers(0, 12), st.booleans())
def test_invented_number(words: list[str], value: int, form: str, place: int, spaced: bool) -> None:
    """A number that no snippet holds blocks the answer, wherever and in whatever form it stands."""
    words.insert(place, FORMS[form](value))
    assume("sex" not in words)  # no number in an English line
    answer = (" " if spaced else ", ").join(words)
    assert not check_numbers(answer, SOURCE).is_supported


@given(st.text(max_size=80))
def test_no_digit_is_lost(text: str) -> None:
    """Each digit of an answer lies in a token, whatever stands around it."""
    covered: set[int] = set()
    for token in tokens(text):
        covered.update(range(token.start, token.end))
    assert [c for i, c in enumerate(text) if c.isdecimal() and i not in covered] == []


REFERENCES = st.sampled_from(
    ["&#", "&#x", "&#9", "&#65;", "&#39;", "&#173", "&#x2F;", "&there4;", "&frac12", "&emsp13;"]
)
MARKS = st.text(alphabet="0123456789.,:;/-+ \n*_`<>[]()|#'kmr%x&e!\u00bd\u00b2\u200b", max_size=60)


@given(
    MARKS | st.lists(REFERENCES | st.sampled_from("5 k;<\u2460\u4e94\u338f\u200b"), max_size=8).map("".join)
)
@example("&#9")
@example("<!-- &#65; -->&#65")
@example("x39\u2460")
@example("\u200b\u4e94\u338f")
def test_no_digit_is_lost_among_marks(text: str) -> None:
    """Each digit lies in a token also where punctuation and markup are dense."""
    covered: set[int] = set()
    for token in tokens(text):
        covered.update(range(token.start, token.end))
    assert [c for i, c in enumerate(text) if c.isnumeric() and i not in covered] == []


@given(st.text(alphabet="0123456789.,:/- \nkr%", max_size=40))
def test_same_text_passes(text: str) -> None:
    """An answer that is its own source is never blocked, list markers apart."""
    if "\n" in text or text[:4].strip()[:1].isdecimal():
        text = "x " + text.replace("\n", " ")
    assert (
        check_numbers(text, (Snippet(file="kb/a.md", text=text, first=1, last=1),)).unsupported_checks == ()
    )


def test_too_many() -> None:
    """A text with more tokens than the limit is not read on, and is refused."""
    found = tokens("7, " * (TOO_MANY + 50))
    assert (len(found), found[-1].kind, found[-1].value) == (TOO_MANY + 1, "unread", "too many")
    assert not check_numbers("9, " * (TOO_MANY + 50), SOURCE).is_supported


def test_too_much_markup() -> None:
    """A text that is nearly all markup is not read, and is refused."""
    assert not check_numbers("9`" * 60_000, SOURCE).is_supported
