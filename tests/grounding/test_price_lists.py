"""Twenty price lists in both languages: their facts may be said in every way, and at no other rate."""

import pytest

from agent.grounding.verify import check
from agent.ports.search import Snippet
from agent.retrieval.load import Skipped, Source
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
    read = passages_of(Source(file, TABLES[file].encode()))
    assert not isinstance(read, Skipped)
    snippets = tuple([snippet for passage in read for snippet in passage.snippets])
    said = [
        check(f"Basic costs 149 {unit}", snippets).passed
        for unit in ("kr per month", "kr", "kr per year", "EUR")
    ]
    assert said == [True, True, False, False]


@pytest.mark.parametrize(
    ("heading", "rate"),
    [("Prices per month", "per year"), ("Årspriser", "i månaden"), ("Pris/dygn", "i veckan")],
)
def test_a_heading_states_a_rate(heading: str, rate: str) -> None:
    """A heading that says what its prices are per refuses them at another rate."""
    snippet = Snippet("kb/a.md", "Basic: 149 kr", 3, 3, headings=("Plans", heading))
    assert [check(f"149 kr{said}", (snippet,)).passed for said in ("", f" {rate}")] == [True, False]


@pytest.mark.parametrize("heading", ["Input/output", "Plans/pricing", "Priser per den 1 maj", "Per Svensson"])
def test_a_heading_that_states_no_rate(heading: str) -> None:
    """A bar between words, and "per" before a date or in a name, are no rate."""
    snippet = Snippet("kb/a.md", "Basic: 149 kr", 3, 3, headings=("Plans", heading))
    assert check("149 kr per month", (snippet,)).passed
