"""The settings of a turn: how a question is answered."""

from dataclasses import dataclass
from typing import Literal

from ..config import HTTP_TIMEOUT, check, finite
from ..lang import DEFAULT, LANGUAGES, Lang, either


@dataclass(frozen=True, slots=True)
class AnswerSettings:
    """How a question is answered.

    Raises `agent.errors.UsageError`, one line that names the setting, when a value cannot work.

    Args:
        lang: Language of a refusal when a question's own cannot be told.
        turn_timeout: Seconds that a draft may take.
        verify: whole holds an answer back until all of it is verified; sentence says each sentence once it is.
        binding: strict asks that each number stands in a row, list item or sentence of its source with a word that
            the answer's sentence names it by; off asks only that it stands there.
        own_counts: Lets a count in words stand that no source holds, when the answer itself lists as many items ("two
            ways: by card and by invoice").
        answer: What the model is asked for: text, or claims (each with the snippets that hold it).
        evidence_tokens: Size of the snippets a model is given, in tokens (about 3 characters); 0 is no limit.
        clarify: Let the model ask back when the snippets do not say.
        redrafts: How often a draft that does not stand is made again, 0 or 1.
        keep_standing: Keep the sentences that stand of a last draft that does not, instead of a refusal.
        confidence: Say how sure an answer is; off, every answer says low.
    """

    lang: Lang = DEFAULT
    turn_timeout: float = 30.0
    verify: Literal["whole", "sentence"] = "whole"
    binding: Literal["off", "strict"] = "off"
    own_counts: bool = False
    answer: Literal["text", "claims"] = "text"
    evidence_tokens: int = 2000
    clarify: bool = True
    redrafts: int = 1
    keep_standing: bool = False
    confidence: bool = True

    def __post_init__(self) -> None:
        """Check what the types cannot say."""
        check(
            finite(self.turn_timeout),
            (self.lang not in LANGUAGES, f"lang must be {either()}"),
            (self.turn_timeout <= 0, "turn-timeout must be positive"),
            (self.verify not in ("whole", "sentence"), "verify must be whole or sentence"),
            (self.binding not in ("off", "strict"), "binding must be off or strict"),
            (self.answer not in ("text", "claims"), "answer must be text or claims"),
            (
                self.answer == "claims" and self.verify == "sentence",
                "answer claims are verified whole: leave out --verify sentence",
            ),
            (self.evidence_tokens < 0, "evidence-tokens must not be negative"),
            (self.redrafts not in (0, 1), "redrafts must be 0 or 1"),
        )

    @property
    def limit(self) -> float:
        """How many seconds a turn may think: its drafts, each within its own limit, and all that is no draft."""
        return (1 + self.redrafts) * self.turn_timeout + HTTP_TIMEOUT
