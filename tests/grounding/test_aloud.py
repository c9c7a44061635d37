"""Numbers aloud, of whole files: what is said is equal or withheld, by the reader and by another writer of numbers."""

import json
import re
import sys
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agent.grounding.utterance import make_utterance
from agent.lang import LANGUAGES, Lang
from agent.numbers.number_tokens import Kind, tokens
from agent.ports.brain import VerifiedText
from agent.ports.utterance import SpokenSentence
from agent.text.language import detect_language
from tests.examples import examples
from tests.grounding.test_number_cases import CASES
from tests.grounding.test_utterance import SPEAKABLE
from tests.numbers.test_kinds import english, grouped, swedish

TESTS = Path(__file__).resolve().parents[1]
KB = TESTS.parent / "kb"
MOST_WITHHELD = 0.05
COUNTED = frozenset((Kind.NUMBER, Kind.PERCENT, Kind.MONEY, Kind.QUANTITY))
WRITERS = {"en": english, "sv": swedish}
LANGS = st.sampled_from(sorted(WRITERS))
UNSEEN = [
    (lang, *line.split("\t"))
    for lang, name in (("en", "english"), ("sv", "swedish"))
    for line in (TESTS / "data" / "aloud" / f"{name}.tsv").read_text("utf-8").splitlines()
]


def say(text: str, lang: Lang) -> tuple[SpokenSentence, ...]:
    """Return the sentences of a text as they are said."""
    return make_utterance(VerifiedText(text=text, citations=(), confidence=None), lang).sentences


def say_one(text: str, lang: Lang) -> str | None:
    """Return the words of a text of one sentence, `None` where they are withheld."""
    (sentence,) = say(text, lang)
    assert SPEAKABLE.fullmatch(sentence.words)
    return None if sentence.withheld else sentence.words


def squeeze(words: str) -> str:
    """Return number words without what their writers differ in."""
    return re.sub(r"[\s,;-]|\band\b", "", words.lower()).replace("etttusen", "ettusen")


def spell(digits: str, lang: Lang) -> str:
    """Return digits one by one."""
    return squeeze(" ".join([WRITERS[lang](int(digit)) for digit in digits]))


def lacking(text: str, words: str, lang: Lang) -> list[str]:
    """Return the whole numbers in digits that another writer of numbers does not find in its words."""
    heard = squeeze(words)
    lost = []
    for token in tokens(text):
        if not any(char.isnumeric() for char in token.text):
            continue
        value = token.value.partition(" ")[0]
        if token.kind not in COUNTED or not value.isdecimal() or not 2 <= int(value) < 10**6:
            continue
        hundreds, rest = divmod(int(value), 100)
        forms = {squeeze(write(int(value))) for write in WRITERS.values()} | {spell(value, lang)}
        if 11 <= hundreds <= 19:
            forms.add(squeeze(f"{WRITERS[lang](hundreds)}{'hundred ' if lang == 'en' else 'hundra'}"))
            forms.add(squeeze(WRITERS[lang](rest)))
        if not any(form in heard for form in forms):
            lost.append(token.value)
    return lost


def corpora() -> Iterator[tuple[str, str, Lang]]:
    """Yield the name, text and language of each document and case."""
    attacks = TESTS / "data" / "number_attacks.jsonl"
    cases = [*CASES, *map(json.loads, attacks.read_text("utf-8").splitlines())]
    for name, kind in (("cases", "want"), ("attacks", "kind")):
        for case in cases:
            if ("kind" in case) == (kind == "kind"):
                snippets = case["snippet"] if isinstance(case["snippet"], list) else [case["snippet"]]
                for text in (case["answer"], *snippets):
                    yield name, text, detect_language(text) or "en"
    for path in sorted(KB.rglob("*.md")):
        yield "kb", path.read_text("utf-8"), "sv" if path.parent.name == "sv" else "en"
    for path in sorted((TESTS / "data" / "price_lists").glob("*.md")):
        yield "price lists", path.read_text("utf-8"), "sv" if path.name.startswith("sv") else "en"


@pytest.mark.proof
def test_every_number_of_the_files_is_said_or_withheld(capsys: pytest.CaptureFixture[str]) -> None:
    """At most one sentence in twenty is withheld, and no number of the others is another one."""
    said: dict[str, list[int]] = {}
    for name, text, lang in corpora():
        counts = said.setdefault(name, [0, 0])
        for each in say(text, lang):
            has_number = bool(tokens(text[each.start : each.end])) or each.withheld
            counts[0] += has_number
            counts[1] += each.withheld
            assert SPEAKABLE.fullmatch(each.words), each
            if not each.withheld:
                assert lacking(text[each.start : each.end], each.words, lang) == [], each
    with capsys.disabled():
        for name, (count, withheld) in said.items():
            sys.stdout.write(
                f"\n{name}: {count} sentences with numbers, {withheld} withheld ({withheld / count:.1%})"
            )
    whole = [sum(counts) for counts in zip(*said.values(), strict=True)]
    assert whole[1] <= MOST_WITHHELD * whole[0]
    assert said["kb"][1] <= MOST_WITHHELD * said["kb"][0]


def test_sentences_are_said_as_people_wrote_them() -> None:
    """Of each kind of number, in the words that were written by hand before the code had seen the sentence."""
    assert len(UNSEEN) > 100
    assert [(text, say_one(text, lang)) for lang, text, _ in UNSEEN] == [
        (text, words) for _, text, words in UNSEEN
    ]


@settings(max_examples=examples(400))
@given(LANGS, st.integers(2, 999_999), st.sampled_from(["", " ", "\u00a0"]))
def test_whole_numbers(lang: Lang, value: int, mark: str) -> None:
    """Said as another writer says them."""
    text = (
        f"{'There are' if lang == 'en' else 'Det finns'} {grouped(value, mark)} {'kg' if value % 2 else '%'}."
    )
    words = say_one(text, lang)
    assert words is not None
    assert lacking(text, words, lang) == []


@settings(max_examples=examples(400))
@given(LANGS, st.integers(0, 99_999), st.text("0123456789", min_size=1, max_size=4))
def test_decimals(lang: Lang, whole: int, digits: str) -> None:
    """Said digit by digit behind the mark, or withheld where a mark may part thousands."""
    point, name = (".", "point") if lang == "en" else (",", "komma")
    text = f"{'The value is' if lang == 'en' else 'Värdet är'} {whole}{point}{digits} kg."
    words = say_one(text, lang)
    assert words is None or f"{squeeze(WRITERS[lang](whole))}{name}{spell(digits, lang)}kilogram" in squeeze(
        words
    )


@settings(max_examples=examples(400))
@given(LANGS, st.integers(0, 99_999), st.integers(0, 99))
@example("en", 1, 0)
@example("sv", 1, 0)
def test_sums(lang: Lang, whole: int, hundredths: int) -> None:
    """Said with their hundredths."""
    mark = "." if lang == "en" else ","
    text = f"{'It costs' if lang == 'en' else 'Det kostar'} {grouped(whole, ' ')}{mark}{hundredths:02} kr."
    words = say_one(text, lang)
    assert words is not None
    below = f"{squeeze(WRITERS[lang](hundredths))}öre" if hundredths else ""
    assert below in squeeze(words)
    assert whole < 2 or squeeze(WRITERS[lang](whole)) in squeeze(words)


@settings(max_examples=examples(400))
@given(LANGS, st.integers(0, 365 * 900))
def test_dates(lang: Lang, days: int) -> None:
    """Said with their month and the words of their year."""
    day = date(1100, 1, 1) + timedelta(days=days)
    text = f"{'It was on' if lang == 'en' else 'Det var den'} {day.isoformat()}."
    words = say_one(text, lang)
    assert words is not None
    assert LANGUAGES[lang].saying.months[day.month - 1] in words
    century, rest = divmod(day.year, 100)
    assert squeeze(WRITERS[lang](rest) if rest else "") in squeeze(words)
    assert squeeze(WRITERS[lang](century)) in squeeze(words) or century == 20


@settings(max_examples=examples(400))
@given(LANGS, st.integers(0, 23), st.integers(0, 59))
def test_times(lang: Lang, hour: int, minute: int) -> None:
    """Said with their minutes; a clock of twelve hours names the half of the day."""
    text = f"{'It opens at' if lang == 'en' else 'Det öppnar kl'} {hour:02}:{minute:02}."
    words = say_one(text, lang)
    assert words is not None
    assert squeeze(WRITERS[lang](minute)) in squeeze(words) or minute < 10
    if lang == "en":
        named = "p.m" if hour >= 12 else "a.m"
        assert WRITERS[lang](hour % 12 or 12) in words
        assert named in words or hour in (10, 11, 12)
    else:
        assert f"klockan {swedish(hour)} " in words


@settings(max_examples=examples(600))
@given(
    LANGS, st.text(max_size=60), st.sampled_from(["9", "149 kr", "½", "1,5 %", "[1]", "**2**", "08:00", "A1"])
)
def test_no_other_character_is_said(lang: Lang, text: str, number: str) -> None:
    """Whatever a text holds, a mouth is given letters, spaces and a few marks."""
    for each in say(f"{text}{number} {text}", lang):
        assert SPEAKABLE.fullmatch(each.words), each
        assert 0 <= each.start < each.end <= 2 * len(text) + len(number) + 1
