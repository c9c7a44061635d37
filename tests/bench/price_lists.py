"""Prints what the number rule makes of price lists: `python -m tests.bench.price_lists`.

Lists in both languages (`tests/data/price_lists`), with units in their headers, in their headings and in neither, per
month and per year beside each other. From each fact of `facts.jsonl` come good answers, in every way to say the rate,
and wrong ones, which say the same number at another rate. Each is checked against all snippets of its list, as the
server cuts them.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from agent.grounding.verify import check_numbers
from agent.ports.search import Snippet
from agent.retrieval.load import Skipped, SourceFile
from agent.retrieval.read import passages_of

LISTS = Path(__file__).resolve().parents[1] / "data" / "price_lists"

SAID = {
    "en": {
        "hour": ("per hour", "/hour", "an hour", "/h", "hourly"),
        "day": ("per day", "/day", "a day", "daily", "each day"),
        "night": ("per night", "/night", "a night"),
        "week": ("per week", "/week", "a week", "weekly"),
        "month": ("per month", "/month", "a month", "/mo", "monthly", "every month", "each month"),
        "year": ("per year", "/year", "a year", "/yr", "yearly", "annually"),
        "minute": ("per minute", "/minute", "a minute"),
        "user": ("per user", "/user"),
        "person": ("per person", "/person"),
        "kg": ("per kg", "/kg", "a kilo"),
        "kWh": ("per kWh", "/kWh"),
        "mile": ("per mile", "/mile", "a mile"),
        "term": ("per term", "/term"),
    },
    "sv": {
        "hour": ("per timme", "/timme", "i timmen", "/h"),
        "day": ("per dag", "/dag", "om dagen", "per dygn", "dagligen"),
        "week": ("per vecka", "/vecka", "i veckan"),
        "month": ("per månad", "/mån", "i månaden", "varje månad", "/månad", "månadsvis"),
        "year": ("per år", "/år", "om året", "årligen"),
        "person": ("per person", "/person"),
        "user": ("per användare", "/användare"),
        "kg": ("per kg", "/kg", "per kilo"),
        "kWh": ("per kWh", "/kWh"),
        "mil": ("per mil", "/mil"),
        "time": ("per gång", "/gång"),
    },
}  # fmt: skip
"""Ways to say what a number is per, by language and rate."""
TIMES = ("hour", "day", "week", "month", "year")
FRAMES = {
    "en": ("{subject} costs {value}{rate}.", "For {subject} it is {value}{rate}, all included.",
           "{subject}: **{value}**{rate}"),
    "sv": ("{subject} kostar {value}{rate}.", "För {subject} är det {value}{rate}, allt inräknat.",
           "{subject}: **{value}**{rate}"),
}  # fmt: skip


class Answer(NamedTuple):
    """An answer about a list: whether it is right."""

    file: str
    text: str
    right: bool


def snippets(file: str) -> tuple[Snippet, ...]:
    """Return the snippets of a list."""
    read = passages_of(SourceFile(file, (LISTS / file).read_bytes()))
    assert not isinstance(read, Skipped)
    return tuple([snippet for passage in read for snippet in passage.snippets])


def answers() -> Iterator[Answer]:
    """Yield the answers of every fact."""
    lines = (LISTS / "facts.jsonl").read_text("utf-8").splitlines()
    facts = [json.loads(line) for line in lines]
    true = {(fact["file"], fact["value"], fact["rate"]) for fact in facts}
    for fact in facts:
        said, frames = SAID[fact["lang"]], FRAMES[fact["lang"]]
        own = fact["rate"]
        for rate in said if own else ():
            if (rate in TIMES or own not in TIMES) and (fact["file"], fact["value"], rate) not in true:
                yield from _said(fact, frames, said[rate], False)
        yield from _said(fact, frames, ("", *said[own]) if own else ("",), True)


def _said(
    fact: dict[str, str], frames: tuple[str, ...], rates: tuple[str, ...], right: bool
) -> Iterator[Answer]:
    for count, rate in enumerate(rates):
        frame = frames[(count + len(fact["value"])) % len(frames)]
        gap = "" if rate[:1] in ("/", "") else " "
        yield Answer(fact["file"], frame.format(**{**fact, "rate": gap + rate}), right)


def judged() -> tuple[list[Answer], list[Answer]]:
    """Return the right answers that are blocked, and the wrong ones that pass."""
    held = {file: snippets(file) for file in sorted({answer.file for answer in answers()})}
    wrong = [
        answer
        for answer in answers()
        if check_numbers(answer.text, held[answer.file]).is_supported != answer.right
    ]
    return [answer for answer in wrong if answer.right], [answer for answer in wrong if not answer.right]


def main() -> None:
    """Print the figures, and what is judged wrong."""
    blocked, passed = judged()
    right = sum(answer.right for answer in answers())
    print(f"good answers blocked: {len(blocked)} of {right} = {len(blocked) / right:.1%}")  # noqa: T201
    print(f"wrong rates passed: {len(passed)} of {sum(not a.right for a in answers())}")  # noqa: T201
    for answer in (*blocked, *passed):
        print("blocked" if answer.right else "passed ", answer.file, answer.text)  # noqa: T201


if __name__ == "__main__":
    main()
