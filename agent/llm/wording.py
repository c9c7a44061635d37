"""How the mock says what a snippet says: in sentences of its own, with the snippet's numbers as they are written.

A table row becomes a list of its columns by name, prose gets a lead, a few other words and a tail. Around a number
nothing changes: the words that stand beside it keep their place, so that the number stays what it is (an amount, a
time, an end of a range). Nothing that is added holds a number or a number word; a heading that might is left out.
"""

import re
from collections.abc import Mapping, Sequence
from random import Random

from ..ports.search import Hit, Lang, Passage, Snippet

_COLUMNS = 4  # of a row, besides the first, that are told
_SENTENCES = 2  # of a snippet
_LIST_MARKER = re.compile(r"^\s*(?:[-*+>]\s+|\d+[.)]\s+)+")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"\*{1,3}|`+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[^\W\d_])")
_PLAIN_NAME = re.compile(r"[^\W\d_]+(?:[ '’-][^\W\d_]+)*")

LEADS: Mapping[Lang, Sequence[str]] = {
    "en": ("Here is what I found: ", "Our pages say this: ", "In short: ", ""),
    "sv": ("Så här står det hos oss: ", "Det här hittade jag: ", "Kort sagt: ", ""),
}
OTHER_LANGUAGE: Mapping[Lang, str] = {
    "en": "I found this on a page in Swedish: ",
    "sv": "Jag hittade det här på en sida på engelska: ",
}
ALSO: Mapping[Lang, Sequence[str]] = {
    "en": ("Also: ", "You may also want to know this: ", "What is more: "),
    "sv": ("Dessutom: ", "Bra att veta är också: ", "Och så det här: "),
}
NOTHING: Mapping[Lang, str] = {
    "en": "The pages I was given do not say.",
    "sv": "Sidorna jag fick säger inget om det.",
}
ASKING: Mapping[Lang, str] = {
    "en": "ASK: I am not sure which of our pages you mean; what is it about?",
    "sv": "ASK: Jag är inte säker på vilken av våra sidor du menar; vad gäller det?",
}
_ROW: Mapping[Lang, str] = {"en": "For {key} you find ", "sv": "För {key} finns "}
_TAIL: Mapping[Lang, str] = {
    "en": ", says our page under {heading}.",
    "sv": ", står det på vår sida under {heading}.",
}
_OTHER_WORDS: Mapping[Lang, Sequence[tuple[re.Pattern[str], str]]] = {
    "en": (
        (re.compile(r"\bcosts(?! you)\b"), "costs you"),
        (re.compile(r"\b([Yy])ou get\b"), r"\1ou will get"),
        (re.compile(r"\bfree of charge\b"), "without any charge"),
        (re.compile(r"\bincludes\b"), "comes with"),
    ),
    "sv": (
        (re.compile(r"\bkostar(?! dig)\b"), "kostar dig"),
        (re.compile(r"\butan kostnad\b"), "helt gratis"),
        (re.compile(r"\bingår\b"), "följer med"),
    ),
}


def compose(chosen: Sequence[Hit], lang: Lang, rng: Random) -> str:
    """Return a text in `lang` that states what the chosen hits say, one after the other."""
    if not chosen:
        return NOTHING[lang]
    parts = []
    for index, hit in enumerate(chosen):
        lead = rng.choice((ALSO if index else LEADS)[lang])
        parts.append((lead if hit.passage.lang == lang else OTHER_LANGUAGE[lang]) + _statement(hit))
    return " ".join(parts)


def plain(line: str) -> str:
    """Return a line of markdown without list markers, links' addresses and emphasis."""
    return _EMPHASIS.sub("", _LINK.sub(r"\1", _LIST_MARKER.sub("", line))).strip()


def _statement(hit: Hit) -> str:
    lang = hit.passage.lang
    if _is_row(hit.snippet):
        return _row(hit.snippet, hit.passage)
    text = " ".join(plain(line) for line in hit.snippet.text.split("\n"))
    text = " ".join(_SENTENCE_END.split(text)[:_SENTENCES])
    for pattern, other in _OTHER_WORDS[lang]:
        text = pattern.sub(other, text)
    heading = hit.passage.headings[-1].rstrip("?!. ") if hit.passage.headings else ""
    if text.endswith(".") and _PLAIN_NAME.fullmatch(heading):
        return text[:-1] + _TAIL[lang].format(heading=heading)
    return text


def _is_row(snippet: Snippet) -> bool:
    return snippet.first == snippet.last and snippet.text.strip().startswith("|")


def _cells(snippet: Snippet) -> list[str]:
    return [plain(cell) for cell in snippet.text.strip().strip("|").split("|")]


def _row(snippet: Snippet, passage: Passage) -> str:
    key, *values = _cells(snippet)
    names = _header(snippet, passage)[1:]
    told = []
    for number, value in enumerate(values[:_COLUMNS]):
        name = names[number] if number < len(names) else ""
        told.append(f"{name.lower()}: {value}" if _PLAIN_NAME.fullmatch(name) else value)
    return _ROW[passage.lang].format(key=key) + ", ".join(told) + "."


def _header(row: Snippet, passage: Passage) -> list[str]:
    """Return the column names of a row's table: its header is the nearest one above it, with as many cells."""
    above = [header for header in passage.headers if header.first < row.first]
    names = _cells(above[-1]) if above else []
    return names if len(names) == len(_cells(row)) else []
