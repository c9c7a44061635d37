"""Tells scenes without a model: sentences of a seeded grammar, the directive, and what the story knows.

Every text follows from the prompt and the seed. A scene has 60 to 150 words. Where its directive asks for a fact or
sends somebody for a thing, the scene says where the thing is or who has it, as the table of states has it, or quotes
the best of the recalled statements that speak of it; where neither knows anything, it says that nobody remembers, and
names no place. No other sentence of the grammar says where a thing is, so a mock's scene moves nothing.
"""

import re
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any, Final

import msgspec
import trio

from ..lang import LANGUAGES, Lang
from ..lang.storytelling import SceneGrammar
from ..ports.teller import TellingPrompt
from ..stories import settings
from ..stories.answers import clean_short_text
from ..stories.entities import EntityIndex, EntityMention, content_words, share_form, split_tokens
from ..text.sentences import find_line_sentences
from ..text.words import FUNCTION_WORDS, split_deltas
from .mock import PIECES_AT_ONCE

LEAST_WORDS, MOST_WORDS = 60, 150
_ECHO_WORDS: Final = 40  # of the directive that stand in the scene
_QUOTES: Final = 3  # recalled statements that a scene quotes
_QUOTE_WORDS: Final = 55
_GOING_ON: Final = 4  # recalled sentences, the best ones, that may speak of a thing by a pronoun
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
_COLON: Final = re.compile(r":(?=\s|$)")
_QUOTING: Final = str.maketrans("", "", '“”„”"«»')
_MET: Final = 0.75  # share of a milestone's words that its scene holds


@dataclass(frozen=True, slots=True)
class _FactNeed:
    """The fact that fits a directive. `entity`: a thing or person of the story, or "". `phrases`: other nouns.

    `is_number`: a number is asked for. `is_asked`: the scene has to say so where nobody knows.
    """

    entity: str
    phrases: tuple[tuple[str, ...], ...]
    is_number: bool
    is_asked: bool


class MockTeller:
    """Tells by its grammar (implements `agent.ports.teller.Teller`).

    `seed`: of every draw, beside the seed of each call. `delay`: seconds before each word.
    """

    def __init__(self, seed: int = 0, delay: float = 0.0) -> None:
        self._seed = seed
        self._delay = delay

    @property
    def name(self) -> str:
        """The name of the model."""
        return "mock"

    async def tell_scene(self, prompt: TellingPrompt, seed: int) -> AsyncGenerator[str, None]:
        """Yield a scene word by word."""
        text = _MockScene(prompt, self._draw(prompt, seed)).compose()
        for number, piece in enumerate(split_deltas(text)):
            if self._delay or number % PIECES_AT_ONCE == 0:
                await trio.sleep(self._delay)
            yield piece

    async def write(self, prompt: TellingPrompt, seed: int, max_characters: int) -> str:
        """Return choices or milestones as JSON, a summary, or an aside."""
        await trio.sleep(self._delay)
        facts, rng = prompt.facts, self._draw(prompt, seed)
        grammar = LANGUAGES[prompt.lang].storytelling.grammar
        if facts["task"] == "choices":
            text = _encode(_MockScene(prompt, rng).list_choices())
        elif facts["task"] == "milestones":
            text = _encode(_check_milestones(facts, prompt.lang))
        elif facts["task"] == "summary":
            text = " ".join([grammar.summary, *facts["scenes"]])
        else:
            text = grammar.aside.format(text=_first_sentence(facts["foundation"]) or grammar.closings[0])
        return clean_short_text(text, max_characters)

    def _draw(self, prompt: TellingPrompt, seed: int) -> Random:
        return Random(f"{self._seed}/{seed}/{prompt.stable}/{prompt.fresh}")


class _MockScene:
    """One scene of the grammar."""

    def __init__(self, prompt: TellingPrompt, rng: Random) -> None:
        self._facts = prompt.facts
        self._lang: Lang = prompt.lang
        self._grammar: SceneGrammar = LANGUAGES[prompt.lang].storytelling.grammar
        self._rng = rng
        self._directive = " ".join(_CONTROLS.sub(" ", self._facts["directive"]).split())
        states = [(entity, "thing") for entity, *_ in self._facts.get("states", ())]
        self._index = EntityIndex(dict([*states, *map(tuple, self._facts["cast"])]).items(), self._lang)
        self._mentions = self._find_names(self._directive)
        self._persons = {name for name, kind in self._facts["cast"] if kind == "person"}
        self._sentences = [
            (seq, text[start:end])
            for seq, text in self._facts.get("recalled", ())
            for start, end in find_line_sentences(text)
        ]
        rules = LANGUAGES[self._lang].storytelling.words
        self._verbs = frozenset().union(
            rules.placing, rules.keeping, rules.taking, rules.giving, rules.going, rules.destroying, rules.being,
            rules.remarking, rules.unreal, rules.particles, self._grammar.seeking, self._grammar.asking,
        )  # fmt: skip

    def compose(self) -> str:
        """Return the text of the scene."""
        need = self._find_need()
        fact = self._tell_fact(need) if need is not None else []
        sentences = [self._open(need), *fact, *self._echo(need)]
        if sum(len(each.split()) for each in sentences) > MOST_WORDS - 20:
            return " ".join(each[0].upper() + each[1:] for each in sentences)
        person, other = self._choose_persons()
        moods = list(self._grammar.moods)
        self._rng.shuffle(moods)
        more = [self._rng.choice(self._grammar.actions).format(person=person)]
        if other:
            more.append(self._rng.choice(self._grammar.meetings).format(person=person, other=other))
        closing = self._rng.choice(self._grammar.closings)
        sentences += more
        while sum(len(each.split()) for each in [*sentences, closing]) < LEAST_WORDS and moods:
            sentences.append(moods.pop())
        return " ".join(each[0].upper() + each[1:] for each in [*sentences, closing])

    def list_choices(self) -> list[str]:
        """Return two to four choices."""
        chosen = self._rng.sample(self._grammar.choices, self._rng.randint(2, 4))
        return [each.format(person=self._choose_persons()[0]) for each in chosen]

    def _open(self, need: _FactNeed | None) -> str:
        """Return the first sentence; without a place where the scene tells a fact of its own."""
        foundation = _first_sentence(self._facts["foundation"])
        if self._facts["seq"] == 1 and need is None and foundation:
            return foundation
        places = [self._facts["place"]] if self._facts["place"] else []
        if need is None and places and self._rng.random() < 0.5:
            return self._rng.choice(self._grammar.openings_at).format(place=places[0])
        return self._rng.choice(self._grammar.openings)

    def _echo(self, need: _FactNeed | None) -> list[str]:
        """Return the directive as a sentence, unless it is a question."""
        words = _COLON.sub(",", self._directive).split()
        if not words or (need is not None and self._directive.rstrip("”\"'»").endswith("?")):
            return []
        text = " ".join(words[:_ECHO_WORDS])
        ends = text[-1] in ".!?…" or (text[-1] in "”\"'»)" and text[-2:-1] in ".!?…")
        return [text[0].upper() + text[1:] + ("" if ends else ".")]

    def _choose_persons(self) -> tuple[str, str]:
        """Return two living persons, those of the directive before others; "" for one that there is not."""
        dead = {entity for entity, field, *_ in self._facts.get("states", ()) if field == "condition"}
        named = [each.name for each in self._mentions if each.kind == "person"]
        others = [name for name, kind in self._facts["cast"] if kind == "person" and name not in named]
        self._rng.shuffle(others)
        persons = [each for each in dict.fromkeys([*named, *others]) if each not in dead]
        return (persons[0] if persons else self._grammar.somebody), (persons[1] if len(persons) > 1 else "")

    # --- facts

    def _find_need(self) -> _FactNeed | None:
        """Return the fact that the directive needs, or that fits it; None where it names nothing."""
        words = split_tokens(self._directive)
        counting = re.search(rf"\b(?:{self._grammar.counting})\b", " ".join(words))
        asked = set(counting.group().split()) if counting is not None else set()
        is_asked = bool(asked) or self._directive.rstrip("”\"'»").endswith("?")
        is_asked = is_asked or bool((self._grammar.asking | self._grammar.seeking) & set(words))
        phrases = self._find_phrases(words, asked)
        things = [each.name for each in self._mentions if each.kind == "thing"]
        if not things and is_asked and not phrases:
            things = [each.name for each in self._mentions if self._find_states(each.name)]
        is_named = any(len(phrase) > 1 for phrase in phrases)
        if not (things or (phrases and (is_asked or is_named))):
            return None
        return _FactNeed(things[0] if things else "", tuple(phrases), bool(asked), is_asked)

    def _find_phrases(self, words: Sequence[str], asked: Collection[str]) -> list[tuple[str, ...]]:
        """Return the noun phrases of the directive, but for names: those behind an article, else any.

        `asked`: words of a question for a number.
        """
        rules = LANGUAGES[self._lang].storytelling.words
        named = {at for each in self._mentions for at in range(each.start, each.end)}
        phrases: list[tuple[bool, list[str]]] = [(False, [])]
        for at, word in enumerate(words):
            is_marked = at > 0 and words[at - 1] in rules.determiners
            is_verb = not is_marked and (word in self._verbs or word in asked)
            if at in named or is_verb or word in FUNCTION_WORDS or not word[0].isalnum():
                phrases.append((False, []))
                continue
            if not phrases[-1][1]:
                phrases[-1] = (is_marked, phrases[-1][1])
            phrases[-1][1].append(word)
        whole = [
            (is_marked or words[-1].endswith(rules.definite or ("\0",)), words)
            for is_marked, words in phrases
            if words
        ]
        return [tuple(words) for is_marked, words in whole if is_marked or not any(each for each, _ in whole)]

    def _find_states(self, name: str) -> list[Sequence[Any]]:
        return [each for each in self._facts.get("states", ()) if each[0] == name]

    def _tell_fact(self, need: _FactNeed) -> list[str]:
        """Return sentences with the fact, or the one that nobody knows it."""
        grammar = self._grammar
        states = self._find_states(need.entity)
        found = max((each for each in states if each[1] in ("place", "holder")), key=_seq_of, default=None)
        facts = []
        statements = self._find_statements(need)
        if found is not None and not need.is_number:
            form = grammar.place_fact if found[1] == "place" else grammar.holder_fact
            facts = [form.format(thing=self._define(found[0]), value=self._define(found[2]))]
            statements = [
                each for each in statements if each[0] == found[3] or self._names(found[2], each[1])
            ]
            statements = statements[:1]
        for entity, field, value, _ in states:
            if field == "condition":
                facts.append(grammar.condition_fact.format(thing=self._define(entity), value=value))
        chosen = [text for _, text in statements[:_QUOTES]]
        persons = {
            each.name for text in [*facts, *chosen[:1]] for each in self._find_names(text)
        } & self._persons
        chosen[1:1] = self._find_others(need, persons, chosen)
        quoted: list[str] = []
        for text in chosen:
            words = text.translate(_QUOTING).split()
            if len(quoted) + len(words) <= _QUOTE_WORDS or not quoted:
                quoted += words[:_QUOTE_WORDS]
        if quoted:
            facts.append(grammar.recalled_fact.format(text=" ".join(quoted)))
        if facts or not need.is_asked:
            return facts
        thing = need.entity or " ".join(need.phrases[-1] if need.phrases else ()) or grammar.unknown_thing
        return [self._rng.choice(grammar.unknown).format(thing=self._define(thing))]

    def _find_statements(self, need: _FactNeed) -> list[tuple[int, str]]:
        """Return the recalled sentences that speak of the thing in question, with their scenes, the best first.

        One that only says, asks or denies something stands behind the others; where the directive asks for words, one
        that is spoken stands before them. Where the thing is named at all, a sentence that goes on about it with a
        pronoun speaks of it too.
        """
        rules = LANGUAGES[self._lang].storytelling.words
        idle = rules.remarking | rules.unreal
        asks_words = bool(rules.remarking & set(split_tokens(self._directive)))
        split = [(seq, text, split_tokens(text)) for seq, text in self._sentences]
        named = [self._names_need(need, words) for _, _, words in split]
        ranked: list[tuple[bool, int, int, str]] = []
        for place, (seq, text, words) in enumerate(split):
            goes_on = any(named) and place < _GOING_ON and self._goes_on(words)
            if named[place] or goes_on:
                is_asking = text.rstrip("”\"'»").endswith("?")
                is_late = is_asking or bool(idle & set(words))
                if need.is_number:
                    is_late = not any(self._is_number(word) for word in words)
                elif asks_words:
                    is_late = is_asking or text == text.translate(_QUOTING)
                ranked.append((is_late, place, seq, text))
        return [(seq, text) for _, _, seq, text in sorted(ranked)]

    def _find_others(self, need: _FactNeed, persons: Collection[str], chosen: Collection[str]) -> list[str]:
        """Return the best recalled sentence about one of `persons` that has a word of the directive's nouns."""
        nouns = [word for phrase in need.phrases for word in phrase]
        for _, text in self._sentences:
            names = {each.name for each in self._find_names(text)}
            is_other = text not in chosen and need.entity not in names
            if is_other and names & set(persons) and self._cover(nouns, split_tokens(text)):
                return [text]
        return []

    def _names_need(self, need: _FactNeed, words: Sequence[str]) -> bool:
        """Tell whether a sentence names the thing in question."""
        if need.entity:
            return any(each.name == need.entity for each in self._index.find(words))
        return any(self._cover(phrase, words) >= min(len(phrase), 2) for phrase in need.phrases)

    def _goes_on(self, words: Sequence[str]) -> bool:
        """Tell whether a sentence says by a pronoun where a thing is that it does not name."""
        rules = LANGUAGES[self._lang].storytelling.words
        kinds = {each.kind for each in self._index.find(words)}
        has_pronoun = any(
            word in rules.thing_pronouns
            and (word not in rules.determiners or after in FUNCTION_WORDS or after in rules.within)
            for word, after in pairwise(words[1:])
        )
        return has_pronoun and "place" in kinds and "thing" not in kinds

    def _cover(self, nouns: Sequence[str], words: Sequence[str]) -> int:
        return sum(any(share_form(each, word, self._lang) for word in words) for each in nouns)

    def _find_names(self, text: str) -> list[EntityMention]:
        return self._index.find(split_tokens(text))

    def _names(self, name: str, text: str) -> bool:
        return any(each.name == name for each in self._find_names(text))

    def _define(self, name: str) -> str:
        """Return a name as a noun that is known, with its article."""
        first = split_tokens(name)[:1]
        is_bare = name[:1].islower() and not LANGUAGES[self._lang].storytelling.words.determiners & set(first)
        return self._grammar.article + name if is_bare else name

    def _is_number(self, word: str) -> bool:
        cardinals = LANGUAGES[self._lang].counting.cardinals
        return word[0].isdigit() or word in cardinals.words or word in cardinals.ones


def _seq_of(state: Sequence[Any]) -> int:
    seq: int = state[3]
    return seq


def _check_milestones(facts: Mapping[str, Any], lang: Lang) -> dict[str, bool]:
    """Return for each milestone whether the scene holds most of its words."""
    scene = split_tokens(facts["scene"])
    answers = {}
    for number, text in facts["milestones"]:
        words = content_words(text)
        covered = sum(any(share_form(each, word, lang) for word in scene) for each in words)
        answers[str(number)] = bool(words) and covered >= _MET * len(words)
    return answers


def _first_sentence(text: str) -> str:
    return clean_short_text(text, settings.CHOICE_TEXT).partition("\n")[0]


def _encode(value: object) -> str:
    return msgspec.json.encode(value).decode()
