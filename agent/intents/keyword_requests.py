"""Decides whether a text asks for a keyword ("call me", "a ticket"), or only speaks of it.

Strategy: the clause that leads up to the keyword is read, nearest word first, until a word decides:

- a report of a past action ("I bought a ticket", "you promised to call me") asks for nothing: a verb in the past;
- a statement of a fact or a habit ("I have a ticket", "they call me daily", "the ticket is open")
  asks for nothing: a subject without a wish or a modal verb, a verb in a form that no request has, or a thing that is
  known already ("my ticket", "the sms");
- a question about the action ("do you call back?", "what does a ticket cost?", "how do I open a ticket?", "can I pay
  by sms?") asks for nothing: the user wants an answer, and a card that offers the action would be in its way. Yet a
  request may look like a question: "can you call me?", "could I get a ticket?" and "why don't you call me?" ask for it;
- a wish or an order asks for it ("call me", "I want a ticket", "have someone call me").

A verb ("call me") that no word before it governs is an order, after any other words: people leave out commas. For a
thing ("ticket", "sms") every word of its clause counts. In doubt nothing is asked for. The words are those of the
languages that the clause seems to be written in. Whether the keyword is denied is the question of
`keyword_negations.py`.
"""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from ..lang import LANGUAGES
from ..text.words import FUNCTION_WORDS
from .clauses import WORDS_READ, clause_after, clause_before
from .mood_words import ASKING, FILLERS, NEGATORS, NEW_START, MoodWords, find_mood_words

_CLAUSE_WORDS: Final = 24  # of a clause before a keyword, that are read
_STATEMENT_WORDS: Final = 6  # after a thing, among which a verb makes it a subject
_LANGUAGE_WORDS: Final = {code: each.writing.function_words for code, each in LANGUAGES.items()}


def is_requested(text: str, start: int, end: int, is_thing: bool) -> bool:
    """Return whether the user asks for the keyword at `text[start:end]`.

    `is_thing`: the keyword names something to be had ("ticket") rather than something to do ("call me").
    """
    before = list(islice(clause_before(text, start), _CLAUSE_WORDS))
    after = list(islice(clause_after(text, end), WORDS_READ))
    words = find_mood_words(_find_languages(before + after))
    is_whole = len(before) < _CLAUSE_WORDS
    before = list(_cut_at_new_start(before, words))
    if before and (before[0] in words.mood.articles or before[0] in FILLERS):
        is_thing = True
    if after and after[0] in words.mood.being:
        return False  # "the ticket is open"
    if is_thing and (_is_known(before, words) or _is_subject(before, after, words)):
        return False
    if is_whole and _is_question(before, words):
        return False
    keyword = text[start:end].casefold().split()
    return _is_request(before, keyword, words, is_thing)


def _find_languages(clause: list[str]) -> frozenset[str]:
    """Return the languages to which most function words of `clause` belong."""
    counts = {code: sum(word in words for word in clause) for code, words in _LANGUAGE_WORDS.items()}
    most = max(counts.values())
    return frozenset(code for code, count in counts.items() if count == most)


def _with_next(nearest_first: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each word with the word that follows it in the text, "" behind the first."""
    return zip(nearest_first, ["", *nearest_first], strict=False)


def _cut_at_new_start(nearest_first: list[str], words: MoodWords) -> Iterator[str]:
    """Yield the words of the clause, nearest first, back to the word that begins something else."""
    only_fillers = True
    for at, (word, following) in enumerate(_with_next(nearest_first)):
        is_filler = word in FILLERS and only_fillers
        if word in NEW_START and not is_filler and following not in words.mood.counting:
            return
        only_fillers = is_filler
        yield word
        if word in NEGATORS and at + 1 < len(nearest_first) and nearest_first[at + 1] in ASKING:
            return  # "why not"


def _is_known(before: list[str], words: MoodWords) -> bool:
    """Return whether the user has the thing already ("my ticket")."""
    return bool(before) and before[0] in words.mood.known


def _is_subject(before: list[str], after: list[str], words: MoodWords) -> bool:
    """Return whether the thing is the subject of a statement ("a ticket was opened")."""
    if not all(word in FILLERS or word in words.mood.articles for word in before):
        return False
    for word in islice(after, _STATEMENT_WORDS):
        if words.past(word) or word in words.mood.being:
            return True
        if word in FUNCTION_WORDS or word in words.mood.users:
            return False
    return False


def _is_question(before: list[str], words: MoodWords) -> bool:
    """Return whether the clause asks about the action: its first word is a verb, or it has a question word."""
    mood = words.mood
    for word, following in _with_next(before):
        if word in mood.conditions and following in words.subjects:
            continue  # "when you have time"
        if word in mood.asking and following not in mood.proposing and following not in NEGATORS:
            return True
    return len(before) > 1 and before[-1] in mood.inverting and not _asks_others(before, words)


def _asks_others(before: list[str], words: MoodWords) -> bool:
    """Return whether "could you" stands right before the keyword."""
    asking = words.mood.modals | words.mood.others
    return len(before) > 1 and before[0] in asking and before[1] in asking


def _is_request(before: list[str], keyword: list[str], words: MoodWords, is_thing: bool) -> bool:
    """Return whether the words `before` a `keyword`, nearest first, make a request of it."""
    mood = words.mood
    if not before:
        return True
    if not is_thing and not (before[0] in words.governing or words.past(before[0])):
        has_owner = before[0] in mood.known or (len(before) == 2 and before[1] in mood.known)
        return not has_owner  # "my friends call me"
    # "I want to call 070-...": the user will do it
    by_user = not is_thing and len(keyword) == 1 and mood.others.isdisjoint(before)
    for at, (word, following) in enumerate(_with_next(before)):
        earlier = before[at + 1 : at + 4]
        if word in mood.modals and following in words.subjects:  # "can you", "can I have"
            gets = any(each in mood.getting for each in before[:at] + keyword)
            return following in mood.others or (word in mood.leave and gets)
        if word in mood.wanting:
            is_own = by_user and earlier and earlier[0] in mood.speakers
            return not (is_own or mood.conditions.intersection(earlier))
        if word in mood.modals:
            return _is_permission(word, earlier, words)
        if word in words.subjects:
            if not _is_called_upon(word, earlier, words):
                return False
        elif words.past(word):
            if not (earlier and earlier[0] in mood.articles):  # "an updated ticket"
                return False
        elif word in mood.stating:
            addressed = earlier and earlier[0] in mood.others
            if not (addressed and _is_called_upon(earlier[0], earlier[1:], words)):
                return False
        elif is_thing and word in mood.otherwise:
            return False
    return True


def _is_permission(modal: str, earlier: list[str], words: MoodWords) -> bool:
    """Return whether a subject and a `modal` verb ask ("you can call me") and do not report ("said you could").

    `earlier`: the words before the verb, nearest first; its subject is the first of them.
    """
    mood = words.mood
    if not earlier or earlier[0] in mood.speakers:
        return False
    governor = _find_governor(earlier[1:], words)
    if governor and earlier[1] in mood.linking - mood.conditions and governor not in mood.wanting:
        return False  # "good that you can"
    if modal in mood.promising and not mood.conditions.intersection(earlier[1:2]):
        return False
    return not words.past(governor)


def _is_called_upon(subject: str, earlier: list[str], words: MoodWords) -> bool:
    """Return whether the words before a `subject` may still ask for its action ("want you to", "have someone").

    `earlier`: those words, nearest first.
    """
    mood = words.mood
    if not earlier:
        return subject in mood.anyone
    if earlier[0] in mood.modals:
        return True
    governor = _find_governor(earlier, words)
    asks = governor in mood.wanting or governor in mood.getting
    # "why don't you" comes here, and no other negator does
    return subject not in mood.speakers and (asks or earlier[0] in NEGATORS)


def _find_governor(earlier: list[str], words: MoodWords) -> str:
    """Return the nearest of the words `earlier` that links no sentence to its verb; "" where there is none."""
    return next((word for word in earlier if word not in words.mood.linking), "")
