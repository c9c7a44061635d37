"""Turns a question into a search query of at most twelve words.

Strategy: keep the words that carry the subject, in their order; put the known word in place of a misspelt one; then
fill what room is left with synonyms, from small files that an operator can edit (see `tables`). The result is plain
words, so nothing in it can be an operator. The search reads the same groups of synonyms: words of one group count as
one thing asked for.
"""

from collections.abc import Iterator

from agent.config import QUERY_WORDS
from agent.ports.search import Lang
from agent.text.words import words

from .tables import Synonyms, is_function_word, stop_words, synonyms
from .vocabulary import Vocabulary

GUESSED = 3
"""Unknown words of a question, up to which it is looked for known ones that they stand for: that is what costs most."""

_ADDED = 2  # synonyms for one word
_READ = 400  # words of a question that are read
_WORD_MAX = 40  # letters of a word that are read


def rewrite(question: str, lang: Lang, vocabulary: Vocabulary | None = None) -> str:
    """Return the query for a question: at most `config.QUERY_WORDS` folded words, separated by spaces.

    vocabulary: the words of the index in this language; with it misspelt words are corrected, and only synonyms
    that the index knows are added. A question without a subject ("what is it?") gives "".
    """
    table = synonyms(lang)
    said = words(question)[:_READ]
    subject = list(dict.fromkeys(subject_words(said, lang)))
    if len(subject) > QUERY_WORDS:
        subject = _essence(subject, vocabulary)
    kept = list(dict.fromkeys(_corrected(subject, table, vocabulary)))
    groups = dict.fromkeys(group for word in kept if (group := table.group(word)) is not None)
    groups.update(dict.fromkeys(_phrases(said, table)))
    for group in groups:
        known = [word for word in table.groups[group] if vocabulary is None or vocabulary.knows(word)]
        kept += [word for word in known if word not in kept][:_ADDED]
    return " ".join(kept[:QUERY_WORDS])


def _essence(subject: list[str], vocabulary: Vocabulary | None) -> list[str]:
    """Return as many words as a query may have, in their order: those the index knows come before others.

    A long message tells a story around its question, and the story is rarely in the index.
    """
    known = {word for word in subject if vocabulary is not None and vocabulary.knows(word)}
    chosen = set(sorted(subject, key=lambda word: word not in known)[:QUERY_WORDS])
    return [word for word in subject if word in chosen]


def subject_words(said: list[str], lang: Lang) -> list[str]:
    """Return the folded words that carry a subject.

    Those are neither function words, nor listed as empty in this language, nor single letters.
    """
    empty = stop_words(lang)
    return [
        word[:_WORD_MAX]
        for word in said
        if not (is_function_word(word) or word in empty or (len(word) == 1 and word.isalpha()))
    ]


def _phrases(said: list[str], table: Synonyms) -> Iterator[int]:
    """Yield the groups whose phrases stand in the question."""
    runs = {
        tuple(said[at : at + size])
        for size in {len(phrase) for phrase in table.phrases}
        for at in range(len(said) - size + 1)
    }
    for phrase, group in table.phrases.items():
        if phrase in runs:
            yield group


def _corrected(subject: list[str], table: Synonyms, vocabulary: Vocabulary | None) -> Iterator[str]:
    """Yield the words, and in place of a misspelt one the known one that it stands for, for the first few of them.

    A word with synonyms is spelt right.
    """
    tried = 0
    for word in subject:
        if vocabulary is None or tried == GUESSED or table.group(word) is not None or vocabulary.knows(word):
            yield word
        else:
            tried += 1
            yield vocabulary.correct(word)
