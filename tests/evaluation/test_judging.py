"""An answer is right when it holds the words, whole, and cites one of the lines."""

import pytest

from agent.evaluation.cases import Case, CasePlace
from agent.evaluation.figures import UncountedCase, collect_figures, describe_figures, judge_answer
from agent.evaluation.judging import cites_place, holds_answer, is_first_right, is_right
from agent.grounding.refusals import model_failed
from agent.ports.brain import VerifiedText
from agent.ports.search import Snippet

CASE = Case(
    id="1", question="q?", file="a.md", lines=(3, 4), answer=("49 kr",), also=(CasePlace("b.md", (9, 9)),)
)


def snippet(file: str = "kb/a.md", first: int = 4, last: int = 5, text: str = "It costs 49 kr.") -> Snippet:
    """A cited statement."""
    return Snippet(file=file, text=text, first=first, last=last)


def answer(text: str = "It costs 49 kr.", *cited: Snippet, at: tuple[int, int] = (0, 15)) -> VerifiedText:
    """An answer that cites."""
    citations = cited or (snippet(),)
    return VerifiedText(text=text, citations=citations, confidence="high", places=((at,),) * len(citations))


@pytest.mark.parametrize(
    ("text", "answers", "holds"),
    [
        ("It costs **49** kr.", ["49 kr"], True),
        ("It costs 49\u00a0KR!", ["49 kr"], True),
        ("It costs 149 kr.", ["49 kr"], False),
        ("It costs 3.49 kr.", ["49 kr"], False),
        ("It is 49,5.", ["49"], False),
        ("In Marchester.", ["march"], False),
        ("In march.", ["april", "march"], True),
        ("Anything.", ["", " "], False),
        ("don’t", ["don't"], True),
    ],
)
def test_an_answer_holds_words_whole(text: str, answers: list[str], holds: bool) -> None:
    """Not within a longer word or number, whatever its marks and spaces are; a blank one is no answer."""
    assert holds_answer(text, answers) is holds


@pytest.mark.parametrize(
    ("cited", "there"),
    [
        (snippet(first=4, last=9), True),
        (snippet(first=5, last=9), False),
        (snippet("a.md", 1, 3), True),
        (snippet("kb/b.md", 9, 9), True),
        (snippet("kb/c.md"), False),
    ],
)
def test_a_citation_has_a_line_of_its_places(cited: Snippet, there: bool) -> None:
    """In the file that is named, or beside it."""
    assert cites_place([cited], CASE) is there


def test_a_case_may_leave_its_place_open() -> None:
    """Without a file any citation will do, and without lines any of the file."""
    assert cites_place([], Case(question="q?", answer=("49",)))
    assert cites_place([snippet(first=99, last=99)], Case(question="q?", file="a.md"))
    assert not cites_place([], Case(question="q?", file="a.md"))


def test_the_first_statement_is_judged_by_itself() -> None:
    """By its own words and its own place; a text that quotes nothing has none."""
    late = answer("It is old. It costs 49 kr.", snippet("kb/c.md"), at=(0, 10))
    assert (is_first_right([answer()], CASE), is_first_right([late], CASE)) == (True, False)
    plain = VerifiedText(text="It costs 49 kr.", citations=(snippet(),), confidence="low")
    assert (is_first_right([plain], CASE), is_right([plain], CASE)) == (False, True)
    assert is_right([answer("It costs", at=(0, 8)), answer(" 49 kr.", at=(0, 7))], CASE)  # in parts


def test_figures_count_each_answer_once() -> None:
    """Right, wrong and refused; of what is not there a refusal is right; "high" by what it was worth."""
    off = Case(id="2", question="off?", kind="off")
    results = [
        judge_answer(CASE, 1, [answer()]),
        judge_answer(CASE, 2, [answer("It costs 59 kr.")]),
        judge_answer(CASE, 3, [answer(), model_failed("en")]),
        judge_answer(off, 4, [model_failed("en")]),
        judge_answer(off, 5, [answer()]),
    ]
    assert [each.judgement for each in results] == ["right", "wrong", "refused", "right", "wrong"]
    figures = collect_figures(results, [UncountedCase("9", 6)], 7, "mock", "kb")
    assert (figures.answerable, figures.right, figures.wrong, figures.refused, figures.first) == (
        3,
        1,
        1,
        1,
        1,
    )
    assert (figures.off_refused, figures.off_answered, figures.asked, figures.cases) == (1, 1, 5, 7)
    assert (figures.confidence["high"].answers, figures.confidence["high"].right) == (3, 1)
    assert (figures.refusals, figures.median_words) == ({"model_failed": 2}, 4)
    table = describe_figures(figures)
    assert table[0] == "5 of 7 cases were asked; the model is mock"
    assert table[2].split() == ["answerable", "3", *("33", "%") * 4]
    assert table[3].split() == ["no", "answer", "2", "50", "%", "50", "%"]
    assert '"high" was said of 3 answers, 1 of them right' in table
    none = describe_figures(collect_figures([], [], 0, "mock", "kb"))
    assert none[2].split() == ["answerable", "0", "-", "-", "-", "-"]
