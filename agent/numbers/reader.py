"""The state that all rows of the number rule share: the text, how far it is read, and where a number may end.

Borders decide the extent of a token. Between two digit runs with no letter, no blank line and no punctuation beside
a space lies none, so a row that stops there has not read its token whole, and the token stays unread.
"""

import re
from bisect import bisect_right
from itertools import accumulate

import msgspec

from . import keys
from .characters import SEAM
from .identifiers import run_at
from .language_tables import AND, COUNTINGS, OR, TEXT_PARTS, pattern
from .layout import blank_markers
from .plain import PlainText, make_plain
from .token import Amount, Kind, NumberMatch, Sort, match_amount

_BETWEEN = (
    rf"(?:(?:\n(?:> ?){{1,8}}|[ \n])?(?:[.,:;'/\\|*{SEAM}]++)?|[^\w\s\\]*+\\[a-zA-Z]{{1,20}}[^\w\s]*+|[^\w\s]*+"
    r"|[^\w\s]*+_[^\w\s]*+)(?=\d)"
)
_TOUCH = re.compile(_BETWEEN)
_CLUSTER = re.compile(rf"\w*+(?:{_BETWEEN}\w++)*+")
GLUED_SIGNS = "○◯⭕⚪●‱"
"""Signs that continue a token, as letters and digits do."""
_GLUED = re.compile(rf"[\w{GLUED_SIGNS}]|-[A-Z]|[@^#]\w")
_LABEL = re.compile(rf"(?:{pattern(TEXT_PARTS)}) \d{{1,3}}", re.I)
"""The label of a line, as in "Table 3:104 items"; the number behind its colon is another one."""
_LETTER = re.compile(r"[^\W\d_]")
_HOURLY = re.compile(r"(?:[01]?\d|2[0-4])\.(?:00|15|30|45)")
_LISTED = re.compile(rf"(, )|,? (?:{pattern(AND, OR)}|&) ")
_LONE = re.compile(r"\d{1,3}[.,]\d{3}(?!\d)")
_LENT = frozenset((Sort.QUANTITY, Sort.MONEY, Sort.PERCENT))
_NEAR = 16
"""Characters; the space before a common word is among as many."""
_CHAIN = 20
"""Numbers of a list to which a unit behind its last number is lent."""


class Before(msgspec.Struct, frozen=True):
    """The word that ends at most two characters before a place; "" and -1 without such a word."""

    word: str = ""
    start: int = -1
    end: int = -1


NOTHING = Before()

_DECIMAL_MARKS = {code: each.decimal for code, each in COUNTINGS.items()}
_LINE_WORDS = {code: each.line_words for code, each in COUNTINGS.items()}
_WORD = re.compile(r"[^\W\d_]++")


class LineLanguages:
    """The language of each line of a text, by its function words; each line is read once."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))
        self._known: dict[int, str] = {}

    def find_language(self, at: int) -> str:
        """Return the language code of the line around `at`, "" when no single language has most function words."""
        index = bisect_right(self._starts, at) - 1
        if index not in self._known:
            words = _WORD.findall(self._lines[index].lower())
            counts = {code: sum([w in its for w in words]) for code, its in _LINE_WORDS.items()}
            best = max(counts, key=counts.__getitem__)
            alone = sum([count == counts[best] for count in counts.values()]) == 1
            self._known[index] = best if alone else ""
        return self._known[index]


class NumberReader:
    """One text, read from left to right.

    `s`: its plain form. `at`: how far it is read. `found`: the numbers read so far. `months`: whether it may name a
    month. `source`: it belongs to a source rather than to an answer. `is_cut`: it has too many numbers, and is not read
    to its end.
    """

    __slots__ = (
        "_chain",
        "_line_languages",
        "at",
        "found",
        "is_cut",
        "months",
        "plain",
        "s",
        "source",
        "text",
    )

    def __init__(self, text: str, source: bool) -> None:
        self.text = text
        self.source = source
        self.plain: PlainText = make_plain(blank_markers(text) if source else text)
        self.s = self.plain.text
        self.at = 0
        self.found: list[NumberMatch] = []
        self.months = True
        self.is_cut = False
        self._chain: list[NumberMatch] = []
        self._line_languages: LineLanguages | None = None

    def before(self, at: int) -> Before:
        """Return the word that ends at most two characters before `at`."""
        s = self.s
        end = at
        if end and not s[end - 1].isalpha():
            end -= 1
            if end and not s[end - 1].isalpha():
                end -= 1
                if not end or not s[end - 1].isalpha():
                    return NOTHING
        start = s.rfind(" ", max(0, end - _NEAR), end) + 1
        word = s[start:end]
        if not start or not word.isalpha():
            start = end
            while start and s[start - 1].isalpha():
                start -= 1
            word = s[start:end]
        return Before(word, start, end) if word else NOTHING

    def add(self, found: NumberMatch) -> None:
        """Add the number that a row read; its unit is also lent to the bare numbers listed before it."""
        self.found.append(found)
        if found.end > self.at:
            self.at = found.end
        amount = found.amount
        if amount is not None and found.low is None:
            self._lend(found, amount)
        elif found.kind is not Kind.SYMBOL:
            self._chain.clear()

    def _lend(self, found: NumberMatch, amount: Amount) -> None:
        """Lend the unit of "18, 24 and 36 months" to the bare numbers before it."""
        chain = self._chain
        if chain:
            between = _LISTED.fullmatch(self.s, chain[-1].end, found.start)
            if between is None or len(chain) > _CHAIN:
                chain.clear()
            elif amount.sort in _LENT and between.group(1) is None and not amount.prefixed:
                for each in chain:
                    self.lend(each, amount.sort, amount.unit)
                chain.clear()
        if amount.sort is not Sort.BARE or (
            len(amount.values[0]) == 4 and "1000" < amount.values[0] < "2999"
        ):
            chain.clear()
        else:
            chain.append(found)

    def lend(self, found: NumberMatch, sort: Sort, unit: str) -> None:
        """Give a unit to a bare amount; in a source, the bare amount still counts too (`earlier`)."""
        bare = found.amount
        if bare is None:
            return
        lent = match_amount(Amount(bare.end, bare.values, bare.same, sort, unit, bare.words), found.start)
        found.kind, found.value, found.amount = lent.kind, lent.value, lent.amount
        found.earlier = bare

    def read_cluster(self, start: int, at: int) -> NumberMatch:
        """Return all characters that touch the digits at `at` as one number that no row reads."""
        found = _CLUSTER.match(self.s, at)
        end = max(found.end() if found is not None else at + 1, at + 1)
        run = run_at(self.s, at)
        kind = Kind.UNREAD
        if run >= end and _LETTER.search(self.s, start, run):
            end, kind = run, Kind.IDENTIFIER
        return self.exact(kind, start, end)

    def exact(self, kind: Kind, start: int, end: int, value: str | None = None) -> NumberMatch:
        """Return a number that only the same characters support."""
        return keys.exact(kind, start, end, self.s[start:end] if value is None else value)

    def match_counted(self, amount: Amount, start: int) -> NumberMatch:
        """Return one amount as a `NumberMatch`. In a source, `10.30` does not count, since it may be an hour."""
        if amount.sort is Sort.BARE and self.source and _HOURLY.fullmatch(self.s, start, amount.end):
            amount.counts = False  # perhaps an hour
        return match_amount(amount, start)

    def cluster_end(self, at: int) -> int:
        """Return the end of the characters that touch those at `at`."""
        found = _CLUSTER.match(self.s, at)
        return found.end() if found is not None else at

    def border(self, end: int) -> bool:
        """Tell whether a token that ends at `end` ends at a border."""
        s = self.s
        if end >= len(s):
            return True
        if _GLUED.match(s, end):
            return False
        if s[end - 1].isalpha() or (s[end - 2] == "^" and s[end - 3].isalpha()):
            return True
        touch = _TOUCH.match(s, end)
        if touch is None:
            return True
        line = s.rfind("\n", 0, end) + 1
        if touch.group() == "|":  # cells of a table's row
            return s.startswith("|", line)
        return self.source and touch.group() == ":" and _LABEL.fullmatch(s, line, end) is not None

    def decimal_mark(self, at: int) -> str:
        """Return the decimal mark of the line's language, "" when no lone separator may stand at `at`."""
        return _DECIMAL_MARKS.get(self.language(at), "") if _LONE.match(self.s, at) else ""

    def language(self, at: int) -> str:
        """Return the language of the line around `at`, "" when it is unknown."""
        if self._line_languages is None:
            self._line_languages = LineLanguages(self.s)
        return self._line_languages.find_language(at)
