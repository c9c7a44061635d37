"""Where each argument of a call comes from, and which must be asked for."""

from datetime import date
from time import thread_time
from typing import Any

import pytest

from agent.ports.search import Snippet
from agent.tools.leaves import walk_leaves
from agent.tools.settings import ARGUMENT_NEEDS
from agent.tools.sources import SourcedLeaf, SourceTexts, SourceTrace, TooManySources, trace_sources
from agent.tools.texts import SourceText

SUNDAY = date(2026, 11, 22)


def parameters(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def traced(arguments: dict[str, Any], user: str = "", *, schema: Any = None, **others: Any) -> SourceTrace:
    schema = schema or parameters(**{name: {} for name in arguments})
    return trace_sources(arguments, schema, SourceTexts(user, **others), SUNDAY)


def source(value: Any, user: str = "", *, schema: Any = None, **others: Any) -> str | None:
    """The source of one required argument."""
    found = traced({"x": value}, user, schema=parameters(x=schema or {}), **others)
    assert [leaf.pointer for leaf in found.leaves] == ["/x"]
    return found.leaves[0].source


@pytest.mark.parametrize(
    ("value", "user"),
    [
        (2, "a table for two"),
        (2, "ett bord för två"),
        (1, "one ticket, please"),
        (1, "boka en plats"),
        (1234.5, "betala 1 234,50"),
        (10, "with 10 % off"),
        (149, "for $149"),
        (0.5, "half of it"),
        (-5, "set it to -5 degrees"),
        ("2 large pizzas", "two large pizzas"),
        ("14:00", "at 2 PM"),
        ("2026-12-24", "on December 24, 2026"),
        ("2026-12-24", "on 12/24/2026"),
        ("24/12/2026", "on 2026-12-24"),
        ("2026-12-24T18:00:00Z", "2026-12-24 at 6 pm"),
        ("2026-12-24 00:00:00", "2026-12-24"),
        ("2026-02-28", "in February 2026"),
        ("50kg", "50 kilograms"),
        ("456 Elm St, Oslo", "from 456 Elm Street"),
        (3, "move it to 2,3,4"),
        (18.07, "at 59.33,18.07"),
        (5, "5.0 points"),
        (1e-7, "0.0000001"),
    ],
)
def test_a_number_is_the_users_in_any_way_of_writing_it(value: Any, user: str) -> None:
    """It is read by type and value in both."""
    assert source(value, user) == "user"


@pytest.mark.parametrize(
    ("value", "user"),
    [
        (4, "some tickets"),
        (1, "a ticket"),
        (14, "order 149"),
        (12, "gate B12"),
        ("14 months", "14 days"),
        ("2026-12-25", "on 2026-12-24"),
        ("2026-12-24", "in 2026"),
        ("2026-12-24 18:00", "on 2026-12-24"),
        ("7C", "row 7"),
        ("seat 7C", "seat 7"),
        ("12k", "12"),
        ("12 large pizzas", "large pizzas"),
        (234, "1,234"),
        (10**400, "10"),
    ],
)
def test_a_number_that_no_source_repeats_is_asked_for(value: Any, user: str) -> None:
    """Whatever else of the value the user said."""
    assert source(value, user) is None


@pytest.mark.parametrize(
    ("value", "user"),
    [
        ("#W2378156", "my order is w2378156."),
        ("bob@x.se", "mail <BOB@x.se>, please"),
        ("https://x.se/a/b2", "see https://x.se/a/b2."),
        ("credit_card_951", "by credit_card_951"),
        ("3f2b8c1e-0000-4000-8000-a00000000001", "id: 3F2B8C1E-0000-4000-8000-A00000000001"),
        ("SEK", "in sek"),
        ("order W1", 'the order "W1"'),
        ("v2.3.1", "v2.3.1 of it"),
    ],
)
def test_an_identifier_is_the_users_letter_for_letter(value: str, user: str) -> None:
    """Case and what stands around it do not count."""
    assert source(value, user) == "user"


@pytest.mark.parametrize(
    ("value", "user"),
    [
        ("W237", "W2378156"),
        ("bob@x.se", "evil.bob@x.se"),
        ("bob@x.se", "bob@x.se.evil.org"),
        ("https://x.se/a", "https://x.se/a/b"),
        ("W12", "W-12"),
        ("SEK", "100 kronor"),
        ("USD", "SEKUSD"),
        ("12A", "12"),
        ("order W1", "my order"),
    ],
)
def test_an_identifier_that_stands_in_no_source_is_asked_for(value: str, user: str) -> None:
    """A part of a longer one, or one that looks alike, is another one."""
    assert source(value, user) is None


def test_words_share_one_content_word_with_a_source() -> None:
    """By its stem, in either language; words that only carry grammar count for nothing."""
    assert source("therapists in Oslo", "find me a therapist") == "user"
    assert source("böckerna", "en bok, två böcker") == "user"
    assert source("the movies of the year", "what of the weather") is None
    assert source("Great Britain", "what is it in GB?") == "user"
    assert source("me", "send it to me") == "user"
    assert source("you", "send it to me") is None
    assert source("北京", "帮我查北京天气") == "user"


def test_words_of_an_argument_that_may_be_left_out_need_no_source_and_its_numbers_do() -> None:
    """Nothing is asked for what the tool does without."""
    schema = {"type": "object", "properties": {"note": {}, "in": {}}, "required": ["in"]}
    assert traced({"note": "hurry"}, "", schema=schema).leaves == (SourcedLeaf("/note", "free"),)
    assert traced({"note": "hurry 7"}, "", schema=schema).missing == ("/note",)
    assert traced({"in": {"a": "hurry"}}, "", schema=schema).missing == ()


def test_what_says_nothing_needs_no_source_unless_it_must_be_said() -> None:
    """True, false and null are the schema's business."""
    assert [source(value) for value in (True, False, None)] == ["free"] * 3
    assert source("") is None
    assert source("  ") is None
    assert traced({"x": ""}, schema={"properties": {"x": {}}}).missing == ()
    assert traced({"x": []}).leaves == ()


def test_a_value_that_the_schema_names_is_its_own_and_the_users_first() -> None:
    """An enum, a const or a default; an example is a model's temptation, and names nothing."""
    assert source("metric", schema={"enum": ["metric", "imperial"]}) == "schema"
    assert source("metric", "in metric units", schema={"enum": ["metric"]}) == "user"
    assert source(20, schema={"default": 20}) == "schema"
    assert source(21, schema={"default": 20}) is None
    assert source(1, schema={"default": True}) is None
    assert source("W1", schema={"const": "W1"}) == "schema"
    assert source("W1", schema={"examples": ["W1"], "description": "such as W1"}) is None
    assert source("W1", schema={"anyOf": [{"type": "null"}, {"enum": ["W1"]}]}) == "schema"
    assert traced({"x": [1, 2]}, schema=parameters(x={"default": [1, 2]})).missing == ()
    assert traced({"x": [1, 3]}, schema=parameters(x={"default": [1, 2]})).missing == ("/x/0", "/x/1")


def test_a_code_that_the_schema_explains_is_the_users_in_its_words() -> None:
    """All the words that say what it stands for, and none for another code."""
    said = {"description": "The province, such as 1 for Bangkok, 2 for Chiang Mai (3: Phuket)."}
    assert source(1, "a maid in Bangkok", schema=said) == "schema"
    assert source(3, "a maid in Phuket", schema=said) == "schema"
    assert source(2, "a maid in Bangkok", schema=said) is None
    assert source(2, "a maid in Chiang Rai", schema=said) is None
    assert source(1, "a maid", schema=said) is None
    assert source(1, "a maid", snippets=["Bangkok"], schema=said) is None
    assert source(5, "stars", schema={"description": "1 to 5 stars; 5"}) is None


def test_schemas_are_followed_through_references_and_no_further() -> None:
    """What is required must be so all the way down; a reference to itself ends."""
    schema = {
        "$ref": "#/$defs/top",
        "$defs": {
            "top": {"properties": {"in": {"$ref": "#/$defs/in"}}, "required": ["in"]},
            "in": {"properties": {"a": {}, "b": {"enum": ["Z9"]}}, "required": ["a"], "$ref": "#/$defs/in"},
        },
    }
    found = traced({"in": {"a": "word", "b": "Z9", "c/~": "Q7"}}, schema=schema)
    assert found.leaves == (
        SourcedLeaf("/in/a", None), SourcedLeaf("/in/b", "schema"), SourcedLeaf("/in/c~1~0", None),
    )  # fmt: skip
    deep: Any = "Q7"
    for _ in range(500):
        deep = [deep]
    assert len(traced({"x": deep}, "Q7").missing) == 1


def test_a_key_that_no_schema_names_is_data() -> None:
    """A count by article numbers is one of the user's article numbers."""
    schema = {"properties": {"x": {"additionalProperties": {"type": "integer"}}}, "required": ["x"]}
    assert traced({"x": {"A7": 2}}, "two of A7", schema=schema).missing == ()
    assert traced({"x": {"A8": 2}}, "two of A7", schema=schema).missing == ("/x/A8",)
    assert [leaf.names for leaf in walk_leaves({"x": {"A8": 2}}, schema)] == [("A8",)]


def test_the_source_is_the_least_trusted_that_is_needed() -> None:
    """Each kind before the next; of a value of two parts the weaker one."""
    snippet = Snippet(file="kb/a.md", text="Route K5", first=3, last=3, headings=("Line 77",))
    others = {
        "thread": ["M3"], "answers": ["N4"], "memory": ["K1 K2"], "snippets": [snippet, "K6"], "results": ["K3: K2"],
    }  # fmt: skip
    found = [source(value, "M1", **others) for value in ("M1", "M3", "N4", "K2", "K5", 77, "K6", "K3", "K9")]
    assert found == ["user", "thread", "thread", "memory", "snippet", "snippet", "snippet", "result", None]
    assert source("M1 K3", "M1", **others) == "result"
    assert source("M1 K9", "M1", **others) is None


def test_numbers_and_identifiers_that_only_others_say_are_told() -> None:
    """For whoever decides on approval: the user's words, now or before, are what counts, and the schema's are safe."""
    assert not traced({"x": "M1"}, "M1", snippets=["M1"]).elsewhere
    assert not traced({"x": "M1"}, "", thread=["M1"], results=["M1"]).elsewhere
    assert not traced({"x": "words"}, "", results=["some words"]).elsewhere
    assert not traced({"x": 7}, schema=parameters(x={"default": 7}), results=["7"]).elsewhere
    assert not traced({"x": 7}, "").elsewhere
    for where in ("memory", "snippets", "results", "answers"):
        assert traced({"x": "M1"}, "hello", **{where: ["M1"]}).elsewhere
        assert traced({"x": 7}, "hello", **{where: ["7"]}).elsewhere
    assert traced({"x": "M1", "y": "words"}, "words", results=["M1"]).sources == {
        "/x": "result",
        "/y": "user",
    }


@pytest.mark.parametrize(
    ("said", "days"),
    [
        ("today", "22"),
        ("i kväll", "22"),
        ("tomorrow", "23"),
        ("i morgon", "23"),
        ("the day after tomorrow", "24"),
        ("övermorgon", "24"),
        ("yesterday", "21"),
        ("on Friday", "27"),
        ("på fredag", "27"),
        ("next Friday", "27"),
        ("last Friday", "20 13"),
        ("i fredags", "20 13"),
        ("on Sunday", "22 29"),
        ("this Monday", "23 16"),
        ("next week", "23 29"),
        ("nästa vecka", "23 29"),
        ("last week", "09 15"),
        ("this weekend", "28 29 21 22"),
        ("in three days", "25"),
        ("om tre dagar", "25"),
        ("a week from now, or 1 week from now", "29"),
        ("two days ago", "20"),
        ("för två dagar sedan", "20"),
        ("on the 24th", "24"),
        ("November 24", "24"),
        ("this month", "01 30"),
    ],
)
def test_the_clock_gives_the_dates_that_the_users_words_mean(said: str, days: str) -> None:
    """Every one that people mean by them, and none beside."""
    meant = SourceText(said).dates_meant(SUNDAY)
    assert {date(2026, 11, int(day)) for day in days.split()} <= meant
    for day in range(1, 31):
        made = f"2026-11-{day:02}"
        assert source(made, said) == ("clock" if date(2026, 11, day) in meant else None)
    assert len(meant) <= 6


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("March 14th", "2027-03-14"),
        ("den 24 december", "2026-12-24"),
        ("February 29", "2028-02-29"),
        ("next month", "2026-12-31"),
        ("next year", "2027-01-01"),
        ("in two months", "2027-01-22"),
        ("om 3 år", "2029-11-22"),
        ("on the 14th", "2026-12-14"),
    ],
)
def test_a_date_without_a_year_takes_the_coming_one(said: str, value: str) -> None:
    """And a length of time leads into other months."""
    assert source(value, said) == "clock"
    assert source(value.replace("20", "19", 1), said) is None


def test_only_the_users_words_mean_dates() -> None:
    """What a document calls tomorrow is not what the user asked for; what the user said before is."""
    assert source("2026-11-23", "", snippets=["tomorrow"], results=["tomorrow"]) is None
    assert source("2026-11-23", "", answers=["tomorrow"]) is None
    assert source("2026-11-23", "", thread=["tomorrow"]) == "clock"
    assert not traced({"x": "2026-11-23"}, "tomorrow", results=["2026-11-23"]).elsewhere
    assert traced({"x": "2026-11-24"}, "tomorrow", results=["2026-11-24"]).elsewhere


def test_no_day_lies_beyond_the_calendar() -> None:
    """Lengths of time that lead out of it mean nothing, and break nothing."""
    text = SourceText(
        "in 9999 years, 9999 months ago, in 9999 weeks, last year, next month, on the 31st, in 0 days"
    )
    for today in (date.min, date.max, SUNDAY):
        assert all(isinstance(day, date) for day in text.dates_meant(today))


def test_one_more_result_is_read_beside_what_was_read() -> None:
    """The sources before it stay as they were."""
    before = SourceTexts("order it")
    after = before.with_result("order: W1")
    schema = parameters(x={})
    assert trace_sources({"x": "W1"}, schema, before, SUNDAY).missing == ("/x",)
    assert trace_sources({"x": "W1"}, schema, after, SUNDAY).sources == {"/x": "result"}


def test_many_arguments_among_long_sources_take_no_longer_than_reading_them() -> None:
    """Each look-up is one; nothing is searched for in a text again."""
    arguments = {"x": [f"A{number}" for number in range(ARGUMENT_NEEDS)]}
    schema = parameters(x={"items": {"description": "such as A1 for Lund, " * 500}})
    sources = SourceTexts("hello", results=["B1 \n" * 16_000, "last " * 12_000 + "week", "1,1," * 16_000])
    began = thread_time()
    assert len(trace_sources(arguments, schema, sources, SUNDAY).missing) == ARGUMENT_NEEDS
    assert thread_time() - began < 5


def test_a_long_text_is_cut_in_time_that_grows_as_it_does() -> None:
    """One argument of as many identifiers as fit holds up nobody."""
    text = "a1 " * 5000
    began = thread_time()
    with pytest.raises(TooManySources):
        traced({"x": text})
    with pytest.raises(TooManySources):
        traced({"x": "kl 12:30 W12 " * 1200})
    assert thread_time() - began < 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"x": [5] * (ARGUMENT_NEEDS + 1)},
        {"x": [[]] * 10 + [True] * (ARGUMENT_NEEDS + 1)},
        {"x": " ".join(f"A{number}" for number in range(ARGUMENT_NEEDS + 1))},
        {"x" * 8000: [5] * 5},
    ],
)
def test_what_would_be_too_much_to_show_is_not_looked_for(arguments: dict[str, Any]) -> None:
    """Its user is shown where each argument comes from, in one frame."""
    began = thread_time()
    with pytest.raises(TooManySources):
        traced(arguments, "5")
    assert thread_time() - began < 1


def test_what_was_said_is_looked_through_alone() -> None:
    """And everything can be read before it is looked through."""
    sources = SourceTexts("order it", thread=["for W3"], answers=["W4"], snippets=["W5"], results=["W6"])
    schema = parameters(x={})
    found = [
        trace_sources({"x": f"W{number}"}, schema, sources.conversation_only, SUNDAY)
        for number in (3, 4, 5, 6)
    ]
    assert [each.leaves[0].source for each in found] == ["thread", "thread", None, None]
    assert [each.elsewhere for each in found[:2]] == [False, True]
    assert list(sources.read_texts()) in ([2, 2], [8, 6, 2, 2, 2])
    assert list(sources.read_texts()) == []
