"""Reads the preferences and decisions that a clause states, by the words of one language.

Strategy: a clause begins with a verb of preferring, liking or deciding in the first person. A preference is about the
kind of thing ("window seats" are seats), a decision about its topic ("... for the logo"), else its subject. A choice
among things that were said or made in the conversation ("the second version") does not last, and proposes nothing.
"""

import re
from typing import Final

from ..lang import LANGUAGES, Lang
from ..ports.memory import ItemType
from ..text.words import FUNCTION_WORDS, split_words
from .clauses import Clause, ClauseOpening, ClauseProposal, compile_pattern
from .subjects import key_of, remove_numbers

_NEAR: Final = 40  # characters in which a choice is named


class PreferenceReader:
    """Reads preferences and decisions with the words of `lang`. `opening`: the words that may open a clause in it."""

    def __init__(self, lang: Lang, opening: ClauseOpening) -> None:
        say = self._say = LANGUAGES[lang].remembering
        self._lang = lang
        self._function = LANGUAGES[lang].writing.function_words
        self._opening = opening
        opened, timed = opening.plain, opening.timed
        self._preferring = compile_pattern(rf"{opened}(?P<said>(?:{say.preferring})\b\s*(?P<rest>.*))")
        self._liking = compile_pattern(rf"{opened}(?P<said>(?:{say.liking})\s+(?P<rest>.*))")
        self._habits = compile_pattern(rf"(?:{say.habits})\b")
        self._rather = compile_pattern(rf"(?<=\w)\s+(?:{say.rather})\s")
        self._deciding = compile_pattern(rf"{timed}(?P<said>(?:{say.deciding})\b\s*(?P<rest>.*))")
        self._linking = compile_pattern(rf"(?:(?:{say.no})\s+)?(?:(?:{say.linking})\s+)+")
        self._topic = compile_pattern(rf"\s(?:{say.topic})\s+(?P<topic>.+)")
        self._equals = compile_pattern(rf"\s+(?:{say.equals})\s")
        self._no = compile_pattern(rf"\b(?:{say.no})\b")

    def read_preference(self, clause: Clause) -> ClauseProposal | None:
        """Return the preference that `clause` states."""
        match = self._liking.match(clause.text)
        if match is not None:
            liked = re.split(r"[,;.!:–]", match["rest"])[0]
            first = split_words(liked)[:1]
            if not first or not first[0][0].isalpha():
                return None
            if first[0] in FUNCTION_WORDS and not self._habits.match(liked):
                return None
            return self._make_choice("preference", liked, remove_numbers(liked), clause, match)
        match = self._preferring.match(clause.text)
        if match is None or (self._no.match(match["rest"]) and not self._linking.match(match["rest"])):
            return None
        return self._make_choice(
            "preference", match["rest"], self._preferred_kind(match["rest"]), clause, match
        )

    def read_decision(self, clause: Clause) -> ClauseProposal | None:
        """Return the decision that `clause` tells of."""
        match = self._deciding.match(clause.text)
        if match is None or self._no.search(match["when"]):
            return None
        rest = match["rest"]
        linked = self._linking.match(rest)
        rest = rest[linked.end() :] if linked else rest
        topic = self._topic.search(rest)
        about = topic["topic"] if topic and self.has_subject(topic["topic"]) else self.find_subject(rest)
        return self._make_choice("decision", rest, about, clause, match)

    def find_subject(self, text: str) -> str:
        """Return the words before "is" in `text` where they name a thing, else all of it ("Ana has dogs")."""
        verb = self._equals.search(text)
        return (
            text[: verb.start()] if verb and self.has_subject(text[: verb.start()]) else remove_numbers(text)
        )

    def has_subject(self, about: str) -> bool:
        """Tell whether `about` names anything but numbers and words of grammar."""
        return bool(key_of(about, self._lang))

    def _preferred_kind(self, rest: str) -> str:
        """Return the kind of thing that is preferred ("window seats" are seats), both of two, or the activity."""
        linked = self._linking.match(rest)
        rest = remove_numbers(rest[linked.end() :] if linked else rest)
        rather = self._rather.search(rest)
        if rather is not None:
            return rest
        words = split_words(rest)
        content = [word for word in words if word not in self._function]
        if not content:
            return ""
        begins = words.index(content[0])
        of = next((at for at in range(begins, len(words)) if words[at] in self._function), len(words))
        kind = words[begins] if linked else words[of - 1]
        return " ".join([kind, *(word for word in words[of:] if word not in self._function)])

    def _make_choice(
        self, type: ItemType, of: str, about: str, clause: Clause, match: re.Match[str]
    ) -> ClauseProposal | None:
        """Return a choice about `about`; None for one of things that the conversation made ("the second version")."""
        if not self._say.choices.isdisjoint(split_words(of[:_NEAR])):
            return None
        return ClauseProposal(type=type, subject=about, text=self._opening.cut_opening(clause, match))
