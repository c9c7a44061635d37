"""Invents numbers for the mock, each of a kind that real models are known for.

An invention is a text with a number that the evidence does not hold. It is made from nothing (price, phone, percent,
date), from a true number of the draft (a near miss, another unit), or from a true number of elsewhere (another file,
the user's question). Whether the evidence holds a number is judged strictly, by its digits alone: a number that shares
its digits with any number of the evidence is not used. Only `_change_unit` keeps a number of the evidence, and changes
its unit.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from random import Random

from ..lang import LANGUAGES, Lang
from ..lang.language import table
from ..text.words import SMALL

_OTHER_UNIT = {
    unit: other for language in LANGUAGES.values() for unit, other in language.inventing.other_units.items()
}
_UNIT = "|".join(map(re.escape, _OTHER_UNIT))
_DIGIT_RUN = re.compile(r"\d+")
_NUMBER = re.compile(r"(?<![\w.,:/+-])(?<!\d )\d{2,4}(?![\w:/-]|[.,]\d| \d)")
_PHRASE = re.compile(
    rf"(?<![\w.,:/+-])(?<!\d )\d+(?:[.,]\d+)?(?: (?:{_UNIT}|%|[{SMALL}]{{3,12}})\b| ?%)?(?![\w:/-]|[.,]\d| \d)"
)
_QUANTITY = re.compile(rf"(?<![\w.,:/+-])(?<!\d )(\d+(?:[.,]\d+)?) ({_UNIT})(?!\w)")
_TRIES = 40  # draws of a number that the evidence does not hold, before the next kind is tried
_NEAR = (50, -50, 10, -10, 1, -1, 100)
_SEPARATORS = re.compile(r"[ .,\u00a0-]")


class InventionSource:
    """The texts that an invention is made from.

    `draft`: the true text. `evidence`: all texts that the model was given. `elsewhere`: number phrases of the knowledge
    base.
    """

    def __init__(
        self, draft: str, evidence: str, question: str, lang: Lang, elsewhere: Sequence[str]
    ) -> None:
        self.draft = draft
        self.evidence = evidence
        self.question = question
        self.lang = lang
        self.elsewhere = elsewhere
        self._runs = frozenset(_DIGIT_RUN.findall(evidence))
        self._joined = _SEPARATORS.sub("", evidence)

    def is_new(self, number: str) -> bool:
        """Return whether no run of digits of `number`, nor all its digits in a row, stands in the evidence."""
        return self._runs.isdisjoint(_DIGIT_RUN.findall(number)) and self.is_new_in_a_row(number)

    def is_new_in_a_row(self, number: str) -> bool:
        """Return whether the digits of `number`, however grouped, stand nowhere in a row in the evidence."""
        return "".join(_DIGIT_RUN.findall(number)) not in self._joined

    def add_sentence(self, kind: str, number: str) -> str:
        """Return the draft with a sentence about `number` after it. `kind`: of the sentence, a key of `sayings`."""
        return f"{self.draft} {table(LANGUAGES[self.lang].inventing.sayings)[kind].format(number)}"


def find_number_phrases(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the number phrases ("119.50 kr", "14 days") in `texts` of the knowledge base, each once."""
    return tuple(dict.fromkeys(match.group() for text in texts for match in _PHRASE.finditer(text)))


def invent_number(source: InventionSource, rng: Random) -> str:
    """Return the draft with a number in it that the evidence does not hold. `rng`: draws the kind of invention."""
    for kind in rng.sample(KINDS, len(KINDS)):
        text = kind(source, rng)
        if text is not None:
            return text
    return source.add_sentence("price", next(str(n) for n in itertools.count(1000) if source.is_new(str(n))))


def _invent_price(source: InventionSource, rng: Random) -> str | None:
    return _add_first_new("price", (str(rng.randrange(20, 2000)) for _ in range(_TRIES)), source)


def _invent_percent(source: InventionSource, rng: Random) -> str | None:
    return _add_first_new("percent", (str(rng.randrange(3, 96)) for _ in range(_TRIES)), source)


def _invent_phone(source: InventionSource, rng: Random) -> str | None:
    number = f"08-{rng.randrange(100, 1000)} {rng.randrange(1000):03} {rng.randrange(100):02}"
    return source.add_sentence("phone", number) if source.is_new_in_a_row(number) else None


def _invent_date(source: InventionSource, rng: Random) -> str | None:
    year = str(rng.randrange(2027, 2036))
    if not source.is_new(year):
        return None
    return source.add_sentence(
        "date", f"{rng.randrange(1, 29)} {rng.choice(LANGUAGES[source.lang].inventing.months)} {year}"
    )


def _change_number(source: InventionSource, rng: Random) -> str | None:
    """Change a true number of the draft a little (299 -> 349)."""
    matches = list(_NUMBER.finditer(source.draft))
    rng.shuffle(matches)
    for match in matches:
        for step in rng.sample(_NEAR, len(_NEAR)):
            near = str(int(match.group()) + step)
            if int(near) > 0 and source.is_new(near):
                return _replace_span(source.draft, match.span(), near)
    return None


def _change_unit(source: InventionSource, rng: Random) -> str | None:
    """Give a true value another unit.

    A value that the evidence also holds bare is not used, since the bare one would support the invention.
    """
    matches = list(_QUANTITY.finditer(source.draft))
    rng.shuffle(matches)
    for match in matches:
        value, unit = match.groups()
        alone = re.compile(rf"(?<![\d.,]){re.escape(value)}(?![.,]?\d)(?! {re.escape(unit)}(?!\w))")
        if not alone.search(source.evidence):
            return _replace_span(source.draft, match.span(2), _OTHER_UNIT[unit])
    return None


def _add_from_elsewhere(source: InventionSource, rng: Random) -> str | None:
    """Add a number that is true, but stands in no text that the model was given."""
    if not source.elsewhere:
        return None
    return _add_first_new("elsewhere", (rng.choice(source.elsewhere) for _ in range(_TRIES)), source)


def _add_from_question(source: InventionSource, rng: Random) -> str | None:
    """Add a number of the user's question."""
    return _add_first_new("question", find_number_phrases([source.question]), source)


def _add_first_new(kind: str, numbers: Iterable[str], source: InventionSource) -> str | None:
    number = next((each for each in numbers if source.is_new(each)), None)
    return None if number is None else source.add_sentence(kind, number)


def _replace_span(text: str, span: tuple[int, int], new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]


KINDS: Sequence[Callable[[InventionSource, Random], str | None]] = (
    _invent_price,
    _invent_phone,
    _invent_percent,
    _invent_date,
    _change_number,
    _change_unit,
    _add_from_elsewhere,
    _add_from_question,
)
