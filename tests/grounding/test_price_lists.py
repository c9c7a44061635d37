"""Price lists in both languages: their facts may be said in every way, and at no other rate."""

import pytest

from agent.grounding.verify import check_numbers
from agent.ports.search import Snippet
from agent.retrieval.load import Skipped, SourceFile
from agent.retrieval.read import passages_of
from tests.bench.price_lists import answers, judged


def test_price_lists() -> None:
    """No number is told at another rate than its list says, and hardly a good answer is blocked."""
    blocked, passed = judged()
    assert passed == []
    assert len(blocked) <= 0.02 * sum(answer.right for answer in answers())


TABLES = {
    "pipes.md": "| Plan | Price (kr/month) |\n| --- | --- |\n| Basic | 149 |\n",
    "grid.rst": "+-------+------------------+\n| Plan  | Price (kr/month) |\n+=======+==================+\n"
    "| Basic | 149              |\n+-------+------------------+\n",
    "simple.rst": "======  ================\nPlan    Price (kr/month)\n======  ================\n"
    "Basic   149\n======  ================\n",
    "one_line.html": "<table><tr><th>Plan</th><th>Price (kr/month)</th></tr>"
    "<tr><td>Basic</td><td>149</td></tr></table>",
    "lines.html": "<table>\n<tr><th>Plan</th>\n<th>Price (kr/month)</th></tr>\n"
    "<tr><td>Basic</td>\n<td>149</td></tr>\n</table>",
}


@pytest.mark.parametrize("file", TABLES)
def test_a_header_says_what_its_column_is(file: str) -> None:
    """Whatever format a table is in, its header gives a bare number its currency and its rate."""
    read = passages_of(SourceFile(file, TABLES[file].encode()))
    assert not isinstance(read, Skipped)
    snippets = tuple([snippet for passage in read for snippet in passage.snippets])
    said = [
        check_numbers(f"Basic costs 149 {unit}", snippets).is_supported
        for unit in ("kr per month", "kr", "kr per year", "EUR")
    ]
    assert said == [True, True, False, False]


@pytest.mark.parametrize(
    ("heading", "rate"),
    [("Prices per month", "per year"), ("Årspriser", "i månaden"), ("Pris/dygn", "i veckan")],
)
def test_a_heading_states_a_rate(heading: str, rate: str) -> None:
    """A heading that says what its prices are per refuses them at another rate."""
    snippet = Snippet(file="kb/a.md", text="Basic: 149 kr", first=3, last=3, headings=("Plans", heading))
    assert [check_numbers(f"149 kr{said}", (snippet,)).is_supported for said in ("", f" {rate}")] == [
        True,
        False,
    ]


@pytest.mark.parametrize("heading", ["Input/output", "Plans/pricing", "Priser per den 1 maj", "Per Svensson"])
def test_a_heading_that_states_no_rate(heading: str) -> None:
    """A bar between words, and "per" before a date or in a name, are no rate."""
    snippet = Snippet(file="kb/a.md", text="Basic: 149 kr", first=3, last=3, headings=("Plans", heading))
    assert check_numbers("149 kr per month", (snippet,)).is_supported


@pytest.mark.parametrize(
    ("heading", "line", "answer"),
    [
        ("Prices in kr", "- Basic: 149", "Basic costs 149 kr"),
        ("Prices in kr per month", "- Basic: 149", "Basic costs 149 kr per month"),
        ("Plans (prices in kr per month)", "- Basic: 149", "Basic costs 149 kr a month"),
        ("Avgifter (kr)", "| Bas | 149 |", "Bas kostar 149 kr"),
        ("Priser i kronor", "Bas – 149,50", "Bas kostar 149,50 kr"),
        ("Rabatter i procent", "- Elever: 15", "Elever får 15 %"),
    ],
)
def test_a_heading_says_what_its_sums_are_in(heading: str, line: str, answer: str) -> None:
    """The one number of a line, at its end and behind a mark, is of what the heading says, and what it was."""
    under, alone = (
        Snippet(file="kb/a.md", text=line, first=3, last=3, headings=each)
        for each in (("Plans", heading), ("Plans",))
    )
    assert [check_numbers(answer, (each,)).is_supported for each in (under, alone)] == [True, False]
    number = line.strip("| ").split()[-1]
    assert check_numbers(f"{number} users", (under,)).is_supported


@pytest.mark.parametrize(
    ("heading", "line", "answer"),
    [
        ("Prices in kr", "- Basic: 149", "149 dollars"),
        ("Prices in kr per month", "- Basic: 149", "149 kr per year"),
        ("Prices in kr", "- Basic: 5 users", "5 kr"),
        ("Prices in kr", "| Basic | 5 | 149 |", "5 kr"),
        ("Prices in kr", "| Basic | 149 | 5 |", "5 kr"),
        ("Prices in kr", "Founded in 1998.", "1998 kr"),
        ("Prices in kr", "- Version: 5", "5 kr"),
        ("Prices in kr", "- Telephone: 112", "112 kr"),
        ("Prices in kr", "- Basic: 3-5", "5 kr"),
        ("Priser i Sverige", "- Bas: 149", "149 kr"),
        ("Kronor", "- Bas: 149", "149 kr"),
        ("Tider i dagar", "- Bas: 14", "14 kr"),
    ],
)
def test_a_heading_lends_no_more(heading: str, line: str, answer: str) -> None:
    """Not to what has a unit, stands beside another number or in a sentence, or has a label of its own."""
    assert not check_numbers(
        answer, (Snippet(file="kb/a.md", text=line, first=3, last=3, headings=("Plans", heading)),)
    ).is_supported
