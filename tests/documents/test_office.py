"""PDF and DOCX files."""

import io
import zipfile

import pytest

from agent.documents import Unreadable, parse_document
from agent.documents.pdf import rejoin_words

from ..hostile.files import a_cell_over_all_columns
from .office import a_docx, a_pdf, an_empty_pdf


def test_docx_has_headings_lists_and_tables() -> None:
    """Each paragraph and each row is a line of its own; merged cells are told in each row."""
    document = parse_document("kb/a.DOCX", a_docx())
    assert (document.title, document.lang, document.unit, document.pages) == ("Handbok", "sv", "line", ())
    assert [(b.path, b.kind, b.text, b.parents, b.first) for b in document.blocks] == [
        (("Handbok",), "paragraph", "Vi har öppet varje dag.", (), 2),
        (("Handbok",), "paragraph", "Planer:", (), 3),
        (("Handbok",), "item", "Bas", ("Planer:",), 4),
        (("Handbok",), "item", "5 GB", ("Planer:", "Bas"), 5),
        (("Handbok",), "item", "Pro", ("Planer:",), 6),
        (("Handbok", "Priser"), "row", "Bas; Pris: 99 kr; Plats: 5 GB", (), 9),
        (("Handbok", "Priser"), "row", "Pro; Pris: 199 kr; Plats: 50 GB", (), 10),
        (("Handbok", "Priser"), "row", "Pro; Pris: fritt; Plats: fritt", (), 11),
        (("Handbok", "Priser"), "quote", "Bra!", (), 12),
        (("Handbok", "Priser"), "item", "Egen numrering", (), 13),
    ]
    row = document.blocks[5]
    assert (row.header, row.header_line, document.lines[7]) == (
        ("Plan", "Pris", "Plats"),
        8,
        "Plan | Pris | Plats",
    )
    assert document.lines[10] == "Pro | fritt"  # a cell is written once in each row


def test_a_cell_takes_no_more_columns_than_a_table_has_here() -> None:
    """Whatever number it says."""
    (row,) = parse_document("kb/a.docx", a_cell_over_all_columns()).blocks
    assert (row.kind, row.text[:4], len(row.cells)) == ("row", "a; a", 200)


def test_pdf_has_paragraphs_headings_and_tables() -> None:
    """Lines of the pages are the lines; letter sizes make headings, gaps make tables."""
    document = parse_document("kb/a.pdf", a_pdf())
    assert (document.title, document.unit) == ("Handbook", "page")
    assert len(document.pages) == len(document.lines)
    assert {document.pages[block.first - 1] for block in document.blocks[-2:]} == {2}
    told = [(b.path, b.kind, b.text[:60], b.parents) for b in document.blocks]
    assert told == [
        (("Handbook",), "paragraph", "We are open every day and answer within two hours. We are op", ()),
        (("Handbook",), "paragraph", "The second paragraph costs 299 kr.", ()),
        (("Handbook", "Plans"), "paragraph", "These are the plans:", ()),
        (("Handbook", "Plans"), "item", "Basic costs 99 kr", ("These are the plans:",)),
        (("Handbook", "Plans"), "item", "Pro costs 199 kr", ("These are the plans:",)),
        (("Handbook", "Plans"), "row", "Basic; Price: 99 kr", ()),
        (("Handbook", "Plans"), "row", "Pro; Price: 199 kr", ()),
    ]
    first = document.blocks[0]
    assert first.last - first.first + 1 == len(first.starts) > 1
    assert document.lines[first.last - 1].startswith(first.text[first.starts[-1] :])


def test_a_word_broken_at_a_lines_end_is_whole() -> None:
    """Hyphens that only part a word go, those of a name stay."""
    assert rejoin_words(["an infor-", "mation about A-", "B and more"]) == [
        "an information",
        "about A-",
        "B and more",
    ]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.pdf", b"no pdf", "is not a PDF file that can be read"),
        ("a.pdf", a_pdf(password="secret"), "needs a password"),
        ("a.pdf", an_empty_pdf(), "holds no text (scanned pages need OCR first)"),
        ("a.docx", b"no docx", "is not a DOCX file"),
        ("a.xyz", b"", "is of a kind that is not read (.xyz)"),
        ("README", b"", "is of a kind that is not read (no suffix)"),
    ],
)
def test_a_reason_says_why(name: str, data: bytes, reason: str) -> None:
    """What cannot be read is named with a few words that tell what to do."""
    with pytest.raises(Unreadable) as raised:
        parse_document(f"kb/{name}", data)
    assert str(raised.value) == reason


def test_an_archive_is_measured_before_it_is_unpacked() -> None:
    """A small file that unpacks to a large one is not unpacked."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("word/document.xml", bytes(65 * 1024 * 1024))
    with pytest.raises(Unreadable, match=r"^unpacks to more than 67108864 bytes$"):
        parse_document("kb/a.docx", out.getvalue())


def test_a_docx_without_a_body_is_unreadable() -> None:
    """Whatever python-docx stumbles over is the file's reason."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("x", "y")
    with pytest.raises(Unreadable, match=r"^cannot be read as docx"):
        parse_document("kb/a.docx", out.getvalue())
