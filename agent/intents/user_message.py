"""The reading of one user's message, shared by all that look at its words within a turn and after it.

Strategy: a turn asks many things of the same words: whether they are a courtesy, in which language they are, which
actions and memory items they propose, which words to search for. `UserMessage` reads each of these when it is first
asked for and keeps it. The record travels with the question (`agent.ports.brain.MessageReadings`), so that the Brains,
the memory and the task that stores the exchange all have the same one, and it ends with the question.
"""

from datetime import date
from functools import cached_property

from ..lang import Lang
from ..ports.brain import Proposal, Question
from ..text.courtesy import CourtesyMatch, find_courtesy, strip_courtesies
from ..text.language import detect_language
from .item_proposals import ItemProposal, ends_unnamed_loop, propose_items
from .triggers import propose_actions, remove_requests


class UserMessage:
    """The words of a message. `text`: the message as its user sent it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._items: dict[tuple[Lang, str, date], tuple[ItemProposal, ...]] = {}
        self._ends_loop: dict[Lang, bool] = {}

    @classmethod
    def of(cls, question: Question) -> "UserMessage":
        """Return the record that travels with `question`."""
        return question.readings.read(cls, question.text)

    @cached_property
    def courtesy(self) -> CourtesyMatch | None:
        """The courtesy that all of the message is, or None."""
        return find_courtesy(self.text)

    @cached_property
    def without_courtesies(self) -> str:
        """The message without the greeting before it and the thanks after it."""
        return strip_courtesies(self.text)

    @cached_property
    def lang(self) -> Lang | None:
        """The language that the words show, or None."""
        return detect_language(self.text)

    @cached_property
    def actions(self) -> tuple[Proposal, ...]:
        """The actions that the message asks for."""
        return propose_actions(self.text)

    @cached_property
    def search_text(self) -> str:
        """The words to search for: the message without courtesies, requests and phone numbers."""
        return remove_requests(self.without_courtesies)

    def propose_items(self, lang: Lang, message: str, today: date) -> tuple[ItemProposal, ...]:
        """Return the memory items that the message proposes (`item_proposals.propose_items`)."""
        key = lang, message, today
        if key not in self._items:
            self._items[key] = propose_items(self.text, lang, message, today)
        return self._items[key]

    def ends_unnamed_loop(self, lang: Lang) -> bool:
        """Return whether the message says that a thing is done which it does not name."""
        if lang not in self._ends_loop:
            self._ends_loop[lang] = ends_unnamed_loop(self.text, lang)
        return self._ends_loop[lang]
