"""Reads the memory item that one clause of a user's message proposes, by the words of one language.

Strategy: each kind of item has patterns for the beginning of its clause, and a few conditions on the rest
(`agent.intents.orders`, `preferences`, `open_loops`, `facts`, `ideas`, `events`). The subject is the words before the
verb, else all words of the clause; `subjects.key_of` keeps those that count. A clause that denies, supposes or comes
from others proposes nothing, except where the user asks to remember it, or orders it, or has an idea. A thing that the
user asks to remember is never read as an idea, a lesson or an event, which end by themselves.
"""

from dataclasses import replace
from functools import cache
from typing import Final

from ..lang import LANGUAGES, Lang
from ..text.words import split_words
from .clauses import Clause, ClauseOpening, ClauseProposal, compile_pattern, join_words
from .events import DatedEventReader
from .facts import FactReader
from .ideas import IdeaReader
from .open_loops import OpenLoopReader
from .orders import OrderReader
from .preferences import PreferenceReader
from .sentence_moods import SentenceMoods

_LEAST: Final = 2  # words that a text needs to be understood alone


class ClauseReader:
    """Reads clauses with the words of `lang`. `moods`: of its sentences."""

    def __init__(self, lang: Lang) -> None:
        say = LANGUAGES[lang].remembering
        opening = self._opening = ClauseOpening(say)
        self._orders = OrderReader(say, opening)
        self._preferences = PreferenceReader(lang, opening)
        self._loops = OpenLoopReader(lang, opening)
        self._facts = FactReader(say, opening)
        self._ideas = IdeaReader(say, opening)
        self._events = DatedEventReader(lang, opening)
        self.moods = SentenceMoods(lang, opening, self._orders)
        told_by = (
            say.telling,
            say.kept,
            say.henceforth,
            say.whenever,
            say.lasting_order,
            say.defining,
            say.standing,
            say.deadline,
        )
        first_person = (say.preferring, say.liking, say.deciding, say.intending, say.obliging, say.done_with)
        others = (say.living, say.being, say.measuring, say.favourite, say.obliged, say.done, say.no)
        self._worth = compile_pattern(
            rf"\b(?:{'|'.join((*told_by, *first_person, *others))}|{join_words(say.mine)})"
        )
        self._hints = say.hints
        self._recalling = compile_pattern(rf"(?:{say.recalling})\b")
        self._kept = compile_pattern(rf"(?:\s*[,;–-])\s*(?:(?:{say.joining})\s+)?(?:{say.kept})\W*\Z")

    def may_propose(self, sentence: str) -> bool:
        """Tell whether `sentence` has any word at all without which nothing is proposed."""
        words = split_words(sentence)
        hinted = not self._hints.isdisjoint(words) or self._events.may_tell(words)
        return hinted or self._worth.search(sentence) is not None

    def ends_unnamed_loop(self, sentence: str) -> bool:
        """Tell whether `sentence` says that something is done which it does not name."""
        return self._loops.ends_unnamed(sentence)

    def read_order(self, clause: Clause) -> ClauseProposal | None:
        """Return the item that `clause` orders to remember ("remember that ..."): its own proposal, else a fact.

        Only a clause about the user is ordered, which approves it; of others the user is asked as of everything else.
        """
        begins = self.moods.find_memory_order(clause.text)
        if begins is None:
            return None
        rest = clause.after(begins)
        if self._recalling.match(rest.text) or len(split_words(rest.text)) < _LEAST:
            return None
        proposal = self._read_lasting(rest) or self._read_any_fact(rest)
        sure = not self._loops.is_of_others(rest.text) and "?" not in clause.text
        return replace(proposal, ordered=sure) if self._preferences.has_subject(proposal.subject) else None

    def read_order_at_end(self, sentence: Clause) -> ClauseProposal | None:
        """Return the item of a `sentence` that ends with an order to remember it ("..., remember that")."""
        match = self._kept.search(sentence.text)
        if match is None:
            return None
        of = sentence.until(match.start())
        of = of.after(self._opening.find_end(of.text))
        proposal = self._read_lasting(of) or self._read_any_fact(of)
        if not self._preferences.has_subject(proposal.subject) or len(split_words(of.text)) < _LEAST:
            return None
        return replace(proposal, ordered=not self._loops.is_of_others(of.text))

    def read_clause(self, clause: Clause, sure: bool, first: bool = True) -> ClauseProposal | None:
        """Return the item that `clause` proposes by itself.

        `sure`: no word before it says that it is not meant. `first`: it begins its sentence, as an order does.
        """
        proposal = self._read_lasting(clause, sure, first)
        if proposal is None and sure:
            proposal = self._ideas.read_idea(clause) or self._ideas.read_lesson(clause)
            certain = self.moods.cut_doubt(clause)
            if proposal is None and not self.moods.saying.search(certain.text):
                proposal = self._events.read_event(certain)
        return proposal if proposal is not None and self._preferences.has_subject(proposal.subject) else None

    def _read_lasting(self, clause: Clause, sure: bool = True, first: bool = True) -> ClauseProposal | None:
        """Return the item of `clause` of a type that does not end by itself."""
        proposal = self._orders.read_rule(clause) if first else None
        clause = self.moods.cut_doubt(clause)
        if proposal is None and sure and not self.moods.saying.search(clause.text):
            kinds = (
                self._preferences.read_preference,
                self._preferences.read_decision,
                self._loops.read_end,
                self._loops.read_intention,
                self._loops.read_duty,
                self._facts.read_fact,
            )
            proposal = next((found for kind in kinds if (found := kind(clause)) is not None), None)
        return proposal if proposal is not None and self._preferences.has_subject(proposal.subject) else None

    def _read_any_fact(self, clause: Clause) -> ClauseProposal:
        """Return all of `clause` as a fact, without a condition on its content."""
        about = self._preferences.find_subject(clause.text)
        return ClauseProposal(type="fact", subject=about, text=clause.written)


@cache
def clause_reader(lang: Lang) -> ClauseReader:
    """Return the reader of a language."""
    return ClauseReader(lang)
