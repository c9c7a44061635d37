"""The texts that stand in for an answer; none ever repeats a number of a draft."""

from collections.abc import Sequence
from typing import Final

from agent.numbers.read import Token
from agent.ports.brain import Blocked, VerifiedText
from agent.ports.search import Hit, Lang, Snippet

from .citations import source_of
from .evidence import evidence_for

AT_MOST: Final = 3
"""Citations of a refusal."""

NO_SOURCES: Final[dict[Lang, str]] = {
    "en": "I couldn't find any references to this in the knowledge base",
    "sv": "Jag hittar inget stöd i kunskapsbasen.",
}
NUMBER_MISMATCH: Final[dict[Lang, str]] = {"en": "I cannot verify that", "sv": "Jag kan inte verifiera det."}
MODEL_FAILED: Final[dict[Lang, str]] = {
    "en": "I can't answer right now. Please try again.",
    "sv": "Jag kan inte svara just nu. Försök igen.",
}


def no_sources(lang: Lang) -> VerifiedText:
    """Return the refusal for a search that found nothing."""
    return VerifiedText(NO_SOURCES[lang], (), "low", Blocked("no_sources", "No sources found"))


def model_failed(lang: Lang) -> VerifiedText:
    """Return the refusal for a model that failed, timed out or said too much."""
    return VerifiedText(MODEL_FAILED[lang], (), "low", Blocked("model_failed", "The model gave no answer"))


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
        NUMBER_MISMATCH[lang],
        tuple(cited.values()),
        "low",
        Blocked("number_mismatch", "Verification failed: Number mismatch"),
    )
