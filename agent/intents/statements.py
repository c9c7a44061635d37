"""Tells whether a user's message makes a statement in earnest, word for word.

A rule accepts an event or a metric that a model proposes only where this holds, so in doubt it does not. The statement
must be a whole sentence of the message, or all between two of its joining words: a part of a sentence may make a
statement that the sentence does not ("the shop is closed, except on Mondays"). No word of the sentence may ask,
suppose, report or deny it, in any language.
"""

from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Final

from ..config import MAX_TEXT
from ..lang import LANGUAGES, Lang
from ..numbers.number_tokens import tokens
from ..text.sentences import find_line_sentences
from ..text.words import split_words
from .clauses import ClauseOpening, compile_pattern
from .item_clauses import clause_reader
from .quotations import mask_quotations
from .sentence_moods import SentenceMoods

_SENTENCES: Final = 32  # of a message
_CLAUSES: Final = 12  # of a sentence
_LEAST: Final = 2  # words that a text needs to be understood alone
_NO: Final = compile_pattern(
    rf"\b(?:{'|'.join(each.remembering.no for each in LANGUAGES.values())})\b",
)


def makes_statement(message: str, statement: str, lang: Lang) -> bool:
    """Return whether `message` makes `statement` in earnest, in the same words. `lang`: the language of both."""
    words = split_words(statement)
    masked, _ = mask_quotations(message[:MAX_TEXT])
    moods = [clause_reader(each).moods for each in LANGUAGES]
    for start, end in islice(find_line_sentences(masked), _SENTENCES):
        sentence = masked[start:end]
        if len(words) < _LEAST or any(each.sets_scene(sentence) for each in moods):
            return False
        if not any(_is_doubted(each, sentence) for each in moods) and any(
            split_words(sentence[first:last]) == words
            and _values_of(sentence[first:last]) == _values_of(statement)
            and not _NO.search(sentence, 0, first)
            and not _NO.search(sentence, last)
            for first, last in _find_clauses(sentence, lang)
        ):
            return True
        if any(each.leads_in(sentence) for each in moods):
            return False
    return False


def _is_doubted(moods: SentenceMoods, sentence: str) -> bool:
    """Return whether `sentence` asks, reports, jokes or supposes, or gives the words of somebody else."""
    return (
        moods.is_question(sentence)
        or moods.is_report(sentence)
        or moods.supposing.search(sentence) is not None
        or moods.saying.search(sentence) is not None
    )


def _values_of(text: str) -> list[str]:
    """Return the numbers of `text`, with the signs and units that its words alone do not have."""
    return [each.value for each in tokens(text, source=True)]


def _find_clauses(sentence: str, lang: Lang) -> Iterator[tuple[int, int]]:
    """Yield the spans of the clauses of `sentence`, and of neighbouring ones together, with and without openings."""
    moods = clause_reader(lang).moods
    breaks = [each.span() for each in moods.separator.finditer(sentence)][:_CLAUSES]
    ends = (*(start for start, _ in breaks), len(sentence))
    for start in (0, *(end for _, end in breaks)):
        rest = sentence[start:]
        skipped = {0, _opening(lang).find_end(rest), moods.find_memory_order(rest) or 0}
        yield from ((start + each, end) for each in skipped for end in ends if start + each < end)


@cache
def _opening(lang: Lang) -> ClauseOpening:
    return ClauseOpening(LANGUAGES[lang].remembering)
