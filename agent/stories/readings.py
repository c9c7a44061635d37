"""Reads a scene for the rules: the places of things and persons, the holders of things, and the acting persons; pure.

Strategy: a clause (`agent.stories.clauses`) states something by its verb and by a preposition with a name behind it. A
few kinds of verbs are listed in `StoryWords`: putting, having, getting, giving, going, being, destroying. A verb that
is not listed counts as one that says where its object is, unless it is one of saying, seeking or depicting. A place
must have a name in the story: `EntityIndex` finds it. Questions, spoken words, negations, conditions, and former times
state nothing.

A pronoun stands for the last person that acted, or the last thing, before it. A thing that has no name in the story yet
gets one when a clause places it at a place that has.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ..lang import Lang
from ..ports.stories import StateField
from ..text.sentences import find_line_sentences
from ..text.words import FUNCTION_WORDS
from .clauses import ClausePlace, StoryClause, clause_rules
from .entities import EntityIndex, EntityMention, split_tokens

_SPOKEN: Final = re.compile(r"([\"“”„»«][^\"“”„»«\n]{0,2000}[\"“”„»«]|^[ \t]*[–—-].*$)", re.MULTILINE)
_MEMORY: Final = 3  # sentences for which a pronoun stands for a thing


@dataclass(frozen=True, slots=True)
class FoundState:
    """A value that a scene states. `is_change`: it tells how the value came about, not only that it holds."""

    entity: str
    field: StateField
    value: str
    is_change: bool


@dataclass(frozen=True, slots=True)
class SceneReading:
    """The statements of a scene, in order: values, persons that act, things that are used, and numbers of things.

    `numbers`: of an entity, the counted noun and its number.
    """

    states: tuple[FoundState, ...]
    actors: frozenset[str]
    used: frozenset[str]
    numbers: tuple[tuple[str, str, str], ...]


@lru_cache(maxsize=512)
def read_scene(text: str, index: EntityIndex, lang: Lang) -> SceneReading:
    """Return the reading of a scene's `text` with the names of `index`."""
    reader = _SceneReader(index, lang)
    for number, part in enumerate(_SPOKEN.split(text)):
        if number % 2:
            reader.hear(part)
            continue
        for start, end in find_line_sentences(part):
            if part[start:end].rstrip(" )*_").endswith("?"):
                reader.hear(part[start:end])
            else:
                reader.read_sentence(part[start:end])
    return SceneReading(
        tuple(reader.states), frozenset(reader.actors), frozenset(reader.used), tuple(reader.numbers)
    )


class _SceneReader:
    """Reads one scene, sentence by sentence."""

    def __init__(self, index: EntityIndex, lang: Lang) -> None:
        self.states: list[FoundState] = []
        self.actors: set[str] = set()
        self.used: set[str] = set()
        self.numbers: list[tuple[str, str, str]] = []
        self._index = index
        self._rules = clause_rules(lang)
        self._words = self._rules.words
        self._person = ""  # that acted last
        self._thing = ""  # that was spoken of last
        self._silence = 0  # sentences since then
        self._places: dict[str, str] = {}  # of persons, in this scene
        # Of one sentence:
        self._fronted = ""  # a place before its clause
        self._unplaced: list[str] = []  # things whose clause named no place
        self._subject = ""  # the thing that it is about
        self._is_reported = False

    def hear(self, words: str) -> None:
        """Read spoken words, or a question: it states nothing, but a pronoun may stand for its thing."""
        things = [each.name for each in self._index.find(split_tokens(words)) if each.kind == "thing"]
        if things:
            self._thing, self._silence = things[-1], 0

    def read_sentence(self, sentence: str) -> None:
        """Read one sentence."""
        self._silence += 1
        if self._silence > _MEMORY:
            self._thing = ""
        self._fronted, self._unplaced, self._subject, self._is_reported = "", [], "", False
        shared: list[str] = []  # persons of a clause without a verb: "Mira and Jonas went"
        for clause in self._rules.split(sentence, self._index):
            self._find_persons(clause, shared)
            named = sum(each.end - each.start for each in clause.mentions)
            shared = clause.persons if not clause.verbs and len(clause.words) <= 1 + named else []
            self._read_clause(clause)

    # --- persons and things of a clause

    def _find_persons(self, clause: StoryClause, shared: list[str]) -> None:
        """Find the persons that act: those without a preposition, a pronoun, or those of the clause before."""
        rules, words = self._words, clause.words
        named = [
            each
            for each in clause.list_mentions("person")
            if not each.is_owner and clause.word_before(each.start) not in self._rules.oblique
        ]
        first = named[0].start if named else len(words)
        pronoun = next((at for at, word in enumerate(words[:first]) if word in rules.person_pronouns), None)
        before = [self._person] if self._person else []
        if pronoun is not None and not self._rules.is_article(clause, pronoun):
            clause.persons = before
        elif named:
            clause.persons = [*shared, named[0].name]
        elif (words[0] in rules.joining or 0 in clause.verbs.values()) and not self._subject:
            verb = min(clause.verbs.values(), default=0)
            has_subject = any(each.end <= verb for each in clause.list_mentions("thing"))
            clause.persons = [] if has_subject else before

    def _find_things(self, clause: StoryClause) -> list[tuple[int, str]]:
        """Return the things of a clause that are not only spoken of, with their places; else that of a pronoun."""
        named = clause.list_mentions("thing")
        if not named:
            return self._find_pronoun(clause) or self._rules.find_unnamed_thing(clause)
        return [(each.start, each.name) for each in named if self._is_object(clause, each)]

    def _is_object(self, clause: StoryClause, mention: EntityMention) -> bool:
        at = mention.start
        while clause.word_before(at) in self._words.determiners:
            at -= 1
        before = clause.word_before(at)
        is_held = before in self._words.within and clause.verbs.get("keeping") == at - 2  # "höll i nyckeln"
        return not mention.is_owner and (is_held or before not in self._rules.oblique - self._words.toward)

    def _find_pronoun(self, clause: StoryClause) -> list[tuple[int, str]]:
        """Return the last thing, and the place of the pronoun for it; or the subject that the clause goes on with."""
        rules = self._words
        for at, word in enumerate(clause.words):
            if not self._thing or word not in rules.thing_pronouns or self._rules.is_article(clause, at):
                continue
            verb = max((each for each in clause.verbs.values() if each < at), default=None)
            if verb is not None:
                is_object = clause.words[verb] not in rules.being and at - verb <= 2
            else:
                before = [each for each in clause.words[:at] if each not in rules.particles][-1:]
                is_object = bool(before) and not (before[0] in FUNCTION_WORDS or before[0] in rules.joining)
            after = [each for each in clause.words[at + 1 :] if each not in rules.particles][:2]
            if clause.word_before(at) in rules.being:  # "där låg den i hamnen"
                after = [clause.word_before(at), *after[:1]]
            is_subject = (
                len(after) == 2
                and (after[0] in rules.being or after[0] in rules.going)
                and (after[1] in rules.within or after[1] in rules.toward)
            )
            if is_object or is_subject:
                return [(at, self._thing)]
        if self._subject and not clause.persons and clause.has_verb("being", "placing"):
            return [(-1, self._subject)]
        return []

    # --- statements

    def _read_clause(self, clause: StoryClause) -> None:
        rules, words = self._words, clause.words
        things = self._find_things(clause)
        is_unreal = any(word in rules.unreal or word in rules.former for word in words)
        is_told = self._is_reported and words[0] in rules.reporting
        self._is_reported = self._is_reported or clause.is_remark
        if not (is_unreal or clause.is_remark or is_told):
            self._read_statement(clause, things)
        persons = clause.persons or [each.name for each in clause.list_mentions("person")]
        if persons:
            self._person = persons[0]
        verb = min(clause.verbs.values(), default=len(words))
        if things and things[0][0] < verb and not (clause.persons or self._subject):
            self._subject = things[0][1]
        spoken_of = [each.name for each in clause.list_mentions("thing")] or [name for _, name in things]
        if spoken_of:
            self._thing, self._silence = spoken_of[-1], 0

    def _read_statement(self, clause: StoryClause, things: list[tuple[int, str]]) -> None:
        verbs = clause.verbs
        if set(verbs) - {"being"}:
            self.actors.update(clause.persons)
            self.used.update(name for _, name in things if clause.persons and "destroying" not in verbs)
        self._read_ends(clause, things)
        self._read_numbers(clause)
        places = [each for each in clause.places if each.relation != "away"]
        if things and "destroying" not in verbs:
            for at, name in things:
                self._read_thing(clause, at, name, places)
        elif places and not things:
            self._read_places(clause, places[0])
        if places and places[0].relation == "within":
            self._places |= dict.fromkeys(clause.persons, places[0].name)
        if "going" in verbs and clause.persons:
            self._read_company(clause)

    def _read_ends(self, clause: StoryClause, things: list[tuple[int, str]]) -> None:
        """Read the things that are destroyed, and the persons that die."""
        if clause.has_verb("destroying"):
            for _, name in things:
                self._add(name, "condition", self._words.destroyed)
        if clause.has_verb("dying"):
            for name in clause.persons:
                self._add(name, "condition", self._words.dead)
        if clause.has_verb("killing"):
            for each in clause.list_mentions("person"):
                if not each.is_owner and each.name not in clause.persons:
                    self._add(each.name, "condition", self._words.dead)

    def _read_numbers(self, clause: StoryClause) -> None:
        entities = [each for each in clause.mentions if each.kind != "person"]
        if not entities or not clause.has_verb("keeping", "being"):
            return
        for number, noun in zip(clause.words, clause.words[1:], strict=False):
            if self._rules.is_number(number) and noun[0].isalpha() and noun not in FUNCTION_WORDS:
                self.numbers.append((entities[0].name, noun, number))

    def _read_thing(self, clause: StoryClause, at: int, name: str, places: Sequence[ClausePlace]) -> None:
        """Read the place or the holder of the thing `name`, which stands in the clause at `at`."""
        place = self._choose_place(clause, at, places)
        holder = self._find_holder(clause)
        is_taken = clause.has_verb("taking") and not clause.has_verb("placing")
        if holder:
            self._add(name, "holder", holder, clause.has_verb("giving", "taking", "placing"))
        elif place is not None and not (is_taken and place.relation == "within"):
            self._add(name, "place", place.name)
        elif place is None and self._fronted and not clause.has_verb("taking", "keeping"):
            self._add(name, "place", self._fronted)
        elif place is None and not clause.verbs:
            self._unplaced.append(name)
        elif place is None and clause.has_verb("placing") and not clause.has_verb("taking"):
            self._unplaced.append(name)
            own = self._places.get(clause.persons[0], "") if clause.persons else ""
            if own and any(word in self._words.within for word in clause.words):  # at a place without a name
                self._add(name, "place", own)
        elif clause.persons and clause.has_verb("taking", "keeping"):
            is_taken = clause.has_verb("taking")
            if is_taken or (not clause.has_verb("being") and not self._is_caused(clause, at)):
                self._add(name, "holder", clause.persons[0], is_taken)

    def _is_caused(self, clause: StoryClause, at: int) -> bool:
        """Tell whether a participle follows the thing at `at`: "had the key sent on"."""
        end = next((each.end for each in clause.mentions if each.start == at), len(clause.words))
        return end < len(clause.words) and clause.words[end] not in FUNCTION_WORDS

    def _choose_place(
        self, clause: StoryClause, at: int, places: Sequence[ClausePlace]
    ) -> ClausePlace | None:
        """Return the place of the thing at `at`: the first one behind it, else the last one before it.

        "The key to the mill" is no place where the key is, but for "brought the key to the mill".
        """
        end = next((each.end for each in clause.mentions if each.start == at), -1)
        parts = [each for each in places if each.relation == "toward" and each.preposition == end]
        moves = clause.has_verb("placing", "giving", "taking") or not clause.has_verb("being", "keeping")
        fit = [each for each in places if moves or each not in parts]
        behind = [each for each in fit if each.start > at]
        others = [each for each in behind if each not in parts]
        return next(iter(others or behind), fit[-1] if fit else None)

    def _find_holder(self, clause: StoryClause) -> str:
        """Return the person that a clause gives a thing to, or that carries it in a hand or a pocket; "" for none."""
        rules, words = self._words, clause.words
        for each in clause.list_mentions("person"):
            before = clause.word_before(each.start)
            if each.is_owner and any(word in rules.carried for word in words[each.end : each.end + 2]):
                return each.name if self._rules.find_relation(clause, each.start)[0] == "within" else ""
            if each.is_owner:
                continue
            if before in rules.toward:
                return each.name
            if clause.has_verb("giving") and each.name not in clause.persons:
                return each.name if before not in rules.away and before not in rules.about else ""
        for at, word in enumerate(words):
            if word in rules.own and any(each in rules.carried for each in words[at + 1 : at + 3]):
                is_within = clause.word_before(at) in rules.within
                return clause.persons[0] if is_within and clause.persons else ""
        return ""

    def _read_places(self, clause: StoryClause, place: ClausePlace) -> None:
        """Read where persons are, and the place of things that stand in other clauses."""
        rules, before = self._words, clause.word_before(place.preposition)
        if clause.has_verb("being"):
            is_there = before in rules.being
        else:  # "smög in i kryptan"
            is_there = place.relation == "toward" or before in rules.particles or before in rules.placing
        if clause.persons:
            if clause.has_verb("going") or (is_there and not set(clause.verbs) - {"being", "placing"}):
                for person in clause.persons:
                    self._add(person, "place", place.name)
                    self._places[person] = place.name
        elif not clause.list_mentions("person") and (place.relation == "within" or self._unplaced):
            for name in self._unplaced:
                self._add(name, "place", place.name)
            self._fronted = self._fronted or place.name

    def _read_company(self, clause: StoryClause) -> None:
        """Read the thing that a person takes along: "went there with the key"."""
        for each in clause.list_mentions("thing"):
            before = [word for word in clause.words[: each.start] if word not in self._words.determiners]
            if before and before[-1] in self._words.along and not each.is_owner:
                self._add(each.name, "holder", clause.persons[0])

    def _add(self, entity: str, what: StateField, value: str, is_change: bool = True) -> None:
        if entity != value:
            self.states.append(FoundState(entity, what, value, is_change))
