"""The texts in place of an answer, in the user's language; none ever repeats a number of a draft."""

from collections.abc import Sequence
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.numbers.number_tokens import NumberToken
from agent.ports.brain import Blocked, MemoryNotice, VerifiedText
from agent.ports.search import Hit, Snippet

from .citations import source_of
from .evidence import evidence_for

AT_MOST: Final = 3
"""Citations of a refusal."""


def no_sources(lang: Lang, beside: MemoryNotice | None = None, unread: bool = False) -> VerifiedText:
    """Return the refusal for a search that found nothing.

    `beside`: the thing that was done beside the search, told first, since the user asked for it. `unread`: some of the
    memory could not be read, so it may hold an answer.
    """
    said = LANGUAGES[lang]
    leads = {"suggested": said.refusals.suggested, "noted": said.courtesies.noted}
    blocked, text = Blocked("no_sources", "No sources found"), said.refusals.no_sources
    if unread:
        blocked, text = Blocked("memory_unread", "Memory could not be read"), said.refusals.memory_unread
    return VerifiedText(
        text=f"{leads[beside]}\n\n{text}" if beside else text,
        citations=(),
        confidence="low",
        blocked=blocked,
        unread=unread,
    )


def model_failed(lang: Lang) -> VerifiedText:
    """Return the refusal for a model that failed, timed out or said too much."""
    return VerifiedText(
        text=LANGUAGES[lang].refusals.model_failed,
        citations=(),
        confidence="low",
        blocked=Blocked("model_failed", "The model gave no answer"),
    )


def number_mismatch(lang: Lang, hits: Sequence[Hit], refused: Sequence[NumberToken]) -> VerifiedText:
    """Return the refusal for a draft with numbers that its citations do not hold.

    `hits`: best first; the best `AT_MOST` are cited, without any that shows a refused number in any form.
    `refused`: the tokens that were not supported (`Verdict.refused`).
    """
    cited: dict[object, Snippet] = {}
    for hit in hits:
        if len(cited) == AT_MOST:
            break
        evidence = evidence_for(hit.snippet)
        if not any(evidence.repeats(token) for token in refused):
            cited.setdefault(source_of(hit.snippet), hit.snippet)
    return VerifiedText(
        text=LANGUAGES[lang].refusals.number_mismatch,
        citations=tuple(cited.values()),
        confidence="low",
        blocked=Blocked("number_mismatch", "Verification failed: Number mismatch"),
    )
