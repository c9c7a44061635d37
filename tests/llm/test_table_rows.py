"""How a table's row is worded for a question, without a language model."""

import pytest

from agent.grounding.verify import verify
from agent.llm.table_rows import read_table_question, word_row
from agent.llm.wording import choose_quotes, compose_answer
from agent.ports.search import Hit, Lang, Passage, Snippet


def table(*rows: str, head: str = "Plan | Price per month | Users", lang: Lang = "en") -> list[Hit]:
    """Return hits on the rows of a table, "Basic | 149 kr | 2", under its header."""
    names = head.split(" | ")
    snippets = []
    for line, row in enumerate(rows, 3):
        cells = row.split(" | ")
        said = [cells[0], *(f"{name}: {cell}" for name, cell in zip(names[1:], cells[1:], strict=True))]
        snippets.append(
            Snippet(
                file="kb/a.md",
                text=f"| {head} |\n| {row} |",
                first=line,
                last=line,
                plain_text="; ".join(said),
                kind="row",
                headings=("Plans",),
            )
        )
    passage = Passage("kb/a.md", ("Plans",), lang, tuple(snippets))
    return [Hit(snippet, passage, 0.9) for snippet in snippets]


@pytest.mark.parametrize(
    ("question", "worded"),
    [
        ("What does Standard cost?", "Standard: 299 kr per month"),
        ("Price per month of Standard?", "Standard: 299 kr per month"),
        ("How many users may Standard have?", "Standard; Users: 5"),
        ("How many of the 5 users have Standard?", "Standard; Users: 5"),
        ("Tell me about Standard", "Standard; Price per month: 299 kr; Users: 5"),
        ("", "Standard; Price per month: 299 kr; Users: 5"),
    ],
)
def test_the_columns_that_are_asked_for_are_quoted(question: str, worded: str) -> None:
    """By the words of their headers, else by the kind of thing that is asked for, else all of them."""
    (hit,) = table("Standard | 299 kr | 5")
    assert word_row(hit, read_table_question(question, "en")) == worded
    assert verify(worded, [hit]).is_supported


def test_a_column_of_prices_is_quoted_where_its_cell_is_none() -> None:
    """What others pay is no answer for those who pay nothing."""
    doctor, _ = table(
        "Doctor | 275 kr | free | 20",
        "Flu shot | 250 kr | 180 kr | 5",
        head="Visit | Adults | Children | Length",
    )
    words = read_table_question("What does a doctor cost for a 15 year old?", "en")
    assert word_row(doctor, words) == "Doctor; Adults: 275 kr; Children: free"


@pytest.mark.parametrize(
    ("row", "worded"),
    [
        (
            "Autumn | Clear off moss, leaves, twigs and all other litter | 1",
            "Autumn; Task: Clear off moss, leaves, twigs and all other litter; Times a year: 1",
        ),
        ("Roof | Clear off moss | 1", "Roof; Task: Clear off moss; Times a year: 1"),
        ("Roof | Clear off moss, leaves, twigs and all other litter | 1", "Roof; Times a year: 1"),
        ("Roof | Look at it | 1", "Roof; Times a year: 1"),
    ],
)
def test_the_cells_that_tell_what_a_row_is_about_stay(row: str, worded: str) -> None:
    """All of them where the question does not name the row's first cell."""
    (hit,) = table(row, head="When | Task | Times a year")
    assert (
        word_row(hit, read_table_question("How many times a year is the moss cleared from the roof?", "en"))
        == worded
    )


@pytest.mark.parametrize(
    ("head", "row", "question"),
    [
        ("Plan | Price per month", "Standard | 299 kr; 249 kr for members", "What does Standard cost?"),
        ("Plan | Price per month", "Standard | ", "What does Standard cost?"),
        ("Plan", "Standard", "What does Standard cost?"),
    ],
    ids=["a cell with a semicolon", "an empty cell", "one column"],
)
def test_a_row_whose_cells_cannot_be_told_apart_is_quoted_whole(head: str, row: str, question: str) -> None:
    """Nothing of it is lost."""
    (hit,) = table(row, head=head)
    assert word_row(hit, read_table_question(question, "en")) == hit.snippet.plain_text


@pytest.mark.parametrize("cell", ["5 kr, 9 kr in June", "20 kr an hour", "free", "from 99 kr", "10"])
def test_a_cell_that_is_more_than_an_amount_keeps_its_header(cell: str) -> None:
    """Since "free per month" and "20 kr an hour per month" say nothing."""
    (hit,) = table(f"Standard | {cell} | 5")
    worded = word_row(hit, read_table_question("The price per month of Standard?", "en"))
    assert worded == f"Standard; Price per month: {cell}"
    assert verify(worded, [hit]).is_supported


def test_other_rows_are_not_quoted_where_one_is_named() -> None:
    """Where the question names two, both are; where it names none, the likeliest are."""
    head = "Amount | Number of quotes"
    rows = table("$0 to $4,999 | 1", "$5,000 to $49,999 | 2", "$50,000 or greater | 3", head=head)
    asked = "How many quotes for $50,000 or greater?"
    assert choose_quotes(rows[::-1], asked) == [rows[2]]
    assert choose_quotes(rows, "How many quotes do I need?") == rows
    plans = table("Basic | 149 kr | 2", "Standard | 299 kr | 5", "Plus | 499 kr | 20")
    assert choose_quotes(plans, "What do Basic and Plus cost?") == [plans[0], plans[2]]


def test_a_row_that_is_named_comes_before_what_names_it_not() -> None:
    """A sentence about another price is no answer; one that says more of what is asked for is."""
    basic, plus = table("Basic | 149 kr | 2", "Plus | 299 kr | 5")
    text = "Freezing costs 49 kr."
    snippet = Snippet(file="kb/a.md", text=text, first=9, last=9, plain_text=text, headings=("Plans",))
    freezing = Hit(snippet, Passage("kb/a.md", ("Plans",), "en", (snippet,)), 0.95)
    assert choose_quotes([freezing, basic, plus], "What does Plus cost?") == [plus, freezing]
    assert choose_quotes([freezing, basic, plus], "What does freezing of plans cost?")[0] == freezing
    assert choose_quotes([freezing, plus], "What does freezing cost with Plus?")[0] == freezing


def test_an_answer_quotes_rows_in_the_words_of_the_question() -> None:
    """In the language of the documents."""
    rows = table("Bas | 149 kr | 2", head="Nivå | Pris per månad | Användare", lang="sv")
    assert compose_answer(rows, "sv", "Vad kostar Bas?") == "Ur ”Plans”:\n- Bas: 149 kr per månad"
