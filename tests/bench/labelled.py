"""Labelled questions over documents: where they stand, and when an answer to one is right.

A folder holds `<set>/` (documents) and `<set>.jsonl` for each set. A row is {"id", "question", "lang", "kind", "file",
"lines": [first, last], "answer": [...], "also": [{"file", "lines"}]}; one of kind "off" has no answer there, and of
these the first half of a set is near its subject and the rest far from it.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.ports.brain import VerifiedText
from agent.ports.search import Snippet

Row = dict[str, Any]

_PLAIN = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "\u00a0": " ", "\u202f": " "})
_MARKS = re.compile(r"[*`]|\\(?=\W)")


def sets(folder: Path) -> list[str]:
    """Return the names of the sets, sorted."""
    return sorted(path.stem for path in folder.glob("*.jsonl") if path.with_suffix("").is_dir())


def rows_of(folder: Path, name: str) -> list[Row]:
    """Return the questions of a set, as they stand."""
    return [json.loads(each) for each in (folder / f"{name}.jsonl").read_text("utf-8").splitlines()]


def is_right(text: VerifiedText, row: Row) -> bool:
    """Tell whether a text that is no refusal answers a question: it says so, and cites one of the lines that do."""
    return holds(text.text, row["answer"]) and overlaps(text.citations, row)


def normal(text: str) -> str:
    """Return a text without case, marks of emphasis and runs of white space."""
    return re.sub(r"\s+", " ", _MARKS.sub("", text.translate(_PLAIN))).strip().casefold()


def holds(text: str, answers: Sequence[str]) -> bool:
    """Tell whether a text holds one of the answers, not within a longer word or number."""
    return any(_stands(normal(answer), normal(text)) for answer in answers)


def _stands(answer: str, text: str) -> bool:
    before = (
        r"(?<![^\W_])(?<!\d[.,])" if answer[:1].isdigit() else r"(?<![^\W_])" if answer[:1].isalnum() else ""
    )
    after = (
        r"(?!\d|[.,]\d)(?![^\W_])"
        if answer[-1:].isdigit()
        else r"(?![^\W_])"
        if answer[-1:].isalnum()
        else ""
    )
    return re.search(before + re.escape(answer) + after, text) is not None


def overlaps(snippets: Sequence[Snippet], row: Row) -> bool:
    """Tell whether one of some snippets has a line of those that answer."""
    return any(
        snippet.file == "kb/" + place["file"]
        and snippet.first <= place["lines"][1]
        and place["lines"][0] <= snippet.last
        for place in (row, *row.get("also", ()))
        for snippet in snippets
    )
