"""Markdown: headings, paragraphs, lists, tables, code, quotes, and what stands inside a line."""

import pytest

from agent.documents import Unreadable, parse_document

from . import md, only, told, under


def test_headings_stand_above_what_follows_them() -> None:
    """A block has the headings above it, outermost first, and a heading closes those of its own level."""
    document = md("# Plans\n\nAll.\n\n## Basic\n\n### Price\n\n99 kr.\n\n## Pro\n\n199 kr.\n")
    assert list(under(document)) == [
        (("Plans",), "All."),
        (("Plans", "Basic", "Price"), "99 kr."),
        (("Plans", "Pro"), "199 kr."),
    ]


def test_the_first_heading_of_level_1_is_the_title() -> None:
    """Without front matter the page's title is its first heading of level 1."""
    assert md("intro\n\n# Plans\n\n# Prices\n").title == "Plans"
    assert md("## Plans\n\ntext\n").title == ""


def test_setext_headings_are_headings() -> None:
    """A line of = or - below a text makes it a heading."""
    assert list(under(md("Plans\n=====\n\nBasic\n-----\n\n99 kr.\n"))) == [(("Plans", "Basic"), "99 kr.")]


def test_a_long_text_above_a_rule_is_a_paragraph() -> None:
    """Nobody writes a heading of many sentences: the dashes below it are meant as a rule."""
    sentence = "This is one sentence of a paragraph that goes on. " * 8
    assert told(md(f"{sentence}\n---\n")) == [("paragraph", sentence.strip())]


def test_a_headings_text_is_plain_and_keeps_its_number() -> None:
    """Marks, anchors and links leave a heading; the number it begins with stays."""
    document = md("## 2.1 **The** `plan` [here](x.md) {#plan} ##\n\ntext\n")
    assert only(document).path == ("2.1 The plan here",)


def test_a_paragraph_knows_where_each_of_its_lines_begins() -> None:
    """`starts` tells the line of any offset."""
    block = only(md("One *two*\n  three [four\n](x) five.\n"))
    assert (block.text, block.first, block.last) == ("One two three four five.", 1, 3)
    assert [block.text[start:] for start in block.starts] == [block.text, "three four five.", "five."]


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        (
            "a **bold** and *soft* and ***both*** and __b__ and _s_ and ~~gone~~",
            "a bold and soft and both and b and s and gone",
        ),
        ("snake_case_name and 2 * 3 * 4 and a*b", "snake_case_name and 2 * 3 * 4 and a*b"),
        ("[text](http://x.y 'title') and [ref][one] and [one] and [none]", "text and ref and one and [none]"),
        ("`a_b *c*` and `` d`e ``", "a_b *c* and d`e"),
        (r"\*not\* and 5 &lt; 6 &amp; 7&nbsp;kr", "*not* and 5 < 6 & 7 kr"),
        ("see <https://x.y/z> or <a@b.se>", "see https://x.y/z or a@b.se"),
        ("![alt](i.png) before ![alt](j.png)after", "before after"),
        ("a claim[^3] and more[^note].", "a claim and more."),
        ("**Refunds**: within 14 days", "Refunds: within 14 days"),
        ("hard  \nbreak\\\nhere", "hard break here"),
        ("10**6 and `x`s", "10**6 and xs"),
        ("Standard\u00adtext\u200b", "Standardtext"),
    ],
)
def test_a_line_is_plain_text(source: str, plain: str) -> None:
    """What markdown marks is gone, and what only looks like a mark stays."""
    assert only(md(f"{source}\n\n[one]: http://x.y\n")).text == plain


def test_images_and_badges_alone_are_no_text() -> None:
    """A paragraph of pictures says nothing; an address that is all there is says itself."""
    assert told(md("[![build](b.svg)](http://ci) ![x](y)\n\n<https://only.this>\n")) == [
        ("paragraph", "https://only.this")
    ]


def test_link_definitions_are_no_text() -> None:
    """Nor are comments that are written as one."""
    source = '[a]: http://x "title"\n[//]: # (a comment)\n[b]: <y>\n*[HTML]: an abbreviation\n\n[Note]: this is text.\n'
    assert told(md(source)) == [("paragraph", "[Note]: this is text.")]


def test_of_a_long_lead_in_the_last_sentence_leads() -> None:
    """Which does not begin after an abbreviation."""
    source = f"{'It is long. ' * 30}We go to Oslo, Rome etc. Typically we take:\n\n- trains\n"
    (item,) = [block for block in md(source).blocks if block.kind == "item"]
    assert item.parents == ("We go to Oslo, Rome etc. Typically we take:",)


def test_an_item_hangs_under_its_lead_in_and_the_items_around_it() -> None:
    """Parents are told outermost first; the items of one list share a group, and have their depth."""
    document = md("Plans:\n\n- Basic\n  - 5 GB\n    1. of disk\n- Pro\n\nOther.\n\n- alone\n")
    assert [(b.text, b.parents, b.depth) for b in document.blocks if b.kind == "item"] == [
        ("Basic", ("Plans:",), 0),
        ("5 GB", ("Plans:", "Basic"), 1),
        ("of disk", ("Plans:", "Basic", "5 GB"), 2),
        ("Pro", ("Plans:",), 0),
        ("alone", (), 0),
    ]
    groups = [block.group for block in document.blocks]
    assert groups == [0, 1, 1, 1, 1, 0, 2]


def test_what_follows_within_an_item_hangs_under_it() -> None:
    """A further paragraph and code in an item have the item as their parent; only the first is the item."""
    document = md("1. Install:\n\n   ```sh\n   pip install x\n   ```\n\n   Then wait.\n2. Run\n")
    assert [(b.kind, b.text, b.parents) for b in document.blocks] == [
        ("item", "Install:", ()),
        ("code", "pip install x", ("Install:",)),
        ("paragraph", "Then wait.", ("Install:",)),
        ("item", "Run", ()),
    ]


def test_the_box_of_a_task_is_no_text() -> None:
    """An item that can be ticked off says what is to be done."""
    assert told(md("- [ ] Call the bank\n- [x] Pay\n- [y] keep\n")) == [
        ("item", "Call the bank"),
        ("item", "Pay"),
        ("item", "[y] keep"),
    ]


def test_a_row_is_told_with_its_header() -> None:
    """A row reads: first cell; header: cell; and has the lines of itself and of its header."""
    document = md(
        "Our prices:\n\n| Plan | Price (kr) | Note |\n|---|--:|---|\n| *Basic* | 99 | a \\| b |\n| Pro | 199 |\n"
    )
    basic, pro = document.blocks[1:]
    assert (basic.text, basic.first, basic.last) == ("Basic; Price (kr): 99; Note: a | b", 5, 5)
    assert (basic.cells, basic.header, basic.header_line) == (
        ("Basic", "99", "a | b"),
        ("Plan", "Price (kr)", "Note"),
        3,
    )
    assert (pro.text, pro.cells) == ("Pro; Price (kr): 199", ("Pro", "199"))
    assert basic.group == pro.group > 0
    assert basic.parents == ("Our prices:",)


def test_cells_beyond_the_header_are_text() -> None:
    """A row that is longer than its header loses nothing; a line without any pipe is no row."""
    document = md("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n\nend\n")
    assert told(document) == [("row", "1; b: 2; 3"), ("paragraph", "end")]


def test_a_header_of_empty_cells_is_none() -> None:
    """A table whose header is empty has no header, and no line of one."""
    block = only(md("| | |\n|---|---|\n| Phone | 08-123 |\n"))
    assert (block.text, block.header, block.header_line) == ("Phone; 08-123", (), 0)


def test_code_is_as_it_stands() -> None:
    """Fenced and indented code keep their lines, and hang under the line that leads to them."""
    document = md("Run this:\n\n```sh title=x\nif a:\n    b  c\n\n```\n\nor\n\n    indented\n      more\n")
    fenced, indented = (block for block in document.blocks if block.kind == "code")
    assert (fenced.text, fenced.first, fenced.last, fenced.starts) == ("if a:\n    b  c", 4, 5, (0, 6))
    assert fenced.parents == ("Run this:",)
    assert (indented.text, indented.first, indented.last) == ("indented\n  more", 11, 12)
    assert indented.parents == ("or",)


def test_marks_inside_code_stay() -> None:
    """Nothing that looks like a tag, a template or a table is taken out of code."""
    source = "```\n<div>{{ x }} {% y %} <!-- z -->\n| a |\n```\n\n`<b>{{ x }}</b>` and ``<i>``\n\n    <p>&amp;</p>\n"
    assert told(md(source)) == [
        ("code", "<div>{{ x }} {% y %} <!-- z -->\n| a |"),
        ("paragraph", "<b>{{ x }}</b> and <i>"),
        ("code", "<p>&amp;</p>"),
    ]


def test_quotes_are_of_their_kind() -> None:
    """A quoted paragraph is a quote, a list in a quote is a list."""
    assert told(md("> Be kind.\n> Always.\n>\n> - to all\n")) == [
        ("quote", "Be kind. Always."),
        ("item", "to all"),
    ]


def test_a_bold_line_is_a_heading_for_what_follows() -> None:
    """It holds until the next heading or bold line, and is a paragraph when nothing follows it."""
    source = (
        "# FAQ\n\n**Q: Can I pay later?**\n\nYes, in 30 days.\n\n**Q: And refunds?**  \n\n"
        "- 14 days\n\n## More\n\ntext\n\n**We close at 5.**\n"
    )
    assert list(under(md(source))) == [
        (("FAQ", "Q: Can I pay later?"), "Yes, in 30 days."),
        (("FAQ", "Q: And refunds?"), "14 days"),
        (("FAQ", "More"), "text"),
        (("FAQ", "More"), "We close at 5."),
    ]


def test_a_bold_line_in_a_quote_ends_with_it() -> None:
    """What a quote calls its lines is nothing to those after it."""
    assert list(under(md("> **Note well**\n>\n> inside\n\noutside\n"))) == [
        (("Note well",), "inside"),
        ((), "outside"),
    ]


def test_a_bold_question_on_the_answers_first_line_is_a_heading() -> None:
    """Question and answer are often only a line break apart."""
    block = only(md("**Q: How long?**\nA: 14 days.\n"))
    assert (block.path, block.text, block.first) == (("Q: How long?",), "A: 14 days.", 2)
    assert only(md("**Acme**\nis a company.\n")).text == "Acme is a company."


def test_footnotes_are_paragraphs() -> None:
    """A note's text is a block of its own, with what is indented below it; its mark is no text."""
    source = (
        "A claim.[^1]\n\n[^1]: The *source*.\n[^b]: Another\n    with more.\n\n    And a second paragraph.\n"
    )
    assert told(md(source)) == [
        ("paragraph", "A claim."),
        ("paragraph", "The source."),
        ("paragraph", "Another with more."),
        ("paragraph", "And a second paragraph."),
    ]


def test_bytes_written_as_text_are_no_text() -> None:
    """data: addresses and long runs like base64 are left out, long words and addresses are not."""
    blob = "QUJD" * 100
    source = (
        f"before {blob}== after ![x](data:image/png;base64,{blob}) data:text/plain;base64,{blob} end {'x' * 150}\n\n"
        f"```\nkey = '{blob}'\n```\n"
    )
    assert told(md(source)) == [("paragraph", f"before after end {'x' * 150}"), ("code", "key = ''")]


def test_lines_are_counted_as_the_file_has_them() -> None:
    r"""\r\n and \r end a line; a mark of the byte order is none of the text."""
    document = parse_document("kb/a.md", b"\xef\xbb\xbf# A\r\n\r\ntwo\rthree\n")
    assert document.lines == ("# A", "", "two", "three", "")
    assert (only(document).first, only(document).last) == (3, 4)


def test_what_is_not_utf_8_cannot_be_read() -> None:
    """The reason names the byte; UTF-16 with its mark can be read."""
    with pytest.raises(Unreadable, match=r"^is not UTF-8 \(byte 2\)$"):
        parse_document("kb/a.md", b"ab\xff")
    assert only(parse_document("kb/a.md", "åäö".encode("utf-16"))).text == "åäö"


def test_long_lists_and_texts_are_one_list_and_one_text() -> None:
    """The parts in which a long file is read cannot be seen from outside."""
    many = md("Lead:\n" + "- an item of many\n" * 9_000)
    items = [block for block in many.blocks if block.kind == "item"]
    assert len(items) == 9_000
    assert {(block.group, block.parents, block.depth) for block in items} == {(1, ("Lead:",), 0)}
    assert [block.first for block in items] == list(range(2, 9_002))


def test_records_between_rules_are_told_of_their_names() -> None:
    """Text after the short list that names a record hangs under it."""
    source = (
        "<Properties>\n- Create SignIn\n- `/v1/sign_ins`\n\n5 requests\n\n---\n\n- Get keys\n\n"
        "no limit\n</Properties>\n\n# Next\n\nfree\n"
    )
    assert [(b.text, b.parents) for b in md(source, ".mdx").blocks if b.kind == "paragraph"] == [
        ("5 requests", ("Create SignIn", "/v1/sign_ins")),
        ("no limit", ("Get keys",)),
        ("free", ()),
    ]


def test_a_row_of_very_many_cells_ends_in_one_that_holds_the_rest() -> None:
    """Nothing of it is lost, and no object is made of each."""
    many = "|".join(f"c{number}" for number in range(2_000))
    row = only(md(f"a | b\n- | -\n{many}\n"))
    assert len(row.cells) == 1_001
    assert row.cells[-1].startswith("c1000|c1001|")
    assert row.cells[-1].endswith("|c1999")
