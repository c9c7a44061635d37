"""Front matter: what is taken from it, and that nothing in it can break the reading."""

import time

import pytest

from . import md, only, texts


def test_the_title_stands_above_the_page() -> None:
    """YAML's title is the page's first heading; neither title nor description is text."""
    document = md(
        '---\ntitle: "Plans & prices"\ndescription: >\n  What it\n  costs.\nlang: sv-SE\n---\n\n## Basic\n\n99 kr\n'
    )
    assert (document.title, document.description, document.lang) == ("Plans & prices", "What it costs.", "sv")
    block = only(document)
    assert (block.path, block.first) == (("Plans & prices", "Basic"), 11)
    assert document.lines[0] == "---"


def test_a_heading_that_repeats_the_title_stands_once() -> None:
    """Many pages have both."""
    assert only(md("---\ntitle: Plans\n---\n# Plans\n\ntext\n")).path == ("Plans",)


def test_toml_and_other_languages() -> None:
    """TOML between pluses, and Swedish keys."""
    document = md('+++\ntitle = "Priser"\nlanguage = "en"\n[menu]\nx = 1\n+++\ntext\n')
    assert (document.title, document.lang, texts(document)) == ("Priser", "en", ["text"])
    document = md("---\ntitel: Priser\nbeskrivning: 'Vad det kostar'\n---\ntext\n")
    assert (document.title, document.description) == ("Priser", "Vad det kostar")


@pytest.mark.parametrize(
    "front",
    [
        "title: a: b: [c",
        "title: *nobody",
        "title: !!python/object/apply:os.system ['true']",
        "title: " + "[" * 3000,
        "title: " + "{a: " * 900,
        "title: &a [1, 2]",
        "title: '" + "x" * 5000 + "'",
        "title: |2-\n broken",
        "a: &a [x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\ntitle: *b",
        "title:\n  - a list",
        "title:\n  <<: [*a, *a]\n  b: c",
        "x: \t@\n\ttitle: no",
    ],
)
def test_what_cannot_be_read_is_passed_over(front: str) -> None:
    """Broken or hostile front matter is no title and no text, and takes no time."""
    began = time.process_time()
    document = md(f"---\n{front}\n---\n\ntext\n")
    assert (document.title, texts(document)) == ("", ["text"])
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "front",
    [
        "title = [[[",
        "title = 1979-05-27",
        'title = "a"\ntitle = "b"',
        "x = " + "[" * 5000,
        "[" + "a." * 9000 + "b]",
    ],
)
def test_what_cannot_be_read_of_toml_is_passed_over(front: str) -> None:
    """The same holds between pluses."""
    document = md(f"+++\n{front}\n+++\n\ntext\n")
    assert (document.title, texts(document)) == ("", ["text"])


def test_a_key_is_read_beside_broken_ones() -> None:
    """Only the keys that are looked for are read at all."""
    assert md("---\nbroken: [\ntitle: Plans\nalso: {{ x }}\n---\ntext\n").title == "Plans"


def test_text_between_rules_is_text() -> None:
    """Two rules with prose between them are no front matter, nor is one that never ends."""
    assert texts(md("---\nSome prose here.\n\n---\n\ntext\n")) == ["Some prose here.", "text"]
    assert texts(md("---\n\ntitle: x\n\ntext\n")) == ["title: x", "text"]
