"""Claims: a draft as single sentences, each with the snippets that should hold it.

The server renders text and citations from the claims that check out and drops the rest. A claim checks out when it
names evidence, all that it names exists, and each of its numbers stands in what it names. The rendered text is then
verified once more as a whole, on the evidence of its claims, so that no number arises where two of them meet.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import msgspec

from agent.numbers.number_tokens import NumberToken
from agent.ports.brain import VerifiedText
from agent.ports.search import Hit

from .binding import Binding
from .verify import Verdict, verify

CLAIMS: Final = 32
"""Claims of a draft."""
CLAIM: Final = 2000
"""Characters of a claim."""
EVIDENCE: Final = 16
"""Hits that a claim may name."""

_FENCE = re.compile(r"\A```[a-z]*\n(.*)\n```\Z", re.DOTALL)
_ENDED = re.compile(r"[.!?:…][\"'”’»)\]*_]*\Z")


class DraftClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One sentence of a draft. `evidence`: the numbers of the hits that hold it, from 1."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=CLAIM)]
    evidence: Annotated[tuple[Annotated[int, msgspec.Meta(ge=1)], ...], msgspec.Meta(max_length=EVIDENCE)]


@dataclass(frozen=True, slots=True)
class RenderedClaims:
    """The text of the claims that check out.

    `verdict`: on that text; `None` when no claim checks out. `dropped`: the texts of the other claims.
    `refused`: their numbers that the evidence they name does not hold.
    """

    verdict: Verdict | None
    dropped: tuple[str, ...]
    refused: tuple[NumberToken, ...]

    @property
    def text(self) -> VerifiedText | None:
        """The verified text, `None` when no claim checks out."""
        return self.verdict.text if self.verdict is not None else None


def parse_claims(draft: str) -> tuple[DraftClaim, ...] | None:
    """Return the claims of a draft: a JSON array of them, or one JSON object a line; `None` when it is neither.

    Strict: a field too many, too few or of another type, more than `CLAIMS` claims, or a claim over its own bounds
    makes the draft invalid. A code fence around the whole draft is taken off.
    """
    text = draft.strip()
    fenced = _FENCE.match(text)
    if fenced is not None:
        text = fenced[1].strip()
    try:
        if text.startswith("["):
            claims = msgspec.json.decode(text, type=tuple[DraftClaim, ...])
        else:
            lines = [line for line in text.split("\n") if line.strip()]
            claims = tuple([msgspec.json.decode(line, type=DraftClaim) for line in lines[: CLAIMS + 1]])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None
    return claims if len(claims) <= CLAIMS else None


def render_claims(
    claims: Sequence[DraftClaim],
    hits: Sequence[Hit],
    *,
    binding: Binding = "off",
) -> RenderedClaims:
    """Return the text of the claims that check out, in their order, as sentences of one paragraph.

    `hits`: the evidence in the order of the model's prompt, best first. `binding`: as in `verify`.
    White space within a claim becomes single spaces; a claim without an end gets a full stop.
    """
    said = ""
    verdict: Verdict | None = None
    named: set[int] = set()
    dropped: list[str] = []
    refused: list[NumberToken] = []
    for claim in claims:
        sentence = " ".join(claim.text.split())
        if sentence and not _ENDED.search(sentence):
            sentence += "."
        its = {number - 1 for number in claim.evidence}
        if not sentence or not its or max(its) >= len(hits):
            dropped.append(sentence)
            continue
        own = verify(sentence, [hits[index] for index in sorted(its)], binding=binding)
        joined = f"{said} {sentence}" if said else sentence
        whole = verify(joined, [hits[index] for index in sorted(named | its)], binding=binding)
        if own.text is None or whole.text is None:
            dropped.append(sentence)
            refused += own.refused or whole.refused
            continue
        said, verdict, named = joined, whole, named | its
    return RenderedClaims(verdict, tuple(dropped), tuple(refused))
