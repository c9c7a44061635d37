"""What the user's own words propose to remember, by rules; nobody else's words are read here.

Strategy: a text is read sentence by sentence, and a sentence clause by clause. What opens a clause decides
(`agent.memory.wording`): a word that asks to remember it, a rule from now on, an order with "always" or "never", a
preference, a decision, something that is done or due by a day, a number or a name of one's own, a number in place of
another. In doubt nothing is proposed: of questions (but of what is stated before one: "I like tea, which is best?"),
denials, what is quoted, told of others, supposed, not sure or in jest, and of whatever follows a sentence that sets a
scene or leads in something else to be worked on. "Remember that ..." is the user's approval itself; everything else is
to be asked.

Bounded: a sentence of more than a hundred words says nothing that can be understood alone, and a message of many
sentences is mostly somebody else's text; what stands behind the first ones is not read.
"""

import re
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Final

from ..config import ITEM_QUOTE, ITEM_TEXT, MAX_TEXT, PROPOSALS_PER_TURN
from ..lang import LANGUAGES, Lang
from ..ports.memory import Candidate, Source
from ..text.sentences import by_line
from ..text.words import composed
from .clauses import Clause, Said, coming
from .wording import Wording, wording

_SENTENCE: Final = 800  # characters of a sentence that is read
_SENTENCES: Final = 32  # of a message
_CLAUSES: Final = 12  # of a sentence
_MASK: Final = "_"
_DATED: Final = " (2026-05-08)"
_QUOTED: Final = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|\"[^\"\n]*\"|[“”„][^“”„\n]*[“”]|«[^«»\n]*»|»[^«»\n]*[«»]|(?<!\w)'[^'\n]*'(?!\w)"
    r"|^[ \t]*>[^\n]*",
    re.DOTALL | re.MULTILINE,
)
_APOSTROPHES: Final = str.maketrans("’‘ʼ´", "''''")


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a user's words propose. told: they asked to remember it, which approves it; else it is to be asked."""

    candidate: Candidate
    told: bool


def propose(text: str, lang: Lang, message: str, today: date) -> tuple[Proposal, ...]:
    """Return what a user's message proposes, in its order, PROPOSALS_PER_TURN at most.

    lang: what the message is taken to be in; where nothing is found in it, the others are tried. message: its id, the
    source of what is proposed. today: what "by Friday" is counted from.
    """
    masked, written = _masked(text[:MAX_TEXT])
    for code in (lang, *(each for each in LANGUAGES if each != lang)):
        found = _read(wording(code), masked, written, today)
        if found:
            return tuple(
                Proposal(_candidate(said, code, quote, message, today), said.told) for said, quote in found
            )[:PROPOSALS_PER_TURN]
    return ()


def ends_what_was_named(text: str, lang: Lang) -> bool:
    """Return whether a user's message says that something is done which it does not name ("It is done.").

    lang: what the message is taken to be in; the others are tried, too.
    """
    masked, _ = _masked(text[:_SENTENCE])
    pieces = [masked[start:end] for start, end in islice(by_line(masked), _SENTENCES)]
    langs = (lang, *(each for each in LANGUAGES if each != lang))
    return any(wording(each).all_done(piece) and "?" not in piece for piece in pieces for each in langs)


def _masked(text: str) -> tuple[str, str]:
    """Return a text without what it quotes, and with it, each character in its place."""
    written = composed(text).translate(_APOSTROPHES)
    return _QUOTED.sub(lambda match: _MASK * len(match.group()), written), written


def _read(rules: Wording, masked: str, written: str, today: date) -> list[tuple[Said, str]]:
    """Return what a text proposes, with the sentence of each. masked: the text without what it quotes."""
    found: list[tuple[Said, str]] = []
    for start, end in islice(by_line(masked), _SENTENCES):
        sentence = Clause(masked[start:end], written[start:end], today)
        if rules.sets_a_scene(sentence.text):
            break
        if rules.asks(sentence.text):
            sentence = sentence.until(rules.stated(sentence.text))
        if (
            not rules.reports(sentence.text)
            and end - start <= _SENTENCE
            and rules.worth_reading(sentence.text)
        ):
            fitting = (
                each for each in _sentence(rules, sentence) if len(each.text) + len(_DATED) <= ITEM_TEXT
            )
            found += [(each, sentence.written) for each in fitting]
        if len(found) >= PROPOSALS_PER_TURN or rules.leads_in(sentence.text):
            break
    return found


def _sentence(rules: Wording, sentence: Clause) -> list[Said]:
    """Return what the clauses of a sentence propose. Each ends where the next one begins that proposes something."""
    breaks = [(match.start(), match.end()) for match in rules.separator.finditer(sentence.text)][:_CLAUSES]
    theirs = rules.saying.search(sentence.text)
    starts = [(0, 0), *(each for each in breaks if theirs is None or each[1] <= theirs.start())]
    kept = rules.kept(sentence)
    if kept is not None:
        return [kept]
    found: list[Said] = []
    for end, at in starts:
        if rules.tells(sentence.text[at:]):
            told = rules.told(sentence.after(at))
            found = [told] if told is not None else []
            sentence = sentence.until(end)
            break
    for end, at in reversed(starts):
        sure = rules.supposing.search(sentence.text, 0, at) is None
        said = rules.said(sentence.after(at), sure, at == 0)
        if said is not None:
            found.insert(0, said)
            sentence = sentence.until(end)
    return found


def _candidate(said: Said, lang: Lang, quote: str, message: str, today: date) -> Candidate:
    text = said.text[:1].upper() + said.text[1:].rstrip(" .,;!")
    day = said.due or (coming(text, today) if said.type == "fact" else None)
    if day is not None and day.isoformat() not in text:
        text += f" ({day.isoformat()})"
    sources = (Source("message", message, quote=quote[:ITEM_QUOTE]),)
    return Candidate(
        said.type, said.about.strip(), text, lang, sources, finishes=said.finishes, single=said.single
    )
