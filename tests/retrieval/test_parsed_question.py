"""What a question asks: its subject, and the kind of thing that would answer it."""

from time import thread_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.ports.search import Lang
from agent.retrieval.parsed_question import WORDS_MAX, Kind, find_kinds, parse_question


@pytest.mark.parametrize(
    ("question", "lang", "words", "kind"),
    [
        ("What does the Standard plan cost?", "en", ["standard", "plan", "cost"], "money"),
        ("how much is premium", "en", ["premium"], "number"),
        ("How long is the return period?", "en", ["return", "period"], "time"),
        ("When do you open", "en", ["open"], "time"),
        ("How many sensors can I have?", "en", ["sensors"], "number"),
        ("Which year was it founded", "en", ["year", "founded"], "time"),
        ("Where is the shop?", "en", ["shop"], None),
        ("Vad kostar paketen?", "sv", ["kostar", "paketen"], "money"),
        ("Hur länge gäller garantin?", "sv", ["garantin"], "time"),
        ("När öppnar ni på lördag?", "sv", ["öppnar", "lördag"], "time"),
        ("hur många sensorer", "sv", ["sensorer"], "number"),
        ("Var ligger butiken", "sv", ["butiken"], None),
        ("price price PRICE", "en", ["price"], "money"),
        ("How long do I wait before I get my money?", "en", ["wait", "money"], "time"),
        ("Which form do I need when I sell?", "en", ["form", "sell"], None),
        ("We sold it. When do we pay?", "en", ["sold", "pay"], "time"),
        ("How many weeks of pay do I get?", "en", ["weeks", "pay"], "time"),
        ("How many euros are due?", "en", ["euros", "due"], "money"),
        ("How many offers cost nothing?", "en", ["offers", "cost"], "number"),
        ("How much of the price is tax?", "en", ["price", "tax"], "number"),
        ("What is the lowest salary?", "en", ["lowest", "salary"], "money"),
        ("Vilken blankett behövs när jag säljer?", "sv", ["blankett", "säljer"], None),
        ("Hur många år betalar jag?", "sv", ["år", "betalar"], "time"),
        ("Hur stor del av priset är skatt?", "sv", ["del", "priset", "skatt"], "number"),
        ("", "en", [], None),
    ],
)
def test_a_question_is_read(question: str, lang: Lang, words: list[str], kind: Kind | None) -> None:
    """Its words once each, folded, in order; question words say what kind of thing is wanted."""
    read = parse_question(question, lang)
    assert list(read.words) == words
    assert read.kind == kind


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("It costs 299 kr.", {"number", "money"}),
        ("It costs $5.", {"number", "money"}),
        ("Within 30 days.", {"number", "time"}),
        ("Within thirty days.", {"number", "time"}),
        ("tolv månader", {"number", "time"}),
        ("Opens at 08:00.", {"number", "time"}),
        ("Founded in 1998.", {"number", "time"}),
        ("From May 1 on.", {"number", "time"}),
        ("Senast den 31 oktober.", {"number", "time"}),
        ("Up to 12 sensors.", {"number"}),
        ("It costs many kronor, some say.", set()),
        ("The first one is free of charge.", set()),
        ("One of the first days.", set()),
        ("It costs kronor and takes days.", set()),
        ("Nothing of that.", set()),
        ("", set()),
    ],
)
def test_a_statement_holds_kinds_of_things(said: str, kinds: set[Kind]) -> None:
    """Money and time are numbers too; their words alone are neither."""
    assert find_kinds(said) == kinds


@given(st.text(max_size=100), st.sampled_from(["en", "sv"]))
def test_any_text_can_be_asked(question: str, lang: Lang) -> None:
    """What it takes is bounded."""
    read = parse_question(question * 30, lang)
    assert len(read.words) == len(set(read.words)) <= WORDS_MAX
    assert isinstance(find_kinds(question), frozenset)


def test_a_huge_question_is_read_in_part() -> None:
    """Its beginning says what it is about."""
    began = thread_time()
    read = parse_question("zebra " + " ".join(f"word{n}" for n in range(200_000)), "en")
    assert thread_time() - began < 0.2
    assert (read.words[0], len(read.words)) == ("zebra", WORDS_MAX)
