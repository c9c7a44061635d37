"""Words of a text: how they are cut, which of them carry grammar only, and the pieces a text is streamed in.

Strategy: a word is a run of letters and digits, with apostrophes kept inside it ("don't"); text is composed
(NFC) and case-folded first, so that the Swedish letters compare equal however they were typed. The tables of
function words are closed classes (articles, pronouns, prepositions, conjunctions, auxiliaries, question words),
written down by hand; everything that has to tell grammar from content reads them here.
"""

import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from agent.ports.search import Lang

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
_PIECE = re.compile(r"\S+\s*|\s+")
_APOSTROPHES = "’‘ʼ´"
_MARKS = 30  # marks in a row that are put in their order together
_MARK_RUN = re.compile(rf"[^\w\s\x00-\x7f]{{{_MARKS + 1},}}")  # no combining mark is a letter or a digit

_ENGLISH = """
a about above across after again against all along also although am among an and another any anybody anyone
anything are aren't around as at be because been before being below between both but by can can't cannot could
couldn't did didn't do does doesn't doing don't done down during each either every everybody everyone everything
few for from further had hadn't has hasn't have haven't having he he'd he'll he's her here hers herself him
himself his how how's however i i'd i'll i'm i've if in into is isn't it it's its itself just let let's many may
me might mine more most much must my myself neither never no nobody none nor not nothing now of off often on once
only onto or other others ought our ours ourselves out over own per perhaps please rather same shall she she's
should shouldn't since so some somebody someone something still such than that that's the their theirs them
themselves then there there's these they they'd they'll they're they've this those though through till to too
toward towards under unless until up upon us very was wasn't we we'd we'll we're we've were weren't what what's
whatever when when's whenever where where's wherever whether which whichever while who who's whoever whole whom
whose why will with within without won't would wouldn't yet you you'd you'll you're you've your yours yourself
arent cant didnt doesnt dont hows im isnt ive theres whats wheres whos wont youre
"""

_SWEDISH = """
aldrig all alla allt alltid alltså andra annan annat att av bara bli blir blev blivit bort både båda bör borde
da de dem den denna denne deras dess dessa det detta dig din dina dit ditt dock dom du då där därför efter eftersom
ej eller emellan emot en enligt er era ert ett fast fler flera fram framför från för före få får fick fått genom
gentemot gör göra gjorde gjort ha hade haft han hans har helt hellre henne hennes hit hon honom hos hur här i
ibland icke igen inga ingen inget ingenting innan inne inom inte ja jag ju kan kanske kommer kring kunde kunna
kunnat lite man med medan mellan men mer mera mest mig min mina mitt mot mycket måste ner någon någonting något
några när nej ni nog nu nån nåt när och ocksa också om oss på redan samma samt sedan sen sig sin sina sitt ska skall
skulle skull snarare som så sådan sådana sådant till tills trots under upp ut utan utanför utom vad var vara vare
varför varit varje vars vart varje vem vems vi vid vilka vilkas vilken vilket vill ville vore
vår vårt våra är än ännu åt över
"""

FUNCTION_WORDS: Mapping[Lang, frozenset[str]] = MappingProxyType(
    {"en": frozenset(_ENGLISH.split()), "sv": frozenset(_SWEDISH.split())}
)
"""Words of each language that carry grammar and no subject, case-folded."""


def composed(text: str) -> str:
    """Return `text` composed (NFC), a long run of marks in stretches of _MARKS; linear in the text.

    Putting a run of marks in their order takes time in the square of its length. No writing needs more than 30 on one
    letter (Unicode's stream-safe text format, UAX 15).
    """
    if text.isascii():
        return text
    pieces: list[str] = []
    at = 0
    for run in _MARK_RUN.finditer(text):
        for cut in range(run.start() + _MARKS, run.end(), _MARKS):
            pieces.append(text[at:cut])
            at = cut
    pieces.append(text[at:])
    return "".join([unicodedata.normalize("NFC", piece) for piece in pieces])


def fold(text: str) -> str:
    """Return `text` composed (`composed`), case-folded and with one kind of apostrophe."""
    if text.isascii():
        return text.lower()
    for mark in _APOSTROPHES:
        text = text.replace(mark, "'")
    return composed(text).casefold()


def words(text: str) -> list[str]:
    """Return the words of `text` in order, folded; digits count as letters, marks between words are dropped."""
    return _WORD.findall(fold(text))


def deltas(text: str) -> list[str]:
    """Return `text` in pieces of one word and the white space after it.

    Joined, the pieces are exactly `text`; white space before the first word is a piece of its own, and an
    empty text has none.
    """
    return _PIECE.findall(text)
