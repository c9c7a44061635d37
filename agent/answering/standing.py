"""Keeps what stands of a draft that does not: its sentences without an unsupported number.

Leaving sentences out moves others together, so what is left is verified anew. It is worth sending only when it still
claims something: a greeting and a lead are no answer.
"""

import re
from collections.abc import Sequence

from ..grounding.binding import Binding
from ..grounding.verify import Verdict, verify
from ..ports.brain import Confidence, VerifiedText
from ..ports.search import Hit, Snippet
from ..text.words import FUNCTION_WORDS, words

_BORDER = re.compile(r"(?<=[.!?])[\"'”’»)*_]*[ \t]+(?=[^\W\d_])|\n+")
_WORDS = 2  # of the evidence that a sentence without a number must hold to claim something
_LETTERS = 4  # of such a word
_STEM = 5  # letters in which it must agree with one of the evidence
_GRAMMAR = frozenset().union(*FUNCTION_WORDS.values())


def standing(
    verdict: Verdict,
    hits: Sequence[Hit],
    *,
    confidence: Confidence | None = None,
    binding: Binding = "off",
    counts: bool = False,
) -> VerifiedText | None:
    """Return the sentences of a refused draft that stand, or None when no claim is among them.

    hits: the evidence that the verdict was made on. confidence: of the text; None works it out.
    binding, counts: as in `agent.grounding.verify.verify`.
    """
    kept: list[str] = []
    claims = False
    for start, end in _sentences(verdict.said):
        inside = [each for each in verdict.checks if each.start < end and each.end > start]
        if any(each.supported_by is None for each in inside):
            continue
        sentence = verdict.said[start:end]
        kept.append(sentence)
        claims = claims or bool(inside) or _claims(sentence, verdict.citations)
    if not claims:
        return None
    return verify("".join(kept).strip(), hits, confidence=confidence, binding=binding, counts=counts).text


def _sentences(text: str) -> list[tuple[int, int]]:
    """Return where the sentences of `text` begin and end, each with the white space after it."""
    ends = [match.end() for match in _BORDER.finditer(text)]
    return [(start, end) for start, end in zip([0, *ends], [*ends, len(text)], strict=True) if start < end]


def _claims(sentence: str, citations: Sequence[Snippet]) -> bool:
    """Tell whether a sentence without a number says something that the citations are about; a question does not."""
    if sentence.rstrip().endswith(("?", ":")):
        return False
    said = _stems(sentence)
    return len(said & {stem for each in citations for stem in _stems(each.text)}) >= _WORDS


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in words(text) if len(word) >= _LETTERS and word not in _GRAMMAR}
