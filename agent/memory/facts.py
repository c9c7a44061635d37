"""What a clause says of its user that is so for long, by the words of one language: a number, a name, where they live.

Strategy: of what is one's own ("my", "our") a number or a name is proposed, and nothing else that it may be: "my order
is late" is of today. A name is told by its capital. "My" with one thing says that there is one of it ("my doctor is
Ana"), so that another name stands in its place; of several things, and of what one likes, there may be more.
"""

import re
from typing import Final

from ..lang.remembering import Remembering
from ..numbers.read import Kind, tokens
from ..text.words import FUNCTION_WORDS, fold, words
from .clauses import Clause, Opening, Said, any_of, pattern
from .items import unnumbered

_NAMED: Final = 6  # words of what has a number of its own
_NEAR: Final = 40  # characters in which a number or a day is named
_SUBJECT: Final = 60  # characters of a right number
_NO_VALUES: Final = frozenset({Kind.ROMAN, Kind.SYMBOL, Kind.UNREAD})
_NAME: Final = re.compile(r"[^\W\d_]*[A-ZÅÄÖ][^\W_]*(?:[ -][^\W\d_]*[A-ZÅÄÖ][^\W_]*)*")


class Facts:
    """The rules with the words of one language. opening: what may open a clause in it."""

    def __init__(self, say: Remembering, opening: Opening) -> None:
        self._say = say
        self._opening = opening
        opened, stated = opening.plain, opening.stated
        self._favourite = pattern(rf"(?:{say.favourite})")
        self._living = pattern(rf"{opened}(?P<said>(?P<verb>{say.living})\s+(?P<rest>.+))")
        self._being = pattern(rf"{opened}(?P<said>(?P<verb>{say.being})\b(?P<rest>.*))")
        self._measuring = pattern(rf"{opened}(?P<said>(?P<verb>{say.measuring})\s+(?P<rest>.+))")
        self._stating = pattern(rf"{stated}(?P<verb>{say.equals})\s+(?P<rest>.*))")
        denied = any_of(frozenset(say.denied))
        self._not_but = pattern(
            rf"{stated}(?P<denied>{denied})\s+(?P<old>[^,;]{{1,{_NEAR}}}?),?\s+(?:{say.but})\s+(?P<new>.+))"
        )
        self._equals = pattern(rf"\s+(?:{say.equals})\s")
        self._nearly = pattern(rf"(?:(?:{say.nearly})\s+)*")
        self._behind = pattern(rf"\s*(?:[.,;:!)–-]|\Z|(?:{say.behind})\b)")
        self._and_not = pattern(
            rf"{stated}(?P<verb>{say.equals}|{say.has})\s+"
            rf"(?P<new>[^;]{{1,{_SUBJECT}}}?),?\s+(?:{say.no})\s+(?P<old>[^,;]{{1,{_NEAR}}})\Z)"
        )
        self._no = pattern(rf"\b(?:{say.no})\b")

    def said(self, clause: Clause) -> Said | None:
        """Return what a clause says of its user."""
        kinds = (self._replaced, self._owned, self._lived, self._is)
        return next((found for kind in kinds if (found := kind(clause)) is not None), None)

    def _replaced(self, clause: Clause) -> Said | None:
        """A number in place of another one: what is said is the right one only."""
        match = self._not_but.match(clause.text) or self._and_not.match(clause.text)
        if match is None or not self._say.yours.isdisjoint(words(match["subject"])[:1]):
            return None
        if not _is_number(match["old"], self._nearly) or not _numbered(match["new"]):
            return None
        verb = self._say.denied[fold(match["denied"])] if "denied" in match.re.groupindex else match["verb"]
        subject, new = (clause.written[slice(*match.span(name))] for name in ("subject", "new"))
        is_it = self._equals.fullmatch(f" {verb} ") is not None
        about = match["subject"] if is_it else unnumbered(f"{subject} {new}")
        return Said("fact", about, f"{subject} {verb} {new}")

    def _owned(self, clause: Clause) -> Said | None:
        """A number of one's own, or a name, and nothing but these; or what one likes best."""
        match = self._stating.match(clause.text)
        if match is None:
            return None
        named = words(match["subject"])
        if named[:1] == [] or named[0] not in self._say.mine or not self._say.talk.isdisjoint(named):
            return None
        about, text = " ".join(named[1:]), self._opening.own(clause, match)
        if len(named) > _NAMED:
            return None
        if self._counts(match["rest"]):
            return Said("fact", about, text)
        one = named[0] in self._say.one and fold(match["verb"]) in self._say.one
        if any(self._favourite.fullmatch(word) for word in named) and self._is_thing(match["rest"]):
            return Said("preference" if one else "fact", about, text)
        if self._names(clause.text, match.start("rest")):
            return Said("fact", about, text, single=one)
        return None

    def _lived(self, clause: Clause) -> Said | None:
        """Where the user lives or works, or what they weigh."""
        match = self._measuring.match(clause.text)
        if match is not None and not self._counts(match["rest"]):
            return None
        match = match or self._living.match(clause.text)
        if match is None or (match.re is self._living and not self._is_thing(match["rest"])):
            return None
        verb = [word for word in words(match["verb"]) if word not in FUNCTION_WORDS]
        return Said("fact", " ".join(verb[-1:]), self._opening.own(clause, match))

    def _is(self, clause: Clause) -> Said | None:
        """What the user is, and does not cease to be soon."""
        match = self._being.match(clause.text)
        if match is None:
            return None
        what = re.split(r"[,;.!:–]", clause.text[match.start("said") :])[0]
        about = unnumbered(what)
        if all(word in FUNCTION_WORDS for word in words(about)):  # of a number with its unit that is all
            about = words(match["verb"])[-1]
        return Said("fact", about, self._opening.own(clause, match))

    def _counts(self, rest: str) -> bool:
        """Tell whether a text begins with a number, and nothing follows that makes it another's."""
        nearly = self._nearly.match(rest)
        first = next((each for each in tokens(rest[: 2 * _NEAR]) if each.kind not in _NO_VALUES), None)
        if nearly is None or first is None or first.start > nearly.end():
            return False
        return self._behind.match(rest, first.end) is not None

    def _is_thing(self, rest: str) -> bool:
        """Tell whether a text begins with a word that carries a subject, and denies nothing."""
        first = words(rest[:_NEAR])[:1]
        return bool(first) and first[0] not in FUNCTION_WORDS and not self._no.match(rest)

    def _names(self, text: str, at: int) -> bool:
        """Tell whether a name stands at a place of a text, and nothing else: all in capitals says nothing."""
        name = _NAME.match(text, at)
        if name is None or text.isupper() or not self._is_thing(name.group()):
            return False
        return self._behind.match(text, name.end()) is not None


def _numbered(text: str) -> bool:
    return any(each.kind not in _NO_VALUES for each in tokens(text, source=True))


def _is_number(text: str, nearly: re.Pattern[str]) -> bool:
    """Tell whether a text is a number, and nothing but what may stand before one."""
    text = text.strip(" .!")
    found = tokens(text, source=True)
    before = nearly.match(text)
    return (
        bool(found) and before is not None and before.end() >= found[0].start and found[-1].end == len(text)
    )
