"""Real documentation, when it is there (folder AGENT_SHARED or ../shared beside the checkout): nothing gets lost.

Six public sets in two languages, with questions whose answers stand on known lines. What is markup is taken out here
by a few crude patterns of their own, so that the readers are not their own judges.
"""

import json
import os
import re
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from agent.documents import SUFFIXES, Block, Document, parse_document

from ..cpu import measure_cpu

ROOT = Path(__file__).resolve().parents[2]
DOCS = Path(os.environ.get("AGENT_SHARED") or ROOT.parent / "shared") / "data" / "docs"
SETS = sorted(path.stem for path in DOCS.glob("*.jsonl"))

WORD = re.compile(r"[^\W_]+")
MARKUP = re.compile(
    r"<!--.*?-->"
    r"|<script.*?</script>|<iframe.*?</iframe>|<video.*?</video>|<svg.*?</svg>"
    r"|</?[A-Za-z][\w.]*(?:\s+[\w:-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|\{[^{}]*(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}[^{}]*)*\}))?)*\s*/?>"
    r"|\{/\*.*?\*/\}|!\[[^\]]*\]\([^)]*\)|\]\([^)\s]*(?:\s\"[^\"]*\")?\)|\[\^[^\]]+\]:?|\[!\w+\]|\{#[\w-]+\}"
    r"|\{\{.*?\}\}|^<[A-Z]\w+\n.*?^/>$|<GraphQL\w+.*?/>$"
    r"|^\[[^\]]+\]: \S+$|^(?:import|export) .*?$|^[ \t>]*(?:```|~~~).*?$",
    re.DOTALL | re.MULTILINE,
)
SIGN = re.compile(r"\s*(?:#|:::|\d+\.\s*$)")  # headings, and items of which only a component was left
FRONT = re.compile(r"\A(---|\+\+\+)\n.*?\n\1\n", re.DOTALL)

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(not SETS, reason="set AGENT_SHARED to the folder of public documents"),
]


@cache
def documents(name: str) -> dict[str, Document]:
    """Return the documents of a set by their path in it."""
    folder = DOCS / name
    files = [path for path in sorted(folder.rglob("*")) if path.suffix in SUFFIXES]
    return {
        path.relative_to(folder).as_posix(): parse_document(
            path.relative_to(folder).as_posix(), path.read_bytes()
        )
        for path in files
    }


def blank(match: re.Match[str]) -> str:
    """Leave the line breaks of what is taken out."""
    return "\n" * match.group().count("\n")


def words(text: str) -> list[str]:
    """Return the runs of letters and digits of a text, in lower case."""
    return WORD.findall(text.lower())


@pytest.mark.parametrize("name", SETS)
def test_no_text_gets_lost(name: str) -> None:
    """Each line with a text is on the lines of a block, or says headings and header cells that blocks have."""
    lost = []
    for file, document in documents(name).items():
        covered: set[int] = set()
        known: set[str] = set(words(document.title))
        for block in document.blocks:
            covered.update(range(block.first, block.last + 1))
            known.update(words(" ".join((*block.path, *block.header))))
        source = MARKUP.sub(blank, FRONT.sub(blank, "\n".join(document.lines)))
        for number, line in enumerate(source.split("\n"), 1):
            if number not in covered and not SIGN.match(line) and set(words(line)) - known:
                lost.append((file, number, line[:120]))
    assert lost == []


@pytest.mark.parametrize("name", SETS)
def test_headings_are_over_something(name: str) -> None:
    """A heading that is in no path has nothing below it but other headings, markup or the end."""
    for file, document in documents(name).items():
        paths = {said for block in document.blocks for said in block.path}
        for block in document.blocks:
            above = document.lines[block.first - 2] if block.first > 1 else ""
            if re.match(r"#{1,6} \w[\w ]*$", above) and block.kind == "paragraph":
                assert above.lstrip("# ") in paths, (file, block.first)


@pytest.mark.parametrize("name", SETS)
def test_a_blocks_words_stand_on_its_lines(name: str) -> None:
    """In their order, but for a header's names and what a spanning cell repeats."""
    strange = [
        (file, block.first, block.text[:120])
        for file, document in documents(name).items()
        for block in document.blocks
        if block.kind != "row" and not in_order(block.text, block, document)
    ]
    assert strange == []


def in_order(text: str, block: Block, document: Document) -> bool:
    """Return whether the letters and digits of a text stand on a block's lines in their order."""
    source = iter("".join(words(" ".join(document.lines[block.first - 1 : block.last]))))
    return all(sign in source for sign in "".join(words(text)))


@pytest.mark.parametrize("name", SETS)
def test_a_rows_cells_stand_on_its_lines(name: str) -> None:
    """Each of a row's words stands there, or came down or across from a cell that spans."""
    for file, document in documents(name).items():
        for block in document.blocks:
            if block.kind == "row":
                missing = [cell for cell in block.cells if not in_order(cell, block, document)]
                assert len(missing) <= 1, (file, block.first, missing)


def answered(name: str) -> Iterator[tuple[str, bool]]:
    """Yield each answerable question's id, and whether one block near its lines holds an answer."""
    for line in (DOCS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["kind"] == "off":
            continue
        first, last = row["lines"]
        answers = [" ".join(answer.lower().split()) for answer in row["answer"]]
        near = [
            each for each in documents(name)[row["file"]].blocks if each.first <= last and first <= each.last
        ]
        held = any(answer in " ".join(block.text.lower().split()) for block in near for answer in answers)
        yield row["id"], held


@pytest.mark.parametrize("name", SETS)
def test_every_answer_stands_in_one_block(name: str) -> None:
    """No question's answer is cut in two, or left out."""
    assert [question for question, held in answered(name) if not held] == []


def test_reading_takes_little_time() -> None:
    """At most 0.6 s of CPU for a megabyte of ordinary markdown; it takes 0.3 s."""
    files = [(path.name, path.read_bytes()) for path in DOCS.rglob("*") if path.suffix in (".md", ".mdx")]
    parse_document(*files[0])

    def read_all() -> None:
        for file, data in files:
            parse_document(file, data)

    assert measure_cpu(read_all, time.process_time) / sum(len(data) for _, data in files) * 1e6 < 0.6
