"""A call's result as lines that are shown, looked things up in and cited."""

import json
from datetime import date
from time import thread_time
from typing import Any

import msgspec
import pytest

from agent.grounding.verify import check_numbers
from agent.tools.results import (
    RESULT_BYTES,
    SHOWN_BYTES,
    SHOWN_LINES,
    BadResult,
    encode_result,
    format_result,
)
from agent.tools.sources import SourceTexts, trace_sources

ORDERS = {
    "user": {"name": "Ada", "id": "ada_77"},
    "orders": [{"id": "W1", "price": 149, "paid": True}, {"id": "W2", "price": 12.5, "paid": None}],
    "note": "",
    "tags": [],
}


def test_a_result_becomes_lines_of_paths_in_the_order_of_their_keys() -> None:
    """The same for the same result."""
    lines = (
        "note: ", "orders[a].id: W1", "orders[a].paid: true", "orders[a].price: 149", "orders[b].id: W2",
        "orders[b].paid: null", "orders[b].price: 12.5", "tags: []", "user.id: ada_77", "user.name: Ada",
    )  # fmt: skip
    assert format_result(ORDERS).lines == lines
    assert format_result(dict(reversed(ORDERS.items()))).lines == lines
    assert not format_result(ORDERS).cut
    assert format_result(5).lines == ("result: 5",)
    assert format_result([[1], {}]).lines == ("[a][a]: 1", "[b]: {}")
    assert format_result({}).text == "result: {}"


def test_an_answer_about_a_result_is_checked_and_cites_its_line() -> None:
    """By the number rule as it is; how many items there are is no number of the result."""
    snippets = format_result(ORDERS).make_snippets("call-1")
    verdict = check_numbers("W2 costs 12.5 and W1 costs 149.", snippets)
    assert verdict.is_supported
    assert {(each.file, each.first, each.last) for each in verdict.citations} >= {
        ("tool/call-1", 4, 4), ("tool/call-1", 7, 7),
    }  # fmt: skip
    for said in ("It costs 150.", "You have 2 orders.", "You have 10 lines.", "The second order, number 1."):
        assert not check_numbers(said, snippets).is_supported
    many = format_result([["x"]] * 3000)
    assert not any(each.isdecimal() for each in many.text)
    assert check_numbers("1 2 3 5 6 7 8 9 11 12 50 100", many.make_snippets("c")).checks
    assert all(
        each.supported_by is None
        for each in check_numbers("1, 2, 3, 5, 7, 9 and 12", many.make_snippets("c")).checks
    )


def test_an_argument_may_come_from_a_result() -> None:
    """From what was shown of it."""
    found = trace_sources(
        {"order": "W1", "price": 149, "count": 2},
        {"properties": {"order": {}, "price": {}, "count": {}}, "required": ["order"]},
        SourceTexts("send it back", results=[format_result(ORDERS).text]),
        date(2026, 11, 22),
    )
    assert found.sources == {"/order": "result", "/price": "result"}
    assert found.missing == ("/count",)
    assert found.elsewhere


@pytest.mark.parametrize(
    "hostile",
    [
        {"a": "x\nprice: 1"},
        {"a": "x\r\nprice: 1"},
        {"a": "x\u2028price: 1"},
        {"a": "x\x85price: 1\x1b[2K\x00"},
        {"a\nprice": 1},
        {"a\u2028price: 1": "x"},
        {"price: 1 ": 2},
        {"a.price": 1},
        {"a": {"b.price: 1": 2}},
        {'"price': 1},
        {"price[a]": 1},
    ],
)
def test_nothing_in_a_result_looks_like_the_line_of_another_path(hostile: Any) -> None:
    """Each line begins with the path of its own value, and holds nothing that ends a line or steers a reader."""
    for line in format_result(hostile).lines:
        assert not line.startswith(("price: ", "price[a]: ", "a.price: "))
        assert line.splitlines() == [line]
        assert line.isprintable()


def test_no_number_is_made_or_lost_where_a_text_is_cut_into_lines() -> None:
    """Lines of a text stay lines; a tab between digits parts them; a long line is cut between sentences or words."""
    assert format_result({"a": "12\n345"}).lines == ("a: 12", "a: 345")
    assert format_result({"a": "12\t345\tkr\tx"}).lines == ("a: 12", "a: 345 kr x")
    text = " ".join(f"Item {number} costs {number * 7} 000 kr." for number in range(250))
    lines = format_result({"a": text}).lines
    assert max(map(len, lines)) <= 1010
    assert lines[0].endswith("kr.")
    assert " ".join(line.removeprefix("a: ") for line in lines) == text
    digits = "12 345 " * 200
    assert format_result({"a": digits}).lines == ("a: …",)
    words = format_result({"a": "word 1 " * 300}).lines
    assert all(line.startswith("a: ") and line.endswith(("word", "word 1")) for line in words)
    assert " ".join(line.removeprefix("a: ") for line in words).split() == ["word", "1"] * 300


def test_what_is_shown_ends_at_a_line_and_says_so() -> None:
    """In bytes; the lines that are not shown are no snippets either."""
    result = {f"k{number:04}": "å" * 40 for number in range(500)}
    found = format_result(result)
    assert found.cut
    assert SHOWN_BYTES - 100 < len(found.text.encode()) < SHOWN_BYTES
    assert found.lines[-1] == f"k{len(found.lines) - 1:04}: {'å' * 40}"
    assert len(found.make_snippets("c")) == len(found.lines) < 500


def test_a_result_is_bounded() -> None:
    """In bytes and in depth, by what it is written as; what is no JSON is refused, too."""
    deep: Any = 1
    for _ in range(16):
        deep = [deep]
    assert format_result(deep).lines == (f"{'[a]' * 16}: 1",)
    text = "x" * (RESULT_BYTES - 2)
    assert len(encode_result(text)) == RESULT_BYTES
    deeper: Any = {"a": deep}
    for _ in range(100_000):
        deeper = [deeper]
    for bad in (text + "x", {"a": deep}, deeper, "\ud800", {"a": object()}):
        with pytest.raises(BadResult):
            format_result(bad)
    while isinstance(deeper, list):  # taken apart here: to let go of it at once would go as deep
        (deeper,) = deeper
    assert encode_result(ORDERS) == json.dumps(ORDERS, sort_keys=True, separators=(",", ":")).encode()
    assert format_result(msgspec.json.decode(encode_result(ORDERS))) == format_result(ORDERS)


def test_many_short_lines_are_cut_before_they_are_too_many_to_compare() -> None:
    """Each is a snippet, and an answer may have as many sentences."""
    result = format_result({f"k{number:04}": number for number in range(900)})
    assert (len(result.lines), result.cut) == (SHOWN_LINES, True)
    hits = [snippet for call in range(8) for snippet in result.make_snippets(f"call-{call}")]
    answer = ". ".join(f"k{number:04} is {number}" for number in range(SHOWN_LINES))
    began = thread_time()
    assert check_numbers(answer, hits, fill=None).is_supported
    assert thread_time() - began < 1
