"""Makes the words in which a verified text is said: the one module that constructs an `Utterance`.

Strategy: the text is cut into sentences. In each the numbers are written in words by their types, marks of layout and
of sources are dropped, and signs become words. The result is then read by the number rule's reader as a listener would
hear it. Only when it gives the same numbers in the same order, by type, value and rate, is it said. Otherwise a
sentence of the language stands in its place which says that the figure is on the screen. So text and speech never
claim different numbers. Linear in the text.
"""

import html
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from agent.lang import LANGUAGES, Lang
from agent.lang.saying import Saying
from agent.numbers.language_tables import pattern
from agent.numbers.number_tokens import Kind, NumberToken, find_numbers, make_tokens
from agent.numbers.number_words import classify
from agent.numbers.rates import TIME_UNITS
from agent.numbers.reader import LineLanguages, NumberReader
from agent.numbers.spoken_forms import say_number
from agent.numbers.token import NumberMatch
from agent.numbers.written_forms import read_spoken
from agent.ports.brain import VerifiedText
from agent.ports.utterance import SpokenSentence, Utterance
from agent.text.language import detect_language
from agent.text.sentences import find_sentences
from agent.text.words import FUNCTION_WORDS, SMALL, fold, normalize_text

_BREAK: Final = re.compile(rf"\n(?=[^\S\n]*\n|[ \t]*(?:[^\s{SMALL}0-9(]|\d{{1,3}}[.)][ \t]))")
"""A line's end that ends a sentence: the next line does not go on with a small letter or a number."""
_SKIP: Final = re.compile(
    r"(?P<link>(?:https?|ftp)://[^\s<>\"'`|\\^{}\])]+|www\.[^\s<>\"'`|\\^{}\])]+)"
    r"|(?P<mail>[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8})"
    r"|(?P<target>\]\([^()\n]{0,400}\))|(?P<tag><!--.{0,400}?-->|</?[a-zA-Z][^<>\n]{0,400}>)"
    r"|(?P<source>[ \t]?\[\^?\d{1,2}(?:, ?\d{1,2}){0,15}\](?!\())"
)
_BLOCK: Final = re.compile(r"</?(?:br|p|div|li|ul|ol|tr|td|th|h[1-6]|hr|table|section)\b", re.I)
_LINE_START: Final = re.compile(r"(?:^|(?<=\n))[ \t]*(?:[-*+•>][ \t]+|#{1,6}[ \t]+)+")
_NUMBER: Final = re.compile(r"\d+")
_LAST_WORD: Final = re.compile(r"(?<![^\W\d_])([^\W\d_]+)[ ,-]*$")
_SPACES: Final = re.compile(r"\s+")
_PAUSES: Final = re.compile(r" ?([.,;:?!])(?: ?[.,;:?!])*")
_LEADING: Final = re.compile(r"^[\s.,;:?!-]+|(?<=\s)-+(?=\s|$)| (?=[.,;:?!])")
_KEPT: Final = frozenset(".,;:?!'-")
_APOSTROPHES: Final = frozenset("’‘ʼ´′")
_PAUSING: Final = frozenset("()|")
_LONG_DASHES: Final = frozenset("–—―")
_MINUS: Final = "−"
_HOURLY: Final = {"/h": "hour", "/s": "second"}
_UNKNOWN: Final = frozenset(("Sc", "Sm", "Nd", "Nl", "No"))
"""Categories of characters that show a figure or an amount, and so are never dropped in silence."""
_LONGEST: Final = 1000
"""Characters of a sentence; a longer one is left on the screen."""


class _WithheldError(Exception):
    """A sentence cannot be said. `is_figure`: for a number in it, rather than for its language or script."""

    def __init__(self, is_figure: bool) -> None:
        super().__init__(is_figure)
        self.is_figure = is_figure


class _Substitute(NamedTuple):
    """A part of a text that is said in other words: `words` in place of its characters from `start` to `end`."""

    start: int
    end: int
    words: str


class _Reading(NamedTuple):
    """The numbers of a text, and the record by which each was read."""

    reader: NumberReader
    tokens: tuple[NumberToken, ...]
    starts: list[int]
    matches: dict[tuple[int, int], NumberMatch]


def make_utterance(text: VerifiedText, lang: Lang, offset: int = 0) -> Utterance:
    """Return the words of `text` in the language `lang`.

    `offset`: the characters of the response before `text`, which are added to each sentence's range. A text of a story
    is said in the same way; nothing vouches for its numbers, and they are said as they are written.
    """
    written = text.text
    reading = _read(written)
    marks = len(text.citations)
    sentences = [
        SpokenSentence(start=start + offset, end=end + offset, words=words, withheld=withheld)
        for start, end in _cut(written, reading.tokens)
        for words, withheld in [_say_or_withhold(written, start, end, reading, lang, marks)]
        if words
    ]
    return Utterance(lang=lang, sentences=tuple(sentences))


def _read(text: str) -> _Reading:
    reader = find_numbers(text)
    made = make_tokens(reader, True)
    found = {reader.plain.origin(each.start, each.end): each for each in reader.found}
    return _Reading(reader, made, [token.start for token in made], found)


def _cut(text: str, tokens: Sequence[NumberToken]) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence, none of which parts a number."""
    spans: list[tuple[int, int]] = []
    at = 0
    for end in (*[found.end() for found in _BREAK.finditer(text)], len(text)):
        spans += [(at + first, at + last) for first, last in find_sentences(text[at:end])]
        at = end
    starts = [token.start for token in tokens]
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        index = bisect_left(starts, start) - 1
        if joined and index >= 0 and tokens[index].end > start:
            start = joined.pop()[0]
        joined.append((start, end))
    yield from joined


def _say_or_withhold(
    text: str, start: int, end: int, reading: _Reading, lang: Lang, marks: int
) -> tuple[str, bool]:
    """Return the words for a sentence and whether they stand in its place; "" for one without words."""
    saying = LANGUAGES[lang].saying
    try:
        return _say(text, start, end, reading, lang, marks), False
    except _WithheldError as fault:
        return (saying.figure if fault.is_figure else saying.passage), True


def _say(text: str, start: int, end: int, reading: _Reading, lang: Lang, marks: int) -> str:
    saying = LANGUAGES[lang].saying
    if end - start > _LONGEST:
        raise _WithheldError(False)
    line = _SPACES.sub(" ", text[start:end])
    if LineLanguages(line).find_language(0) not in ("", lang) and detect_language(line) not in (None, lang):
        raise _WithheldError(False)
    skipped = list(_skip(text, start, end, saying, marks))
    numbers: list[_Substitute] = []
    expected: list[NumberToken] = []
    index = bisect_left(reading.starts, start)
    for token in reading.tokens[index : bisect_left(reading.starts, end)]:
        if any(each.start <= token.start and token.end <= each.end for each in skipped):
            continue
        skipped = [each for each in skipped if not (token.start <= each.start and each.end <= token.end)]
        if any(each.start < token.end and token.start < each.end for each in skipped):
            raise _WithheldError(True)
        match = reading.matches.get((token.start, token.end))
        words = say_number(reading.reader, match, lang) if match is not None else None
        if words is None:
            raise _WithheldError(True)
        expected.append(token)
        numbers.append(_Substitute(token.start, token.end, words))
    words = _join(text, start, end, sorted([*skipped, *numbers]), lang)
    said = [piece.words for piece in numbers]
    if not any(_agree(expected, said, read_spoken(words, lang, capitals)) for capitals in (True, False)):
        raise _WithheldError(True)
    return words


def _skip(text: str, start: int, end: int, saying: Saying, marks: int) -> Iterator[_Substitute]:
    """Yield the parts of a sentence that are markup, addresses or marks of sources, with the words in their place."""
    for found in _SKIP.finditer(text, start, end):
        first, last = found.span()
        if found["link"]:
            yield _Substitute(first, first + len(found.group().rstrip(".,;:!?*_")), f" {saying.link} ")
        elif found["mail"]:
            yield _Substitute(first, last, f" {_say_mail(found.group(), saying)} ")
        elif not found["source"] or all(0 < int(each) <= marks for each in _NUMBER.findall(found.group())):
            yield _Substitute(first, last, ", " if found["tag"] and _BLOCK.match(found["tag"]) else "")


def _say_mail(address: str, saying: Saying) -> str:
    """Say a mail address; one with digits is not said."""
    if any(c.isnumeric() or not (c.isalpha() or c in saying.mail_marks) for c in address):
        return saying.address
    return "".join([f" {saying.mail_marks[c]} " if c in saying.mail_marks else c for c in address])


def _join(text: str, start: int, end: int, pieces: Sequence[_Substitute], lang: Lang) -> str:
    """Return the words of a sentence: those of `pieces`, and the characters between them as they are said."""
    said = ""
    at = start
    after_code = False
    for piece in (*pieces, _Substitute(end, end, "")):
        said += _say_characters(text[at : piece.start], lang, at == start)
        is_code = _is_code(piece.words)
        found = _LAST_WORD.search(said) if piece.words else None
        if found is not None and found.end(1) == 1 and fold(found[1]) in FUNCTION_WORDS:
            said = said.lower()  # "A" or "I" begins the sentence, and is no letter of a code
        elif found is not None and _may_join(found[1], piece.words):
            said = said[: found.end(1)] + ("; " if is_code or after_code else ", ")
        said += piece.words
        after_code = is_code if piece.words else after_code
        at = max(at, piece.end)
    words = _LEADING.sub("", _PAUSES.sub(r"\1", _SPACES.sub(" ", said)))
    return normalize_text(words).strip(" ,;:-")


def _may_join(last: str, words: str) -> bool:
    """Tell whether a listener may take `words` for a part of the number or letter before them."""
    return _is_item(last) and _is_item(re.split(r"[ ,-]", words)[0])


def _is_code(words: str) -> bool:
    """Tell whether `words` say a code character by character."""
    items = words.replace(",", "").split()
    return len(items) > 1 and all(map(_is_item, items[:2]))


def _is_item(word: str) -> bool:
    """Tell whether a word says a number or a lone capital."""
    read = classify(word)
    return (len(word) == 1 and word.isupper()) or (read is not None and read.sort in ("cardinal", "article"))


def _say_characters(text: str, lang: Lang, begins: bool) -> str:
    """Return the text between two numbers in letters and marks of pauses. `begins`: it begins its sentence."""
    saying = LANGUAGES[lang].saying
    if begins:
        text = _LINE_START.sub("", text)
    text = html.unescape(text)
    text = _SHORT_FORMS[lang].sub(lambda found: f" {saying.short_forms[found.group().lower()]} ", text)
    return "".join([_say_character(char, saying) for char in normalize_text(text)])


_SHORT_FORMS: Final = {
    code: re.compile(rf"(?<![^\W_])(?:{pattern(language.saying.short_forms)})(?![^\W_])", re.I)
    for code, language in LANGUAGES.items()
}
"""The pattern of each language's abbreviations."""


def _say_character(char: str, saying: Saying) -> str:
    if char in _KEPT or (char.isascii() and char.isalpha()):
        return char
    if char.isspace():
        return " "
    if char in saying.signs:
        return f" {saying.signs[char]} "
    if char in _APOSTROPHES:
        return "'"
    if char in _LONG_DASHES or char in _PAUSING:
        return ", "
    if char in "…":
        return "."
    category = unicodedata.category(char)
    if char.isalpha():
        plain = unicodedata.normalize("NFKC", char)
        if all(unicodedata.name(each, "").startswith("LATIN ") and each.isalpha() for each in plain):
            return plain
        raise _WithheldError(False)
    if category in _UNKNOWN or char == _MINUS or char.isnumeric():
        raise _WithheldError(True)
    return " " if category in ("Zs", "Cc") or char in "_\\" else "-" if category == "Pd" else ""


def _agree(expected: Sequence[NumberToken], said: Sequence[str], heard: Sequence[NumberToken]) -> bool:
    """Tell whether the numbers that are heard are those of the text, in order.

    "One" and the ordinals up to the third are also plain words, which the reader counts in some places only. There the
    word itself must say the number.
    """
    at = 0
    for token, words in zip(expected, said, strict=True):
        if at < len(heard) and _are_equal(token, heard[at]):
            at += 1
        elif not _is_plain_word(token, words):
            return False
    return at == len(heard)


def _are_equal(token: NumberToken, heard: NumberToken) -> bool:
    """Tell whether a number that is heard is that of the text. Of rates only those of time
    are compared, and that of a table's header need not be heard.
    """
    value, its = token.value.casefold().replace("\n", " "), heard.value.casefold()
    per = next((name for end, name in _HOURLY.items() if value.endswith(end)), "")
    if per and token.kind is Kind.QUANTITY and heard.rate == {per}:
        return heard.kind is Kind.QUANTITY and value[:-2] == its
    return token.kind is heard.kind and value == its and heard.rate & TIME_UNITS <= token.rate


def _is_plain_word(token: NumberToken, words: str) -> bool:
    """Tell whether `words` is one word that says the number and that is a plain word elsewhere."""
    read = classify(words)
    if read is None or token.value not in ("1", "2", "3"):
        return False
    if token.kind is Kind.NUMBER:
        return read.sort == "article" and token.value == "1"
    return (
        token.kind is Kind.ORDINAL and read.sort in ("ordinal", "third") and read.atoms == (int(token.value),)
    )
