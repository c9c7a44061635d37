"""`agent eval`: asks the questions of a file of cases of the operator's own documents, and judges the answers.

Strategy: the questions are answered in this process, as `agent serve` would with the same settings, so that no server
has to run and no memory or earlier message plays a part. A file with a bad line is refused before anything is asked.
"""

import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import trio
from cyclopts import Parameter

from .. import log
from ..errors import UsageError, find_cause
from ..evaluation.cases import Case
from ..evaluation.figures import (
    EvaluationFigures,
    JudgedAnswer,
    UncountedCase,
    collect_figures,
    describe_figures,
    judge_answer,
)
from ..ports.brain import Question
from ..settings import Settings
from ..text.terminal import printable_line
from .lines import read_lines
from .local_answers import collect_answer, open_local_answering
from .output import FAILED, OK, complain, write
from .settings import read_settings

_WANTED = (
    'write {"id": "...", "question": "...", "file": "a.md", "lines": [3, 4], "answer": ["..."]} on one line'
)
_SHOWN = 5  # incomplete cases that a message names


async def evaluate(
    cases: Path,
    *,
    kb: Path | None = None,
    model: str | None = None,
    base_url: str | None = None,
    json: Annotated[
        Path | None, Parameter(help="Also write the figures and each answer to this file.")
    ] = None,
) -> int:
    """Ask the questions of a file of cases, and print how many answers are right.

    Each line of the file is a case:
      {"id": "7", "question": "What does Basic cost?", "file": "prices.md",
       "lines": [3, 4], "answer": ["49 kr"]}
    An answer is right when it holds one of `answer` and cites one of these lines;
    without `file` the words alone count. A case with `"kind": "off"` has no answer
    in the documents, and is right when it is refused. A case whose `answer` is
    still empty, as `agent feedback cases` makes it, is named and not counted.

    Settings are those that `agent serve` would have here. Ctrl-C ends it, and prints
    the figures of the questions asked until then.

    Exit status: 0 all were asked; 1 it was ended before; 2 the file, or a setting,
    cannot be used, and nothing was asked.

    Example: agent eval CASES.jsonl --kb docs --json figures.json

    Parameters
    ----------
    cases
        File of JSON lines.
    kb
        Folder of the documents.
    model
        As for agent serve: mock, which quotes, or a language model.
    base_url
        Address of the language model.
    """
    countable, uncounted = _read_cases(cases)
    if json is not None and not json.absolute().parent.is_dir():
        raise UsageError(f"{json} cannot be written: there is no folder {json.absolute().parent}")
    given = {"--kb": kb, "--model": model, "--base-url": base_url}
    flags = [part for name, value in given.items() if value is not None for part in (name, str(value))]
    settings = read_settings(flags)
    log.configure("console", "error")
    results: list[JudgedAnswer] = []
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(_heed_interrupt, nursery.cancel_scope)
            await _ask_all(settings, countable, results)
            nursery.cancel_scope.cancel()
    except ExceptionGroup as failed:
        raise find_cause(failed) from None
    chosen = settings.model.model, str(settings.documents.kb)
    return _report(collect_figures(results, uncounted, len(countable), *chosen), json)


def _report(figures: EvaluationFigures, file: Path | None) -> int:
    """Print the table, write `file`, and return the exit status."""
    write("".join(f"{printable_line(line)}\n" for line in describe_figures(figures)))
    _name_uncounted(figures.uncounted)
    if failed := figures.refusals.get("model_failed"):
        complain(f"the model gave no answer to {failed} cases, which count as refused: agent doctor says why")
    if file is not None:
        try:
            file.write_bytes(msgspec.json.format(msgspec.json.encode(figures), indent=2) + b"\n")
        except OSError as error:
            complain(f"{file} was not written: {error.strerror or error}")
            return FAILED
    if figures.asked < figures.cases:
        complain(f"ended after {figures.asked} of {figures.cases} cases: the figures are of those")
        return FAILED
    return OK


def _read_cases(file: Path) -> tuple[list[tuple[int, Case]], list[UncountedCase]]:
    """Return the cases that can be asked, each with its line, and the others.

    Raises `UsageError`, one line with the place, for a bad line, and for a file without a case that can be asked.
    """
    countable: list[tuple[int, Case]] = []
    uncounted: list[UncountedCase] = []
    for place, case in read_lines([file], Case, _WANTED):
        line = int(place.rpartition(" ")[2])
        if case.is_complete:
            countable.append((line, case))
        else:
            uncounted.append(UncountedCase(case.id, line))
    if not countable:
        raise UsageError(
            f"{file} has no case that says what a right answer holds: write that into its answer, as a list of texts"
        )
    return countable, uncounted


def _name_uncounted(uncounted: Sequence[UncountedCase]) -> None:
    if uncounted:
        lines = ", ".join(str(each.line) for each in uncounted[:_SHOWN])
        more = ", ..." if len(uncounted) > _SHOWN else ""
        complain(
            f"{len(uncounted)} cases do not say what a right answer holds and were not counted: "
            f"write it into the answer of line {lines}{more}"
        )


async def _heed_interrupt(
    scope: trio.CancelScope, task_status: "trio.TaskStatus[None]" = trio.TASK_STATUS_IGNORED
) -> None:
    """Cancel `scope` at Ctrl-C."""
    with trio.open_signal_receiver(signal.SIGINT) as interrupts:
        task_status.started()
        async for _ in interrupts:
            scope.cancel()


async def _ask_all(
    settings: Settings, cases: Iterable[tuple[int, Case]], results: list[JudgedAnswer]
) -> None:
    """Ask each case, print its result, and add it to `results`."""
    async with open_local_answering(settings) as answering:
        for line, case in cases:
            question = Question(
                id=str(line), text=case.question, lang=case.lang, at=trio.current_time(), wishes=()
            )
            parts = await collect_answer(answering, question)
            judged = judge_answer(case, line, [part.text for part in parts])
            results.append(judged)
            write(printable_line(_describe(judged)) + "\n")


def _describe(judged: JudgedAnswer) -> str:
    sure = judged.confidence or judged.refusal or "-"
    return f"{judged.judgement:8} {sure:16} {judged.id or judged.line}  {judged.question}"
