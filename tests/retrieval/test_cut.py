"""Long lines: their parts stand in them as they are, are short, and hold no number that the line does not."""

import base64
import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.config import SNIPPET_CHARACTERS
from agent.grounding.evidence import read
from agent.retrieval.chunk import chunk
from agent.retrieval.cut import parts, spans
from agent.retrieval.effort import Effort

BLOB = base64.b64encode(random.Random(1).randbytes(9000)).decode()


def cut(line: str) -> list[str]:
    """Return the parts of one line."""
    return list(parts(line, Effort()))


def test_a_long_line_is_cut_after_a_sentence_else_between_words() -> None:
    """Whole sentences where there are any; nothing is lost."""
    sentence = (
        "The zebra, which is striped, eats grass from morning to evening and never once complains about it. "
    )
    for line in (sentence * 100, sentence.replace(".", " and") * 100):
        found = cut(line)
        assert len(found) > 1
        assert " ".join(found) == line.strip()
        assert all(part.endswith("." if "." in line else "and") for part in found[:-1]) is ("." in line)
        assert all(SNIPPET_CHARACTERS / 2 < len(part) <= SNIPPET_CHARACTERS for part in found[:-1])


WORDS = (
    "zebra costs 299 kr kr. 1 000 % 5-10 dagar 14 mars 2026 tolv hundra half a miljon 1,5 (5 kg) $ 20 till och "
    '08-123 45 67 | – No. kl Then it. 9:00 tjugo fem procent and a-b x2 § 3 {"price":299,"name":"z"}'
)


@given(
    st.lists(st.sampled_from(WORDS.split()), min_size=30, max_size=60),
    st.integers(40, 120),
)
@example(["5", "10", "dagar"] * 20, 40)
def test_a_part_holds_no_number_that_its_line_does_not(words: list[str], size: int) -> None:
    """Cut anywhere, `1 000 kr` would be `000 kr`, and an answer could cite it."""
    line = " ".join(words)
    at = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agent.retrieval.cut.SNIPPET_CHARACTERS", size)
        found = cut(line)
    whole = read(line).keys
    for part in found:
        assert len(part) <= size
        at = line.index(part, at) + len(part)
        assert {key for key in read(part).keys if key not in whole} == set(), (part, line)


@pytest.mark.parametrize(
    "line",
    [
        "about 50 % of zebras",
        "half a zebra, 20 procent",
        "mellan 3 och 5 dagar",
        "tjugo fem procent",
        "delivery takes 5 dagar at most",
        "1 000 kr in all",
        "5-10 dagar till",
    ],
)
def test_a_number_stays_with_what_it_counts(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever the limit falls: `50 %` is not cut into a 50, nor `tjugo fem procent` into a 25."""
    whole = read(line).keys
    for size in range(5, len(line)):
        monkeypatch.setattr("agent.retrieval.cut.SNIPPET_CHARACTERS", size)
        assert [part for part in cut(line) if not read(part).keys <= whole] == [], size


def test_what_is_no_text_is_in_no_snippet() -> None:
    """An inlined image, a run of base64, a dump of numbers; the words around them are."""
    text = f"The zebra logo: ![zebra](data:image/png;base64,{BLOB}) is black.\n\nkey {BLOB} end\n\n{'1 2 3 ' * 2000}"
    assert [piece.snippet.text for piece in chunk("kb/a.md", text)] == [
        "The zebra logo: ![zebra](", ") is black.", "key", "end",
    ]  # fmt: skip
    assert {piece.snippet.first for piece in chunk("kb/a.md", text)} == {1, 3}


def test_a_small_inlined_image_is_left_out_too() -> None:
    """Its letters are no words and its digits no numbers, however few they are."""
    pieces = chunk("kb/a.md", "before ![](data:image/gif;base64,R0lGODlhAQABAAAAACw+7/8=) after")
    assert [piece.snippet.text for piece in pieces] == ["before ![](", ") after"]


def test_lines_that_are_long_together_are_snippets_apart() -> None:
    """A snippet of several lines is bounded like one of a single line."""
    line = "word " * (SNIPPET_CHARACTERS // 12)
    lines = [line, line, line, "x " * SNIPPET_CHARACTERS, line]
    found = list(spans(lines, 0, 5, Effort()))
    assert [(span.first, span.last) for span in found] == [(0, 2), (2, 3), (3, 4), (3, 4), (4, 5)]
    assert all(len(span.text) <= SNIPPET_CHARACTERS for span in found)


@pytest.mark.parametrize(
    "line",
    [
        "[" + ",".join(f'{{"price":{n},"name":"zebra{n}"}}' for n in range(900)) + "]",
        "".join(f"<p>Zebra {n} costs {n} kr</p>" for n in range(900)),
        "| zebra | 299 kr | 14 days " * 400 + "|",
    ],
    ids=["json", "html", "row"],
)
def test_a_minified_file_can_be_cited_in_parts(line: str) -> None:
    """JSON and HTML on one line, and a row of a thousand cells: nearly all of it is in a part."""
    found = cut(line)
    assert sum(map(len, found)) > 0.95 * len(line)
    assert read(found[3]).keys <= read(line).keys
