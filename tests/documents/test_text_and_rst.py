"""Plain text and reStructuredText."""

from pathlib import Path

import pytest

from agent.documents import rst

from . import md, only, texts, told, under


def test_text_has_paragraphs_lists_and_underlined_headings() -> None:
    """Nothing else is structure, and nothing is markup."""
    source = """
        Plans
        =====

        We have *two* <plans>
        for you:

         - Basic
           with 5 GB
            1. of disk
         - Pro

           And more of Pro.

        Prices
        ------
        # 99 kr
        """
    document = md(source, ".txt")
    assert document.title == "Plans"
    assert [(b.path, b.kind, b.text, b.parents, b.depth, b.first) for b in document.blocks] == [
        (("Plans",), "paragraph", "We have *two* <plans> for you:", (), 0, 4),
        (("Plans",), "item", "Basic with 5 GB", ("We have *two* <plans> for you:",), 0, 7),
        (("Plans",), "item", "of disk", ("We have *two* <plans> for you:", "Basic with 5 GB"), 1, 9),
        (("Plans",), "item", "Pro", ("We have *two* <plans> for you:",), 0, 10),
        (("Plans",), "paragraph", "And more of Pro.", ("We have *two* <plans> for you:", "Pro"), 0, 12),
        (("Plans", "Prices"), "paragraph", "# 99 kr", (), 0, 16),
    ]


def test_rst_has_its_own_blocks() -> None:
    """Sections, lists, terms, notes, code and quotes."""
    source = """
        =====
        Plans
        =====

        We have *two* `plans <http://x>`_ [1]_, see :ref:`prices <p>`
        and :py:func:`~a.b`:

        * Basic

          - 5 GB

          More.

        Refund
            Within 14 days.

        .. note:: Not in ``May``.

        Prices
        ------

        Run::

            pip install x

            --all

        .. tab-item:: Linux

           Use apt.

        ..
           a comment

        .. [1] A note.
        """
    document = md(source, ".rst")
    assert document.title == "Plans"
    assert [(b.path[1:], b.kind, b.text, b.parents, b.first) for b in document.blocks] == [
        ((), "paragraph", "We have two plans , see prices and b:", (), 5),
        ((), "item", "Basic", ("We have two plans , see prices and b:",), 8),
        ((), "item", "5 GB", ("We have two plans , see prices and b:", "Basic"), 10),
        ((), "paragraph", "More.", ("We have two plans , see prices and b:", "Basic"), 12),
        ((), "item", "Refund: Within 14 days.", (), 14),
        ((), "paragraph", "Not in May.", (), 17),
        (("Prices",), "paragraph", "Run:", (), 22),
        (("Prices",), "code", "pip install x\n\n--all", ("Run:",), 24),
        (("Prices", "Linux"), "paragraph", "Use apt.", (), 30),
        (("Prices",), "paragraph", "A note.", (), 35),
    ]


@pytest.mark.parametrize(
    ("table", "line"),
    [
        ("+------+-------+\n| Plan | Price |\n+======+=======+\n| Pro  | 99    |\n+------+-------+\n", 4),
        ("====  =====\nPlan  Price\n====  =====\nPro   99\n====  =====\n", 4),
        (".. list-table::\n   :header-rows: 1\n\n   * - Plan\n     - Price\n   * - Pro\n     - 99\n", 6),
        ('.. csv-table::\n   :header: "Plan", "Price"\n\n   "Pro", "99"\n', 4),
    ],
)
def test_tables_of_rst_have_rows(table: str, line: int) -> None:
    """However a table is drawn, a row is told with its header."""
    row = only(md(table, ".rst"))
    assert (row.kind, row.text, row.header, row.first) == ("row", "Pro; Price: 99", ("Plan", "Price"), line)


def test_rst_reads_no_other_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Inclusion and raw content are switched off, and docutils writes nothing anywhere."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    source = f"""
        .. include:: {secret}
        .. literalinclude:: {secret}
        .. raw:: html

           <b>raw</b>

        .. raw:: html
           :file: {secret}

        .. csv-table::
           :file: {secret}

        .. |x| image:: {secret}

        text |x| |y| `broken
        """
    document = md(source, ".rst")
    assert "secret" not in " ".join(texts(document))
    assert "<b>" not in " ".join(texts(document))
    assert told(document)[-1][1].startswith("text")
    assert capfd.readouterr() == ("", "")


def test_unknown_directives_and_roles_say_their_text() -> None:
    """What Sphinx adds is not docutils' to refuse."""
    source = (
        ".. seealso:: The `guide <http://x>`__ and\n   :pep:`8`.\n\n"
        ".. versionadded:: 3.2\n\n.. dropdown:: More\n   :open:\n\n   Inside.\n\n"
        ".. code-block:: sh\n   :caption: x\n\n   ls\n"
    )
    assert list(under(md(source, ".rst"))) == [
        ((), "The guide and PEP 8."),
        ((), "3.2"),
        (("More",), "Inside."),
        ((), "ls"),
    ]


def test_what_serves_a_site_says_nothing() -> None:
    """Tables of contents, indexes and comments are not for who reads this page."""
    source = (
        ".. toctree::\n   :maxdepth: 2\n\n   a\n   b\n\n.. index:: single: x\n\n.. highlight:: c\n\ntext\n"
    )
    assert texts(md(source, ".rst")) == ["text"]


def test_a_long_rst_file_is_read_in_parts_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is cut cannot be seen: headings keep their levels."""
    source = "".join(
        f"=======\nPart {n}\n=======\n\na {n}\n\nSub\n---\n\nb\n\nDeep\n~~~~\n\nc\n\n.. code::\n\n"
        f"   d\n\nSub 2\n-----\n\ne\n\n"
        for n in range(9)
    )
    whole = md(source, ".rst").blocks
    monkeypatch.setattr(rst, "_PART", 60)
    assert len(rst.cut_parts(source.split("\n"))) > 9
    assert md(source, ".rst").blocks == whole
    assert whole[-1].path == ("Part 8", "Sub 2")
    assert {block.path for block in whole if block.text == "c"} == {
        (f"Part {n}", "Sub", "Deep") for n in range(9)
    }
