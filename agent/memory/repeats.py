"""What says again what an item says: the item's whole text, or a quote of its user's, word for word. Pure.

Words are compared folded, in their order and without a gap, whatever marks and other words stand around them. Who is
answered hears "your" where he said "my", so that in the agent's words one word of grammar counts as any other, as long
as two words of content stand beside it. A text of one or two words ("blue", "at nine") may stand in a sentence of
anybody's: only who says nothing else repeats it. A quote counts as far as it speaks of the item: of an order that has
none of its words ("yes, do that") the repetition says nothing of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..ports.memory import Item
from ..text.words import FUNCTION_WORDS, fold, words

_SENTENCE: Final = 3
"""Words from which on a text stands for itself, inside of other words too: who, does, what."""
_CONTENT: Final = 2
"""Words of content from which on a text is known again whatever its words of grammar are: of what, and what of it."""
_GRAMMAR: Final = "·"  # in place of a word of grammar; no word has it


@dataclass(frozen=True, slots=True)
class _Sought:
    """A text as it is looked for. rare: a word that cannot be missing. told: with one mark for all words of grammar."""

    rare: str
    said: str
    told: str
    alone: bool


class Repeats:
    """Tells whether somebody says any of these texts again."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._sought = tuple(_sought(each) for each in map(words, texts) if each)

    def said(self, text: str) -> bool:
        """Return whether a user's text does."""
        return any(each.said == said if each.alone else each.said in said for each, said in self._near(text))

    def told(self, text: str) -> bool:
        """Return whether a text of the agent's does, or one that was made of what was said."""
        if self.said(text):
            return True
        return any(
            each.told and each.told in _spaced(_marked(said.split())) for each, said in self._near(text)
        )

    def without(self, value: Any) -> Any:
        """Return a JSON value with each text in it emptied that does, as `told` finds it."""
        if isinstance(value, str):
            return "" if value and self.told(value) else value
        if isinstance(value, dict):
            return {name: self.without(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.without(each) for each in value]
        return value

    def within(self, value: Any) -> bool:
        """Return whether any text in a JSON value does."""
        return bool(self.without(value) != value)

    def _near(self, text: str) -> list[tuple[_Sought, str]]:
        """Return the texts that may be in another, with that as it is compared; most texts are not cut into words."""
        folded = fold(text)
        near = [each for each in self._sought if each.rare in folded]
        said = _spaced(words(text)) if near else ""
        return [(each, said) for each in near]


def wordings(item: Item) -> tuple[str, ...]:
    """Return the texts by which what an item says is known again: its own, and what its user said of it.

    () of a forgotten one.
    """
    if not item.text:
        return ()
    own = _content(words(item.text))
    said = (each.quote for each in item.sources if each.kind == "message")
    return tuple(dict.fromkeys([item.text, *(quote for quote in said if own & _content(words(quote)))]))


def within(few: Sequence[str], many: Sequence[str]) -> bool:
    """Return whether words stand among others, in their order and without a gap."""
    return _spaced(few) in _spaced(many)


def _sought(said: Sequence[str]) -> _Sought:
    content = _content(said)
    known = len(content) >= _CONTENT
    rare = max(content or said, key=lambda word: (len(word), word))
    return _Sought(rare, _spaced(said), _spaced(_marked(said)) if known else "", len(said) < _SENTENCE)


def _spaced(said: Sequence[str]) -> str:
    return f" {' '.join(said)} "


def _marked(said: Sequence[str]) -> list[str]:
    return [_GRAMMAR if word in FUNCTION_WORDS else word for word in said]


def _content(said: Sequence[str]) -> set[str]:
    return {*said} - FUNCTION_WORDS
