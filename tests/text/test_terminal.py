"""What a terminal is shown cannot steer it, and what people write is left as it is."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.text.terminal import printable, printable_json, printable_line

MARK = "\N{REPLACEMENT CHARACTER}"
STEERING = [
    *map(chr, range(0x20)),
    *map(chr, range(0x7F, 0xA0)),
    *"\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u206a\u206f\ufff9\ufffb",
    "\ud800",
    "\udfff",
]
READABLE = [
    "a\tb\nc",
    "Räksmörgås 1\u00a0299\u202fkr",  # the spaces within numbers
    "e\u0301 ä́",  # combined marks
    "👩\u200d👩\u200d👧 🏴\U000e0067\U000e0062\U000e007f ❤\ufe0f",  # emoji that are joined
    "می\u200cخواهم हिन्दी ภาษาไทย שלום",
    "soft\u00adhyphen \ue0b0",
]


@pytest.mark.parametrize("text", READABLE)
def test_text_that_people_write_is_left_as_it_is(text: str) -> None:
    """In any script, with joiners, marks and odd spaces."""
    assert printable(text) == text
    assert printable_line(text) == text.replace("\t", " ").replace("\n", " ")
    assert printable_json(json.dumps(text, ensure_ascii=False).encode()).decode() == json.dumps(
        text, ensure_ascii=False
    )


@pytest.mark.parametrize("character", STEERING)
def test_what_steers_a_terminal_is_replaced(character: str) -> None:
    """Controls, bidirectional format characters and lone surrogates; a line keeps no break."""
    expected = character if character in "\n\t" else MARK
    assert printable(f"a{character}b") == f"a{expected}b"
    assert printable_line(f"a{character}b") in (f"a{MARK}b", "a b")


def test_whole_sequences_are_harmless() -> None:
    """What follows an escape is left as text."""
    assert printable("\x1b]0;OWNED\x07 \x1b[2J\x9b31m") == f"{MARK}]0;OWNED{MARK} {MARK}[2J{MARK}31m"
    assert printable("a\r\nb\rc\u2028d\u2029e") == f"a\nb{MARK}c\nd\ne"
    assert printable_line("a\r\nb\x0bc\u2028d\x85e\x1cf") == "a b c d e f"


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_nothing_is_left_that_could_steer(text: str) -> None:
    """Whatever comes in; what was cleaned once is clean."""
    for clean in (printable(text), printable_line(text)):
        assert {each for each in clean if unicodedata.category(each) in ("Cc", "Cs", "Zl", "Zp")} <= set(
            "\n\t"
        )
        assert not {each for each in clean if unicodedata.bidirectional(each) in _DIRECTIONS}
        assert printable(clean) == clean
        clean.encode()
    assert not set("\n\t") & set(printable_line(text))


_DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(st.text())
def test_json_says_the_same(text: str) -> None:
    """What is escaped for the terminal is the same text for a program."""
    line = printable_json(json.dumps({text: [text]}, ensure_ascii=False).encode())
    assert json.loads(line) == {text: [text]}
    assert printable(line.decode()) == line.decode()


def test_json_that_was_passed_on_as_it_came() -> None:
    """White space between values, and bytes that are no UTF-8."""
    assert json.loads(printable_json(b'{"id":[1,\r2],"a":"\x9b31m"}')) == {"id": [1, 2], "a": f"{MARK}31m"}
    assert b"\r" not in printable_json(b"[1,\r2]")
