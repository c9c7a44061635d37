"""Finds the persons, places and things of a story in its sentences, by their names; pure.

Strategy: a name is found as its words in order, each in any of its forms: a word's forms are the word, and the word
without one of its language's endings (`StoryWords` of `agent.lang.storytelling`). Two words are one where their forms
meet ("kvarnen", "kvarnens", "kvarn"). So no dictionary is needed, and a name is found in whatever form the cast gives
it. Behind an article or an owner the last word of a longer name stands for it too ("the key" of the copper key), and in
a language with compounds the end of its only word, unless two names end so; of a person's name any word.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from ..lang import LANGUAGES, Lang
from ..lang.storytelling import StoryWords
from ..ports.stories import CastKind, CastMember, EntityState
from ..text.words import FUNCTION_WORDS, fold

_TOKEN: Final = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[,;:–—]")
_STEM: Final = 3  # letters that a word keeps without its ending
_COMPOUND: Final = 4  # letters of the last part of a compound


@dataclass(frozen=True, slots=True)
class EntityMention:
    """A name in a sentence: the words from `start` to `end`. `is_owner`: it stands before its thing ("Mira's")."""

    start: int
    end: int
    kind: CastKind
    name: str
    is_owner: bool


def split_tokens(text: str) -> list[str]:
    """Return the words of a sentence, folded by `fold`, and the marks that part its clauses."""
    return _TOKEN.findall(fold(text))


@lru_cache(maxsize=8192)
def word_forms(word: str, lang: Lang) -> frozenset[str]:
    """Return `word`, which is folded, and `word` without each of the `endings` of `lang`."""
    rules = LANGUAGES[lang].storytelling.words
    word = word.removesuffix(rules.owner) if rules.owner.startswith("'") else word
    stems = (word[: -len(each)] for each in rules.endings if word.endswith(each))
    return frozenset([word, *(stem for stem in stems if len(stem) >= _STEM)])


def share_form(first: str, second: str, lang: Lang) -> bool:
    """Tell whether two folded words may be one word in different forms (`word_forms`)."""
    return not word_forms(first, lang).isdisjoint(word_forms(second, lang))


def content_words(text: str) -> list[str]:
    """Return the words of `text` that are not in `FUNCTION_WORDS`, folded."""
    return [word for word in split_tokens(text) if word[0].isalnum() and word not in FUNCTION_WORDS]


class EntityIndex:
    """Finds names. `names`: with their kinds; the first of two equal ones counts."""

    def __init__(self, names: Iterable[tuple[str, CastKind]], lang: Lang) -> None:
        self._lang: Lang = lang
        self._rules: StoryWords = LANGUAGES[lang].storytelling.words
        self._names: dict[
            str, list[tuple[tuple[str, ...], str, CastKind]]
        ] = {}  # by a form of the first word
        self._aliases: dict[str, tuple[str, CastKind] | None] = {}  # by a form; None for that of two names
        self._ends: dict[str, tuple[str, CastKind] | None] = {}  # of compounds
        for name, kind in names:
            words = self._strip(split_tokens(name))
            if words:
                self._add(words, name, kind)

    def find(self, words: Sequence[str]) -> list[EntityMention]:
        """Return the names in `words`, those of a sentence by `split_tokens`, in order and without overlaps."""
        mentions: list[EntityMention] = []
        at = 0
        while at < len(words):
            mention = self._match(words, at)
            if mention is not None:
                mentions.append(mention)
            at = mention.end if mention is not None else at + 1
        return mentions

    def _strip(self, words: list[str]) -> list[str]:
        """Return a name without the article before it."""
        while len(words) > 1 and words[0] in self._rules.determiners and words[0] in FUNCTION_WORDS:
            words = words[1:]
        return words

    def _head(self, words: Sequence[str]) -> str:
        """Return the noun of a name: its last word, or the one before "of"."""
        part = next((at for at, word in enumerate(words) if at and word in self._rules.part), len(words))
        return words[part - 1]

    def _add(self, words: list[str], name: str, kind: CastKind) -> None:
        entry = (tuple(words), name, kind)
        for form in word_forms(words[0], self._lang):
            self._names.setdefault(form, []).append(entry)
            self._names[form].sort(key=lambda each: -len(each[0]))
        if len(words) > 1:
            for word in words if kind == "person" else [self._head(words)]:
                if len(word) >= _STEM and word not in FUNCTION_WORDS:
                    _put_alias(self._aliases, word_forms(word, self._lang), (name, kind))
        elif self._rules.definite and kind != "person":
            ends = {form[cut:] for form in word_forms(words[0], self._lang) for cut in range(3, len(form))}
            _put_alias(self._ends, (end for end in ends if len(end) >= _COMPOUND), (name, kind))

    def _match(self, words: Sequence[str], at: int) -> EntityMention | None:
        word = words[at]
        if not word[0].isalnum() or word in FUNCTION_WORDS:
            return None
        forms = word_forms(word, self._lang)
        best: EntityMention | None = None
        for form in forms:
            for name_words, name, kind in self._names.get(form, ()):
                end = at + len(name_words)
                if best is not None and best.end >= end:
                    break
                pairs = zip(words[at:end], name_words, strict=False)
                if end <= len(words) and all(share_form(*pair, self._lang) for pair in pairs):
                    best = EntityMention(at, end, kind, name, self._is_owner(words[end - 1], name_words[-1]))
        if best is not None:
            return best
        return self._match_alias(words, at, forms)

    def _match_alias(self, words: Sequence[str], at: int, forms: Iterable[str]) -> EntityMention | None:
        """Return the mention of a name by a part of it."""
        word = words[at]
        before = words[at - 1] if at else ""
        is_described = at > 1 and words[at - 2] in self._rules.determiners and before not in FUNCTION_WORDS
        is_known = before not in self._rules.indefinite and (
            before in self._rules.determiners
            or before.endswith(self._rules.owner)
            or (word.endswith(self._rules.definite or ("\0",)) and not is_described)
        )
        for form in forms:
            alias = self._aliases.get(form)
            if alias is None and is_known:
                alias = self._ends.get(form)
            if alias is not None and (is_known or alias[1] == "person"):
                return EntityMention(at, at + 1, alias[1], alias[0], self._is_owner(word, form))
        return None

    def _is_owner(self, word: str, name_word: str) -> bool:
        owner = self._rules.owner
        return word.endswith(owner) and word != name_word


def _put_alias(
    aliases: dict[str, tuple[str, CastKind] | None], forms: Iterable[str], entry: tuple[str, CastKind]
) -> None:
    for form in forms:
        aliases[form] = entry if aliases.get(form, entry) == entry else None


@lru_cache(maxsize=32)
def _make_index(names: tuple[tuple[str, CastKind], ...], lang: Lang) -> EntityIndex:
    return EntityIndex(names, lang)


def index_entities(
    cast: Iterable[CastMember], states: Iterable[EntityState], places: Iterable[str], lang: Lang
) -> EntityIndex:
    """Return the index of the names in `cast`, of the other `places`, and of the things that have `states`."""
    names: dict[str, CastKind] = {member.name: member.kind for member in cast}
    for place in places:
        if place:
            names.setdefault(place, "place")
    for state in states:
        names.setdefault(state.entity, "thing")
        if state.field == "place" and state.by == "hand":
            names.setdefault(state.value, "place")
    return _make_index(tuple(names.items()), lang)
