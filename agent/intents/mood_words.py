"""The words that tell the mood of a keyword or a sentence, joined over languages.

A denial counts in every language, so its words are constants. The words of a request are joined for the languages of
the text (`find_mood_words`), since "i" is a subject in English and "in" in Swedish.
"""

import re
from collections.abc import Callable
from dataclasses import fields
from functools import cache
from typing import Any, Final

from ..lang import LANGUAGES
from ..lang.acting import Acting, Mood

_ACTING: Final = [language.acting for language in LANGUAGES.values()]


def join_languages(pick: Callable[[Acting], frozenset[str]]) -> frozenset[str]:
    """Return the words that `pick` returns of the record `Acting` of any language."""
    return frozenset().union(*map(pick, _ACTING))


NEGATORS: Final = join_languages(lambda each: each.negators)
EXCLUDERS: Final = join_languages(lambda each: each.excluders)
LATE_NEGATORS: Final = join_languages(lambda each: each.late_negators)
FOLLOWERS: Final = join_languages(lambda each: each.followers)
FILLERS: Final = join_languages(lambda each: each.fillers)
ASKING: Final = join_languages(lambda each: each.asking)
NEW_START: Final = join_languages(lambda each: each.new_start)
REACHING: Final = join_languages(lambda each: each.calling.reaching)


class MoodWords:
    """The words of some languages together.

    `mood`: each field of the record `Mood`, joined. `past`: matches a verb in the past. `subjects`: the speakers and
    all others. `question_openers`: the first words of a question. `governing`: words before a verb that make it
    something else than an order.
    """

    __slots__ = ("governing", "mood", "past", "question_openers", "subjects")

    def __init__(self, codes: frozenset[str]) -> None:
        self.mood = mood = _join_moods([LANGUAGES[code].acting.mood for code in sorted(codes)])
        self.past = re.compile(mood.past or "(?!)").fullmatch
        self.subjects = mood.speakers | mood.others
        self.question_openers = mood.asking | mood.inverting
        self.governing = self.subjects.union(
            mood.users, mood.objects, mood.modals, mood.inverting, mood.stating, mood.linking
        )


def _join_moods(moods: list[Mood]) -> Mood:
    """Return the record with the words, and the alternatives of the patterns, of all `moods`."""
    joined: dict[str, Any] = {}
    for field in fields(Mood):
        values = [getattr(mood, field.name) for mood in moods]
        if field.type is str:
            joined[field.name] = "|".join(f"(?:{pattern})" for pattern in values if pattern)
        else:
            joined[field.name] = frozenset().union(*values)
    return Mood(**joined)


@cache
def find_mood_words(codes: frozenset[str]) -> MoodWords:
    """Return the words of the languages `codes`."""
    return MoodWords(codes)


ANY_LANGUAGE: Final = find_mood_words(frozenset(LANGUAGES))
"""The words of all languages: of a text whose language is not asked."""
