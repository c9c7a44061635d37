"""Finds the memory items that a user's own words propose, by rules.

Strategy: a text is read sentence by sentence, and a sentence clause by clause. The opening of a clause decides
(`agent.intents.item_clauses`): a word that asks to remember it, a rule from now on, an order with "always" or "never",
a preference, a decision, a thing that is done or due by a day, a number or a name of the user's own, a number in place
of another, an idea, a lesson, a change on a day. A sentence that is not meant as said proposes nothing
(`agent.intents.sentence_moods`), and neither does a quotation. "Remember that ..." is the user's approval itself;
everything else is to be asked.

Bounded: a sentence of more than a hundred words says nothing that can be understood alone, and a message of many
sentences is mostly somebody else's text; the sentences after the first ones are not read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Final

from ..config import ITEM_QUOTE, ITEM_TEXT, MAX_TEXT, PROPOSALS_PER_TURN
from ..lang import LANGUAGES, Lang
from ..ports.memory import Candidate, Source
from ..text.sentences import find_line_sentences
from .clauses import Clause, ClauseProposal
from .due_days import find_coming_day
from .item_clauses import ClauseReader, clause_reader
from .quotations import mask_quotations

_SENTENCE: Final = 800  # characters of a sentence that is read
_SENTENCES: Final = 32  # of a message
_CLAUSES: Final = 12  # of a sentence
_DATED: Final = " (2026-05-08)"


@dataclass(frozen=True, slots=True)
class ItemProposal:
    """A memory item that a user's words propose. `ordered`: they ask to remember it, which approves it."""

    candidate: Candidate
    ordered: bool


def propose_items(text: str, lang: Lang, message: str, today: date) -> tuple[ItemProposal, ...]:
    """Return the items that a user's message proposes, in its order, `PROPOSALS_PER_TURN` at most.

    `lang`: the language that the message is taken to be in; where nothing is found in it, the others are tried.
    message: its id, the source of the items. `today`: the day from which "by Friday" is counted.
    """
    masked, written = mask_quotations(text[:MAX_TEXT])
    sentences = [
        Clause(masked[start:end], written[start:end], today)
        for start, end in islice(find_line_sentences(masked), _SENTENCES)
    ]
    for code in (lang, *(each for each in LANGUAGES if each != lang)):
        clause_proposals = _read_text(clause_reader(code), sentences)
        if clause_proposals:
            return tuple(
                ItemProposal(_make_candidate(said, code, quote, message, today), said.ordered)
                for said, quote in clause_proposals
            )[:PROPOSALS_PER_TURN]
    return ()


def ends_unnamed_loop(text: str, lang: Lang) -> bool:
    """Return whether a user's message says that something is done which it does not name ("It is done.").

    `lang`: the language that the message is taken to be in; the others are tried, too.
    """
    masked, _ = mask_quotations(text[:_SENTENCE])
    pieces = [masked[start:end] for start, end in islice(find_line_sentences(masked), _SENTENCES)]
    langs = (lang, *(each for each in LANGUAGES if each != lang))
    return any(
        clause_reader(each).ends_unnamed_loop(piece) for piece in pieces if "?" not in piece for each in langs
    )


def _read_text(reader: ClauseReader, sentences: Sequence[Clause]) -> list[tuple[ClauseProposal, str]]:
    """Return the proposals of the `sentences` of a text, each with its sentence."""
    proposals: list[tuple[ClauseProposal, str]] = []
    moods = reader.moods
    for sentence in sentences:
        is_long = len(sentence.text) > _SENTENCE
        if moods.sets_scene(sentence.text):
            break
        if moods.is_question(sentence.text):
            sentence = sentence.until(moods.find_statement_end(sentence.text))
            if not sentence.text:
                continue  # a question throughout
        if not moods.is_report(sentence.text) and not is_long and reader.may_propose(sentence.text):
            proposed = _read_sentence(reader, sentence)
            fitting = (each for each in proposed if len(each.text) + len(_DATED) <= ITEM_TEXT)
            proposals += [(each, sentence.written) for each in fitting]
        if len(proposals) >= PROPOSALS_PER_TURN or moods.leads_in(sentence.text):
            break
    return proposals


def _read_sentence(reader: ClauseReader, sentence: Clause) -> list[ClauseProposal]:
    """Return the proposals of the clauses of `sentence`; each ends where the next clause that proposes begins."""
    moods = reader.moods
    breaks = [match.span() for match in moods.separator.finditer(sentence.text)][:_CLAUSES]
    reported = moods.saying.search(sentence.text)
    starts = [(0, 0), *(each for each in breaks if reported is None or each[1] <= reported.start())]
    ordered = reader.read_order_at_end(sentence)
    if ordered is not None:
        return [ordered]
    proposals: list[ClauseProposal] = []
    for end, at in starts:
        if moods.find_memory_order(sentence.text[at:]) is not None:
            ordered = reader.read_order(sentence.after(at))
            proposals = [ordered] if ordered is not None else []
            sentence = sentence.until(end)
            break
    for end, at in reversed(starts):
        sure = moods.supposing.search(sentence.text, 0, at) is None
        proposal = reader.read_clause(sentence.after(at), sure, at == 0)
        if proposal is not None:
            proposals.insert(0, proposal)
            sentence = sentence.until(end)
    return proposals


def _make_candidate(proposal: ClauseProposal, lang: Lang, quote: str, message: str, today: date) -> Candidate:
    text = proposal.text[:1].upper() + proposal.text[1:].rstrip(" .,;!")
    day = proposal.due or (find_coming_day(text, today) if proposal.type == "fact" else None)
    if day is not None and day.isoformat() not in text:
        text += f" ({day.isoformat()})"
    sources = (Source("message", message, quote=quote[:ITEM_QUOTE]),)
    return Candidate(
        type=proposal.type,
        subject=proposal.subject.strip(),
        text=text,
        lang=lang,
        sources=sources,
        finishes=proposal.finishes,
        single=proposal.single,
    )
