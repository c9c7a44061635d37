"""Cuts clauses from a text: the words around a place, and a clause with its opening words, for the rules about either.

Strategy: two readings of one thing.

- The rules about keywords and phone numbers begin at a place in the text and read outwards (`words_before`,
  `clause_before`, `clause_after`), nearest word first. The text before the place is reversed and matched from there, so
  that only as many characters and words are read as a rule may need. A clause ends at a mark of punctuation, at a
  quotation mark and at a blank line; a comma ends it unless it belongs to a list ("call, text, or sms").
- The rules about memory items begin at the start of a sentence or clause and match patterns there (`Clause`,
  `ClauseOpening`), since the opening words decide the kind of a clause.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Final

from ..lang import LANGUAGES
from ..lang.remembering import Remembering
from ..ports.memory import ItemType

BEFORE_REACHES = 200  # characters read for a clause before a place, and after it ...
AFTER_REACHES = 80
WORDS_READ = 12  # ... and words of them
WHEN: Final = 60
"""Characters of an adverbial before a clause."""
_SUBJECT: Final = 60  # characters before a verb in which its subject is said
_OPENERS: Final = 6  # words and phrases before a clause that say nothing

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[.!?;:,()\"”“„«»]|\n\s*\n")
_CLAUSE_END = frozenset('.!?;:()"”“„«»\n')
_CARRIES_ON = frozenset().union(*(each.acting.carries_on for each in LANGUAGES.values()))


def words_after(text: str, at: int) -> Iterator[str]:
    """Yield the words and marks after `at`, case-folded, of the next `AFTER_REACHES` characters."""
    for match in _WORD.finditer(text[at : at + AFTER_REACHES].replace("’", "'")):
        yield match.group().casefold()


def words_before(text: str, at: int, since: int = 0) -> Iterator[str]:
    """Yield the words and marks before `at`, case-folded, nearest first, of the last `BEFORE_REACHES` characters.

    `since`: the place before which nothing is read.
    """
    before = text[max(since, at - BEFORE_REACHES, 0) : at]
    for match in _WORD.finditer(before.replace("’", "'")[::-1]):
        yield match.group()[::-1].casefold()


def clause_before(text: str, at: int) -> Iterator[str]:
    """Yield the words of the clause around `at` that stand before it, case-folded, nearest first."""
    last, words = "", 0  # the last word since a comma, and how many there were
    in_list = False
    for word in words_before(text, at):
        if word[0] in _CLAUSE_END:
            return
        if word != ",":
            last = word
            words += 1
            yield word
            continue
        in_list = words > 0 and (last in _CARRIES_ON or (in_list and words == 1))
        if not in_list:
            return
        words = 0


def clause_after(text: str, at: int) -> Iterator[str]:
    """Yield the words of the clause around `at` that stand after it, case-folded."""
    for word in words_after(text, at):
        if word[0] in _CLAUSE_END or word == ",":
            return
        yield word


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause of a message.

    `text`: the clause with a mask over its quotations, each character in its place. `written`: the clause as the user
    wrote it. `today`: the day on which it is said.
    """

    text: str
    written: str
    today: date

    def after(self, at: int) -> "Clause":
        """Return the part of the clause from `at` on."""
        return Clause(self.text[at:], self.written[at:], self.today)

    def until(self, at: int) -> "Clause":
        """Return the part of the clause before `at`."""
        return Clause(self.text[:at], self.written[:at], self.today)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClauseProposal:
    """The memory item that a clause proposes.

    `subject`: the words for the thing that it is about. `due`: a day that the text means and does not name. `finishes`:
    the subject is done. `ordered`: the user asks to remember it. `single`: one holds at a time, also without a number.
    """

    type: ItemType
    subject: str
    text: str
    due: date | None = None
    finishes: bool = False
    ordered: bool = False
    single: bool = False


def compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern that ignores case and lets `.` match a line break."""
    return re.compile(text, re.IGNORECASE | re.DOTALL)


def join_words(listed: frozenset[str]) -> str:
    """Return a pattern's alternatives for `listed`, the longest word first."""
    return "|".join(map(re.escape, sorted(listed, key=lambda word: (-len(word), word))))


class ClauseOpening:
    """The words that may open a clause in one language, as the beginnings of patterns.

    `plain`: words that say nothing ("well", "please"). `timed`: `plain`, then perhaps an adverbial of time. stated:
    `plain`, then a subject; its group `said` is left open for the rule to close.
    """

    def __init__(self, say: Remembering) -> None:
        self.plain = rf"(?P<before>(?:(?:{say.joining}|{say.openers})\b[\s,!.:–-]+){{0,{_OPENERS}}})"
        self.timed = rf"{self.plain}(?P<when>(?:(?:{say.when})\b[^,;:?]{{1,{WHEN}}}?[,:]?\s+)??)"
        self.stated = rf"{self.plain}(?P<said>(?P<subject>[^,;:]{{1,{_SUBJECT}}}?)\s+"
        self._plain = compile_pattern(self.plain)
        self._joining = compile_pattern(rf"(?:{say.joining})\s+")

    def find_end(self, text: str) -> int:
        """Return where the opening words of `text` that say nothing end."""
        opened = self._plain.match(text)
        return opened.end() if opened else 0

    def cut_opening(self, clause: Clause, match: re.Match[str]) -> str:
        """Return `clause.written` without its opening words, where a mark sets these apart.

        `match`: a match of a pattern that has the group `said`.
        """
        before = clause.text[: match.start("said")].rstrip()
        if before and before[-1].isalnum():
            joined = self._joining.match(clause.text)
            return clause.written[joined.end() if joined else 0 :]
        return clause.written[match.start("said") :]
