"""Documents that are sent: their text, how long it may be, and what cannot be used."""

from dataclasses import replace

import pytest

from agent.config import UPLOAD_MAX
from agent.documents import parse_document
from agent.errors import BadDocument, GivenUp
from agent.ports.projects import DocumentText, ReadingReport
from agent.retrieval.effort import Effort
from agent.retrieval.load import Skipped
from agent.retrieval.settings import FILE_LINES
from agent.retrieval.texts import UPLOAD_TEXT, UploadedText, cite_document, extract_text, passages_of_text
from tests.documents.office import a_docx, a_pdf, an_empty_pdf

DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def said(filename: str, text: str) -> list[tuple[tuple[str, ...], str]]:
    """Return headings and text of each statement of a document that is kept."""
    read = passages_of_text(DocumentText("1", "FACTS", filename, text), Effort())
    assert not isinstance(read, Skipped)
    return [(each.headings, each.plain_text or each.text) for passage in read for each in passage.snippets]


@pytest.mark.parametrize(
    ("filename", "mime"),
    [
        ("prices.md", "text/markdown"),
        ("prices.md", "text/markdown; charset=utf-8"),
        ("prices.md", "application/octet-stream"),
        ("prices.md", ""),
        ("PRICES.MD", "Text/Plain"),
    ],
)
def test_a_text_is_kept_as_it_was_sent(filename: str, mime: str) -> None:
    """Byte for byte, but for a byte order mark; the sections are those that will be searched."""
    sent = "# Prices\r\n\nIt costs 299 kr – a month.\n\n# More\n\nIt ends."
    found = extract_text(filename, mime, b"\xef\xbb\xbf" + sent.encode())
    assert found == UploadedText(sent, 2, ReadingReport())
    assert said(filename, sent) == [(("Prices",), "It costs 299 kr – a month."), (("More",), "It ends.")]


def test_what_is_not_called_markdown_is_read_as_it_stands() -> None:
    """A mark is a mark only where the name says so."""
    for name in ("prices.txt", "prices", "prices.html"):
        found = extract_text(name, "text/plain", b"# Prices <b>299 kr</b>")
        assert (said(name, found.text), found.pieces) == ([((), "# Prices <b>299 kr</b>")], 1)


def test_a_file_of_an_office_becomes_a_text_that_is_read_again() -> None:
    """With its headings, its items, and each row with the names of its columns."""
    found = extract_text("handbok.docx", DOCX, a_docx())
    text = found.text
    assert (found.pieces, found.report) == (2, ReadingReport())
    assert (("Handbok", "Priser"), "Bas; Pris: 99 kr; Plats: 5 GB") in said("handbok.docx", text)
    assert (("Handbok",), "5 GB") in said("handbok.docx", text)
    found = extract_text("handbook.pdf", "application/octet-stream", a_pdf())
    text = found.text
    assert found.pieces == 2
    assert (("Handbook", "Plans"), "Pro costs 199 kr") in said("handbook.pdf", text)
    assert (("Handbook", "Plans"), "Basic; Price: 99 kr") in said("handbook.pdf", text)


def test_a_page_becomes_a_text_without_its_markup() -> None:
    """Scripts and styles are no text of it."""
    page = b"<title>Shop</title><h1>Prices</h1><script>alert(1)</script><p>It costs <b>299 kr</b>.</p>"
    for mime in ("text/html", "text/html; charset=utf-8", ""):
        found = extract_text("shop.html", mime, page)
        assert (("Prices",), "It costs 299 kr.") in said("shop.html", found.text)
        assert "alert" not in found.text


def test_what_is_left_out_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages without a text, pages after the most, and pictures; a text has none of these."""
    document = parse_document("a.pdf", a_pdf())
    pages = replace(document, page_count=9, pages=tuple([1] * (len(document.pages) - 1) + [4]), pictures=3)
    monkeypatch.setattr(
        "agent.retrieval.texts.parse_document", lambda name, *_: pages if ".pdf" in name else document
    )
    monkeypatch.setattr("agent.retrieval.texts.PAGES_READ", 7)
    found = extract_text("a.pdf", "application/pdf", b"%PDF")
    assert found.report == ReadingReport(pages=9, blank_pages=5, cut_pages=2, pictures=3)
    monkeypatch.undo()
    assert extract_text("a.pdf", "application/pdf", a_pdf()).report == ReadingReport(pages=2)


@pytest.mark.parametrize(
    ("filename", "mime", "data", "code"),
    [
        ("a.html", "text/html", b"<script>a</script>", "empty"),
        ("a.rtf", "text/rtf", b"a", "unsupported"),
        ("a.xlsx", "application/octet-stream", b"PK", "unsupported"),
        ("a", "", b"a", "unsupported"),
        ("a.txt", "image/png", b"a", "unsupported"),
        ("a.txt", "text/plain", "å".encode("latin-1"), "not_utf8"),
        ("a.txt", "text/plain", b"\xff\xfea\0", "not_utf8"),
        ("a.txt", "text/plain", b"\xed\xa0\x80", "not_utf8"),
        ("a.txt", "text/plain", b"a" * (UPLOAD_TEXT + 1), "too_long"),
        ("a.pdf", "application/pdf", b"%" * (UPLOAD_MAX + 1), "too_long"),
        ("a.txt", "text/plain", b" \n", "empty"),
        ("a.txt", "text/plain", b"", "empty"),
        ("a.pdf", "application/pdf", b"SECRET", "unreadable"),
        ("a.docx", DOCX, b"SECRET", "unreadable"),
        ("a.pdf", "application/pdf", an_empty_pdf(), "unreadable"),
        ("a.pdf", "application/pdf", a_pdf(password="SECRET"), "unreadable"),
    ],
)
def test_what_cannot_be_used_is_told(filename: str, mime: str, data: bytes, code: str) -> None:
    """By a word for programs, and without a word of what was sent."""
    with pytest.raises(BadDocument) as bad:
        extract_text(filename, mime, data)
    assert bad.value.code == code
    assert "SECRET" not in bad.value.message


def test_a_text_of_the_largest_size_is_taken() -> None:
    """Counted in bytes."""
    text = extract_text("a.txt", "text/plain", b"a" * UPLOAD_TEXT).text
    assert len(text) == UPLOAD_TEXT
    with pytest.raises(BadDocument, match="at most"):
        extract_text("a.txt", "text/plain", ("å" * (UPLOAD_TEXT // 2 + 1)).encode())


def test_a_text_of_too_many_lines_is_not_read_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """To read two megabytes of them takes seconds of CPU, and they are refused after it all the same."""
    monkeypatch.setattr("agent.retrieval.texts.parse_document", lambda *_: pytest.fail("it is read"))
    for line in (b"a\n", b"a\n\n", b"# a\n"):
        with pytest.raises(BadDocument) as bad:
            extract_text("a.md", "text/markdown", line * (FILE_LINES + 1))
        assert bad.value.code == "too_long"


def test_the_text_of_a_file_is_counted_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an office's file, which may be far smaller than its text."""
    text = extract_text("a.docx", DOCX, a_docx()).text
    assert len(text.encode()) > len(text)
    monkeypatch.setattr("agent.retrieval.texts.UPLOAD_TEXT", len(text.encode()))
    assert extract_text("a.docx", DOCX, a_docx()).text == text
    monkeypatch.setattr("agent.retrieval.texts.UPLOAD_TEXT", len(text.encode()) - 1)
    with pytest.raises(BadDocument) as bad:
        extract_text("a.docx", DOCX, a_docx())
    assert bad.value.code == "too_long"


def test_a_text_holds_no_zero() -> None:
    """It becomes the mark for what is no character, as it is read: a store may end a text there."""
    assert extract_text("a.txt", "text/plain", b"a\0b").text == "a\ufffdb"


def test_the_bounds_of_a_file_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lines, and the CPU that it takes; for what is kept already it is left out."""
    monkeypatch.setattr("agent.retrieval.texts.FILE_LINES", 3)
    with pytest.raises(BadDocument) as bad:
        extract_text("a.md", "text/markdown", b"a\n" * 4)
    assert bad.value.code == "too_long"
    assert isinstance(passages_of_text(DocumentText("1", "STATE", "a.md", "a\n" * 4), Effort()), Skipped)
    monkeypatch.undo()
    clock = iter(range(10**9))
    monkeypatch.setattr("agent.retrieval.effort.thread_time", lambda: float(next(clock) * 20))
    with pytest.raises(BadDocument) as bad:
        extract_text("a.md", "text/markdown", b"a\n\n" * 400)
    assert bad.value.code == "too_long"


def test_reading_can_be_given_up() -> None:
    """By whoever waits for it no longer."""
    effort = Effort()
    effort.give_up()
    with pytest.raises(GivenUp):
        extract_text("a.md", "text/markdown", b"# A", effort)


def test_how_documents_are_cited() -> None:
    """By their names; what tells how things are just now is told apart."""
    assert [cite_document(kind, "a.md") for kind in ("FACTS", "STATE")] == ["docs/a.md", "docs/state/a.md"]
