"""The texts that stand in for an answer; none ever repeats a number of a draft. Their words are the language's."""

from collections.abc import Sequence
from typing import Final

from agent.lang import LANGUAGES, Lang
from agent.numbers.read import Token
from agent.ports.brain import Blocked, VerifiedText
from agent.ports.search import Hit, Snippet

from .citations import source_of
from .evidence import evidence_for

AT_MOST: Final = 3
"""Citations of a refusal."""


def no_sources(lang: Lang) -> VerifiedText:
    """Return the refusal for a search that found nothing."""
    return VerifiedText(
        LANGUAGES[lang].refusals.no_sources, (), "low", Blocked("no_sources", "No sources found")
    )


def model_failed(lang: Lang) -> VerifiedText:
    """Return the refusal for a model that failed, timed out or said too much."""
    return VerifiedText(
        LANGUAGES[lang].refusals.model_failed, (), "low", Blocked("model_failed", "The model gave no answer")
    )


def number_mismatch(lang: Lang, hits: Sequence[Hit], refused: Sequence[Token]) -> VerifiedText:
    """Return the refusal for a draft with numbers that its citations do not hold.

    hits: best first; the best `AT_MOST` are cited, without any that shows a refused number in any form.
    refused: the tokens that were not supported (`Verdict.refused`).
    """
    cited: dict[object, Snippet] = {}
    for hit in hits:
        if len(cited) == AT_MOST:
            break
        evidence = evidence_for(hit.snippet)
        if not any(evidence.repeats(token) for token in refused):
            cited.setdefault(source_of(hit.snippet), hit.snippet)
    return VerifiedText(
        LANGUAGES[lang].refusals.number_mismatch,
        tuple(cited.values()),
        "low",
        Blocked("number_mismatch", "Verification failed: Number mismatch"),
    )
