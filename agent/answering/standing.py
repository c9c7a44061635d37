"""Keeps the supported sentences of a draft that failed: those without an unsupported number.

Leaving sentences out moves others together, so the rest is verified anew. It is worth sending only when it still claims
something: a greeting and a lead-in are no answer.
"""

from collections.abc import Sequence

from ..grounding.binding import Binding, names_of
from ..grounding.verify import Verdict, verify
from ..ports.brain import Confidence, VerifiedText
from ..ports.search import Hit, Snippet
from ..text.sentences import find_line_sentences

_WORDS = 2  # of the evidence that a sentence without a number must hold to claim something


def verify_standing(
    verdict: Verdict,
    hits: Sequence[Hit],
    *,
    confidence: Confidence | None = None,
    binding: Binding = "off",
) -> VerifiedText | None:
    """Return the supported sentences of a refused draft, or `None` when no claim is among them.

    `hits`: the evidence of `verdict`. `confidence`: of the text; `None` computes it.
    `binding`: as in `agent.grounding.verify.verify`.
    """
    kept: list[str] = []
    claims = False
    for start, end in _cut_sentences(verdict.said):
        inside = [each for each in verdict.checks if each.start < end and each.end > start]
        if any(each.supported_by is None for each in inside):
            continue
        sentence = verdict.said[start:end]
        kept.append(sentence)
        claims = claims or bool(inside) or _makes_claim(sentence, verdict.citations)
    if not claims:
        return None
    return verify("".join(kept).strip(), hits, confidence=confidence, binding=binding).text


def _cut_sentences(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the sentences of `text`, each with the white space after it."""
    starts = [start for start, _ in find_line_sentences(text)]
    return list(zip([0, *starts[1:]], [*starts[1:], len(text)], strict=True))


def _makes_claim(sentence: str, citations: Sequence[Snippet]) -> bool:
    """Tell whether a sentence without a number makes a claim that `citations` are about; a question makes none."""
    if sentence.rstrip().endswith(("?", ":")):
        return False
    held = frozenset().union(*[names_of(each.text) for each in citations])
    return len(names_of(sentence) & held) >= _WORDS
