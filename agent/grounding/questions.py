"""What is said when an action lacks something: one fixed question after the answer, in a language's own words.

They hold no number and nothing of a user's or a model's, so they cite nothing.
"""

from collections.abc import Collection

from agent.lang import LANGUAGES, Lang
from agent.lang.language import table
from agent.ports.brain import VerifiedText

FIELDS = ("phone", "text", "subject")
"""What can be asked for, in the order of asking."""


def question(missing: Collection[str], lang: Lang) -> str:
    """Return the one question for all that is missing, by the names of fields; "" for nothing."""
    completing = LANGUAGES[lang].completing
    fields = [str(table(completing)[name]) for name in FIELDS if name in missing]
    return completing.question.format(fields=completing.joining.join(fields)) if fields else ""


def after(said: VerifiedText, missing: Collection[str], lang: Lang) -> VerifiedText:
    """Return what follows an answer that was said: the question, or nothing; as sure as that."""
    asked = question(missing, lang)
    return VerifiedText(f"\n\n{asked}" if asked else "", (), said.confidence, said.blocked)


def together(refusal: VerifiedText, missing: Collection[str], lang: Lang) -> VerifiedText:
    """Return a refusal with the question behind it."""
    behind = after(refusal, missing, lang)
    return VerifiedText(refusal.text + behind.text, refusal.citations, refusal.confidence, refusal.blocked)


def received(lang: Lang) -> VerifiedText:
    """Return what is said to a message that tells what was asked for, and nothing else."""
    return VerifiedText(LANGUAGES[lang].completing.received, (), "low")
