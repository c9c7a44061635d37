"""The shipped knowledge base: every subject in both languages, with the same figures on the same lines."""

import re
from collections import Counter
from pathlib import Path

import pytest

from agent.retrieval.chunk import chunk
from agent.text.language import language

KB = Path(__file__).parents[2] / "kb"
SUBJECTS = ["contact", "faq", "opening-hours", "policies", "pricing", "shipping"]


def test_every_subject_is_there_in_both_languages() -> None:
    """The folder holds six files in English, their Swedish counterparts, and nothing else."""
    files = sorted(path.relative_to(KB).as_posix() for path in KB.rglob("*") if path.is_file())
    assert files == sorted(f"{folder}{subject}.md" for subject in SUBJECTS for folder in ("", "sv/"))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_both_languages_tell_the_same_figures(subject: str) -> None:
    """Line by line both files hold the same digits, however each language writes them."""
    english, swedish = (
        (KB / folder / f"{subject}.md").read_text(encoding="utf-8").splitlines() for folder in ("", "sv")
    )
    differing = [
        (mine, theirs)
        for mine, theirs in zip(english, swedish, strict=True)
        if re.sub(r"\D", "", mine) != re.sub(r"\D", "", theirs)
    ]
    assert differing == []


@pytest.mark.parametrize("subject", SUBJECTS)
def test_each_file_is_in_its_language(subject: str) -> None:
    """The text of each file tells its language."""
    assert language((KB / f"{subject}.md").read_text(encoding="utf-8")) == "en"
    assert language((KB / "sv" / f"{subject}.md").read_text(encoding="utf-8")) == "sv"


@pytest.mark.parametrize(
    ("kind", "pattern", "least"),
    [
        ("decimal point", r"\d\.\d\d? (?:kr|kg|metres|GHz|MB)", 5),
        ("decimal comma", r"\d,\d\d? (?:kr|kg|meter|GHz|MB)", 5),
        ("percent", r"\d %", 20),
        ("date", r"\d{1,2} [A-Za-z]+ 20\d\d", 15),
        ("phone", r"\b0\d{1,2}-\d{3} \d\d", 15),
        ("time with a colon", r"\d\d:\d\d", 40),
        ("time with a point", r"\d\d\.\d\d", 40),
        ("range", r"\d-\d", 30),
        ("thousands", r"\d[ ,]\d{3} kr", 8),
        ("table row", r"(?m)^\|.*\d.*\|$", 100),
    ],
)
def test_figures_of_every_kind_occur(kind: str, pattern: str, least: int) -> None:
    """The knowledge base holds enough figures of each kind to ask about."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(KB.rglob("*.md")))
    assert len(re.findall(pattern, text)) >= least, kind


def test_no_two_snippets_of_a_file_are_the_same() -> None:
    """A citation names one place: no snippet of a file is repeated under the same heading."""
    for path in sorted(KB.rglob("*.md")):
        pieces = chunk(path.relative_to(KB).as_posix(), path.read_text(encoding="utf-8"))
        seen = Counter((piece.passage.headings, piece.snippet.text) for piece in pieces)
        assert [place for place, times in seen.items() if times > 1] == []
