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

_ADDED = 2  # synonyms for one word


def rewrite(question: str, lang: Lang, vocabulary: Vocabulary | None = None) -> str:
    """Return the query for a question: at most `config.QUERY_WORDS` folded words, separated by spaces.

    vocabulary: the words of the index in this language; with it misspelt words are corrected, and only synonyms
    that the index knows are added. A question without a subject ("what is it?") gives "".
    """
    table = synonyms(lang)
    said = words(question)
    kept = list(dict.fromkeys(_correct(word, lang, vocabulary) for word in subject_words(said, lang)))
    kept = kept[:QUERY_WORDS]
    groups = dict.fromkeys(group for word in kept if (group := table.group(word)) is not None)
    groups.update(dict.fromkeys(_phrases(said, table)))
    for group in groups:
        known = [word for word in table.groups[group] if vocabulary is None or vocabulary.knows(word)]
        for word in [word for word in known if word not in kept][:_ADDED]:
            if len(kept) < QUERY_WORDS:
                kept.append(word)
    return " ".join(kept)


def subject_words(said: list[str], lang: Lang) -> list[str]:
    """Return the folded words that carry a subject.

    Those are neither function words, nor listed as empty in this language, nor single letters.
    """
    empty = stop_words(lang)
    return [
        word
        for word in said
        if not (is_function_word(word) or word in empty or (len(word) == 1 and word.isalpha()))
    ]


def _phrases(said: list[str], table: Synonyms) -> Iterator[int]:
    """Yield the groups whose phrases stand in the question."""
    for phrase, group in table.phrases.items():
        if any(tuple(said[at : at + len(phrase)]) == phrase for at in range(len(said) - len(phrase) + 1)):
            yield group


def _correct(word: str, lang: Lang, vocabulary: Vocabulary | None) -> str:
    """Return the known word that a misspelt one stands for, from the index or from the table of synonyms."""
    if vocabulary is None or synonyms(lang).group(word) is not None:
        return word
    return vocabulary.correct(word)
