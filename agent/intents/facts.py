"""Reads the lasting facts that a clause states of its user, by the words of one language: a number, a name, a home.

Strategy: of the user's own things ("my", "our") a number or a name is proposed and nothing else, since "my order is
late" holds for today only. A capital tells a name. "My" with one thing says that there is one of it ("my doctor is
Ana"), so that another name takes its place; of several things, and of things that a user likes, there may be more.
"""

import re
from typing import Final

from ..lang.remembering import Remembering
from ..numbers.number_tokens import Kind, tokens
from ..text.words import FUNCTION_WORDS, fold, split_words
from .clauses import Clause, ClauseOpening, ClauseProposal, compile_pattern, join_words
from .subjects import remove_numbers

_NAMED: Final = 6  # words of a thing that has a number of its own
_NEAR: Final = 40  # characters in which a number or a day is named
_SUBJECT: Final = 60  # characters of a right number
_NO_VALUES: Final = frozenset({Kind.ROMAN, Kind.SYMBOL, Kind.UNREAD})
_NAME: Final = re.compile(r"[^\W\d_]*[A-ZÅÄÖ][^\W_]*(?:[ -][^\W\d_]*[A-ZÅÄÖ][^\W_]*)*")


class FactReader:
    """Reads facts with the words `say` of one language. `opening`: the words that may open a clause in it."""

    def __init__(self, say: Remembering, opening: ClauseOpening) -> None:
        self._say = say
        self._opening = opening
        opened, stated = opening.plain, opening.stated
        self._favourite = compile_pattern(rf"(?:{say.favourite})")
        self._living = compile_pattern(rf"{opened}(?P<said>(?P<verb>{say.living})\s+(?P<rest>.+))")
        self._being = compile_pattern(rf"{opened}(?P<said>(?P<verb>{say.being})\b(?P<rest>.*))")
        self._measuring = compile_pattern(rf"{opened}(?P<said>(?P<verb>{say.measuring})\s+(?P<rest>.+))")
        self._stating = compile_pattern(rf"{stated}(?P<verb>{say.equals})\s+(?P<rest>.*))")
        denied = join_words(frozenset(say.denied))
        self._not_but = compile_pattern(
            rf"{stated}(?P<denied>{denied})\s+(?P<old>[^,;]{{1,{_NEAR}}}?),?\s+(?:{say.but})\s+(?P<new>.+))"
        )
        self._equals = compile_pattern(rf"\s+(?:{say.equals})\s")
        self._nearly = compile_pattern(rf"(?:(?:{say.nearly})\s+)*")
        self._behind = compile_pattern(rf"\s*(?:[.,;:!)–-]|\Z|(?:{say.behind})\b)")
        self._and_not = compile_pattern(
            rf"{stated}(?P<verb>{say.equals}|{say.has})\s+"
            rf"(?P<new>[^;]{{1,{_SUBJECT}}}?),?\s+(?:{say.no})\s+(?P<old>[^,;]{{1,{_NEAR}}})\Z)"
        )
        self._no = compile_pattern(rf"\b(?:{say.no})\b")

    def read_fact(self, clause: Clause) -> ClauseProposal | None:
        """Return the fact that `clause` states of its user."""
        kinds = (self._read_correction, self._read_possession, self._read_home, self._read_trait)
        return next((found for kind in kinds if (found := kind(clause)) is not None), None)

    def _read_correction(self, clause: Clause) -> ClauseProposal | None:
        """Read a number that corrects another ("is not 5 but 6"): only the right one is proposed."""
        match = self._not_but.match(clause.text) or self._and_not.match(clause.text)
        if match is None or not self._say.yours.isdisjoint(split_words(match["subject"])[:1]):
            return None
        if not _is_number(match["old"], self._nearly) or not _has_number(match["new"]):
            return None
        verb = self._say.denied[fold(match["denied"])] if "denied" in match.re.groupindex else match["verb"]
        subject, new = (clause.written[slice(*match.span(name))] for name in ("subject", "new"))
        is_it = self._equals.fullmatch(f" {verb} ") is not None
        about = match["subject"] if is_it else remove_numbers(f"{subject} {new}")
        return ClauseProposal(type="fact", subject=about, text=f"{subject} {verb} {new}")

    def _read_possession(self, clause: Clause) -> ClauseProposal | None:
        """Read the number or the name of a thing of the user's, and nothing else; or a favourite."""
        match = self._stating.match(clause.text)
        if match is None:
            return None
        named = split_words(match["subject"])
        if named[:1] == [] or named[0] not in self._say.mine or not self._say.talk.isdisjoint(named):
            return None
        about, text = " ".join(named[1:]), self._opening.cut_opening(clause, match)
        if len(named) > _NAMED:
            return None
        if self._is_number_of_it(match["rest"]):
            return ClauseProposal(type="fact", subject=about, text=text)
        one = named[0] in self._say.one and fold(match["verb"]) in self._say.one
        if any(self._favourite.fullmatch(word) for word in named) and self._is_thing(match["rest"]):
            return ClauseProposal(type="preference" if one else "fact", subject=about, text=text)
        if self._is_name(clause.text, match.start("rest")):
            return ClauseProposal(type="fact", subject=about, text=text, single=one)
        return None

    def _read_home(self, clause: Clause) -> ClauseProposal | None:
        """Read where the user lives or works, or a measure of the user."""
        match = self._measuring.match(clause.text)
        if match is not None and not self._is_number_of_it(match["rest"]):
            return None
        match = match or self._living.match(clause.text)
        if match is None or (match.re is self._living and not self._is_thing(match["rest"])):
            return None
        verb = [word for word in split_words(match["verb"]) if word not in FUNCTION_WORDS]
        text = self._opening.cut_opening(clause, match)
        return ClauseProposal(type="fact", subject=" ".join(verb[-1:]), text=text)

    def _read_trait(self, clause: Clause) -> ClauseProposal | None:
        """Read a trait of the user that lasts ("I am vegetarian")."""
        match = self._being.match(clause.text)
        if match is None:
            return None
        trait = re.split(r"[,;.!:–]", clause.text[match.start("said") :])[0]
        about = remove_numbers(trait)
        if all(word in FUNCTION_WORDS for word in split_words(about)):
            # A number with its unit and nothing else.
            about = split_words(match["verb"])[-1]
        return ClauseProposal(type="fact", subject=about, text=self._opening.cut_opening(clause, match))

    def _is_number_of_it(self, rest: str) -> bool:
        """Tell whether `rest` begins with a number, and nothing follows that makes it another thing's number."""
        nearly = self._nearly.match(rest)
        first = next((each for each in tokens(rest[: 2 * _NEAR]) if each.kind not in _NO_VALUES), None)
        if nearly is None or first is None or first.start > nearly.end():
            return False
        return self._behind.match(rest, first.end) is not None

    def _is_thing(self, rest: str) -> bool:
        """Tell whether `rest` begins with a word that carries a subject, and denies nothing."""
        first = split_words(rest[:_NEAR])[:1]
        return bool(first) and first[0] not in FUNCTION_WORDS and not self._no.match(rest)

    def _is_name(self, text: str, at: int) -> bool:
        """Tell whether a name and nothing else stands at `text[at:]`; a text all in capitals tells no names."""
        name = _NAME.match(text, at)
        if name is None or text.isupper() or not self._is_thing(name.group()):
            return False
        return self._behind.match(text, name.end()) is not None


def _has_number(text: str) -> bool:
    return any(each.kind not in _NO_VALUES for each in tokens(text, source=True))


def _is_number(text: str, nearly: re.Pattern[str]) -> bool:
    """Tell whether `text` is a number, with nothing but words that may stand before one ("about 5")."""
    text = text.strip(" .!")
    found = tokens(text, source=True)
    before = nearly.match(text)
    return (
        bool(found) and before is not None and before.end() >= found[0].start and found[-1].end == len(text)
    )
