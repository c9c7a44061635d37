"""What holds for every format: giving up, time, odd bytes, and imports."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.documents import SUFFIXES, Document, Unreadable, parse_document
from agent.errors import GivenUp

from ..cpu import measure_cpu
from ..examples import examples, sample
from .hostile import CASES, RST_CASES, of
from .office import a_docx, a_pdf

TEXTS = sorted(SUFFIXES - {".pdf", ".docx", ".htm", ".markdown"})
ALL = os.environ.get("READING") == "all"
"""Else shorter texts, a share of what one reader does as another does, a third of the largest files, and of damage."""
SMALL, LARGE = (15_000, 60_000) if ALL else (10_000, 40_000)
NOISE = 0.2 * (LARGE / 60_000) ** 2  # seconds of CPU; where time is a square, both sizes show the same ones
ONE_IN = {".mdx": 4, ".rst": 3}
"""Every so-manyth case of .mdx, which is read as Markdown is but for its blocks, and of .rst, to which the marks of
Markdown are text for the most part: `RST_CASES` has those of .rst, all of which are tried."""
PER_MB = 400.0  # seconds of CPU, twice the slowest: docutils takes half a millisecond for each list in a list


def cpu(data: bytes, suffix: str) -> float:
    """Return the seconds of CPU that reading takes on an ordinary machine."""

    def read() -> None:
        with suppress(Unreadable):
            parse_document(f"kb/a{suffix}", data)

    return measure_cpu(read)


def grows_evenly(case: Callable[[int], str], suffix: str) -> bool:
    """Tell whether four times as much takes far less than sixteen times as long, in one of two tries."""
    for _ in range(2):
        small, large = (cpu(of(case, size), suffix) for size in (SMALL, LARGE))
        if large < min(8 * small + NOISE, PER_MB * LARGE / 1e6 + NOISE):
            return True
    return False


@pytest.mark.proof
@pytest.mark.parametrize(
    ("name", "suffix"),
    [
        (name, suffix)
        for number, name in enumerate(sorted(CASES))
        for suffix in TEXTS
        if ALL or number % ONE_IN.get(suffix, 1) == 0
    ],
)
def test_time_is_linear_in_the_length(name: str, suffix: str) -> None:
    """Four times as much of anything takes about four times as long, never sixteen."""
    assert grows_evenly(CASES[name], suffix)


@pytest.mark.proof
@pytest.mark.parametrize("name", sorted(RST_CASES))
def test_rst_takes_linear_time(name: str) -> None:
    """The same for what only reStructuredText knows."""
    assert grows_evenly(RST_CASES[name], ".rst")


@pytest.mark.proof
@pytest.mark.parametrize(
    ("name", "mebibytes"),
    [
        ("rows", 4),
        ("one line", 4),
        *(
            (each, 1)
            for number, each in enumerate(
                ("items", "nested items", "paragraphs", "<", "[", "*", "|", "(", "<div>", "> quotes")
            )
            if ALL or number % 3 == 0
        ),
    ],
)
def test_the_largest_files_are_read(name: str, mebibytes: int) -> None:
    """As large as there may be, of what such files hold; and of what they should not."""
    assert cpu(of(CASES[name], mebibytes * 1024 * 1024), ".md") < 60


@pytest.mark.parametrize("name", ["rows", "items", "[", "<a b", "`a", "*a_", "<div>"])
def test_a_few_of_them_always(name: str) -> None:
    """The worst of them are tried with every run, at a length at which a square would show."""
    assert cpu(of(CASES[name], SMALL), ".md") < 2


@pytest.mark.parametrize(
    ("suffix", "data"),
    sample(
        [
            (".md", b"# A\n\n- item *with* [link](x)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n" * 400),
            (".md", b"x" * 50_000 + b" " + b"*a* " * 5_000),
            (".md", b"\n" * 50_000),
            (".html", b"<p>text <b>bold</b></p>\n" * 1_000),
            (".txt", b"a line\n\n- item\n" * 1_000),
            (".rst", b"A\n=\n\ntext *with* marks\n\n- item\n\n" * 60),
            (".pdf", a_pdf()),
            (".docx", a_docx()),
        ],
        3,
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_reading_can_be_given_up_at_any_time(suffix: str, data: bytes) -> None:
    """It is asked often, and ends at once when the answer is yes."""
    asked: list[float] = []

    def note() -> bool:
        asked.append(time.thread_time())
        return False

    began = time.thread_time()
    parse_document(f"kb/a{suffix}", data, note)
    moments = [began, *asked]
    # Of its CPU. A collection of garbage may come between, and takes longer in a process that holds much.
    assert max(b - a for a, b in pairwise(moments)) < 1.5
    for stop in {1, 2, len(asked) // 2, len(asked)}:
        left = iter(range(stop - 1))
        with pytest.raises(GivenUp):
            parse_document(f"kb/a{suffix}", data, lambda left=left: next(left, None) is None)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("suffix", "data"),
    [(".rst", "".join(" " * 2 * i + "- a\n\n" for i in range(400)).encode()), (".md", b"[" * 30_000)],
)
def test_deep_nesting_is_a_reason_or_a_text(suffix: str, data: bytes) -> None:
    """Where a parser would need more stack than there is, that is the file's reason."""
    assert reason(data, suffix) in ("", "is nested too deeply")


def holds_together(document: Document) -> None:
    """Assert what every document keeps to."""
    for block in document.blocks:
        assert 1 <= block.first <= block.last <= len(document.lines)
        assert any(sign.isalnum() for sign in block.text)
        assert len(block.starts) == block.last - block.first + 1
        assert list(block.starts) == sorted(block.starts)
        assert 0 <= block.starts[0] <= block.starts[-1] <= len(block.text)
        assert all(block.path)
        assert (block.kind == "row") == bool(block.cells)
        assert 0 <= block.header_line <= len(document.lines)
        if block.kind != "code":
            assert block.text == " ".join(block.text.split())
    if document.pages:
        assert len(document.pages) == len(document.lines)


MARKS = (
    "<div>|</div>|<Foo title='x'>|</Foo>|<details>|<summary>|</summary>|</details>|<table>|<tr>|<td>|</table>|"
    "<ul>|<li>|"
    "<!--|-->|{|}|{{|}}|{%|%}|{/*|*/}|`|```|~~~|**|*|_|[|]|(|)|](x)|![|[^1]|[^1]: |> |> [!NOTE]|- |1. |# |## |---|===|"
    "| a || b ||---|---||:::note|:::|!!! note|    |\t|\n|\n\n"
    "|word|åäö|99 kr|&amp;|&#10;|\\|import a from 'b'|export const|"
    ".. note::|.. code::|::|:ref:`a`|+--+|==  ==|\x00|\x0c|\u2028|\r|<https://a>|<pre>|<script>|<h2>|</h2>|<br/>|+++"
)
PIECES = st.sampled_from(MARKS.split("|"))


def reason(data: bytes, suffix: str) -> str:
    """Return why a file cannot be read, "" when it can be and its document holds together."""
    try:
        document = parse_document(f"kb/a{suffix}", data)
    except Unreadable as why:
        return str(why)
    holds_together(document)
    return ""


@settings(max_examples=examples(60))
@given(st.lists(PIECES, max_size=60).map("".join), st.sampled_from(TEXTS))
def test_no_mixture_of_marks_breaks_a_reader(source: str, suffix: str) -> None:
    """Whatever stands beside whatever, a document comes out whole, or a reason."""
    assert "cannot be read" not in reason(source.encode(), suffix)


@settings(max_examples=examples(30))
@given(st.binary(max_size=300), st.sampled_from(sorted(SUFFIXES)))
def test_no_bytes_break_a_reader(data: bytes, suffix: str) -> None:
    """Bytes that mean nothing are a document or a reason."""
    reason(data, suffix)


@pytest.mark.proof
@settings(max_examples=3000)
@given(st.lists(PIECES, max_size=200).map("".join), st.sampled_from(TEXTS))
def test_no_mixture_of_marks_breaks_a_reader_at_length(source: str, suffix: str) -> None:
    """The same, many times and longer."""
    assert "cannot be read" not in reason(source.encode(), suffix)


@pytest.mark.proof
@pytest.mark.parametrize(("suffix", "make"), [(".pdf", a_pdf), (".docx", a_docx)])
@settings(max_examples=400 if ALL else 150)
@given(data=st.data())
def test_no_damage_breaks_a_reader(suffix: str, make: Callable[[], bytes], data: st.DataObject) -> None:
    """Files with bytes changed, cut out or doubled."""
    damaged = bytearray(make())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        length = data.draw(st.integers(0, 40))
        damaged[at : at + length] = data.draw(st.binary(max_size=40))
    reason(bytes(damaged), suffix)


def test_parsers_are_imported_when_a_file_needs_them() -> None:
    """Who only names documents pays for no parser."""
    code = (
        "import sys, agent.documents; "
        "print({'markdown_it', 'docutils', 'yaml', 'docx', 'pypdfium2', 'html.parser'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
