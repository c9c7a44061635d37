"""`agent ask`: puts one question to a server, or with `--explain` to the same brain in this process, with its reasons.

Strategy: the reasons of an answer hold refused drafts, which no client may see. So `--explain` does not ask a server:
it reads the documents here, with the rights of its own user, and takes the question the same way as there, from the
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
from ..client.client import DEFAULT_URL, connect
from ..client.descriptions import describe_close, describe_response, describe_suggestions, put_marks
from ..errors import CannotConnect, UsageError, WireClosed
from ..ports.brain import Question
from ..ports.search import Lang
from ..session.cited_sources import CitedSources
from ..text.terminal import printable_line
from .local_answers import collect_answer, open_local_answering
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

    An action that it asks for is suggested, and not done. Exit status: 0 answered, 3 refused, 1 no answer.

    Example: agent ask what does the standard plan cost

    Parameters
    ----------
    lang
        Language of the answer; by default that of the question.
    explain
        Answer here, without a server, with the settings that `agent serve` would have, and print the reasons: query,
        sections with scores, drafts, each number with its source or the nearest one. A server tells them to no
        client, only to its own log with `--log-level debug`.
    kb
        Folder of the documents for `--explain`.
    """
    text = " ".join(question).strip()
    if not text:
        raise UsageError('there is no question: agent ask "What does it cost?"')
    if explain:
        return await _answer_here(text, lang, kb)
    if kb is not None:
        raise UsageError(
            "--kb goes with --explain: a server answers from the documents that it was started with"
        )
    try:
        async with connect(url, token) as client:
            return await terminal.ask_once(client, text, write, complain, lang)
    except CannotConnect as error:
        complain(str(error))
    except WireClosed as closed:
        complain(describe_close(closed.code))
    return FAILED


async def _answer_here(text: str, lang: Lang | None, kb: Path | None) -> int:
    """Answer a question in this process, and print the reasons on the way."""
    settings = read_settings([] if kb is None else ["--kb", str(kb)])
    log.configure("console", "warning")
    async with open_local_answering(settings, _write_reasons) as answering:
        question = Question(id="1", text=text, lang=lang, at=trio.current_time(), wishes=())
        parts = await collect_answer(answering, question)
    texts = [part.text for part in parts]
    blocked = texts[-1].blocked
    sources = CitedSources()
    marked = [put_marks(each.text, sources.add_text(each)) for each in texts]
    cited = msgspec.to_builtins(sources.collect())
    answer = {"citations": cited} | ({} if blocked is None else {"blocked": {"code": blocked.code}})
    before = "".join(marked[:-1])
    gap = " " if blocked is not None and before and not before[-1].isspace() else ""
    write(f"\n{before}{gap}{marked[-1]}\n")
    proposed = [
        {"action": each.action, "payload": each.payload, "missing": each.missing}
        for each in parts[-1].proposals
    ]
    write("".join(f"{line}\n" for line in [*describe_response(answer), *describe_suggestions(proposed)]))
    return OK if blocked is None else REFUSED


def _write_reasons(lines: Sequence[str]) -> None:
    write("".join(f"{printable_line(line)}\n" for line in lines))
