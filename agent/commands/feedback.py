"""`agent feedback`: lists and exports the feedback on answers, and makes cases of it for `agent eval`.

Each command opens the data folder of a server, which may run meanwhile, and changes nothing in it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import App, Parameter

from ..config import MEMORY, USER_DATA
from ..errors import NotFound, StorageFailed, UsageError
from ..evaluation.cases import make_case
from ..host import WallClock, WorkerThreads
from ..log import silence_log
from ..ports.feedback import Feedback, Verdict
from ..ports.pages import Page, Window
from ..ports.projects import HOUSE
from ..server.api import views
from ..storage.open import LEDGER_FILE, explain_missing, is_kept, open_store
from ..storage.settings import StorageSettings
from ..storage.store import Store
from ..text.terminal import printable_line
from .memory_access import Data
from .output import OK, complain, write, write_line
from .paging import read_pages

_QUESTION = 60  # characters of a question in a list

command = App(
    name="feedback",
    help="List and export users' feedback on answers, and make cases of it for agent eval.\n\n"
    "Example: agent feedback list --verdict down",
)

ByVerdict = Annotated[Verdict | None, Parameter(help="Only with this verdict.")]
Project = Annotated[
    str | None, Parameter(help="Only of the project of this id; default is the operator's own.")
]
OneProject = Annotated[str, Parameter(help="Of the project of this id; by default the operator's own.")]
After = Annotated[
    int, Parameter(help="Only with a greater number, such as the last one of an earlier export.")
]

_encode = msgspec.json.Encoder().encode


@command.command(name="list", sort_key=1)
async def list_feedback(
    *, data: Data = USER_DATA, verdict: ByVerdict = None, project: Project = None, after: After = 0
) -> int:
    """List feedback, oldest first: number, day, verdict, user, question, and the user's words.

    Safe to use while servers run.

    Example: agent feedback list --verdict down
    """
    has_match = False
    async with _open(data, verdict, project, after) as found:
        async for each in found:
            has_match = True
            write(_line(each) + "\n")
    if not has_match:
        complain("there is no such feedback here: leave out a filter, or name another place with --data")
    return OK


@command.command(sort_key=2)
async def export(
    *, data: Data = USER_DATA, verdict: ByVerdict = None, project: Project = None, after: After = 0
) -> int:
    """Print feedback as JSON lines, with question, answer, evidence, confidence and model.

    The lines are those of GET /feedback/export.

    Example: agent feedback export > feedback.jsonl
    """
    async with _open(data, verdict, project, after) as found:
        async for each in found:
            write_line(_encode(views.feedback(each)))
    return OK


@command.command(sort_key=3)
async def cases(
    *, data: Data = USER_DATA, verdict: ByVerdict = "down", project: OneProject = HOUSE, after: After = 0
) -> int:
    """Print feedback as cases for `agent eval`, one JSON object a line.

    In each, write what a right answer holds into `answer`, such as ["49 kr"], and
    where it stands into `file` and `lines`, or set `kind` to off where the
    documents do not say it. `said` and `cited` show what the server answered. A
    question that was rated twice makes one case, the latest.

    Example: agent feedback cases > CASES.jsonl

    Parameters
    ----------
    verdict
        up makes cases of good answers, with the places that they cite.
    """
    latest: dict[str, Feedback] = {}
    async with _open(data, verdict, project, after) as found:
        async for each in found:
            latest[each.question] = each
    for each in sorted(latest.values(), key=lambda each: each.number):
        write_line(_encode(make_case(each)))
    return OK


@asynccontextmanager
async def _open(
    data: str, verdict: Verdict | None, project: str | None, after: int
) -> AsyncIterator[AsyncIterator[Feedback]]:
    """Open a data folder for a block; give its feedback. Raises `UsageError` with the remedy."""
    if data == MEMORY:
        raise UsageError("feedback in memory ends with its server: name the folder with --data DIR")
    threads, clock = WorkerThreads(1), WallClock()
    if not await is_kept(data, LEDGER_FILE, threads, clock):
        raise UsageError(explain_missing("feedback", data))
    try:
        with silence_log():
            async with open_store(StorageSettings(data), Path(), threads, clock) as store:
                yield _find(store, verdict, project, after)
    except NotFound:
        raise UsageError(f"there is no project {project}: leave --project out to see all of them") from None
    except StorageFailed as error:
        raise UsageError(f"{error}; put that right and try again") from None


async def _find(
    store: Store, verdict: Verdict | None, project: str | None, after: int
) -> AsyncIterator[Feedback]:
    """Yield the feedback of a project, or of all projects, one after the other."""
    named = () if project is None else (project,)
    for id in named or [each.id async for each in read_pages(store.projects.projects)]:

        async def load(window: Window, id: str = id) -> Page[Feedback]:
            return await store.feedback.feedback(id, Window(window.limit, max(window.after, after)), verdict)

        async for each in read_pages(load):
            yield each


def _line(each: Feedback) -> str:
    day = datetime.fromtimestamp(each.at / 1000, UTC).strftime("%Y-%m-%d")
    question = " ".join(each.question.split())
    if len(question) > _QUESTION:
        question = question[: _QUESTION - 1] + "…"
    refused = f" (refused: {each.blocked})" if each.blocked else ""
    said = f"  said: {' '.join(each.text.split())}" if each.text else ""
    return printable_line(
        f"{each.number:>5}  {day}  {each.verdict:<4}  {each.user or '-'}  {question}{refused}{said}"
    )
