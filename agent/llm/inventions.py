"""The numbers the mock makes up, each of a kind that real models are known for.

An invention is a text with a number that the evidence does not hold: made from nothing (price, phone, percent, date),
from a true number of the draft (a near miss, another unit), or from a true number of elsewhere (another file, the
user's question). Whether a number is in the evidence is judged by its digits alone, strictly: what shares them with any
number there is not used. Only the unit kind keeps a number that is there, and changes what it counts.
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
_TRIES = 40  # draws for a number that the evidence does not hold, before another kind is taken
_NEAR = (50, -50, 10, -10, 1, -1, 100)
_SEPARATORS = re.compile(r"[ .,\u00a0-]")


class Ground:
    """What an invention is made from.

    draft: the true text. evidence: everything the model was given. elsewhere: number phrases of the knowledge base.
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

    def new(self, number: str) -> bool:
        """Whether no run of digits of `number`, nor all its digits in a row, stands in the evidence."""
        return self._runs.isdisjoint(_DIGIT_RUN.findall(number)) and self.new_in_a_row(number)

    def new_in_a_row(self, number: str) -> bool:
        """Whether the digits of `number`, however grouped, stand nowhere in a row in the evidence."""
        return "".join(_DIGIT_RUN.findall(number)) not in self._joined

    def say(self, kind: str, number: str) -> str:
        """Return the draft with a sentence about `number` after it."""
        return f"{self.draft} {table(LANGUAGES[self.lang].inventing.sayings)[kind].format(number)}"


def phrases(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the number phrases ("119.50 kr", "14 days") that stand in texts of the knowledge base, each once."""
    return tuple(dict.fromkeys(match.group() for text in texts for match in _PHRASE.finditer(text)))


def invent(ground: Ground, rng: Random) -> str:
    """Return the draft with a number in it that the evidence does not hold; the kind is drawn from `rng`."""
    for kind in rng.sample(KINDS, len(KINDS)):
        text = kind(ground, rng)
        if text is not None:
            return text
    return ground.say("price", next(str(n) for n in itertools.count(1000) if ground.new(str(n))))


def _price(ground: Ground, rng: Random) -> str | None:
    return _said("price", (str(rng.randrange(20, 2000)) for _ in range(_TRIES)), ground)


def _percent(ground: Ground, rng: Random) -> str | None:
    return _said("percent", (str(rng.randrange(3, 96)) for _ in range(_TRIES)), ground)


def _phone(ground: Ground, rng: Random) -> str | None:
    number = f"08-{rng.randrange(100, 1000)} {rng.randrange(1000):03} {rng.randrange(100):02}"
    return ground.say("phone", number) if ground.new_in_a_row(number) else None


def _date(ground: Ground, rng: Random) -> str | None:
    year = str(rng.randrange(2027, 2036))
    if not ground.new(year):
        return None
    return ground.say(
        "date", f"{rng.randrange(1, 29)} {rng.choice(LANGUAGES[ground.lang].inventing.months)} {year}"
    )


def _near_miss(ground: Ground, rng: Random) -> str | None:
    """Change a true number of the draft a little (299 -> 349)."""
    found = list(_NUMBER.finditer(ground.draft))
    rng.shuffle(found)
    for match in found:
        for step in rng.sample(_NEAR, len(_NEAR)):
            near = str(int(match.group()) + step)
            if int(near) > 0 and ground.new(near):
                return _replaced(ground.draft, match.span(), near)
    return None


def _other_unit(ground: Ground, rng: Random) -> str | None:
    """Say a true value of another unit; not one that the evidence holds bare too, which would support it."""
    found = list(_QUANTITY.finditer(ground.draft))
    rng.shuffle(found)
    for match in found:
        value, unit = match.groups()
        alone = re.compile(rf"(?<![\d.,]){re.escape(value)}(?![.,]?\d)(?! {re.escape(unit)}(?!\w))")
        if not alone.search(ground.evidence):
            return _replaced(ground.draft, match.span(2), _OTHER_UNIT[unit])
    return None


def _elsewhere(ground: Ground, rng: Random) -> str | None:
    """Say a number that is true, but stands in no text the model was given."""
    if not ground.elsewhere:
        return None
    return _said("elsewhere", (rng.choice(ground.elsewhere) for _ in range(_TRIES)), ground)


def _of_question(ground: Ground, rng: Random) -> str | None:
    """Take the user's word for it."""
    return _said("question", phrases([ground.question]), ground)


def _said(kind: str, numbers: Iterable[str], ground: Ground) -> str | None:
    number = next((each for each in numbers if ground.new(each)), None)
    return None if number is None else ground.say(kind, number)


def _replaced(text: str, span: tuple[int, int], new: str) -> str:
    return text[: span[0]] + new + text[span[1] :]


KINDS: Sequence[Callable[[Ground, Random], str | None]] = (
    _price,
    _phone,
    _percent,
    _date,
    _near_miss,
    _other_unit,
    _elsewhere,
    _of_question,
)
