"""The shipped knowledge base: every subject in both languages, with the same figures on the same lines."""

import re
from collections import Counter
from pathlib import Path

import pytest

from agent.lang import LANGUAGES
from agent.lexical.stems import stem
from agent.lexical.subject import is_function_word, stop_words
from agent.retrieval.load import Skipped, SourceFile
from agent.retrieval.read import passages_of
from agent.retrieval.synonyms import read_synonyms
from agent.text.language import detect_language
from agent.text.words import split_words

KB = Path(__file__).parents[2] / "kb"
SUBJECTS = ["contact", "faq", "opening-hours", "policies", "pricing", "shipping"]


def test_every_subject_is_there_in_both_languages() -> None:
    """The folder holds six files in English, their Swedish counterparts, their synonyms, and nothing else."""
    files = sorted(path.relative_to(KB).as_posix() for path in KB.rglob("*") if path.is_file())
    documents = [f"{folder}{subject}.md" for subject in SUBJECTS for folder in ("", "sv/")]
    assert files == sorted([*documents, "synonyms.txt"])


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
    assert detect_language((KB / f"{subject}.md").read_text(encoding="utf-8")) == "en"
    assert detect_language((KB / "sv" / f"{subject}.md").read_text(encoding="utf-8")) == "sv"


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


def test_no_two_statements_of_a_file_are_the_same() -> None:
    """A citation names one place: no statement of a file is repeated under the same heading and lead."""
    for path in sorted(KB.rglob("*.md")):
        read = passages_of(SourceFile(path.relative_to(KB).as_posix(), path.read_bytes()))
        assert not isinstance(read, Skipped)
        seen = Counter(
            (each.headings, each.lead, each.plain_text) for passage in read for each in passage.snippets
        )
        assert [place for place, times in seen.items() if times > 1] == []


def test_synonyms_are_single_words_that_can_be_asked_for() -> None:
    """An entry that is not one folded word, or that is dropped from questions, could never match."""
    lines = (KB / "synonyms.txt").read_text(encoding="utf-8").splitlines()
    groups = [line.split() for line in lines if not line.startswith("#") and line]
    empty = stop_words("en") | stop_words("sv")
    assert len(groups) > 50
    assert [group for group in groups if len(group) < 2 or len(set(group)) < len(group)] == []
    assert [
        word
        for group in groups
        for word in group
        if split_words(word) != [word] or word in empty or is_function_word(word)
    ] == []


def test_each_group_of_synonyms_says_something_that_the_documents_say() -> None:
    """A group without such a word would find nothing."""
    known = {
        stem(lang, word)
        for path in KB.rglob("*.md")
        for word in split_words(path.read_text(encoding="utf-8"))
        for lang in LANGUAGES
    }
    synonyms, trouble = read_synonyms(KB)
    assert trouble == ()
    lost = [
        word
        for word, others in synonyms.of.items()
        if not any(stem(lang, each) in known for each in (word, *others) for lang in LANGUAGES)
    ]
    assert lost == []
