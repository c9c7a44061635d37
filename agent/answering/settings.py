"""The settings of a turn: how a question is answered. Above them, the limits that modules of this room share."""

from dataclasses import dataclass
from typing import Literal

from ..config import HTTP_TIMEOUT, check, finite
from ..lang import DEFAULT, LANGUAGES, Lang, either

READ_AT_ONCE = 3_000  # characters of evidence whose numbers are read in one step: up to some 30 ms of CPU
DRAFTS = 2  # of a turn: the first, and one redraft when the first fails its verification


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSettings:
    """How a question is answered.

    Raises `agent.errors.UsageError`, one line that names the setting, when a value cannot work.

    Args:
        lang: Language of a refusal when the language of the question is unknown.
        turn_timeout: Seconds that one draft may take.
        verify: whole verifies an answer before it sends any of it. sentence sends each sentence once it is verified.
            Left out, it is sentence where a language model answers.
        binding: strict asks that each number stands in a row, list item or sentence of its source with a word that the
            answer's sentence names it by. off asks only that the number stands in the source.
        answer: Form of the model's draft: text, or claims (each with the snippets that hold it).
        evidence_tokens: Most tokens of snippets in a prompt (a token is about 3 characters). 0 is no limit.
        clarify: Let the model ask back when the snippets hold no answer.
    """

    lang: Lang = DEFAULT
    turn_timeout: float = 30.0
    verify: Literal["whole", "sentence"] | None = None
    binding: Literal["off", "strict"] = "off"
    answer: Literal["text", "claims"] = "text"
    evidence_tokens: int = 2000
    clarify: bool = True

    def __post_init__(self) -> None:
        """Check the ranges that the types cannot express."""
        check(
            finite(self.turn_timeout),
            (self.lang not in LANGUAGES, f"lang must be {either()}"),
            (self.turn_timeout <= 0, "turn-timeout must be positive"),
            (self.verify not in (None, "whole", "sentence"), "verify must be whole or sentence"),
            (self.binding not in ("off", "strict"), "binding must be off or strict"),
            (self.answer not in ("text", "claims"), "answer must be text or claims"),
            (
                self.answer == "claims" and self.verify == "sentence",
                "answer claims are verified whole: leave out --verify sentence",
            ),
            (self.evidence_tokens < 0, "evidence-tokens must not be negative"),
        )

    @property
    def limit(self) -> float:
        """The seconds that a turn may take: its drafts, each within `turn_timeout`, and all other work."""
        return DRAFTS * self.turn_timeout + HTTP_TIMEOUT
