"""What a look over a knowledge base finds: files first, then numbers that do not agree."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from agent.documents import Document
from agent.errors import UsageError
from agent.retrieval import check as module
from agent.retrieval.check import Finding, check_knowledge, find_contradictions
from agent.retrieval.load import FILE_BYTES, SourceFile
from agent.retrieval.read import document_of
from agent.text.sentences import find_sentences


def document(file: str, text: str) -> Document:
    """Return a file that can be read."""
    read = document_of(SourceFile.of(file, text))
    assert isinstance(read, Document)
    return read


def found(*texts: str, folder: str = "", kind: str = "md") -> list[Finding]:
    """Return what is found in files of these texts."""
    return list(
        find_contradictions(document(f"kb/{folder}{at}.{kind}", text) for at, text in enumerate(texts))
    )


def values(findings: Iterable[Finding]) -> list[str]:
    """Return the values that do not agree."""
    return [finding.words.split("?")[0] for finding in findings]


TABLE = """# {0}

| {1} | Price per month | Devices |
| --- | --- | --- |
| Basic | 149 kr | 10 |
| Standard | {2} | 30 |
"""


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (
            "The return period is 30 days.",
            "# FAQ\n\nYou may. The return period is 14 days.",
            "14 day or 30 day",
        ),
        ("- Returns: within 30 days", "# Returns\n\n* returns within 20 days", "20 day or 30 day"),
        (
            TABLE.format("Plans", "Plan", "299 kr"),
            TABLE.format("News", "Plan", "349 kr"),
            "349 SEK or 299 SEK",
        ),
        (
            TABLE.format("Plans", "Plan", "299 kr"),
            "# FAQ\n\nThe Standard plan costs 349 kr per month.",
            "349 SEK or 299 SEK",
        ),
        (
            "The siren sounds at 105 dB for 3 minutes.",
            "The siren sounds at 105 dB for 5 minutes.",
            "5 minute or 3 minute",
        ),
        ("Call support on 08-123 45 67.", "Call support on 08-123 45 68.", "081234568 or 081234567"),
        ("Support is open 08:00-18:00.", "Support is open 8 am to 5 pm.", "08:00-17:00 or 08:00-18:00"),
        (
            "Interest on late payments is 12.5 %.",
            "Interest on late payments is 12 percent.",
            "12 % or 12.5 %",
        ),
        ("## Standard\n\n- Price: 299 kr", "## Standard\n\n- Price: 399 kr", "399 SEK or 299 SEK"),
        ("Founded in Solna on 3 May 2012.", "Founded in Solna on 4 May 2012.", "2012-05-04 or 2012-05-03"),
        ("A summary has at most 400 signs.", "A summary has at most 500 signs.", "500 or 400"),
        ("A summary has at most 400 signs.", "A summary has 500 signs.", "500 or 400"),
        (
            "# Us\n\nThe shop in Solna opened its doors on 3 May 2012.",
            "# News\n\nThe shop in Solna opened its doors on 4 May 2012.",
            "2012-05-04 or 2012-05-03",
        ),
    ],
)
def test_one_statement_with_two_values_is_found(one: str, other: str, expected: str) -> None:
    """Sentence, list item, row, and a row against a sentence, whatever headings they stand under."""
    assert values(found(other, one)) == [expected] or values(found(other, one)) == [
        " or ".join(reversed(expected.split(" or ")))
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The return period is 30 days.", "The return period is thirty days."),
        ("The return period is 30 days.", "The warranty period is 14 days."),
        ("The return period is 30 days.", "The return period is 10 %."),
        ("The return period is 30 days.", "The return period is 1 month."),
        ("Founded in Solna in May 2012.", "Founded in Solna on 3 May 2012."),
        ("In 2024 the staff were 200.", "In 2025 the staff were 240."),
        ("Parcels up to 2 kg cost 49 kr.", "Parcels up to 5 kg cost 69 kr."),
        ("Basic costs 149 kr and Premium 599 kr.", "Premium costs 599 kr and Basic 149 kr."),
        ("## Standard\n\n- Price: 299 kr", "## Premium\n\n- Price: 599 kr"),
        ("## Standard\n\n### Monthly\n\n- Fee: 299 kr", "## Premium\n\n### Monthly\n\n- Fee: 599 kr"),
        ("## Plans\n\nIt takes 3 days.", "## Parcels\n\nIt takes 5 days."),
        ("Yes, 3.", "No, 5."),
        (TABLE.format("Plans", "Plan", "299 kr"), TABLE.format("Delivery", "Delivery method", "49 kr")),
        (
            "## Service\n\n| Day | Opens |\n| --- | --- |\n| Monday | 08:00 |",
            "## Shop\n\n| Day | Opens |\n| --- | --- |\n| Monday | 10:00 |",
        ),
        (
            "| Weight | Price |\n| --- | --- |\n| up to 2 kg | 49 kr |",
            "| Weight | Price |\n| --- | --- |\n| up to 5 kg | 69 kr |",
        ),
        ("Use a CR123A battery with 3 volts.", "Use a CR2032 battery with 5 volts."),
        ("1. Open the app and wait.", "2. Open the app and wait."),
        ("```\nreturn period = 30 days\n```", "```\nreturn period = 14 days\n```"),
        ("    the return period is 30 days", "    the return period is 14 days"),
        ("![the logo](a.png){width=300} The logo.", "![the logo](a.png){width=200} The logo."),
        ('<img src="logo.png" width="300"> The logo', '<img src="logo.png" width="200"> The logo'),
        ("The logo: ![logo](logo-300x200.png)", "The logo: ![logo](logo-600x400.png)"),
        ("The logo is [here](http://x.com/v1/5).", "The logo is [here](http://x.com/v2/7)."),
        ("The return period began in version 2.1.", "The return period began in version 2.3."),
        ("Install zebra v1.4.2 with the installer.", "Install zebra v1.5.0 with the installer."),
        ("Install `zebra==1.4.2` with the installer.", "Install `zebra==1.5.0` with the installer."),
        ("Zebra runs on Python version 3.11.", "Zebra runs on Python version 3.12."),
        ("<!-- The return period is 30 days. -->", "<!-- The return period is 14 days. -->"),
        ("---\ntitle: return period 30 days\n---\n", "---\ntitle: return period 14 days\n---\n"),
        ("## Adults\n\nTickets cost 30 kr.", "## Children\n\nTickets cost 14 kr."),
        ("For adults the ticket costs 30 kr.", "For children the ticket costs 14 kr."),
        (
            "| Age | Ticket |\n| --- | --- |\n| Adults | 30 kr |",
            "| Age | Ticket |\n| --- | --- |\n| Children | 14 kr |",
        ),
        ("Adults:\n\n- ticket costs 30 kr", "Children:\n\n- ticket costs 14 kr"),
        ("# Vendors\n\nEffective date: 1 January 2021", "# Salaries\n\nEffective date: 1 February 2023"),
        ("For example, a summary must be 400 signs long.", "For example, a summary must be 10 signs long."),
        ("En sammanfattning är t.ex. 400 tecken lång.", "En sammanfattning är t.ex. 10 tecken lång."),
        ("A summary has 400 signs or less.", "A summary has 10 signs or more."),
        ("En sammanfattning har högst 400 tecken.", "En sammanfattning har minst 10 tecken."),
        ("Tell your manager (Section 1, Topic 1.1).", "Tell your manager (Section 1, Topic 1.2)."),
        ("Se reglerna om frakt i avsnitt 3.", "Se reglerna om frakt i avsnitt 4."),
        ("The image has a supported version: 8 or 9.", "The image has a supported version: 7 or 8."),
        ("Copyright 2021 Zebra and friends.", "Copyright 2023 Zebra and friends."),
    ],
)
def test_two_statements_that_may_both_be_true_are_left_alone(one: str, other: str) -> None:
    """Another form of the value, another thing, another case, or two things that only their headings tell apart."""
    assert found(one, other) == []


PAGE = """# Upgrading {0}

Before you begin, make a copy of everything that you want to keep.

The button is found under the settings of your project.

Nothing is lost while the copies are made, and nobody has to sign in again.

- A copy waits {1} minutes for the others.
"""


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (PAGE.format("zebras", 5), PAGE.format("horses", 7), 0),
        (PAGE.format("zebras", 5), PAGE.format("zebras", 7), 1),
        ("# Upgrading zebras\n\nA copy waits 5 minutes for the others.", PAGE.format("horses", 7), 1),
    ],
    ids=["another thing's page", "the same thing's page", "no page made from the other"],
)
def test_pages_made_from_one_another_are_each_about_a_thing_of_its_own(
    one: str, other: str, expected: int
) -> None:
    """What most of two pages shares comes from a pattern; the number is what was filled in."""
    assert len(found(one, other)) == expected


def test_each_page_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many were made from one another: each with each is asked for, and the work stays linear."""
    looked: list[str] = []

    def said(text: str) -> Iterator[tuple[int, int]]:
        looked.append(text)
        return find_sentences(text)

    monkeypatch.setattr(module, "find_sentences", said)
    assert found(*[PAGE.format(f"{chr(97 + at)}zebra", at + 5) for at in range(20)]) == []
    assert len(looked) == 20 * 4


HISTORY = """# {0}

| Version | Date | Author |
| --- | --- | --- |
| 1.0 | {1} | Ann |
"""


def test_a_row_named_by_a_number_belongs_to_its_page() -> None:
    """Two pages have two histories; two copies of one page have one."""
    assert found(HISTORY.format("Access", "2023-03-15"), HISTORY.format("Backup", "2022-03-20")) == []
    same = found(HISTORY.format("Access", "2023-03-15"), HISTORY.format("Access", "2022-03-20"))
    assert values(same) == ["2023-03-15 or 2022-03-20"]


@pytest.mark.parametrize(
    ("kind", "frame"),
    [
        ("html", "<html><body><h1>FAQ</h1><p>The return period is {} days.</p></body></html>"),
        ("rst", "FAQ\n===\n\nThe return period is {} days.\n"),
        ("txt", "The return period is {} days.\n"),
        ("mdx", "import X from 'x'\n\n# FAQ\n\nThe return period is {} days.\n"),
    ],
)
def test_any_kind_of_document_is_compared(kind: str, frame: str) -> None:
    """Also with documents of another kind."""
    assert len(found(frame.format(30), frame.format(14), kind=kind)) == 1
    pair = [document(f"kb/a.{kind}", frame.format(30)), document("kb/b.md", "The return period is 14 days.")]
    assert values(find_contradictions(pair)) == ["30 day or 14 day"]


def test_one_file_may_say_what_it_likes() -> None:
    """Two files are needed to contradict each other."""
    assert found("The return period is 30 days.\n\nThe return period is 14 days.") == []


def test_languages_are_compared_each_by_itself() -> None:
    """Swedish statements against Swedish ones; the same name in another language is another statement."""
    assert values(
        found("Returtiden för paket är 30 dagar.", "Returtiden för paket är 14 dagar.", folder="sv/")
    )
    pair = [
        document(f"kb/{lang}/a.md", f"- Standard Premium: {days} kr")
        for lang, days in (("en", 30), ("sv", 14))
    ]
    assert list(find_contradictions(pair)) == []


def test_each_further_file_is_told_once() -> None:
    """Three files with three values are two findings; one that repeats a value is none."""
    texts = [f"The return period is {days} days." for days in (30, 14, 30, 7)]
    findings = found(*texts)
    assert [finding.files for finding in findings] == [
        ("kb/0.md:1", "kb/1.md:1"), ("kb/1.md:1", "kb/2.md:1"), ("kb/0.md:1", "kb/3.md:1"),
    ]  # fmt: skip


def test_files_that_cannot_be_used_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not UTF-8, a link, too large, empty, the same as another: each with its kind."""
    (tmp_path / "binary.md").write_bytes(b"abc\xff")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    (tmp_path / "large.md").write_bytes(b"x" * (FILE_BYTES + 1))
    (tmp_path / "empty.md").write_bytes(b"")
    (tmp_path / "comment.md").write_text("<!-- nothing -->\n")
    (tmp_path / "a.md").write_text("# A\n\nText.\n")
    (tmp_path / "b.md").write_text("# A  \r\n\r\nText.")
    (tmp_path / "c.csv").write_text("# A\n\nText.\n")
    (tmp_path / "synonyms.txt").write_text("text word\n")
    assert [(finding.kind, *finding.files) for finding in check_knowledge(tmp_path).findings] == [
        ("oversized", "kb/large.md"),
        ("unreadable", "kb/link.md"),
        ("unreadable", "kb/binary.md"),
        ("empty", "kb/comment.md"),
        ("empty", "kb/empty.md"),
        ("duplicate", "kb/a.md", "kb/b.md"),
    ]


def test_a_folder_without_any_usable_file_is_still_looked_over(tmp_path: Path) -> None:
    """There is nothing to serve, but something to tell; no folder at all is an error."""
    assert check_knowledge(tmp_path).findings == ()
    (tmp_path / "binary.md").write_bytes(b"abc\xff")
    assert [finding.kind for finding in check_knowledge(tmp_path).findings] == ["unreadable"]
    with pytest.raises(UsageError, match="does not exist"):
        check_knowledge(tmp_path / "none")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_permission_is_unreadable(tmp_path: Path) -> None:
    """The system's own words are the reason."""
    (tmp_path / "secret.md").write_text("x")
    (tmp_path / "secret.md").chmod(0)
    assert [finding.words for finding in check_knowledge(tmp_path).findings] == [
        "cannot be read: permission denied"
    ]


def test_synonyms_that_cannot_be_used_are_found(tmp_path: Path) -> None:
    """A server would search without them."""
    (tmp_path / "a.md").write_text("A zebra.")
    (tmp_path / "synonyms.txt").write_bytes(b"zebra pony\n\xff\n")
    assert check_knowledge(tmp_path).findings == (
        Finding("unreadable", ("kb/synonyms.txt",), "is not UTF-8 (byte 11)"),
    )
