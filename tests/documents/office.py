"""Makes the PDF and DOCX files that tests read."""

import io

import docx
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from fpdf import FPDF


def a_docx() -> bytes:
    """Return a document with headings, lists, a table with merged cells, and a quote."""
    document = docx.Document()
    document.core_properties.language = "sv-SE"
    document.add_heading("Handbok", 1)
    document.add_paragraph("Vi har öppet varje dag.")
    document.add_paragraph("Planer:")
    document.add_paragraph("Bas", style="List Bullet")
    document.add_paragraph("5 GB", style="List Bullet 2")
    document.add_paragraph("Pro", style="List Number")
    document.add_heading("Priser", 2)
    table = document.add_table(4, 3)
    for row, texts in enumerate(
        [("Plan", "Pris", "Plats"), ("Bas", "99 kr", "5 GB"), ("Pro", "199 kr", "50 GB"), ("", "fritt", "")]
    ):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(2, 0).merge(table.cell(3, 0))
    table.cell(3, 1).merge(table.cell(3, 2))
    document.add_paragraph("Bra!", style="Quote")
    numbered = document.add_paragraph("Egen numrering")
    properties = OxmlElement("w:numPr")
    number = OxmlElement("w:numId")
    number.set(qn("w:val"), "1")
    properties.append(number)
    numbered._p.get_or_add_pPr().append(properties)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def a_pdf(*, password: str = "") -> bytes:
    """Return two pages with headings, paragraphs, a list and a table."""
    pdf = FPDF()
    pdf.set_title("Metadata title")
    if password:
        pdf.set_encryption("owner", password)
    pdf.add_page()
    pdf.set_font("helvetica", size=22)
    pdf.cell(0, 14, "Handbook", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("helvetica", size=11)
    pdf.multi_cell(0, 5, "We are open every day and answer within two hours. " * 4)
    pdf.ln(6)
    pdf.multi_cell(0, 5, "The second paragraph costs 299 kr.")
    pdf.set_font("helvetica", size=16)
    pdf.cell(0, 12, "Plans", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("helvetica", size=11)
    pdf.cell(0, 5, "These are the plans:", new_x="LMARGIN", new_y="NEXT")
    for item in ("- Basic costs 99 kr", "- Pro costs 199 kr"):
        pdf.cell(0, 5, item, new_x="LMARGIN", new_y="NEXT")
    pdf.add_page()
    for row in (("Plan", "Price"), ("Basic", "99 kr"), ("Pro", "199 kr")):
        for cell in row:
            pdf.cell(60, 6, cell)
        pdf.ln()
    return bytes(pdf.output())


def an_empty_pdf() -> bytes:
    """Return a page without any text, as a scanner makes them."""
    pdf = FPDF()
    pdf.add_page()
    pdf.rect(10, 10, 50, 50)
    return bytes(pdf.output())
