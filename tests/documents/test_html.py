"""HTML files."""

from agent.documents import parse_document

from . import md, only, texts, told, under


def test_a_page_is_its_text() -> None:
    """Headings, paragraphs, lists, quotes and code become blocks with their lines."""
    document = md(
        """
        <!doctype html>
        <html lang="sv-SE"><head><title>Priser | Bolaget</title>
        <meta name="description" content="Vad det kostar"><style>p {}</style></head>
        <body><nav><a href="/">Hem</a></nav>
        <h1>Priser</h1>
        <p>Vi har
          tre <b>planer</b>:
        <ul><li>Bas &amp; mer
          <ul><li>5 GB</ul>
        <li>Pro</ul>
        <blockquote>Bra!</blockquote>
        <pre><code>a &lt; b
          c</code></pre>
        <script>let no = "<p>no</p>"</script>
        <p hidden>no</p><div style="display: none">no</div><aside class="sidebar">no</aside>
        <footer>no</footer></body></html>
        """,
        ".html",
    )
    assert (document.title, document.description, document.lang) == ("Priser", "Vad det kostar", "sv")
    assert [(b.kind, b.text, b.first, b.last, b.parents) for b in document.blocks] == [
        ("paragraph", "Vi har tre planer:", 6, 7, ()),
        ("item", "Bas & mer", 8, 8, ("Vi har tre planer:",)),
        ("item", "5 GB", 9, 9, ("Vi har tre planer:", "Bas & mer")),
        ("item", "Pro", 10, 10, ("Vi har tre planer:",)),
        ("quote", "Bra!", 11, 11, ()),
        ("code", "a < b\n  c", 12, 13, ()),
    ]
    assert {block.path for block in document.blocks} == {("Priser",)}


def test_cells_that_span_are_filled() -> None:
    """A cell over rows or columns is told in each of them; the rows of a header join."""
    document = md(
        """
        <table><caption>Plans</caption>
        <thead><tr><th rowspan="2">Plan</th><th colspan="2">Price</th></tr>
        <tr><th>Month</th><th>Year</th></tr></thead>
        <tr><td rowspan="2">Basic</td><td>9</td><td>90</td></tr>
        <tr><td colspan="2">free</td></tr>
        <tr><td colspan="3">All without VAT</td></tr>
        </table>
        """,
        ".html",
    )
    rows = [block for block in document.blocks if block.kind == "row"]
    assert [row.text for row in rows] == [
        "Basic; Price Month: 9; Price Year: 90",
        "Basic; Price Month: free; Price Year: free",
        "All without VAT",
    ]
    assert (rows[0].header, rows[0].header_line) == (("Plan", "Price Month", "Price Year"), 2)
    assert {row.parents for row in rows} == {("Plans",)}


def test_a_table_that_lays_out_a_page_is_no_table() -> None:
    """Its cells hold tables of their own."""
    inner = "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>"
    source = f"<table><tr><td>{inner}</td></tr></table>\n"
    assert told(md(source, ".html")) == [("row", "1; B: 2")]


def test_terms_stand_with_what_they_mean() -> None:
    """A term and its first paragraph are one item."""
    source = "<dl><dt>Refund</dt><dd>Within 14 days.<p>More.</p></dd><dt>Can I pay later?<dd>Yes.</dl>\n"
    assert [(b.kind, b.text, b.parents) for b in md(source, ".html").blocks] == [
        ("item", "Refund: Within 14 days.", ()),
        ("paragraph", "More.", ("Refund: Within 14 days.",)),
        ("item", "Can I pay later? Yes.", ()),
    ]


def test_what_folds_has_a_heading() -> None:
    """A summary stands over its details."""
    source = "<h2>FAQ</h2><details><summary>Why?</summary><p>Because.</p></details><p>end</p>\n"
    assert list(under(md(source, ".html"))) == [(("FAQ", "Why?"), "Because."), (("FAQ",), "end")]


def test_a_page_without_a_heading_has_its_title() -> None:
    """The title element names it."""
    assert md("<title>Plans</title><p>text", ".html").title == "Plans"


def test_a_page_header_gives_only_its_heading() -> None:
    """An article's own header is text."""
    assert texts(md("<nav>a<ul><li>b<nav>c</nav>d</ul>e</nav><p>text", ".html")) == ["text"]
    source = "<header>Menu<h1>Shop</h1></header><article><header>By Ann</header><p>text</p></article>"
    assert texts(md(source, ".html")) == ["By Ann", "text"]
    assert md(source, ".html").title == "Shop"


def test_the_encoding_is_the_pages_own() -> None:
    """It may be named in the page; UTF-8 else."""
    page = '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1"><p>åäö 5 kr</p>'
    assert only(parse_document("kb/a.html", page.encode("latin-1"))).text == "åäö 5 kr"
    assert only(parse_document("kb/a.htm", b'<meta charset="rot13"><p>x</p>')).text == "x"


def test_tags_in_disorder_are_read_on() -> None:
    """Ends without a beginning, beginnings without an end, and signs that are no tags."""
    source = "</div><p>a < b && <c<b>old</p></b></b> <3 <!-- never closed\n<p>more"
    assert " ".join(texts(md(source, ".html"))) == "a < b && <cold <3 <!-- never closed more"


def test_a_tag_without_an_end_to_its_attributes_is_left_out() -> None:
    """Its lines stay, and what stands around it is read."""
    document = md("<p>An okapi.</p>\n<p " + "a\n" * 60_000 + ">A zebra.</p>", ".html")
    assert [(block.text, block.first) for block in document.blocks] == [
        ("An okapi.", 1),
        ("A zebra.", 60_002),
    ]
