"""The figures of many judged answers, as a record for programs and as a table for people."""

from collections import Counter
from collections.abc import Sequence
from statistics import median
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from ..ports.brain import Confidence, VerifiedText
from .cases import Case
from .judging import is_first_right, is_right

Judgement: TypeAlias = Literal["right", "wrong", "refused"]

_HIGHEST_FIRST: Final = tuple(reversed(get_args(Confidence)))


class JudgedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The judgement of the answer to a case. `line` is its line in its file. `refusal` is the code of a refusal.

    For a case that has no answer in the documents, `right` is a refusal and `wrong` an answer.
    """

    id: str
    line: int
    question: str
    off: bool
    judgement: Judgement
    first: bool
    confidence: Confidence | None
    words: int
    refusal: str | None
    answer: str


class UncountedCase(msgspec.Struct, frozen=True):
    """A case without an `answer`, with its line."""

    id: str
    line: int


class ConfidenceFigures(msgspec.Struct, frozen=True):
    """The answers with one confidence, and those of them that were right."""

    answers: int
    right: int


class EvaluationFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of one evaluation.

    `asked` counts the cases that were asked, of those in the file that can be (`cases`). `right`, `wrong`, `refused`
    and `first` are of the cases that have an answer; `off_refused` and `off_answered` of the others.
    """

    model: str
    kb: str
    cases: int
    asked: int
    answerable: int
    right: int
    wrong: int
    refused: int
    first: int
    off_refused: int
    off_answered: int
    median_words: float
    confidence: dict[str, ConfidenceFigures]
    refusals: dict[str, int]
    uncounted: tuple[UncountedCase, ...]
    results: tuple[JudgedAnswer, ...]


def judge_answer(case: Case, line: int, texts: Sequence[VerifiedText]) -> JudgedAnswer:
    """Return the judgement of a turn's texts; a refusal after some of them is a refusal."""
    last = texts[-1]
    text = "".join(each.text for each in texts)
    blocked = last.blocked
    answers = blocked is None and not case.is_off
    first, right = answers and is_first_right(texts, case), answers and is_right(texts, case)
    judgement: Judgement = "right" if right else "wrong"
    if blocked is not None:
        judgement = "right" if case.is_off else "refused"
    return JudgedAnswer(
        id=case.id,
        line=line,
        question=case.question,
        off=case.is_off,
        judgement=judgement,
        first=first,
        confidence=last.confidence if blocked is None else None,
        words=len(text.split()) if blocked is None else 0,
        refusal=None if blocked is None else blocked.code,
        answer=text,
    )


def collect_figures(
    results: Sequence[JudgedAnswer], uncounted: Sequence[UncountedCase], cases: int, model: str, kb: str
) -> EvaluationFigures:
    """Return the figures of `results`. `cases`: the number of cases that can be asked."""
    answerable = [each for each in results if not each.off]
    off = Counter(each.judgement for each in results if each.off)
    judgements = Counter(each.judgement for each in answerable)
    answered = [each for each in results if each.refusal is None]
    by_confidence = {name: [each for each in answered if each.confidence == name] for name in _HIGHEST_FIRST}
    return EvaluationFigures(
        model=model,
        kb=kb,
        cases=cases,
        asked=len(results),
        answerable=len(answerable),
        right=judgements["right"],
        wrong=judgements["wrong"],
        refused=judgements["refused"],
        first=sum(each.first for each in answerable),
        off_refused=off["right"],
        off_answered=off["wrong"],
        median_words=float(median([each.words for each in answered] or [0])),
        confidence={
            name: ConfidenceFigures(len(group), sum(each.judgement == "right" for each in group))
            for name, group in by_confidence.items()
        },
        refusals=dict(sorted(Counter(each.refusal for each in results if each.refusal).items())),
        uncounted=tuple(uncounted),
        results=tuple(results),
    )


def describe_figures(figures: EvaluationFigures) -> list[str]:
    """Return the lines of a table of `figures`."""
    number = figures.answerable
    shares = "  ".join(
        f"{_share(count, number):>7}"
        for count in (figures.right, figures.wrong, figures.refused, figures.first)
    )
    off = figures.off_refused + figures.off_answered
    high = figures.confidence["high"]
    lines = [
        f"{figures.asked} of {figures.cases} cases were asked; the model is {figures.model}",
        "               n    right    wrong  refused  right in the first statement",
        f"answerable  {number:4}  {shares}",
        f"no answer   {off:4}  {_share(figures.off_refused, off):>7}  {_share(figures.off_answered, off):>7}",
        f"an answer has {figures.median_words:g} words (median)",
        f'"high" was said of {high.answers} answers, {high.right} of them right',
        *(
            f'"{name}" was said of {of.answers} answers, {of.right} of them right'
            for name, of in figures.confidence.items()
            if name != "high" and of.answers
        ),
    ]
    if figures.refusals:
        codes = ", ".join(f"{code} {count}" for code, count in figures.refusals.items())
        lines.append(f"refusals: {codes}")
    return lines


def _share(count: int, of: int) -> str:
    return f"{100 * count / of:.0f} %" if of else "-"
