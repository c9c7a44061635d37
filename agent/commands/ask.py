"""`agent ask`: one question to a server; or with --explain to the same brain in this process, which says why.

Strategy: why an answer is what it is holds what was refused, which no client may be told. So it is not asked of a
server: the documents are read here, by who can read them anyway, and the question takes the same way as there, from the
same settings, to this terminal.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import trio
from cyclopts import Parameter

from .. import log
from ..client import chat as terminal
from ..client.client import DEFAULT_URL, CannotConnect, connect
from ..client.telling import after, closing
from ..compose.adapters import Adapters
from ..compose.answering import AnswerSources, open_answering
from ..compose.knowledge import make_knowledge
from ..errors import UsageError, WireClosed
from ..ports.brain import Question, Refused, TurnEvent, Verified
from ..ports.search import Lang
from ..retrieval.foreign import foreign_files
from ..server.metrics import Metrics
from ..session.turns import citations
from ..text.terminal import printable, printable_line
from .output import FAILED, OK, REFUSED, complain, write
from .settings import read_settings
from .talk import Secret, Url


async def ask(
    *question: str,
    url: Url = DEFAULT_URL,
    token: Secret = None,
    lang: Lang | None = None,
    explain: Annotated[bool, Parameter(negative=())] = False,
    kb: Path | None = None,
) -> int:
    """Ask one question, in quotes or as plain words, and print the answer and its sources.

    Exit status: 0 answered, 3 refused, 1 no answer.

    Example: agent ask what does the standard plan cost

    Parameters
    ----------
    lang
        Language of the answer; without it, the question's own words tell.
    explain
        Answer here, without a server, with the settings that agent serve would have, and print why: query, sections
        with scores, drafts, each number with what holds it or is nearest. A server tells that to no client, only to
        its own log with --log-level debug.
    kb
        Folder of the documents for --explain.
    """
    text = " ".join(question).strip()
    if not text:
        raise UsageError('there is no question: agent ask "What does it cost?"')
    if explain:
        return await _explained(text, lang, kb)
    if kb is not None:
        raise UsageError(
            "--kb goes with --explain: a server answers from the documents that it was started with"
        )
    try:
        async with connect(url, token) as client:
            return await terminal.ask(client, text, write, complain, lang)
    except CannotConnect as error:
        complain(str(error))
    except WireClosed as closed:
        complain(closing(closed.code))
    return FAILED


async def _explained(text: str, lang: Lang | None, kb: Path | None) -> int:
    """Answer a question in this process, and print why on the way."""
    settings = read_settings([] if kb is None else ["--kb", str(kb)])
    log.configure("console", "warning")
    said: list[Verified | Refused] = []

    def hear(event: TurnEvent) -> None:
        if isinstance(event, Verified | Refused):
            said.append(event)

    with foreign_files() as foreign:
        adapters = Adapters()
        knowledge = make_knowledge(settings=settings, adapters=adapters, foreign=foreign)
        async with open_answering(
            settings=settings,
            adapters=adapters,
            observer=Metrics(),
            sources=AnswerSources(knowledge=knowledge),
            explain=_tell,
        ) as answering:
            await knowledge.read()
            await answering.brain.answer(Question("1", text, lang, trio.current_time()), hear)
    texts = [event.text for event in said]
    blocked = texts[-1].blocked
    cited = msgspec.to_builtins(citations(texts))
    answer = {"citations": cited} | ({} if blocked is None else {"blocked": {"code": blocked.code}})
    answered = "".join(each.text for each in texts if each.blocked is None)
    gap = " " if answered and blocked is not None and not answered[-1].isspace() else ""
    write("\n" + printable(answered + (gap + texts[-1].text if blocked is not None else "")) + "\n")
    write("".join(f"{line}\n" for line in after(answer)))
    return OK if blocked is None else REFUSED


def _tell(lines: Sequence[str]) -> None:
    write("".join(f"{printable_line(line)}\n" for line in lines))
