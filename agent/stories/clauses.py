"""Cuts a sentence of a scene into clauses, and finds their verbs, their places, and the nouns without a name; pure.

Strategy: a clause begins at a mark or a conjunction. Its verbs are the listed ones of `StoryWords`, each kind once. The
relation of a place to its clause is that of the first preposition before its name, with only articles, adjectives,
owners and "the floor of" in between. Nothing here depends on other sentences.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Literal, TypeAlias

from ..lang import LANGUAGES, Lang
from ..ports.stories import CastKind
from ..text.words import FUNCTION_WORDS
from .entities import EntityIndex, EntityMention, split_tokens

PlaceRelation: TypeAlias = Literal["within", "toward", "away"]
VerbKind: TypeAlias = Literal[
    "placing", "giving", "destroying", "killing", "dying", "taking", "going", "keeping", "being"
]
_KINDS: Final[tuple[VerbKind, ...]] = (
    "placing", "giving", "destroying", "killing", "dying", "taking", "going", "keeping", "being",
)  # fmt: skip
_MARKS: Final = frozenset(",;:–—")
_PHRASE: Final = 4  # words of a thing without a name
_WALK: Final = 7  # words between a preposition and its place


@dataclass(frozen=True, slots=True)
class ClausePlace:
    """A known place in a clause: where its name begins, its preposition, and their relation."""

    start: int
    preposition: int
    name: str
    relation: PlaceRelation


@dataclass(slots=True, kw_only=True)
class StoryClause:
    """The words of a clause, and the names in them. `verbs`: the place of the first verb of each kind.

    `persons`: those that act, as the reader of the sentence finds them.
    """

    words: list[str]
    mentions: list[EntityMention]
    verbs: dict[VerbKind, int] = field(default_factory=dict)
    places: list[ClausePlace] = field(default_factory=list)
    persons: list[str] = field(default_factory=list)
    is_remark: bool = False

    def list_mentions(self, kind: CastKind) -> list[EntityMention]:
        """Return the names of one kind."""
        return [each for each in self.mentions if each.kind == kind]

    def has_verb(self, *kinds: VerbKind) -> bool:
        """Tell whether the clause has a verb of one of `kinds`."""
        return any(kind in self.verbs for kind in kinds)

    def word_before(self, at: int) -> str:
        """Return the word before the place `at`, "" where there is none."""
        return self.words[at - 1] if at > 0 else ""


class ClauseRules:
    """The word classes of a language, and the parts of a clause that they tell."""

    def __init__(self, lang: Lang) -> None:
        words = self.words = LANGUAGES[lang].storytelling.words
        self._numbers = LANGUAGES[lang].counting.cardinals.words
        self._kinds: dict[str, list[VerbKind]] = {}
        for kind in _KINDS:
            for word in getattr(words, kind):
                self._kinds.setdefault(word, []).append(kind)
        self.prepositions = words.within | words.toward | words.away
        self.oblique = self.prepositions | words.about | words.part
        self._adverbs = words.particles | self.prepositions
        self._phrase_ends = FUNCTION_WORDS | self._adverbs | words.being
        self._definite = words.definite or ("\0",)

    def split(self, sentence: str, index: EntityIndex) -> Iterator[StoryClause]:
        """Yield the clauses of `sentence`, with the names of `index`."""
        words = split_tokens(sentence)
        mentions = index.find(words)
        inside = {at for each in mentions for at in range(each.start + 1, each.end)}
        cuts = [
            at
            for at, word in enumerate(words)
            if at not in inside and (word in _MARKS or word in self.words.joining)
        ]
        for start, end in zip([0, *cuts], [*cuts, len(words)], strict=True):
            if start < end and words[start] in _MARKS:
                start += 1
            if start < end:
                inner = [
                    EntityMention(each.start - start, each.end - start, each.kind, each.name, each.is_owner)
                    for each in mentions
                    if start <= each.start < end
                ]
                yield self._make_clause(words[start:end], inner)

    def is_verb(self, word: str) -> bool:
        """Tell whether `word` is a listed verb."""
        return word in self._kinds

    def is_number(self, word: str) -> bool:
        """Tell whether `word` is a number, in digits or letters."""
        return word[0].isdigit() or word in self._numbers

    def is_article(self, clause: StoryClause, at: int) -> bool:
        """Tell whether a pronoun stands before a noun of its own, as an article does."""
        if clause.words[at] not in self.words.determiners or at + 1 >= len(clause.words):
            return False
        after = clause.words[at + 1]
        return not (after in FUNCTION_WORDS or after in self._kinds or after in self._adverbs)

    def find_relation(self, clause: StoryClause, start: int) -> tuple[PlaceRelation | None, int]:
        """Return the relation that the words before the name at `start` give to it, and the preposition's place."""
        rules, words = self.words, clause.words
        owners = {at for each in clause.mentions if each.is_owner for at in range(each.start, each.end)}
        others = {at for each in clause.mentions if not each.is_owner for at in range(each.start, each.end)}
        for at in range(start - 1, max(-1, start - _WALK), -1):
            word = words[at]
            if word in rules.away or (word in rules.within and clause.word_before(at) in rules.away):
                return "away", at
            if word in rules.within:
                return "within", at
            is_noun = words[at + 1] in rules.part and word not in rules.being  # "the third step of"
            is_reached = clause.verbs.get("going") == at and word not in rules.placing and not is_noun
            if word in rules.toward or is_reached:
                return "toward", at
            if word in rules.part or word in rules.determiners or at in owners:
                continue
            is_verb = word in rules.remarking or (word in self._kinds and not is_noun)
            if at in others or is_verb or word in FUNCTION_WORDS:
                break
        return None, start

    def find_unnamed_thing(self, clause: StoryClause) -> list[tuple[int, str]]:
        """Return the noun phrase that a verb of putting places, behind it or before it, and where it begins.

        A verb that is not listed does so too, where an adjective tells the thing from others and a place follows.
        """
        if clause.is_remark:
            return []
        if "placing" in clause.verbs:
            verb = clause.verbs["placing"]
            behind = self._find_phrase(clause, verb + 1, len(clause.words), 1)
            return behind if behind or clause.persons else self._find_phrase(clause, 0, verb, 1)
        persons = clause.list_mentions("person")
        if not persons or clause.has_verb("going", "being", "keeping", "giving", "taking"):
            return []
        if not clause.places or clause.places[-1].relation == "away":
            return []
        return self._find_phrase(clause, persons[0].end, clause.places[-1].preposition, 2)

    # --- the parts of a clause

    def _make_clause(self, words: list[str], mentions: list[EntityMention]) -> StoryClause:
        clause = StoryClause(words=words, mentions=mentions)
        taken = {at for each in mentions for at in range(each.start, each.end)}
        for at, word in enumerate(words):
            if at in taken or clause.word_before(at) in self.words.determiners:
                continue
            clause.is_remark = clause.is_remark or word in self.words.remarking
            for kind in self._kinds.get(word, ()):
                if not (kind == "keeping" and self._is_auxiliary(words, at, at + 1 in taken)):
                    clause.verbs.setdefault(kind, at)
        for each in clause.list_mentions("place"):
            relation, at = self.find_relation(clause, each.start)
            if relation is not None:
                clause.places.append(ClausePlace(each.start, at, each.name, relation))
        return clause

    def _is_auxiliary(self, words: Sequence[str], at: int, is_before_name: bool) -> bool:
        """Tell whether the verb at `at` helps another one: "had hidden"."""
        if words[at] not in self.words.perfect or is_before_name or at + 1 >= len(words):
            return False
        after = words[at + 1]
        is_grammar = after in FUNCTION_WORDS or after in self.words.particles or self.is_number(after)
        return after in self._kinds or not is_grammar

    def _find_phrase(self, clause: StoryClause, first: int, last: int, least: int) -> list[tuple[int, str]]:
        """Return the first noun phrase between two places of a clause, with `least` words beside its article."""
        rules, words = self.words, clause.words
        taken = {at for each in clause.mentions for at in range(each.start, each.end)}
        for start in range(first, last):
            word = words[start]
            if word in self.prepositions and word not in rules.particles:
                return []
            has_article = word in rules.determiners and word not in rules.own
            if not has_article and (
                least > 1 or start in taken or word in FUNCTION_WORDS or word in rules.particles
            ):
                continue
            end = noun = start + has_article
            while noun < last and noun not in taken and words[noun] not in self._phrase_ends:
                noun += 1
            phrase = words[end:noun]
            if not least <= len(phrase) <= _PHRASE or phrase[-1] in rules.carried:
                return []
            is_definite = has_article or phrase[-1].endswith(self._definite)
            return [(start, " ".join(phrase))] if is_definite else []
        return []


@cache
def clause_rules(lang: Lang) -> ClauseRules:
    """Return the rules of a language."""
    return ClauseRules(lang)
