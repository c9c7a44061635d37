"""Files that were made to take a server's memory or time: each is small, and each was seen to do so."""

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping

from docx import Document as new_document


def a_pdf(*objects: bytes) -> bytes:
    """Return a PDF file of these objects, from number 1 on; the first is its catalogue."""
    out = bytearray(b"%PDF-1.4\n")
    places = []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(out)


def a_stream(data: bytes, about: bytes = b"") -> bytes:
    """Return a stream object."""
    return b"<< %b /Length %d >>\nstream\n%b\nendstream" % (about, len(data), data)


def a_page(content: bytes, *others: bytes, resources: bytes = b"") -> bytes:
    """Return a PDF file of one page. content: its stream object, number 4; others: from number 5 on."""
    page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 200 200] /Resources << %b >> /Contents 4 0 R >>"
    return a_pdf(
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        page % resources,
        content,
        *others,
    )


def a_form_that_draws_itself() -> bytes:
    """Return a PDF whose form draws itself twice, and so each of these."""
    about = b"/Type /XObject /Subtype /Form /BBox [0 0 200 200] /Resources << /XObject << /X 5 0 R >> >>"
    form = a_stream(b"/X Do /X Do", about)
    return a_page(a_stream(b"/X Do"), form, resources=b"/XObject << /X 5 0 R >>")


def a_stream_compressed_twice() -> bytes:
    """Return a PDF of some kilobytes with a stream of two gigabytes."""
    inner = zlib.compressobj(9)
    piece, pieces = b"BT ET\n" * 100_000, []
    for _ in range(2_000):
        pieces.append(inner.compress(piece))
    once = b"".join((*pieces, inner.flush()))
    return a_page(a_stream(zlib.compress(once, 9), b"/Filter [/FlateDecode /FlateDecode]"))


def a_docx(body: bytes) -> bytes:
    """Return a DOCX file with a body of these elements."""
    made = io.BytesIO()
    new_document().save(made)
    out = io.BytesIO()
    with zipfile.ZipFile(made) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in source.infolist():
            if entry.filename == "word/document.xml":
                names = b'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
                archive.writestr(
                    entry.filename, b"<w:document %b><w:body>%b</w:body></w:document>" % (names, body)
                )
            else:
                archive.writestr(entry.filename, source.read(entry.filename))
    return out.getvalue()


def a_cell_over_all_columns() -> bytes:
    """Return a DOCX with a table's cell that says that it takes two thousand million columns."""
    cell = b'<w:tc><w:tcPr><w:gridSpan w:val="2000000000"/></w:tcPr><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc>'
    return a_docx(b"<w:tbl><w:tblPr/><w:tblGrid><w:gridCol/></w:tblGrid><w:tr>%b</w:tr></w:tbl>" % cell)


def paragraphs_of_nothing() -> bytes:
    """Return a DOCX of some 90 KB with millions of empty paragraphs."""
    return a_docx(b"<w:p/>" * 8_000_000)


HOSTILE: Mapping[str, Callable[[], bytes]] = {
    "form.pdf": a_form_that_draws_itself,
    "twice.pdf": a_stream_compressed_twice,
    "columns.docx": a_cell_over_all_columns,
    "paragraphs.docx": paragraphs_of_nothing,
    "attributes.html": lambda: b"<p " + b"a " * 900_000 + b">A zebra.</p>",
    "attributes-short.html": lambda: b"<p " + b"a " * 520_000 + b">A zebra.</p>",
    "row.md": lambda: b"|a" * 500_000 + b"|\n" + b"|-" * 500_000 + b"|\n",
    "row-short.md": lambda: b"|a" * 255_000 + b"|\n" + b"|-" * 255_000 + b"|\n",
    "grid.rst": lambda: b"+-" * 3_000 + b"+\n" + b"|a" * 3_000 + b"|\n" + b"+-" * 3_000 + b"+\n",
    "long-grid.rst": lambda: b"+-" * 80_000 + b"+\n" + b"|a" * 80_000 + b"|\n" + b"+-" * 80_000 + b"+\n",
}
"""By their names in a folder, in the order in which they were found."""
