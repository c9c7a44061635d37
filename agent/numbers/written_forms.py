"""Brings a sentence that was said to the form in which it is written, where the number rule reads written forms only.

Number words with their units, dates and the like are read by the rows of this room as they stand. What only speech has
is rewritten here: times of day ("nine thirty a.m."), decimals ("twelve point five"), sums in two units ("five kronor
and fifty öre"), years in two halves, dimensions, codes that are said character by character, and some units.
`read_spoken` then reads the numbers of the result. The words are those of one language; values are computed from the
tables that the rows use.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from agent.lang import LANGUAGES, Lang
from agent.lang.saying import Saying

from .keys import MANY
from .language_tables import AND, OR, unite_words
from .number_tokens import tokens
from .number_words import cardinal_value, classify
from .runs import run_at
from .token import NumberToken

_WORD: Final = re.compile(r"[ap]\.m\.|[^\W\d_]+(?:'[^\W\d_]+)?|\d[\d.]*|[^\w\s]", re.I)
_LONGEST: Final = 40
_OPENERS: Final = unite_words(lambda each: each.joints.range_openers)


class Word(NamedTuple):
    """A word or mark of a sentence. `gap`: the text before it. `lower`: it in lower case."""

    text: str
    lower: str
    gap: str
    start: int
    end: int


class Rewrite(NamedTuple):
    """The written form of the words before the one at `end`."""

    end: int
    text: str


@dataclass(frozen=True, slots=True)
class SpeechWords:
    """The words of a sentence, and the data of its language."""

    text: str
    words: tuple[Word, ...]
    saying: Saying

    def lower(self, index: int) -> str:
        """Return the word at `index` in lower case, "" behind the last."""
        return self.words[index].lower if index < len(self.words) else ""

    def follows(self, index: int, phrase: str, gap: str = " ") -> int:
        """Return the index behind the words of `phrase`, each behind `gap`; -1 when they do not stand at `index`."""
        for each in _split_phrase(phrase):
            if index >= len(self.words) or self.words[index].lower != each.lower:
                return -1
            if self.words[index].gap not in (gap, "") or (
                index and self.words[index].gap != gap and each.gap
            ):
                return -1
            index += 1
        return index

    def digit(self, index: int) -> int:
        """Return the value of a word for a single digit, -1 for another word."""
        value = _value_of(self.lower(index))
        return value if 0 <= value <= 9 else -1

    def cardinal(self, index: int) -> tuple[int, int]:
        """Return the value of the longest cardinal at `index` and the index behind it; -1 and `index` without one."""
        atoms: list[int] = []
        best = -1, index
        at = index
        while at < len(self.words) and at - index < _LONGEST:
            word = self.words[at]
            if at > index and word.gap not in (" ", ""):
                break
            if at > index and word.text == "-":
                at += 1
                continue
            if at > index and word.lower in AND and atoms[-1] >= 100:
                at += 1
                continue
            its = _atoms_of(word.lower)
            if not its or (at > index and word.gap == "" and self.words[at - 1].text != "-"):
                break
            atoms += its
            at += 1
            value = cardinal_value(tuple(atoms))
            if value is not None:
                best = value, at
        return best


@lru_cache(maxsize=4096)
def _atoms_of(word: str) -> tuple[int, ...]:
    """Return the values of the number words that a cardinal in one word is composed of, () for another word."""
    read = classify(word)
    if (
        read is None
        or read.sort not in ("cardinal", "article")
        or read.unit is not None
        or read.value == "group"
    ):
        return ()
    return read.atoms


def _value_of(word: str) -> int:
    value = cardinal_value(_atoms_of(word)) if word and _atoms_of(word) else None
    return -1 if value is None else value


def read_spoken(text: str, lang: Lang, capitals: bool = True) -> tuple[NumberToken, ...]:
    """Return the number tokens of a sentence that is said in `lang`, with their rates.

    `capitals`: the letters of codes are capitals, which cannot be heard.
    """
    return tokens(write_down(text, lang, capitals))


def write_down(text: str, lang: Lang, capitals: bool = True) -> str:
    """Return a said sentence with the forms that only speech has in their written form. `capitals`: as above."""
    saying = LANGUAGES[lang].saying
    for phrase, symbol in _symbols(lang):
        if phrase in text:
            text = re.sub(rf"(?<![^\W_]){re.escape(phrase)}(?![^\W_])", symbol, text)
    speech = SpeechWords(text, tuple(_split_words(text)), saying)
    pieces: list[str] = []
    copied = index = 0
    openers = {saying.clock.opener, *(name.split()[0] for name in saying.marks.values())}
    while index < len(speech.words):
        word = speech.words[index]
        found = None
        if _atoms_of(word.lower) or word.lower in openers or (len(word.text) == 1 and word.text.isupper()):
            found = next((new for rule in _RULES if (new := rule(speech, index)) is not None), None)
        if found is None:
            index += 1
            continue
        pieces += (text[copied : speech.words[index].start], found.text if capitals else found.text.lower())
        copied = speech.words[found.end - 1].end
        index = found.end
    return "".join(pieces) + text[copied:]


@lru_cache(maxsize=1024)
def _split_phrase(phrase: str) -> tuple[Word, ...]:
    return tuple(_split_words(phrase.lower()))


def _split_words(text: str) -> Iterator[Word]:
    end = 0
    for found in _WORD.finditer(text):
        yield Word(found.group(), found.group().lower(), text[end : found.start()], *found.span())
        end = found.end()


Rule: TypeAlias = "Callable[[SpeechWords, int], Rewrite | None]"


def _write_time(speech: SpeechWords, index: int) -> Rewrite | None:
    """Write "nine thirty a.m.", "ten o'clock", "klockan sjutton noll noll" in digits."""
    clock = speech.saying.clock
    start = index
    if clock.opener:
        if speech.lower(index) != clock.opener:
            return None
        index += 1
    hour, at = speech.cardinal(index)
    if not 0 <= hour <= 24:
        return None
    minute, end = _minute_at(speech, at)
    if end < 0:
        minute, end = 0, at
        whole = _tail_of(clock.whole)
        behind = speech.follows(at, whole) if whole else -1
        if behind >= 0:
            return Rewrite(behind, _clocked(speech, start, f"{hour}:00"))
    for half in clock.halves:
        behind = speech.follows(end, half)
        if behind >= 0 and 1 <= hour <= 12:
            return Rewrite(behind, f"{hour}:{minute:02} {half.replace('.', '')}")
    if end == at or (clock.halves and not 1 <= hour <= 12):
        return None
    return Rewrite(end, _clocked(speech, start, f"{hour}:{minute:02}"))


def _clocked(speech: SpeechWords, start: int, time: str) -> str:
    """Return a time behind the word that opened it."""
    opener = speech.saying.clock.opener
    return f"{speech.words[start].text} {time}" if opener else time


def _tail_of(pattern: str) -> str:
    """Return the words of a pattern behind its last field."""
    return pattern.rpartition("}")[2].strip()


def _minute_at(speech: SpeechWords, index: int) -> tuple[int, int]:
    """Return the minutes at `index` and the index behind them, -1 without any."""
    low = speech.saying.clock.low_minute.partition("{")[0].strip()
    behind = speech.follows(index, low) if low else index
    if behind >= 0 and (minute := speech.digit(behind)) >= 0:
        return (minute, behind + 1) if minute or low in speech.saying.numerals.ones else (0, -1)
    if index >= len(speech.words) or speech.words[index].gap != " ":
        return 0, -1
    minute, behind = speech.cardinal(index)
    return (minute, behind) if 10 <= minute <= 59 else (0, -1)


def _write_decimal(speech: SpeechWords, index: int) -> Rewrite | None:
    """Write "twelve point five" in digits, with idle zeros so that it is no time and no thousands."""
    read = _decimal_at(speech, index)
    if read is None:
        return None
    whole, digits, end = read
    return Rewrite(end, f"{whole}.{digits.ljust(4, '0')}")


def _decimal_at(speech: SpeechWords, index: int) -> tuple[int, str, int] | None:
    """Return the whole number, the decimals and the index behind a decimal."""
    whole, at = speech.cardinal(index)
    if whole < 0 or speech.lower(at) != speech.saying.numerals.decimal:
        return None
    digits = ""
    at += 1
    while speech.digit(at) >= 0 and speech.words[at].gap == " ":
        digits += str(speech.digit(at))
        at += 1
    return (whole, digits, at) if digits else None


def _write_sum(speech: SpeechWords, index: int) -> Rewrite | None:
    """Write "five kronor and fifty öre" as one sum."""
    whole, at = speech.cardinal(index)
    if whole < 0 or AND.isdisjoint([speech.lower(each) for each in range(at + 1, at + 4)]):
        return None
    for code, (one, many, name) in speech.saying.money.items():
        if not name:
            continue
        behind = max(speech.follows(at, each) for each in (one, many, code))
        if behind < 0 or speech.lower(behind) not in AND:
            continue
        hundredths, end = speech.cardinal(behind + 1)
        last = speech.follows(end, name)
        if 0 <= hundredths <= 99 and last >= 0:
            return Rewrite(last, f"{whole}.{hundredths:02}00 {code}")
    return None


def _write_year(speech: SpeechWords, index: int) -> Rewrite | None:
    """Write the year behind a month's name in digits."""
    if not index or speech.words[index - 1].text not in speech.saying.months:
        return None
    word = speech.words[index]
    read = classify(word.lower)
    if read is None or read.sort not in ("cardinal", "article") or word.gap != " ":
        return None
    run = run_at(speech.text, read, word.end, False)
    if run.amount is None or run.low is not None or not run.amount.values[0].isdecimal():
        return None
    value = int(run.amount.values[0])
    end = next((at for at in range(index, len(speech.words)) if speech.words[at].end == run.end), -1)
    return Rewrite(end + 1, str(value)) if 1000 <= value <= 2999 and end >= 0 else None


def _write_sides(speech: SpeechWords, index: int) -> Rewrite | None:
    """Write "forty by thirty by fifteen" in digits."""
    sides: list[str] = []
    at = index
    while True:
        decimal = _decimal_at(speech, at)
        if decimal is not None:
            side, end = f"{decimal[0]}.{decimal[1]}", decimal[2]
        else:
            value, end = speech.cardinal(at)
            if value < 0:
                return None
            side = str(value)
        sides.append(side)
        if speech.lower(end) != speech.saying.by or speech.cardinal(end + 1)[0] < 0:
            break
        at = end + 1
    return Rewrite(end, " x ".join(sides)) if len(sides) > 1 and {*sides} != {"1"} else None


def _write_one(speech: SpeechWords, index: int) -> Rewrite | None:
    """Write the first end of a range "one to three", which the rows take for an article."""
    if _value_of(speech.lower(index)) != 1:
        return None
    value, end = speech.cardinal(index)
    goes_on = speech.lower(end) in (speech.saying.to, *OR) or (
        speech.lower(end) in AND and _is_between(speech, index)
    )
    if value != 1 or not goes_on:
        return None
    return Rewrite(end, "1") if speech.cardinal(end + 1)[0] > 1 else None


def _is_between(speech: SpeechWords, index: int) -> bool:
    """Tell whether the word before `index` opens a range that "and" joins."""
    return index > 0 and speech.words[index - 1].lower in _OPENERS


def _write_code(speech: SpeechWords, index: int) -> Rewrite | None:
    """Write a code that is said character by character; a pause within it becomes a space."""
    marks = {name: mark for mark, name in speech.saying.marks.items()}
    if index and speech.words[index].gap == "" and speech.words[index - 1].text == "-":
        return None
    written = ""
    at, end, count = index, index, 0
    while at < len(speech.words):
        gap, size = " ", 1
        if at > index:
            if speech.words[at].text == ",":
                at += 1
                gap = ", "
            if at >= len(speech.words) or speech.words[at].gap != " ":
                break
        char = _character_at(speech, at)
        if not char:
            name = next((each for each in marks if speech.follows(at, each) >= 0), "")
            if not name or gap != " ":
                break
            size = speech.follows(at, name) - at
            char = marks[name]
        if gap == ", ":
            written += " "
        written += char
        at += size
        if char.isalnum():
            end, count, kept = at, count + 1, written
    if count < (MANY if speech.lower(index + 1) == "," else 2):
        return None
    return Rewrite(end, kept)


def _character_at(speech: SpeechWords, index: int) -> str:
    """Return the digit or the capital that a word of a code stands for, "" for another word."""
    value = speech.digit(index)
    if value >= 0:
        return str(value)
    text = speech.words[index].text
    return text if len(text) == 1 and text.isupper() else ""


_RULES: Final[tuple[Rule, ...]] = (
    _write_year, _write_time, _write_sum, _write_sides, _write_decimal, _write_one, _write_code,
)  # fmt: skip


@lru_cache(maxsize=8)
def _symbols(lang: Lang) -> tuple[tuple[str, str], ...]:
    """Return the phrases of units and currencies that the rows do not read as what they say, with a symbol for each."""
    saying = LANGUAGES[lang].saying
    forms = [(name, each) for name, words in saying.units.items() for each in words]
    forms += [(code, each) for code, words in saying.money.items() for each in words[:2]]
    found: dict[str, str] = {}
    for name, phrase in forms:
        if _reads_as(phrase, name):
            continue
        for symbol in (name, name.replace("^", "")):
            if _reads_as(symbol, name):
                found[phrase] = symbol
                break
    return tuple(sorted(found.items(), key=lambda each: -len(each[0])))


def _reads_as(phrase: str, name: str) -> bool:
    """Tell whether "2" with a phrase behind it is read as two of the unit `name`, without a rate."""
    read = tokens(f"2 {phrase}")
    return len(read) == 1 and read[0].value == f"2 {name}" and not read[0].rate
