"""Finds texts that repeat an item word for word: its whole text, or a quote of its user. Pure.

Words are compared folded, in order and without a gap, regardless of punctuation and of other words around them. The
agent answers "your" where the user said "my", so in the agent's words any function word matches any other, as long as
two content words stand beside it. A text of one or two words ("blue", "at nine") can occur in anyone's sentence: only a
message that says nothing else repeats it. A quote counts only if it shares a content word with the item: repeating an
order without any of its words ("yes, do that") says nothing of the item.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..ports.memory import Item
from ..text.words import FUNCTION_WORDS, fold, split_words

_SENTENCE: Final = 3
"""Words from which on a text is also looked for inside longer texts."""
_CONTENT: Final = 2
"""Content words from which on a text is recognised with any other function words in it."""
_GRAMMAR: Final = "·"  # in place of a function word; no word contains it


@dataclass(frozen=True, slots=True)
class _SoughtText:
    """A text to look for.

    `rare`: a word that every repetition has. `said`: its words. `told`: its words with one mark for all function words.
    `alone`: it counts only as a whole message.
    """

    rare: str
    user_words: str
    agent_words: str
    alone: bool


class Repeats:
    """Tells whether a message repeats any of `texts`."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._sought = tuple(_prepare_text(each) for each in map(split_words, texts) if each)

    def matches_user_text(self, text: str) -> bool:
        """Return whether a user's `text` repeats one of the texts."""
        return any(
            each.user_words == words if each.alone else each.user_words in words
            for each, words in self._near(text)
        )

    def matches_agent_text(self, text: str) -> bool:
        """Return whether a text by the agent, or derived from messages, repeats one of the texts."""
        if self.matches_user_text(text):
            return True
        return any(
            each.agent_words and each.agent_words in _join_spaced(_mark_grammar(words.split()))
            for each, words in self._near(text)
        )

    def blank_repeats(self, value: Any) -> Any:
        """Return a JSON value with each string emptied that `matches_agent_text`."""
        if isinstance(value, str):
            return "" if value and self.matches_agent_text(value) else value
        if isinstance(value, dict):
            return {name: self.blank_repeats(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.blank_repeats(each) for each in value]
        return value

    def matches_json(self, value: Any) -> bool:
        """Return whether any string in a JSON value repeats one of the texts."""
        return bool(self.blank_repeats(value) != value)

    def _near(self, text: str) -> list[tuple[_SoughtText, str]]:
        """Return the texts that `text` may hold, each with the words of `text`; most texts are not split into words."""
        folded = fold(text)
        near = [each for each in self._sought if each.rare in folded]
        words = _join_spaced(split_words(text)) if near else ""
        return [(each, words) for each in near]


def item_wordings(item: Item) -> tuple[str, ...]:
    """Return the texts that identify the content of `item`: its own, and the user's quotes about it.

    Return () for a forgotten item.
    """
    if not item.text:
        return ()
    own = _content_words(split_words(item.text))
    quotes = (each.quote for each in item.sources if each.kind == "message")
    return tuple(
        dict.fromkeys([item.text, *(quote for quote in quotes if own & _content_words(split_words(quote)))])
    )


def is_within(few: Sequence[str], many: Sequence[str]) -> bool:
    """Return whether the words `few` stand in `many`, in order and without a gap."""
    return _join_spaced(few) in _join_spaced(many)


def _prepare_text(words: Sequence[str]) -> _SoughtText:
    content = _content_words(words)
    known = len(content) >= _CONTENT
    rare = max(content or words, key=lambda word: (len(word), word))
    return _SoughtText(
        rare, _join_spaced(words), _join_spaced(_mark_grammar(words)) if known else "", len(words) < _SENTENCE
    )


def _join_spaced(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


def _mark_grammar(words: Sequence[str]) -> list[str]:
    return [_GRAMMAR if word in FUNCTION_WORDS else word for word in words]


def _content_words(words: Sequence[str]) -> set[str]:
    return {*words} - FUNCTION_WORDS
