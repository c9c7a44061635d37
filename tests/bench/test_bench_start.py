"""The bench of a start: the pages that it makes, and what it prints of a few."""

from itertools import islice
from pathlib import Path

import pytest

from agent.text.words import split_words
from tests.bench import start
from tests.bench.start import Page

PAGES = [
    Page(".md", "# Prices\n\nThe zebra costs 5 kr.\n"),
    Page(".mdx", "# Prices\n\nThe tiger costs 6 kr.\n"),
]


def test_no_copy_is_like_another() -> None:
    """Each has its own headings and its own rare words, and the same numbers and common words."""
    made = list(islice(start.copies(PAGES), 40))
    assert made[:2] == PAGES
    assert len({page.text for page in made}) == 40
    assert [page.suffix for page in made[:4]] == [".md", ".mdx", ".md", ".mdx"]
    words = [split_words(page.text) for page in made]
    assert len({each[3] for each in words[2::2]}) == 19
    assert all("costs" in each and "5" in each for each in words[::2])
    assert "# Prices 2\n" in made[4].text


def test_the_documents_of_a_folder_are_its_pages(tmp_path: Path) -> None:
    """Other files are none; a hundred pages stand in one folder, and the bytes are counted."""
    (tmp_path / "a.md").write_text("# One\n\nText.\n")
    (tmp_path / "b.json").write_text("{}")
    pages = start.pages_of([tmp_path])
    assert pages == [Page(".md", "# One\n\nText.\n")]
    size = start.lay(tmp_path / "laid", pages, 101)
    files = [*(tmp_path / "laid").rglob("*.md")]
    assert len(files) == 101
    assert size == sum(file.stat().st_size for file in files)
    assert (tmp_path / "laid" / "1" / "100.md").is_file()


@pytest.mark.proof
def test_a_start_and_the_next_are_measured(tmp_path: Path) -> None:
    """Both with two figures and R; no bound is judged for a few pages."""
    (tmp_path / "a.md").write_text("# One\n\nThe plan costs 5 kr.\n")
    lines: list[str] = []
    assert start.main([str(tmp_path), "--pages", "3"], lines.append) == 0
    assert lines[0] == "3 pages of 0.0 MB, made of 1"
    assert [line.split("  ")[0] for line in lines[1:]] == [
        "the first start, until ready",
        "the first start, until at rest",
        "the next start, until ready",
        "the next start, until at rest",
    ]
    ready, rest, again, again_rest = (float(line.split(" R ")[0].split()[-1]) for line in lines[1:])
    assert 0 < ready <= rest
    assert 0 < again <= again_rest
    assert not any("holds" in line or "MISSED" in line for line in lines)
