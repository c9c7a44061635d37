"""What is said when an action or a call lacks something: one fixed question, in a language's own words.

They hold no number and nothing of a user's or a model's but the names of parameters, without their digits; so they cite
nothing.
"""

import re
from collections.abc import Collection
from dataclasses import replace

from agent.lang import LANGUAGES, Lang
from agent.lang.language import table
from agent.numbers.read import tokens
from agent.ports.brain import VerifiedText

NAMED = 3  # parameters that one question asks for
NAME = 80  # characters of one that is named
_HUMP = re.compile(r"(?<=[a-zà-ÿ])(?=[A-ZÀ-Þ])")  # "fiveHundred" is as good a number as "five hundred"
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
    return replace(said, text=f"\n\n{asked}" if asked else "", citations=())


def together(refusal: VerifiedText, missing: Collection[str], lang: Lang) -> VerifiedText:
    """Return a refusal with the question behind it."""
    behind = after(refusal, missing, lang)
    return replace(refusal, text=refusal.text + behind.text)


def telling(names: Collection[str], lang: Lang) -> VerifiedText:
    """Return the question for parameters of a tool, by the names that its definition gives them; for none, for more.

    Names are written as words, and one that holds a digit is not named, since what it says could be a number; nor is
    one that is longer than a name, which may be anybody's.
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
    return VerifiedText(asked, (), "low")


def confirming(lang: Lang) -> VerifiedText:
    """Return what is said beside a call that waits for its user's word, where a model's own words do not stand."""
    return VerifiedText(LANGUAGES[lang].tooling.confirm, (), "low")


def handing_over(lang: Lang) -> VerifiedText:
    """Return what is said beside a call that goes to its caller, where a model's own words do not stand."""
    return VerifiedText(LANGUAGES[lang].tooling.hand_over, (), "low")


def received(lang: Lang) -> VerifiedText:
    """Return what is said to a message that tells what was asked for, and nothing else."""
    return VerifiedText(LANGUAGES[lang].completing.received, (), "low")
