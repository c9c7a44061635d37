"""What an answer without a model quotes, in which order, and that no number is made by putting quotes together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agent.grounding.verify import verify
from agent.lang import LANGUAGES
from agent.llm.wording import (
    LIKELY,
    LIKELY_SHORT,
    MEMORY_CHARS,
    MEMORY_ITEMS,
    QUOTE_CHARS,
    STATEMENTS,
    WORDS,
    choose_quotes,
    compose_answer,
)
from agent.numbers.number_tokens import tokens
from agent.ports.search import Hit, Lang, Passage, Snippet


def section(
    *said: str | tuple[str, str], headings: tuple[str, ...] = ("Plans",), lang: Lang = "en"
) -> list[Hit]:
    """Return hits on the statements of a section, in their order; (kind, words) for one that is no paragraph."""
    told = [("paragraph", each) if isinstance(each, str) else each for each in said]
    snippets = tuple(
        Snippet(
            file="kb/a.md",
            text=f"**{words}**",
            first=line,
            last=line,
            plain_text=words,
            kind=kind,
            headings=headings,
        )
        for line, (kind, words) in enumerate(told, 1)
    )
    passage = Passage("kb/a.md", headings, lang, snippets)
    return [Hit(snippet, passage, 0.9) for snippet in snippets]


# --- what is quoted


def test_the_best_is_quoted_however_long() -> None:
    """More than WORDS are quoted of the best statement only; a statement that is too long is passed over."""
    long = section("word " * 400)[0]
    assert choose_quotes([long, *section("Short.")]) == [long]
    first, middle, last = section("a " * 80, "b " * 80, "c " * 40)
    assert choose_quotes([first, middle, last]) == [first, last]
    assert WORDS == 130


def test_three_statements_are_quoted() -> None:
    """In the order of their rank, from one section or from three."""
    sections = [section(f"Statement {name} one.", f"Statement {name} two.") for name in "abcd"]
    best = [hits[0] for hits in sections]
    assert choose_quotes([*best, sections[1][1]]) == best[:STATEMENTS]
    assert choose_quotes([sections[0][1], sections[0][0], best[2], best[3]]) == [
        sections[0][1],
        best[0],
        best[2],
    ]


def test_a_statement_that_is_far_less_likely_is_not_quoted() -> None:
    """A short answer has room for one that may answer too, and for none where the search is sure of the best."""
    best, other, long = section("It costs 5 kr.", "Pay at once.", "Green or red. " * 17)
    likely, unlikely, beside = (
        best.score * share for share in (LIKELY + 0.01, LIKELY - 0.01, LIKELY_SHORT / 2)
    )
    assert choose_quotes([best, replace(other, score=likely)]) == [best, replace(other, score=likely)]
    assert choose_quotes([best, replace(other, score=unlikely)]) == [best, replace(other, score=unlikely)]
    assert choose_quotes([best, replace(other, score=beside)]) == [best]
    assert choose_quotes([best, replace(long, score=likely)]) == [best, replace(long, score=likely)]
    assert choose_quotes([best, replace(long, score=unlikely)]) == [best]


def test_the_statement_that_the_best_refers_to_stands_before_it() -> None:
    """Where it is as good as likely; the lines that the best leads into follow it, however they are ranked."""
    limit, each, other = section("The limit is 50 tokens.", "It counts for each call.", "Calls are logged.")
    assert choose_quotes([each, other, limit]) == [limit, each, other]
    lead, ours, theirs = section("There are two plans:", ("item", "Basic"), ("item", "Standard"))
    (best,) = section("Plans differ.", headings=("Top",))
    assert choose_quotes([lead, best, ours, replace(theirs, score=0.1)]) == [
        lead,
        ours,
        replace(theirs, score=0.1),
    ]


def test_what_speaks_of_another_thing_is_quoted_behind_it_or_not_at_all() -> None:
    """Behind another statement "she" would be another person; at the top of a section the heading names her."""
    head, she, nurse = section("Anna is the head.", "She has worked here since 2011.", "Eva vaccinates.")
    assert choose_quotes([nurse, she]) == [nurse]
    assert choose_quotes([nurse, she, head]) == [nurse, head, she]
    assert choose_quotes([nurse, replace(she, score=0.01), head]) == [nurse, head]
    assert choose_quotes([head, nurse, she]) == [head, she, nurse]
    assert choose_quotes([she, nurse]) == [she, nurse]
    parcel, lost = section("The parcel leaves at two.", "If it is late, write to us.")
    assert choose_quotes([nurse, lost]) == [nurse]
    assert choose_quotes([parcel, lost]) == [parcel, lost]
    limit, over = section("60 requests a minute are allowed.", "When you exceed that, it answers 429.")
    assert choose_quotes([nurse, over, limit]) == [nurse, limit, over]
    (first,) = section("She is in on Mondays.", headings=("Anna",))
    assert choose_quotes([nurse, first]) == [nurse, first]


@pytest.mark.parametrize(
    ("text", "headings", "is_aside"),
    [
        ("- [Prices](#prices)", ("Plans",), True),
        ("[Home](/) | [Prices](prices.md)", ("Plans",), True),
        ("See [prices](prices.md).", ("Plans",), False),
        ("It costs 5 kr.", ("Changes", "[1.2.0] 2024-05-01"), True),
        ("It costs 5 kr.", ("Changes", "v2.1"), True),
        ("It costs 5 kr.", ("Changes", "v3.4.0"), False),
        ("It costs 5 kr.", ("2024 prices",), False),
    ],
)
def test_links_and_other_versions_are_not_quoted_first(
    text: str, headings: tuple[str, ...], is_aside: bool
) -> None:
    """A list of links answers nothing, and neither do the notes of a version that the question does not name."""
    snippet = Snippet(file="kb/b.md", text=text, first=1, last=1, plain_text=text, headings=headings)
    hit = Hit(snippet, Passage("kb/b.md", headings, "en", (snippet,)), 0.9)
    (other,) = section("Prices rise.")
    question = "What does 3.4.0 cost?"
    assert choose_quotes([hit, other], question) == ([other, hit] if is_aside else [hit, other])
    assert choose_quotes([hit], question) == [hit]


def test_nothing_is_quoted_twice() -> None:
    """Of two statements with the same words, in one section or in two, the better one is quoted."""
    one, again = section("It costs 5 kr.", "it costs **5** kr")
    (other,) = section("It costs 5 kr!", headings=("Prices",))
    (another,) = section("It costs 6 kr.", headings=("Fees",))
    assert choose_quotes([one, again, other, another]) == [one, another]


def test_nothing_to_quote_is_said_without_a_number() -> None:
    """In the language of the question."""
    assert choose_quotes([]) == []
    assert [compose_answer([], lang) for lang in ("en", "sv")] == [
        "The pages I was given do not say.",
        "Sidorna jag fick säger inget om det.",
    ]
    assert not any(tokens(each.quoting.nothing) for each in LANGUAGES.values())


# --- how it is put


def test_the_best_statement_comes_first() -> None:
    """In the best section too; a statement that does not follow the one before it on its page is a paragraph."""
    one, two, three = section("First.", "Second.", "Third.")
    (other,) = section("Best.", headings=("Top",))
    assert (
        compose_answer([other, three, one], "en") == "From “Top”:\nBest.\n\nFrom “Plans”:\nThird.\n\nFirst."
    )
    assert compose_answer([two, three, other], "en").startswith("From “Plans”:\nSecond. Third.\n\n")


@pytest.mark.parametrize(
    "said",
    [
        ("It is so:", "Really."),
        ("So it is.", "idle is a word."),
        ("See Mr.", "Bond."),
        ("It is so.", "🏃 Run."),
    ],
)
def test_what_runs_on_is_a_sentence_of_its_own(said: tuple[str, str]) -> None:
    """One that would be read as a part of what stands before it, which another citation holds, begins a paragraph."""
    assert compose_answer(section(*said), "en") == "From “Plans”:\n" + "\n\n".join(said)


def test_rows_and_items_have_lines_of_their_own() -> None:
    """Sentences run on; a sentence after a list is a paragraph of its own, and so is code."""
    hits = section(
        "There are two.", ("row", "Basic; Price: 149 kr"), ("item", "Standard."), "Both last.", "Really.",
        ("code", "run it\nnow"), "Done.",
    )  # fmt: skip
    assert compose_answer(hits, "en") == (
        "From “Plans”:\nThere are two.\n- Basic; Price: 149 kr\n- Standard.\n\nBoth last. Really."
        "\n\nrun it\nnow\n\nDone."
    )


def test_a_statement_without_plain_words_is_quoted_as_it_stands() -> None:
    """A retriever need not tell what its snippets say."""
    snippet = Snippet(file="kb/a.md", text="It is *5 kr*.", first=1, last=1)
    assert compose_answer([Hit(snippet, Passage("kb/a.md", (), "en", (snippet,)), 0.9)], "sv").endswith(
        "It is *5 kr*."
    )


@pytest.mark.parametrize(
    ("headings", "lead"),
    [
        (("Page", "Prices", "Plans"), "From “Prices › Plans”:"),
        (("Page", "Plans"), "From “Page › Plans”:"),
        (("Page", "Prices 2025", "Plans"), "From “Page › Plans”:"),
        (("Page", "Plan B", "Step two"), "From “Page › Plan B”:"),
        (("Prices 2025",), "From our pages:"),
        ((), "From our pages:"),
    ],
)
def test_the_lead_names_two_headings_without_numbers(headings: tuple[str, ...], lead: str) -> None:
    """The innermost ones; what is added to quotes holds no number."""
    assert compose_answer(section("It is free.", headings=headings), "en") == f"{lead}\nIt is free."


def test_what_is_in_another_language_is_said() -> None:
    """Before the quotes and in the question's language, when nothing of them is in it."""
    swedish, english = section("Den är fri.", lang="sv"), section("It is free.", headings=("Fees",))
    assert (
        compose_answer(swedish, "en")
        == "I only found this on a page in Swedish.\n\nFrom “Plans”:\nDen är fri."
    )
    assert compose_answer(english, "sv").startswith("Jag hittade det här bara på en sida på engelska.\n")
    assert compose_answer([*swedish, *english], "en").startswith("From “Plans”:")


# --- what must not happen


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("row", "Open: 10.00-14.00"), "Dagen före stänger vi tidigare."),
        ("It is at most 14", "Days are counted from delivery."),
        ("We close on the 18.", "December is the month after."),
        ("It costs 2", "000 or more is paid for others."),
        (("code", "limit = 5"), ("code", "kr = 6")),
        ("It holds 3", ("item", "4 days")),
        (("item", "4"), ("item", "kr 5")),
    ],
)
def test_no_number_goes_on_in_the_next_statement(
    before: str | tuple[str, str], after: str | tuple[str, str]
) -> None:
    """Whatever follows a number, its answer is verified on the statements that it quotes."""
    hits = section(before, after)
    assert verify(compose_answer(hits, "en"), hits).refused == ()


TOKENS = st.sampled_from(
    ["5", "14", "2,5", "000", "kr", "Days", "dagar", "%", "-", "–", "and", "och", "of", "Till", "18.", "May", "maj",
     "12:30", "ends.", "at", "fem", "twenty", "two", "x", "1 000", "EUR", "halv", "hundra", "3-5", "Plan"]
)  # fmt: skip
QUOTATIONS = st.tuples(
    st.sampled_from(["paragraph", "item", "row", "code"]),
    st.lists(TOKENS, min_size=1, max_size=4).map(" ".join),
)


@given(st.lists(QUOTATIONS, min_size=1, max_size=4))
def test_quotes_of_anything_stand(said: list[tuple[str, str]]) -> None:
    """Numbers, units and small words in any order: what is quoted says no number that its snippets do not."""
    hits = [
        Hit(
            Snippet(
                file="kb/a.md",
                text=hit.snippet.plain_text,
                first=at,
                last=at,
                plain_text=hit.snippet.plain_text,
                kind=hit.snippet.kind,
            ),
            hit.passage,
            0.9,
        )
        for at, hit in enumerate(section(*said), 1)
    ]
    passage = Passage("kb/a.md", ("Plans",), "en", tuple(hit.snippet for hit in hits))
    quoted = [Hit(hit.snippet, passage, 0.9) for hit in hits]
    draft = compose_answer(quoted, "en")
    alone = [verify(compose_answer([each], "en"), [each]).refused for each in quoted]
    if not any(alone):
        assert verify(draft, quoted).refused == (), draft


# --- what is remembered


def told(id: str, text: str, lang: Lang = "en") -> Hit:
    snippet = Snippet(
        file=f"memory/{id}", text=text, first=1, last=1, plain_text=text, headings=("2026-05-03, user",)
    )
    return Hit(snippet, Passage(snippet.file, snippet.headings, lang, (snippet,)), 0.9)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_what_is_remembered_is_said_at_once_as_its_users_words(lang: Lang) -> None:
    """Under one lead, whatever days it is of; before the documents or after them, as the best of it is."""
    wall, door = told("i1", "The wall is white.", lang), told("t2", "So is the door.", lang)
    paint = section("Paint is sold.", lang=lang)
    lines = f"{LANGUAGES[lang].quoting.remembered}\n- The wall is white.\n- So is the door."
    assert compose_answer([*paint, wall, door], lang).endswith(f"Paint is sold.\n\n{lines}")
    first = compose_answer([wall, *paint, door], lang)
    assert first.startswith(f"{lines}\n\n")
    assert first.endswith("Paint is sold.")
    assert compose_answer([wall, *section("Till salu.", lang="sv")], "en").count("page in") == (lang != "en")


CODE, DOG = told("i1", "My gate code is 4711"), told("i2", "Remember that my dog is called Rex")
STORES = section("The store is in Street 45.", headings=("Stores",))
WORDED = section("A code word has 6 letters.", headings=("Alarm",))


@pytest.mark.parametrize(
    ("question", "read", "wanted"),
    [
        ("What is my gate code?", STORES, [CODE]),
        ("And what are the gate codes?", STORES, [CODE]),
        ("What is my dog called?", [], [DOG]),
        ("What is my gate code?", WORDED, [CODE, *WORDED]),
        ("Does a code word open the gate?", WORDED, [CODE, *WORDED]),
        ("How many letters has a code word?", WORDED, WORDED),
        ("Where is the store?", STORES, STORES),
        ("Which letters does the code have?", WORDED, [*WORDED, CODE]),
        ("What is this?", STORES, [*STORES, CODE, DOG]),
        ("When was the war?", [], []),
        ("Do you remember my name?", STORES, STORES),
        ("Can you tell me what my dog is called?", STORES, [DOG]),
        ("What is my gate code?", [*STORES, *section("No code. " * 90, headings=("Locks",))], [CODE]),
    ],
)
def test_of_what_is_remembered_only_what_fits_is_quoted(
    question: str, read: list[Hit], wanted: list[Hit]
) -> None:
    """Before the documents where it holds as many words of the question; alone where they hold hardly any."""
    assert choose_quotes([*read, CODE, DOG], question) == wanted


def test_all_that_is_remembered_is_quoted_where_nothing_else_is_asked_for() -> None:
    """As much of it as an answer quotes of documents."""
    much = [told(f"i{at}", f"My door {at} is {'x' * 90}") for at in range(20)]
    assert choose_quotes(much, "What do you remember about me?") == much[: QUOTE_CHARS // 103]
    assert choose_quotes(much, "What is the door?") == much[:MEMORY_ITEMS]


def test_much_that_fits_leaves_the_documents_their_place() -> None:
    """What is remembered has a bound of its own."""
    much = [told(f"t{at}", f"The code of door {at} is {'x' * 200}") for at in range(5)]
    read = section("A code is long. " * 40, headings=("Codes",))
    assert choose_quotes([*read, *much], "Which code?") == [much[0], *read]
    assert MEMORY_CHARS == 350
