"""Sentence mode: what is said stands whatever follows, and an all-good draft is said as in whole mode."""

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.answering import sentences as under_test
from agent.answering.prompts import strip_ask_mark
from agent.answering.sentences import LEAST, LINE, SentenceStream
from agent.config import DRAFT_MAX
from agent.grounding import refusals
from agent.grounding.verify import check_numbers, verify
from agent.ports.brain import VerifiedText
from agent.ports.search import Hit, Passage, Snippet
from tests.examples import examples, sample

LINES = (
    "Standard costs 299 kr per month.",
    "Returns are free for 14 days, 9 | 99 in all.",
    "Call 08-123 45 67 between 09:00 and 17:00.",
    "Priset är 1,234 kr och 20 % rabatt i 24 månader.",
    "From 12 December 2025 it is 12.50 EUR, version 1.2.3.",
    "Delivery takes 3-5 days; fourteen shops, step 3.",
)
SNIPPETS = tuple(Snippet(file="kb/a.md", text=line, first=at, last=at) for at, line in enumerate(LINES, 1))
PASSAGE = Passage("kb/a.md", ("A",), "en", SNIPPETS)
HITS = tuple(Hit(snippet, PASSAGE, 0.9 - index / 10) for index, snippet in enumerate(SNIPPETS))


def run(
    draft: str, cuts: Sequence[int] = (), hits: Sequence[Hit] = HITS
) -> tuple[SentenceStream, list[VerifiedText]]:
    """Feed a draft, cut at offsets, and check after each part what holds of what was said so far."""
    sentences = SentenceStream(hits, "en")
    said: list[VerifiedText] = []
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(draft)}), len(draft)]
    for start, end in itertools.pairwise(edges):
        new = sentences.feed(draft[start:end])
        said += new
        if new:
            stands(sentences, said, more=True)
        if sentences.failed_verdict is not None:
            break
    last = sentences.finish()
    said += [last] if last is not None else []
    stands(sentences, said, more=last is None)
    assert (last is None) is (sentences.failed_verdict is not None)
    return sentences, said


def stands(sentences: SentenceStream, said: Sequence[VerifiedText], more: bool) -> None:
    """Check the joined text against the merged citations, alone and, where `more` may follow, with each refusal."""
    joined = "".join(each.text for each in said)
    assert joined == sentences.sent_text
    cited = list(dict.fromkeys(snippet for each in said for snippet in each.citations))
    for ending in (
        ["", refusals.number_mismatch("en", (), ()).text, refusals.model_failed("en").text]
        if more and said
        else [""]
    ):
        gap = " " if ending and not joined[-1].isspace() else ""
        assert check_numbers(joined + gap + ending, cited, fill=0).is_supported, (joined, ending)


def pieces(draft: str, cuts: Sequence[int] = ()) -> list[str]:
    return [each.text for each in run(draft, cuts)[1]]


# --- marks of sources


@pytest.mark.parametrize("mark", [" [1]", " [1][2]", " [1, 2]", "[3]"])
def test_a_mark_of_a_source_belongs_to_the_sentence_before_it(mark: str) -> None:
    """Before or behind its full stop it keeps the sentence from nobody, and it is not sent."""
    for end in (f".{mark} ", f"{mark}. "):
        draft = f"Standard costs 299 kr per month{end}Returns are free for 14 days{end}It is so"
        assert let_go(draft) == ["Standard costs 299 kr per month. ", "Returns are free for 14 days. "], draft


# --- when a sentence is let go


def let_go(draft: str) -> list[str]:
    """What is said of a draft that is not complete."""
    sentences = SentenceStream(HITS, "en")
    return [text.text for delta in draft for text in sentences.feed(delta)]


def test_a_sentence_is_said_when_the_next_one_begins() -> None:
    """Not before: what follows its end might still carry it on."""
    draft = "The plan costs 299 kr. Returns"
    assert let_go(draft[:23]) == []
    assert let_go(draft[:24]) == ["The plan costs 299 kr. "]


@pytest.mark.parametrize(
    "draft",
    [
        "The plan costs around 299. 5",
        "The plan costs around 299.5",
        "It is fourteen days, i.e. F",
        "It takes 3 days or approx. f",
        "We are open from 9 a.m. M",
        "Return it within 14\n149",
        "Return it within 14\nF",
        "It is <b title='kr. N",
        "It is <!-- not yet. N",
        "See [our page of prices. N",
        "See [our page](a.html?b. N",
        "| Standard of Sweden. N | 9 | 99 |\n| ",
        "Det kostar hos oss 1,234 kr. The",
        "1. Open the big lid here. Now",
        "You open the big lid here.\n1. Now it is done.\n2. Then close it.\nAnd",
        "As we say in step 3 of it. Now",
        "Open the big lid, please. Step 1",
        "Open the big lid, please. St",
        "Yes. Now",
    ],
)
def test_what_may_still_grow_is_held_back(draft: str) -> None:
    """A run that digits, markup, a unit, a list or the other language may still change is not said."""
    assert not any(any(c.isdigit() for c in text) or "lid here" in text for text in let_go(draft))
    assert sum(map(len, let_go(draft))) <= len("Open the big lid, please. ") * ("lid" in draft)


def test_lines_of_a_list_and_rows_are_said_one_by_one() -> None:
    """A bullet, a heading or a row ends the line before it; so does a blank line."""
    draft = "# What the plans cost us\n- Standard costs 299 kr\n- Returns take 14 days\n\nAll of this is so"
    assert let_go(draft) == [
        "# What the plans cost us\n",
        "- Standard costs 299 kr\n",
        "- Returns take 14 days\n\n",
    ]
    rows = "| Standard of Sweden | 299 kr |\n| Returns of it | 14 days |\n| X"
    assert let_go(rows) == ["| Standard of Sweden | 299 kr |\n", "| Returns of it | 14 days |\n"]


QUOTED = (
    "From “Prices › Plans”:\n- Standard; Price: 299 kr; Returns: 14 days\n- Call; Phone: 08-123 45 67\n\n"
    "Standard costs 299 kr per month. Returns are free for 14 days.\n\nUr ”Support”:\n"
    "It is open between 09:00 and 17:00."
)


def test_quotes_keep_their_lines_and_paragraphs() -> None:
    """Leads, items and paragraphs are said one after the other, as they were drafted, wherever the draft is cut."""
    said = pieces(QUOTED, range(len(QUOTED)))
    assert "".join(said) == QUOTED
    assert said[0] == "From “Prices › Plans”:\n"
    assert len(said) >= 5
    assert "".join(pieces(QUOTED)) == QUOTED


def test_quotes_cite_what_each_piece_uses() -> None:
    """The citations of the pieces are together those of the whole."""
    _, said = run(QUOTED, range(len(QUOTED)))
    together = {snippet.first for text in said for snippet in text.citations}
    whole = verify(QUOTED, HITS).citations
    assert together >= {snippet.first for snippet in whole}
    assert {1, 2, 3} <= together


def test_a_number_that_either_language_reads_waits_for_its_line() -> None:
    """The words after it tell what it is."""
    line = "Priset är 1,234 kr för det. Och mer"
    assert let_go(line) == []
    assert let_go(line + " är det inte just nu.\nDet") == [line + " är det inte just nu.\n"]


def test_a_list_is_rendered_when_it_is_complete() -> None:
    """The markers of a list are bullets, as in whole mode, after sentences that were said before it."""
    draft = "You do it in this way. Look here:\n1. Pay 299 kr.\n2. Wait 14 days.\n3. As in step 2, pay."
    expected = verify(draft, HITS).said
    assert "".join(pieces(draft, range(len(draft)))) == expected
    assert "- Wait 14 days" in expected
    assert pieces(draft, range(len(draft)))[0] == "You do it in this way. "


# --- a sentence that does not stand


def test_a_sentence_that_fails_ends_it() -> None:
    """What was said before it stays; nothing after it is looked at."""
    sentences, said = run("The plan costs 299 kr. It is 349 kr in Norway. Returns are free.", range(99))
    assert [text.text for text in said] == ["The plan costs 299 kr. "]
    assert sentences.failed_verdict is not None
    assert [token.text for token in sentences.failed_verdict.refused] == ["349 kr"]
    assert sentences.feed(" More of it. And more.") == []
    assert sentences.finish() is None


def test_it_fails_as_soon_as_the_sentence_is_complete() -> None:
    """The rest of the draft is not waited for."""
    sentences = SentenceStream(HITS, "en")
    assert sentences.feed("The plan costs 349 kr. It") == []
    assert sentences.failed_verdict is not None


def test_nothing_arises_at_a_joint() -> None:
    """Two words that stand alone and make another number together are not said one after the other."""
    for first, second in [
        ("tre t.o.m.", "Fem"),
        ("chapter\n\n", "V"),
        ("minus.", "Fourteen"),
        ("14\n- ", "Months"),
    ]:
        run(f"It is about some words {first} {second} and so on. Then more.", range(99))


def test_a_joint_that_cuts_a_number_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were a piece to end inside a number, each half would stand alone, and still neither is said as it is."""
    hits = with_snippet("It takes 9 days and costs 99 kr in all of our shops.")
    draft = "What you asked us about takes 9 99 kr in all of our shops. And more of it."

    calls = itertools.count()

    def inside(self: SentenceStream) -> int | None:
        assert next(calls) < 20, "the pieces do not end"
        at = self._unsent.find("9 99 kr")
        return at + 2 if at >= 0 else self._unsent.find("shops. ") + 7 if "shops. " in self._unsent else None

    monkeypatch.setattr(SentenceStream, "_find_next_end", inside)
    sentences = SentenceStream(hits, "en")
    said = "".join(text.text for text in sentences.feed(draft))
    assert check_numbers("What you asked us about takes 9 ", [hits[0].snippet]).is_supported
    assert check_numbers("99 kr in all of our shops. ", [hits[0].snippet]).is_supported
    assert "99" not in said
    assert sentences.finish() is None


def test_a_refusal_does_not_make_a_number() -> None:
    """ "chapter" and the refusal's "I" would be a Roman numeral."""
    assert let_go("Read all of the chapter\n- And") in ([], ["Read all of the chapter\n"])
    run("Read all of the chapter\n- And it is 349 kr. Now", range(99))


ENGLISH = "The price of it is for you and of the plan that you have. "


def with_snippet(text: str) -> Sequence[Hit]:
    return (Hit(Snippet(file="kb/b.md", text=text, first=1, last=1), PASSAGE, 0.9),)


def test_the_line_that_was_begun_decides_what_a_number_is() -> None:
    """A number is read by the whole line's language: if that is not supported it fails, whatever it is by itself."""
    sentences, said = run(
        f"{ENGLISH}Det är väl 1,234 kr just nu.\nNext", range(99), with_snippet("1,2340 kr")
    )
    assert [text.text for text in said] == [ENGLISH]
    assert sentences.failed_verdict is not None


@pytest.mark.parametrize("end", ["", "\nNext of all the lines"])
def test_a_number_that_stands_in_its_line_only_is_not_said(end: str) -> None:
    """A piece must stand by itself too; this is where sentence mode refuses what whole mode says."""
    draft = f"{ENGLISH}Det är väl 1,234 kr just nu.{end}"
    hits = with_snippet("1234 kr")
    assert verify(draft, hits).text is not None
    sentences, said = run(draft, range(99), hits)
    assert [text.text for text in said] == [ENGLISH]
    assert sentences.failed_verdict is not None


def test_a_line_too_long_to_be_read_again_waits() -> None:
    """Its numbers that depend on its language are held back until the draft is complete."""
    line = ENGLISH * (LINE // len(ENGLISH) + 1)
    sentences = SentenceStream(with_snippet("1,234 kr"), "en")
    assert "".join(text.text for text in sentences.feed(f"{line}It is 1,234 kr.\nNext of it. More")) == line
    assert sentences.finish() is not None


def test_the_numbers_of_a_draft_are_bounded_over_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """More numbers than are read of one text are not said piece by piece either."""
    monkeypatch.setattr(under_test, "TOO_MANY", 50)
    sentences, said = run("It is 299 kr or 14 days, truly so. " * 60, range(0, 2000, 30))
    assert sentences.failed_verdict is not None
    assert sum(len(check_numbers(text.text, SNIPPETS).checks) for text in said) == 50


def test_citations_that_serve_again_are_taken_again() -> None:
    """The second sentence cites what the first one did, where that holds its numbers."""
    twice = (*HITS, Hit(Snippet(file="kb/b.md", text="299 kr and 17:00", first=1, last=1), PASSAGE, 0.1))
    _, said = run("The plan costs 299 kr. Open until 17:00 for that. The price is 299 kr. Bye", (), twice)
    merged = {snippet for text in said for snippet in text.citations}
    assert len(merged) <= 4


def test_a_question_back_has_no_mark_and_is_not_sure() -> None:
    """The mark is taken off also where it is cut, and the last piece tells how sure it is."""
    _, said = run("ASK: Which of the plans do you mean? Is it Standard or another?", range(99))
    assert "".join(text.text for text in said) == "Which of the plans do you mean? Is it Standard or another?"
    assert said[-1].confidence == "low"


def test_the_confidence_is_that_of_the_whole() -> None:
    """The last piece is as sure as the same draft in whole mode."""
    draft = "The Standard plan costs 299 kr per month. Thank you very kindly, goodbye."
    whole = verify(draft, HITS).text
    assert whole is not None
    assert run(draft)[1][-1].confidence == whole.confidence


# --- for any draft

GOOD = (
    "Standard costs 299 kr per month.", "It is 14 days.", "Ring 08-123 45 67 nu!", "Open 09:00 to 17:00?", "Yes.",
    "Du får 20 % rabatt i 24 månader.", "Från 12 December 2025.", "The price is **12.50 EUR**.", "Fourteen shops…",
    "It takes 3-5 days", "- Standard: 299 kr", "- It is version 1.2.3", "| Standard | 299 kr | 20 % |",
    "## Our prices", "1. Pay 299 kr.", "2. Wait 14 days.", "As in step 3.", "Step 1: pay", "1) Now.",
    "Det är 1,234 kr.",
    "Say “299 kr.”", "See [14 days](a.md).", "<b>299 kr.</b>", "E.g. 14 days.", "We (the shop) open 9 a.m.",
)  # fmt: skip
BAD = (
    "It is 349 kr.",
    "Call 08-123 45 68.",
    "14 months",
    "Minus 14.",
    "chapter",
    "chapter V",
    "9",
    "149",
    "99",
    "0,5",
)
GLUE = (" ", " ", " ", "\n", "\n\n", "  ", "", "\u00a0", ". ", "\n- ", " | ", "**", "`", "\n1. ", "<!-- ",
        " -->", "ASK: ")  # fmt: skip
NOISE = st.text(st.sampled_from(list("019.,:-–|*_`<>()[]!? \n\t%kÅaIVX½²\u00a0\u200b\u0301&#;")), max_size=12)


def drafts(*parts: Sequence[str]) -> st.SearchStrategy[str]:
    part = st.sampled_from([each for some in parts for each in some])
    return st.lists(st.tuples(part, st.sampled_from(GLUE)), max_size=12).map(
        lambda pairs: "".join(text + glue for text, glue in pairs)
    )


CUTS = st.lists(st.integers(1, 400), max_size=30)


@settings(max_examples=examples(150), deadline=None)
@given(drafts(GOOD, BAD), NOISE, st.integers(0, 400), CUTS)
def test_what_is_said_stands_whatever_the_draft(draft: str, noise: str, at: int, cuts: list[int]) -> None:
    """At every moment the joined text passes as a whole on the merged citations, or the draft has failed."""
    run(draft[:at] + noise + draft[at:], cuts)


@settings(max_examples=examples(150), deadline=None)
@given(drafts(GOOD), CUTS)
def test_a_draft_that_stands_is_said_as_in_whole_mode(draft: str, cuts: list[int]) -> None:
    """The joined pieces are the text that whole mode says, character by character."""
    whole = verify(strip_ask_mark(draft), HITS)
    sentences, said = run(draft, cuts)
    if whole.text is None:
        assert sentences.failed_verdict is not None
    else:
        assert sentences.failed_verdict is None
        assert "".join(each.text for each in said) == whole.said


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.sampled_from(GOOD[:9]), min_size=1, max_size=30), CUTS)
def test_plain_sentences_that_stand_are_all_said(parts: list[str], cuts: list[int]) -> None:
    """Sentences with a space between them never fail, and each goes by itself when it is long enough."""
    draft = " ".join(parts)
    sentences, said = run(draft, cuts)
    assert sentences.failed_verdict is None
    assert "".join(each.text for each in said) == draft
    assert len(said) >= len(draft) // (3 * (LEAST + 20))


@pytest.mark.parametrize("sentence", sample(["1,234 Aa. ", "Ab c. ", "<a Aa. "], 3))
def test_time_is_linear_in_the_draft(sentence: str) -> None:
    """The longest drafts, of the shortest sentences and of one without an end, look at each character a few times."""
    draft = sentence * (DRAFT_MAX // len(sentence))
    sentences = SentenceStream(
        (Hit(Snippet(file="kb/a.md", text="1,234", first=1, last=1), PASSAGE, 0.9),), "en"
    )
    looked_at = 0
    tried = sentences._verify_piece

    def count(piece: str) -> VerifiedText | None:
        nonlocal looked_at
        looked_at += len(piece)
        return tried(piece)

    sentences._verify_piece = count  # type: ignore[method-assign]
    for at in range(0, len(draft), 7):
        sentences.feed(draft[at : at + 7])
    sentences.finish()
    assert looked_at <= 6 * len(draft)


@pytest.mark.parametrize("short", ["approx.", "ungefär t.ex.", "incl.", "J."])
def test_no_piece_ends_after_an_abbreviation(short: str) -> None:
    """Of any language: what it stands before belongs to it."""
    draft = f"The delivery to you takes {short} Lund and goes on. Then it is there."
    _, said = run(draft, range(1, len(draft)))
    assert [each.text for each in said] == [
        f"The delivery to you takes {short} Lund and goes on. ",
        "Then it is there.",
    ]
