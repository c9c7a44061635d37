"""The fixed texts around actions and calls: questions for missing fields, and confirmations, in the user's language.

They hold no number, and no words of a user or a model except the names of parameters without digits; so they cite
nothing.
"""

import re
from collections.abc import Collection
from dataclasses import replace

from agent.lang import LANGUAGES, Lang
from agent.lang.language import table
from agent.numbers.number_tokens import tokens
from agent.ports.brain import VerifiedText

NAMED = 3  # parameters that one question asks for
NAME = 80  # most characters of a parameter's name in a question
_HUMP = re.compile(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ])")  # "fiveHundred" is as good a number as "five hundred"
FIELDS = ("phone", "text", "subject")
"""Fields that can be asked for, in this order."""


def ask_missing(missing: Collection[str], lang: Lang) -> str:
    """Return one question for all fields in `missing`; "" when there are none."""
    completing = LANGUAGES[lang].completing
    fields = [str(table(completing)[name]) for name in FIELDS if name in missing]
    return completing.question.format(fields=completing.joining.join(fields)) if fields else ""


def follow_answer(said: VerifiedText, missing: Collection[str], lang: Lang) -> VerifiedText:
    """Return the text that follows the answer `said`: the question for `missing`, or "", with the same confidence."""
    asked = ask_missing(missing, lang)
    return replace(said, text=f"\n\n{asked}" if asked else "", citations=())


def join_refusal(refusal: VerifiedText, missing: Collection[str], lang: Lang) -> VerifiedText:
    """Return a refusal followed by the question for `missing`."""
    behind = follow_answer(refusal, missing, lang)
    return replace(refusal, text=refusal.text + behind.text)


def ask_parameters(names: Collection[str], lang: Lang) -> VerifiedText:
    """Return the question for parameters of a tool, by the names in its definition; a general one for no names.

    Names are written as words. A name with a digit is left out, since it could read as a number; so is a name of more
    than `NAME` characters, which may hold any text.
    """
    tooling = LANGUAGES[lang].tooling
    said = [
        _HUMP.sub(" ", name.replace("_", " ").replace("-", " ")).strip()
        for name in names
        if len(name) <= NAME
    ]
    plain = [name for name in said if name and all(each.isalpha() or each == " " for each in name)]
    plain = [name for name in plain if not tokens(name)][:NAMED]
    asked = tooling.question.format(names=tooling.joining.join(plain)) if plain else tooling.anything
    return VerifiedText(text=asked, citations=(), confidence=None)


def ask_approval(lang: Lang) -> VerifiedText:
    """Return the text beside an action that waits for approval, where there is no other verified text."""
    return VerifiedText(text=LANGUAGES[lang].tooling.confirm, citations=(), confidence=None)


def announce_hand_over(lang: Lang) -> VerifiedText:
    """Return the text beside a call that goes to the caller, for when the model's own text is not verified."""
    return VerifiedText(text=LANGUAGES[lang].tooling.hand_over, citations=(), confidence=None)


def acknowledge_details(lang: Lang) -> VerifiedText:
    """Return the answer to a message that only gives the fields that were asked for."""
    return VerifiedText(text=LANGUAGES[lang].completing.received, citations=(), confidence=None)
