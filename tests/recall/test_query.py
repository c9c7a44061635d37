"""Who, when and what a question asks."""

from datetime import UTC, date, datetime

import pytest

from agent.recall.query import read_query

SPEAKERS = ("user", "assistant", "Ann", "Ben Ode")
AT = int(datetime(2026, 5, 20, 12, tzinfo=UTC).timestamp() * 1000)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "lang", "by"),
    [
        ("What did Ann adopt?", "en", {"Ann"}),
        ("What is ben's job?", "en", {"Ben Ode"}),
        ("What did Ann tell Ben?", "en", {"Ann", "Ben Ode"}),
        ("When does my sprint end?", "en", {"user"}),
        ("What did you recommend for my garden?", "en", {"assistant"}),
        ("Can you remind me when it was?", "en", set()),
        ("Could you tell me what my budget is?", "en", {"user"}),
        ("Where is the office?", "en", set()),
        ("Vad heter Anns katt?", "sv", {"Ann"}),
        ("När slutar min kurs i maj?", "sv", {"user"}),
        ("Vad sa du i maj?", "sv", {"assistant"}),
        ("Var ligger kontoret i Lund?", "sv", set()),
        ("What did we decide about the database?", "en", set()),
        ("What have I told you about my phone?", "en", {"user"}),
        ("What did you tell me about my phone?", "en", {"assistant"}),
        ("Vad har jag sagt till dig om min telefon?", "sv", {"user"}),
        ("Vad sa du till mig om min telefon?", "sv", {"assistant"}),
    ],
)
def test_who_said_it_is_read(text: str, lang: str, by: set[str]) -> None:
    """By a name, by I, by you, whichever comes first; a request says nothing, nor another language's preposition."""
    assert read_query(text, lang, SPEAKERS, AT).speakers == by
    assert (
        read_query(text, lang, {*SPEAKERS, ""}, AT).speakers == by
    )  # where there are items, which nobody said


@pytest.mark.parametrize(
    ("text", "lang", "wanted"),
    [
        ("Do you remember my name?", "en", ("name",)),
        ("Can you remind me what the budget is", "en", ("budget",)),
        ("Kommer du ihåg vad min kod är?", "sv", ("kod",)),
        ("Do you remember?", "en", ("remember",)),
    ],
)
def test_what_only_asks_for_an_answer_is_not_looked_for(
    text: str, lang: str, wanted: tuple[str, ...]
) -> None:
    """Else "do you remember" finds all that somebody wanted remembered; but where there is nothing else."""
    assert read_query(text, lang, SPEAKERS, AT).words == wanted


def test_an_asker_has_a_name() -> None:
    """Then that is who "I" is, if he ever spoke."""
    assert read_query("what is my job", "en", SPEAKERS, AT, asker="Ann").speakers == {"Ann"}
    assert read_query("what is my job", "en", SPEAKERS, AT, asker="Eve").speakers == set()


@pytest.mark.parametrize(
    ("text", "lang", "fits", "not_at"),
    [
        ("what happened on May 3, 2026", "en", date(2026, 5, 3), date(2026, 6, 3)),
        ("what happened in May", "en", date(2024, 5, 9), date(2024, 6, 9)),
        ("what happened in August 2025", "en", date(2025, 8, 31), date(2026, 8, 1)),
        ("what did I do last week", "en", date(2026, 5, 11), date(2026, 5, 18)),
        ("what did I do last month", "en", date(2026, 4, 30), date(2026, 5, 1)),
        ("what did I say yesterday", "en", date(2026, 5, 19), date(2026, 5, 20)),
        ("what was 3 weeks ago", "en", date(2026, 4, 29), date(2026, 5, 20)),
        ("last friday", "en", date(2026, 5, 15), date(2026, 5, 14)),
        ("what was it in 2024", "en", date(2024, 1, 1), date(2023, 12, 31)),
        ("vad hände i maj", "sv", date(2020, 5, 1), date(2020, 6, 1)),
        ("vad gjorde jag förra året", "sv", date(2025, 12, 31), date(2026, 1, 1)),
        ("vad hände den 3 april 2026", "sv", date(2026, 4, 3), date(2026, 5, 3)),
    ],
)
def test_dates_are_read(text: str, lang: str, fits: date, not_at: date) -> None:
    """As such, and counted from now."""
    asked = read_query(text, lang, (), AT)
    times = [
        int(datetime(day.year, day.month, day.day, 8, tzinfo=UTC).timestamp() * 1000)
        for day in (fits, not_at)
    ]
    assert asked.has_dates
    assert asked.fit_time(times[0]) > 0
    assert asked.fit_time(times[1]) == 0


@pytest.mark.parametrize("text", ["may I go", "I may go", "they march on", "room 1984x", "what about 20,000"])
def test_what_is_no_date_is_none(text: str) -> None:
    """A verb, a part of a number."""
    assert not read_query(text, "en", (), AT).has_dates


def test_a_day_is_surer_than_its_month_and_a_year_least() -> None:
    """Of what was said then."""
    day = read_query("on 3 May 2026", "en", (), AT)
    at = [int(datetime(2026, 5, each, tzinfo=UTC).timestamp() * 1000) for each in (3, 9)]
    assert day.fit_time(at[0]) == 1
    assert 0 < read_query("in 2026", "en", (), AT).fit_time(at[0]) < day.fit_time(at[1]) < 1


def test_words_that_say_little_count_by_half_and_when_is_heard() -> None:
    """And at most 24 words are looked for."""
    asked = read_query("When did they find the paintings?", "en", (), AT, langs=("sv",))
    assert asked.asks_time
    assert asked.terms["find"] < asked.terms["painting"] == asked.terms["paint"] == 1
    assert len(read_query(" ".join(f"word{n}" for n in range(99)), "en", (), AT).words) == 24
    assert not read_query("What is it?", "en", (), AT).words
