"""What stands between markdown's marks: tags, components, templates, and the dialects' own signs."""

import pytest

from . import md, only, texts, told, under


def test_tags_are_no_text_and_what_stands_inside_is() -> None:
    """HTML's tags leave a line; a break is a space; letters that tags part stay together."""
    source = 'Press <kbd>Ctrl</kbd>+C, H<sub>2</sub>O, <a\n  href="x">a link</a><br/>next <!-- no --> end\n'
    block = only(md(source))
    assert (block.text, block.first, block.last) == ("Press Ctrl+C, H2O, a link next end", 1, 2)


def test_comments_leave_their_lines_behind() -> None:
    """A comment over several lines is nothing, and what follows keeps its line."""
    assert [(b.text, b.first) for b in md("<!-- a\n\n# no\n-->\ntext\n").blocks] == [("text", 5)]


def test_names_in_angle_brackets_are_text() -> None:
    """What only looks like a tag is what the reader has to fill in."""
    assert texts(md("Set PORT to <port> and <YOUR_KEY>, if a <b.\n")) == [
        "Set PORT to <port> and <YOUR_KEY>, if a <b."
    ]


def test_scripts_styles_and_frames_are_no_text() -> None:
    """Elements whose content a browser does not show are left out with it."""
    source = "a\n\n<script>\nlet x = '<p>no</p>'\n</script>\n<style>p {}</style>\n<iframe src='x'>no</iframe>\n\nb\n"
    assert texts(md(source)) == ["a", "b"]


def test_a_fold_is_a_heading_over_what_it_holds() -> None:
    """The summary of details stands over their lines and no further, markdown inside them is markdown."""
    source = (
        "# FAQ\n\n<details>\n<summary>Can I <b>pay</b> later?</summary>\n\n- Yes, in *30* days.\n\n"
        "</details>\n\nOther.\n"
    )
    assert list(under(md(source))) == [
        (("FAQ", "Can I pay later?"), "Yes, in 30 days."),
        (("FAQ",), "Other."),
    ]


def test_a_components_title_is_a_heading_over_what_it_holds() -> None:
    """Headings inside it end with it; what its content is indented by makes no code."""
    source = """
        ## Billing

        <Collapse
          title="Can I pay later?"
          open={true}
        >
          Yes.

          ### Details

          1. Within **30** days

          | a | b |
          |---|---|
          | 1 | 2 |
        </Collapse>

        Other.
        """
    for suffix in (".md", ".mdx"):
        assert list(under(md(source, suffix))) == [
            (("Billing", "Can I pay later?"), "Yes."),
            (("Billing", "Can I pay later?", "Details"), "Within 30 days"),
            (("Billing", "Can I pay later?", "Details"), "1; b: 2"),
            (("Billing",), "Other."),
        ]


def test_a_component_on_one_line_has_its_own_paragraph() -> None:
    """It does not run into the lines around it."""
    source = 'before\n<Answer question="Why?">Because.</Answer>\nafter\n'
    assert list(under(md(source))) == [((), "before"), (("Why?",), "Because."), ((), "after")]


def test_a_component_that_holds_nothing_says_its_attributes() -> None:
    """Title and description are told; what only a machine reads is not."""
    source = '<Card title="Pricing" description={`From 99 kr`} href="/x" icon="y" />\n'
    assert told(md(source)) == [("paragraph", "Pricing: From 99 kr")]
    assert told(md('<img alt="no" title="no"><Image alt="no" />\n')) == []


def test_a_title_that_never_ends_holds_to_the_next_heading() -> None:
    """A component that is not closed is taken for a line that acts as a heading."""
    source = '<Step title="First">\n\ntext\n\n# Next\n\nmore\n'
    assert list(under(md(source))) == [(("First",), "text"), (("Next",), "more")]


def test_components_keep_lists_and_code() -> None:
    """Lists inside components stay lists, fenced code keeps only its own indentation."""
    source = (
        "<Steps>\n  <Step>\n    1. Do:\n\n       ```sh\n       if x:\n         y\n       ```\n"
        "    2. Done\n  </Step>\n</Steps>\n"
    )
    assert told(md(source)) == [("item", "Do:"), ("code", "if x:\n  y"), ("item", "Done")]


def test_imports_exports_and_expressions_are_no_text() -> None:
    """Statements between paragraphs and expressions in braces are the machine's; a string is said."""
    source = """
        import { A } from './a'
        import B,
          { C } from "b"

        export const meta = {
          title: 'no',

          n: 1,
        }

        Costs {price} or {'99 kr'} {/* not {this} */}a.

        Import duties are 5 kr.
        """
    assert texts(md(source, ".mdx")) == ["Costs or 99 kr a.", "Import duties are 5 kr."]
    assert texts(md("Output is {a: 1} and {x}.\n")) == ["Output is {a: 1} and {x}."]


def test_code_in_a_template_literal_is_code() -> None:
    """Some components hold their code as a string."""
    assert told(md("<CodeBlock>\n{`a: 1\nb: <x>`}\n</CodeBlock>\n")) == [("code", "a: 1\nb: <x>")]
    block = only(md("<Query\n  code={`query {\n    id\n  }`}\n/>\n", ".mdx"))
    assert (block.kind, block.text, block.first, block.last) == ("code", "query {\n    id\n  }", 2, 4)


@pytest.mark.parametrize(
    "mark",
    [
        "{% include 'x' %}",
        "{{ site.name }}",
        '{{< figure src="x" >}}',
        "{{% /notice %}}",
        "{: .note }",
        "{.wide}",
        "{#id}",
    ],
)
def test_template_marks_are_no_text(mark: str) -> None:
    """Liquid, jinja, Hugo's shortcodes and lists of attributes leave what stands around them."""
    assert texts(md(f"before {mark} after\n\n{mark}\n\nend\n")) == ["before after", "end"]


def test_what_templates_comment_is_no_text() -> None:
    """Between comment and endcomment nothing is said; a tab's title is a heading."""
    assert texts(md("a\n\n{% comment %}\nno\n{% endcomment %}\n\nb\n")) == ["a", "b"]
    source = (
        '{% tab title="Linux" %}\napt\n{% endtab %}\n\n'
        '{{< card title="Prices" subtitle="From 99 kr" link="x" >}}\nend\n'
    )
    assert list(under(md(source))) == [(("Linux",), "apt"), ((), "Prices: From 99 kr"), ((), "end")]


def test_tables_of_html_have_rows() -> None:
    """Rows over many lines have their lines, header and cells; bold cells above others are a header."""
    source = """
        Versions:

        <table>
          <tr>
           <td><strong>Version</strong>
           </td>
           <td><strong>Date</strong>
           </td>
          </tr>
          <tr>
           <td> 1.0
           </td>
           <td>20-03-22 by
             <a href="x">Diego</a>
           </td>
          </tr>
        </table>

        after
        """
    lead, row, after = md(source).blocks
    assert (row.text, row.first, row.last) == ("1.0; Date: 20-03-22 by Diego", 11, 14)
    assert (row.header, row.header_line, row.parents) == (("Version", "Date"), 5, ("Versions:",))
    assert [row.text[start:] for start in row.starts] == [row.text, row.text, row.text[5:], row.text[5:]]
    assert (lead.text, after.text, after.first) == ("Versions:", "after", 19)


def test_headings_and_lists_of_html_are_headings_and_lists() -> None:
    """Elements written as HTML are what they are."""
    source = (
        '<h2 align="center">\n  The <em>plans</em>\n</h2>\n\n<ul>\n<li>Basic\n'
        "<ul><li>5 GB</li></ul></li>\n<li>Pro</li>\n</ul>\n\n<p>text</p>\n"
    )
    assert [(b.path, b.kind, b.text, b.parents, b.first) for b in md(source).blocks] == [
        (("The plans",), "item", "Basic", (), 6),
        (("The plans",), "item", "5 GB", ("Basic",), 7),
        (("The plans",), "item", "Pro", (), 8),
        (("The plans",), "paragraph", "text", (), 11),
    ]


def test_alerts_and_admonitions_are_known_by_their_text() -> None:
    """The sign of a note is no text, its title stands over what it holds."""
    assert told(md("> [!NOTE]\n> Be *careful*.\n")) == [("quote", "Be careful.")]
    assert list(under(md(":::tip[Save **money**]\nPay yearly.\n:::\n\nOther.\n"))) == [
        (("Save money",), "Pay yearly."),
        ((), "Other."),
    ]
    assert list(under(md(":::note Title\n\ntext\n\n:::\n"))) == [(("Title",), "text")]
    source = (
        '!!! note "Heads up"\n    Indented *text*.\n\n    - item\n\nOther.\n\n??? tip\n'
        '    Hidden.\n\n=== "Tab"\n\n    inside\n'
    )
    assert list(under(md(source))) == [
        (("Heads up",), "Indented text."),
        (("Heads up",), "item"),
        ((), "Other."),
        ((), "Hidden."),
        (("Tab",), "inside"),
    ]
    assert {kind for kind, _ in told(md(source))} == {"paragraph", "item"}


def test_a_text_may_end_in_a_backslash() -> None:
    """There is no sign after it that it could hide."""
    assert texts(md("a <b>word</b>\\", ".mdx")) == ["a word\\"]
