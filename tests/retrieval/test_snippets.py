"""Long lines: what is shown of them stands in them as it is, is short, and holds no number that the line does not."""

import base64
import random
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.grounding.evidence import read_evidence
from agent.retrieval import snippets as module
from agent.retrieval.effort import Effort
from agent.retrieval.snippets import SNIPPET_CHARACTERS, CitableLines, split_line
from tests.examples import sample

from . import statements

BLOB = base64.b64encode(random.Random(1).randbytes(9000)).decode()


def cut(line: str, most: int = SNIPPET_CHARACTERS) -> list[str]:
    """Return the parts of one line."""
    return list(split_line(line, Effort(), most))


@pytest.fixture
def narrow() -> Iterator[None]:
    """Show whole lines only when they are short."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_LINE", 60)
        patch.setattr(module, "SNIPPET_CHARACTERS", 120)
        yield


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


def test_a_long_line_is_not_cut_after_an_abbreviation() -> None:
    """It ends no sentence here either."""
    said = "This is said of all the places here. It is so, e.g. Lund and Malmö are."
    assert cut(said, 60) == ["This is said of all the places here.", "It is so, e.g. Lund and Malmö are."]


TEXT = (
    "zebra costs 299 kr kr. 1 000 % 5-10 dagar 14 mars 2026 tolv hundra half a miljon 1,5 (5 kg) $ 20 till och "
    '08-123 45 67 | – No. kl Then it. 9:00 tjugo fem procent and a-b x2 § 3 {"price":299,"name":"z"}'
)
WORDS = st.sampled_from(TEXT.split())


@given(st.lists(WORDS, min_size=30, max_size=60), st.integers(40, 120))
@example(["5", "10", "dagar"] * 20, 40)
def test_a_part_holds_no_number_that_its_line_does_not(words: list[str], size: int) -> None:
    """Cut anywhere, `1 000 kr` would be `000 kr`, and an answer could cite it."""
    line = " ".join(words)
    at = 0
    whole = read_evidence(line).keys
    for part in cut(line, size):
        assert len(part) <= size
        at = line.index(part, at) + len(part)
        assert {key for key in read_evidence(part).keys if key not in whole} == set(), (part, line)


@pytest.mark.usefixtures("narrow")
@given(st.lists(WORDS, min_size=30, max_size=60), st.data())
def test_what_is_shown_around_a_statement_holds_none_either(words: list[str], data: st.DataObject) -> None:
    """Wherever in its line the statement stands."""
    line = " ".join(words)
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, min(len(words), first + 8)))
    said = " ".join(words[first:last])
    shown = CitableLines((line,), Effort()).cite_statement(1, 1, said)
    if shown != said:  # where no border is near, the statement is shown as it is
        assert shown in line
        assert {key for key in read_evidence(shown).keys if key not in read_evidence(line).keys} == set(), (
            shown,
            line,
        )


@pytest.mark.usefixtures("narrow")
def test_each_statement_of_a_line_is_shown_where_it_stands() -> None:
    """One after the other, the same words each time; marks, addresses and tags between them."""
    one, other = "Zebras <b>cost</b> [5 kr](http://example.com/prices) each.", "Okapis are free of charge."
    line = f"{one} {other} {one} {other}"
    lines = CitableLines((line,), Effort())
    shown = [
        lines.cite_statement(1, 1, said)
        for said in ("Zebras cost 5 kr each.", "Okapis are free of charge.") * 2
    ]
    assert shown == [one, other, one, other]


@pytest.mark.usefixtures("narrow")
def test_what_cannot_be_found_in_its_line_is_shown_as_it_is_said() -> None:
    """An entity, say, that a reader made a letter of."""
    line = "The caf&eacute; is open on Sundays, and that is quite something for a village."
    said = "The café is open on Sundays, and that is quite something for a village."
    assert CitableLines((line,), Effort()).cite_statement(1, 1, said) in (line, said)
    assert CitableLines(("nothing of the kind " * 9,), Effort()).cite_statement(1, 1, said) == said


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
def test_a_number_stays_with_what_it_counts(line: str) -> None:
    """Wherever the limit falls: `50 %` is not cut into a 50, nor `tjugo fem procent` into a 25."""
    whole = read_evidence(line).keys
    for size in range(5, len(line)):
        assert [part for part in cut(line, size) if not read_evidence(part).keys <= whole] == [], size


def test_what_is_no_text_is_in_no_snippet() -> None:
    """An inlined image, a run of base64, a dump of numbers; the words around them are."""
    text = f"The zebra logo: ![zebra](data:image/png;base64,{BLOB}) is black.\n\nkey {BLOB} end\n\n{'1 2 3 ' * 2000}"
    found = statements(text)
    for snippet in found:
        for shown in (snippet.text, snippet.plain_text):
            assert "data:" not in shown
            assert BLOB[50:90] not in shown
            assert len(shown) <= SNIPPET_CHARACTERS
    told = " ".join(snippet.text for snippet in found)
    assert all(word in told for word in ("logo", "black", "key", "end"))
    assert {snippet.first for snippet in found} == {1, 3}


def test_a_small_inlined_image_is_left_out_too() -> None:
    """Its letters are no words and its digits no numbers, however few they are."""
    for text in (
        "before ![](data:image/gif;base64,R0lGODlhAQABAAAAACw+7/8=) after",
        "before <img src='data:image/gif;base64,R0lGODlhAQABAAAAACw+7/8='> after",
    ):
        (snippet,) = statements(text)
        assert "R0lGOD" not in snippet.text
        assert snippet.plain_text.split() == ["before", "after"]


def test_whole_lines_that_are_long_are_shown_in_part() -> None:
    """A header or a piece of code as long as a file is bounded, and blobs are left out of it."""
    lines = CitableLines(["word " * SNIPPET_CHARACTERS, f"x = '{BLOB}' + 1", "short"], Effort())
    assert len(lines.cite_lines(1, 1)) <= SNIPPET_CHARACTERS
    assert len(lines.cite_lines(1, 3, 400)) <= 400
    assert BLOB[:50] not in lines.cite_lines(2, 2)
    assert lines.cite_lines(3, 3) == "short"


@pytest.mark.parametrize(
    "line",
    sample(
        [
            "[" + ",".join(f'{{"price":{n},"name":"zebra{n}"}}' for n in range(900)) + "]",
            "".join(f"<p>Zebra {n} costs {n} kr</p>" for n in range(900)),
            "| zebra | 299 kr | 14 days " * 400 + "|",
        ],
        2,
    ),
    ids=["json", "html", "row"],
)
def test_a_minified_file_can_be_cited_in_parts(line: str) -> None:
    """JSON and HTML on one line, and a row of a thousand cells: nearly all of it is in a part."""
    found = cut(line)
    assert sum(map(len, found)) > 0.95 * len(line)
    assert read_evidence(found[3]).keys <= read_evidence(line).keys
    assert len(statements(line)) >= 3
