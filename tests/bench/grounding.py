"""Prints the figures of the number rule: `python -m tests.bench.grounding`.

Rates on labelled answers (when the shared data is there), side by side with the two rules that compare digits as
strings; mutants of good answers; and timings. The naive rules: every digit run of the answer stands in the
passages as a digit run ("runs"); every number with its separators stands so ("strings").
"""

import json
import os
import random
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from agent.grounding import evidence
from agent.grounding.verify import check_numbers, confidence_of, snippets_of
from agent.numbers.number_tokens import tokens
from agent.ports.search import Snippet

SHARED = Path(os.environ.get("AGENT_SHARED") or Path(__file__).resolve().parents[3] / "shared") / "data"
Rule = Callable[[str, str], bool]

_STRINGS = re.compile(r"\d+(?:[.,]\d+)*%?")
_RUNS = re.compile(r"\d+")
_LISTS = re.compile(r"^\s*\d+[.)]", re.M)


def typed(answer: str, passages: str) -> bool:
    """Return whether the number rule passes an answer."""
    return check_numbers(answer, snippets_of(passages)).is_supported


def strict(answer: str, passages: str) -> bool:
    """Return whether the number rule passes an answer when binding is strict."""
    return check_numbers(answer, snippets_of(passages), binding="strict").is_supported


def strings(answer: str, passages: str) -> bool:
    """Return whether every number of the answer, as it is written, is a number of the passages."""
    return {*_STRINGS.findall(answer)} <= {*_STRINGS.findall(passages)}


def runs(answer: str, passages: str) -> bool:
    """Return whether every digit run of the answer, list markers apart, is a digit run of the passages."""
    return {*_RUNS.findall(_LISTS.sub("", answer))} <= {*_RUNS.findall(passages)}


RULES: dict[str, Rule] = {
    "typed (this rule)": typed,
    "binding strict": strict,
    "digit regex, strings": strings,
    "digit regex, runs": runs,
}


@dataclass(frozen=True)
class Row:
    """One labelled answer. gold: POS, MIS, OUT or NEG, as the data's README says."""

    answer: str
    passages: str
    gold: str


def labelled() -> list[Row]:
    """Return the labelled answers, or none when the data is absent."""
    file = SHARED / "ragtruth_qa_dev.jsonl"
    if not file.exists():
        return []
    lines = file.read_text("utf-8").splitlines()
    return [Row(r["answer"], r["passages"], r["gold"]) for r in map(json.loads, lines)]


def cases() -> list[dict[str, str]]:
    """Return the hand-made cases, or none when the data is absent."""
    files = [SHARED / name for name in ("number_cases.jsonl", "number_cases_2.jsonl")]
    return [json.loads(line) for f in files if f.exists() for line in f.read_text("utf-8").splitlines()]


def sureness(rows: Iterable[Row]) -> dict[str, tuple[int, int]]:
    """Return, for each confidence, how many of the answers that pass are right, and of how many.

    The passages have no scores; the best hit's is taken as 1, so that coverage alone decides. OUT, where the
    labellers let a number pass that no passage holds, is left out.
    """
    found = {"high": (0, 0), "med": (0, 0), "low": (0, 0)}
    for row in rows:
        verdict = check_numbers(row.answer, snippets_of(row.passages))
        if verdict.is_supported and row.gold != "OUT":
            sure = confidence_of(verdict.said, verdict.citations, 1.0)
            right, of = found[sure]
            found[sure] = right + (row.gold == "NEG"), of + 1
    return found


_MUTABLE = re.compile(r"(?<![\w.,:/-])\d+(?:[.,]\d+)?(?![\w:/-]|[.,]\d)")


def mutants(rows: Iterable[Row], seed: int = 7, each: int = 5) -> list[tuple[str, str]]:
    """Return (answer, passages) in which one number of a good answer became a value that no passage holds.

    Only answers that pass unchanged are used; list markers are left alone. The new value keeps the number of
    digits: a near miss, not a landmark.
    """
    dice = random.Random(seed)
    made = []
    for row in rows:
        if row.gold != "NEG" or not typed(row.answer, row.passages):
            continue
        marked = {m.end() - 1 for m in _LISTS.finditer(row.answer)}
        spots = [m for m in _MUTABLE.finditer(row.answer) if m.end() not in marked]
        held = {*_RUNS.findall(row.passages + row.answer)}
        for spot in dice.sample(spots, min(each, len(spots))):
            new = _fresh(spot.group(), held, dice)
            made.append((row.answer[: spot.start()] + new + row.answer[spot.end() :], row.passages))
    return made


def _fresh(old: str, held: set[str], dice: random.Random) -> str:
    """Return a number like `old` of which no digit run is in `held`."""
    for size in range(len(old), len(old) + 4):
        for _ in range(50):
            new = "".join(c if c in ".," else str(dice.randint(1, 9)) for c in old.ljust(size, "5"))
            if held.isdisjoint(_RUNS.findall(new)):
                return new
    raise ValueError(old)


def swaps(rows: Iterable[Row], seed: int = 7) -> list[tuple[str, str]]:
    """Return (answer, passages) in which one number became another number of the passages."""
    dice = random.Random(seed)
    made = []
    for row in rows:
        if row.gold != "NEG" or not typed(row.answer, row.passages):
            continue
        spots = [*_MUTABLE.finditer(row.answer)]
        held = sorted({m.group() for m in _MUTABLE.finditer(row.passages)})
        if not spots or len(held) < 2:
            continue
        spot = dice.choice(spots)
        new = dice.choice([h for h in held if h != spot.group()])
        made.append((row.answer[: spot.start()] + new + row.answer[spot.end() :], row.passages))
    return made


def blocked(rule: Rule, rows: Iterable[tuple[str, str]]) -> tuple[int, int]:
    """Return how many answers a rule blocks, and of how many."""
    verdicts = [rule(answer, passages) for answer, passages in rows]
    return verdicts.count(False), len(verdicts)


ANSWER = (
    "The Standard plan costs 299 kr a month and has 24 months of binding; without binding the same plan costs 349 "
    "kr, and you can change between the two at any time by writing to us or calling. Everything that is in the "
    "plan stays the same when you change, and there is no fee for it. Delivery takes 3-5 business days within "
    "Sweden, counted from the day after the order was placed, and goods that you do not want can be sent back "
    "within 30 days as long as they are unused and in the box that they came in. Kundtjänst svarar på telefon "
    "alla vardagar 09:00-17:00 på numret 08-123 45 67, och den som hellre skriver får oftast ett svar samma dag, "
    "men räkna med upp till 24 timmar när många hör av sig på en gång. Under helgdagarna, och hela dagen den 12 "
    "december 2025, är det stängt; då går det bra att skriva, och ni får svar nästa vardag. Frakten för en retur "
    "kostar 49 kr, vilket dras från det belopp som betalas tillbaka. Hör gärna av er om något är oklart, så "
    "hjälper vi till att räkna på vad som passar er bäst just nu."
)
SNIPPETS = tuple(
    Snippet(file="kb/bench.md", text=text, first=1, last=3)
    for text in (
        "| Standard | 299 kr | 24 months |\n| Standard, no binding | 349 kr | 0 months |",
        "Delivery within Sweden takes 3-5 business days.\nIn the rest of Europe it takes 7-10 business days.",
        "You can return goods within 30 days of delivery.\nThe shipping back costs 49 kr.",
        "Vi svarar vardagar 09:00-17:00.\nTelefon: 08-123 45 67.",
        "Svarstiden på mejl är oftast under 2 timmar,\nmen kan vara upp till 24 timmar under 2025-12-12.",
    )
)
ADVERSARIAL = {
    "digits": "9", "commas": "9,", "brackets": "(", "links": "[9](", "tags": "<a", "comments": "<!--", "stars": "9*",
    "entities": "&#57;", "open entities": "&#57 ", "spaces": "9 ", "lines": "1.\n", "words": "one ",
    "Swedish words": "tjugo", "fractions": "½", "fullwidth": "９", "Arabic-Indic": "٩ ", "dashes": "9-",
    "ranges": "1 or ", "dates": "May 1, ", "URLs": "http://a1 ",
    "letters": "abc ", "marks": "a\u0301", "seams": "9`", "zero-width": "9\u200b",
}  # fmt: skip


def best(run: Callable[[], object], repeats: int = 50) -> float:
    """Return the wall-clock seconds of the fastest of some calls: what the work takes when nothing else runs."""
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        taken.append(time.perf_counter() - began)
    return min(taken)


def timings() -> dict[str, float]:
    """Return seconds by what was timed."""
    answer = ANSWER[:1024]

    def cold() -> None:
        evidence.evidence_of.cache_clear()
        check_numbers(answer, SNIPPETS)

    found = {
        "1 KB answer, 5 snippets, tokens kept": best(lambda: check_numbers(answer, SNIPPETS)),
        "1 KB answer, 5 snippets, tokens read": best(cold),
    }
    for name, unit in ADVERSARIAL.items():
        size = 1_000_000 // len(unit.encode())
        text = unit * size
        found[f"1 MB of {name}"] = best(lambda text=text: check_numbers(text, SNIPPETS), 1)  # type: ignore[misc]
    return found


def main() -> None:
    """Print all figures."""
    rows, hand = labelled(), cases()
    out: list[str] = []
    if rows:
        out.append(f"{'blocked':<24}" + "".join(f"{name:>22}" for name in RULES))
        for gold in ("POS", "OUT", "NEG", "MIS"):
            pairs = [(row.answer, row.passages) for row in rows if row.gold == gold]
            out.append(_line(gold, [blocked(rule, pairs) for rule in RULES.values()]))
        for name, made in (("mutants", mutants(rows)), ("swaps", swaps(rows))):
            out.append(_line(name, [blocked(rule, made) for rule in RULES.values()]))
        shares = [f"{name} {right} of {of}" for name, (right, of) in sureness(rows).items()]
        out.append(f"{'right, by confidence':<24}{', '.join(shares):>44}")
    if hand:
        right = [
            sum(rule(case["answer"], case["snippet"]) == (case["want"] == "pass") for case in hand)
            for rule in RULES.values()
        ]
        out.append(f"{'hand-made cases, right':<24}" + "".join(f"{f'{n} of {len(hand)}':>22}" for n in right))
    if not rows:
        out.append("labelled data is absent: set AGENT_SHARED")
    out.append("")
    out += [f"{name:<44}{seconds * 1000:>10.3f} ms" for name, seconds in timings().items()]
    out.append(f"{'tokens in the 1 KB answer':<44}{len(tokens(ANSWER[:1024])):>10}")
    print("\n".join(out))  # noqa: T201


def _line(name: str, figures: list[tuple[int, int]]) -> str:
    return f"{name:<24}" + "".join(f"{f'{n} of {of} = {n / max(of, 1):.1%}':>22}" for n, of in figures)


if __name__ == "__main__":
    main()
