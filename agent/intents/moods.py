"""Decides the mood of a keyword in a text: whether the user asks for it, denies it, or only speaks of it.

Strategy: the clause that leads up to the keyword is read, nearest word first, until a word decides:

- a report of what was done ("I bought a ticket", "you promised to call me") asks for nothing: a verb in the past;
- a statement of what there is or what somebody does ("I have a ticket", "they call me daily", "the ticket is open")
  asks for nothing: a subject without a wish or a modal verb, a verb in a form that no request has, or a thing that is
  known already ("my ticket", "the sms");
- a question about the action ("do you call back?", "what does a ticket cost?", "how do I open a ticket?", "can I pay
  by sms?") asks for nothing: the user wants an answer, and a card that offers the action would be in its way. Yet a
  request may look like a question: "can you call me?", "could I get a ticket?" and "why don't you call me?" ask for it;
- a wish or an order asks for it ("call me", "I want a ticket", "have someone call me").

A verb ("call me") that no word before it governs is an order, after any other words: people leave out commas. For a
thing ("ticket", "sms") every word of its clause counts. In doubt nothing is asked for.

A keyword is denied by a word of its own clause only:

- a negator (`not`, `never`, `inte` ...) before it, with at most `NEGATOR_REACH` words between;
- an excluder (`no`, `without`, `ingen` ...) before it, with nothing but FILLERS between;
- a late negator (`inte`, `aldrig`, `never` ...) after it, with nothing but FOLLOWERS between.

Requests are read with the words of the languages that the clause seems to be written in, since "i" is a subject in
English and "in" in Swedish; denials with those of every language.
"""

import re
from collections.abc import Callable, Collection, Iterator
from functools import cache
from itertools import islice, pairwise
from typing import Final

from ..lang import LANGUAGES
from ..lang.language import Acting
from ..text.words import FUNCTION_WORDS
from .clauses import WORDS_READ, clause_after, clause_before, words_after

_ACTING: Final = [language.acting for language in LANGUAGES.values()]
_CLAUSE_WORDS = 24  # of a clause before a keyword, that are read
_STATEMENT_WORDS = 6  # after a thing, among which a verb makes it a subject
_LANGUAGE_WORDS = {code: each.writing.function_words for code, each in LANGUAGES.items()}


def join_languages(words: Callable[[Acting], frozenset[str]]) -> frozenset[str]:
    """Return the words that `words` names in the record `Acting` of any language."""
    return frozenset().union(*map(words, _ACTING))


NEGATORS = join_languages(lambda each: each.negators)
NEGATOR_REACH = 4  # words between it and the keyword: "I do not want you to call me" has three
EXCLUDERS = join_languages(lambda each: each.excluders)
FILLERS = join_languages(lambda each: each.fillers)
LATE_NEGATORS = join_languages(lambda each: each.late_negators)
FOLLOWERS = join_languages(lambda each: each.followers)
ASKING = join_languages(lambda each: each.asking)
NEW_START = join_languages(lambda each: each.new_start)
_REACHING = join_languages(lambda each: each.calling.reaching)


class MoodWords:
    """The words of some languages together, by the names of the record `Mood`; `past` matches a verb in the past.

    `subjects`: `speakers` and `others`. `question_openers`: the first words of a question. `governing`: words before a
    verb that make it something else than an order.
    """

    def __init__(self, codes: Collection[str]) -> None:
        moods = [LANGUAGES[code].acting.mood for code in sorted(codes)]

        def of(name: str) -> frozenset[str]:
            return frozenset().union(*(getattr(mood, name) for mood in moods))

        self.speakers, self.others = of("speakers"), of("others")
        self.users, self.objects, self.counting = of("users"), of("objects"), of("counting")
        self.subjects = self.speakers | self.others
        self.anyone, self.modals = of("anyone"), of("modals")
        self.promising, self.leave = of("promising"), of("leave")
        self.wanting, self.getting, self.asking = of("wanting"), of("getting"), of("asking")
        self.inverting, self.stating, self.being = of("inverting"), of("stating"), of("being")
        self.articles, self.known, self.otherwise = of("articles"), of("known"), of("otherwise")
        self.linking, self.conditions, self.proposing = of("linking"), of("conditions"), of("proposing")
        self.question_openers = self.asking | self.inverting
        self.past = re.compile(
            "|".join(f"(?:{mood.past})" for mood in moods if mood.past) or "(?!)"
        ).fullmatch
        self.governing = (
            self.subjects
            | self.users
            | self.objects
            | self.modals
            | self.inverting
            | self.stating
            | self.linking
        )


@cache
def mood_words(codes: frozenset[str]) -> MoodWords:
    """Return the words of the languages `codes`."""
    return MoodWords(codes)


ANY_LANGUAGE: Final = mood_words(frozenset(LANGUAGES))
"""The words of all languages: of a text whose language is not asked."""


def is_requested(text: str, start: int, end: int, is_thing: bool) -> bool:
    """Return whether the user asks for the keyword at `text[start:end]`.

    `is_thing`: it names something to be had ("ticket") rather than something to do ("call me").
    """
    before = list(islice(clause_before(text, start), _CLAUSE_WORDS))
    after = list(islice(clause_after(text, end), WORDS_READ))
    words = mood_words(_find_languages(before + after))
    is_whole = len(before) < _CLAUSE_WORDS
    before = list(_cut_at_new_start(before, words))
    is_thing = is_thing or (bool(before) and before[0] in words.articles | FILLERS)
    if (after and after[0] in words.being) or (is_thing and _is_subject(before, after, words)):
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
        if word in NEW_START and not is_filler and following not in words.counting:
            return
        only_fillers = is_filler
        yield word
        if word in NEGATORS and at + 1 < len(nearest_first) and nearest_first[at + 1] in ASKING:
            return  # "why not"


def _is_subject(before: list[str], after: list[str], words: MoodWords) -> bool:
    """Return whether a thing is known already, or is the subject of a statement."""
    if before and before[0] in words.known:
        return True
    if not all(word in FILLERS or word in words.articles for word in before):
        return False
    for word in islice(after, _STATEMENT_WORDS):
        if words.past(word) or word in words.being:
            return True
        if word in FUNCTION_WORDS or word in words.users:
            return False
    return False


def _is_question(before: list[str], words: MoodWords) -> bool:
    """Return whether the clause asks about the action: its first word is a verb, or it has a question word."""
    for word, following in _with_next(before):
        if word in words.conditions and following in words.subjects:
            continue  # "when you have time"
        if word in words.asking and following not in words.proposing and following not in NEGATORS:
            return True
    return len(before) > 1 and before[-1] in words.inverting and not _asks_others(before, words)


def _asks_others(before: list[str], words: MoodWords) -> bool:
    """Return whether "could you" stands right before the keyword."""
    asking = words.modals | words.others
    return len(before) > 1 and before[0] in asking and before[1] in asking


def _is_request(before: list[str], keyword: list[str], words: MoodWords, is_thing: bool) -> bool:
    """Return whether the words `before` a keyword, nearest first, make a request of it."""
    if not before:
        return True
    if not is_thing and not (before[0] in words.governing or words.past(before[0])):
        has_owner = before[0] in words.known or (len(before) == 2 and before[1] in words.known)
        return not has_owner  # "my friends call me"
    # "I want to call 070-...": the user will do it
    by_user = not is_thing and len(keyword) == 1 and words.others.isdisjoint(before)
    for at, (word, following) in enumerate(_with_next(before)):
        earlier = before[at + 1 : at + 4]
        if word in words.modals and following in words.subjects:
            gets = any(each in words.getting for each in before[:at] + keyword)
            return following in words.others or (word in words.leave and gets)
        if word in words.wanting:
            is_own = by_user and earlier and earlier[0] in words.speakers
            return not (words.conditions.intersection(earlier) or is_own)
        if word in words.modals:
            return _is_permission(word, earlier, words)
        if word in words.subjects:
            if not _is_called_upon(word, earlier, words):
                return False
        elif words.past(word):
            if not (earlier and earlier[0] in words.articles):  # "an updated ticket"
                return False
        elif word in words.stating:
            if not (
                earlier and earlier[0] in words.others and _is_called_upon(earlier[0], earlier[1:], words)
            ):
                return False
        elif is_thing and word in words.otherwise:
            return False
    return True


def _is_permission(modal: str, earlier: list[str], words: MoodWords) -> bool:
    """Return whether a subject and a `modal` verb ask ("you can call me") and do not report ("said you could").

    `earlier`: the words before the verb, nearest first; its subject is the first of them.
    """
    if not earlier or earlier[0] in words.speakers:
        return False
    governor = next((word for word in earlier[1:] if word not in words.linking), "")
    if governor and earlier[1] in words.linking - words.conditions and governor not in words.wanting:
        return False  # "good that you can"
    if modal in words.promising and not words.conditions.intersection(earlier[1:2]):
        return False
    return not words.past(governor)


def _is_called_upon(subject: str, earlier: list[str], words: MoodWords) -> bool:
    """Return whether the words before a `subject` may still ask for its action ("want you to", "have someone").

    `earlier`: those words, nearest first.
    """
    if not earlier:
        return subject in words.anyone
    if earlier[0] in words.modals:
        return True
    governor = next((word for word in earlier if word not in words.linking), "")
    asks = governor in words.wanting or governor in words.getting
    # "why don't you" comes here, and no other negator does
    return subject not in words.speakers and (asks or earlier[0] in NEGATORS)


def is_negated(text: str, start: int, end: int, is_thing: bool) -> bool:
    """Return whether the user says that the keyword at `text[start:end]` is not wanted.

    `is_thing`: it names something to be had ("ticket") rather than something to do ("call me").
    """
    return _is_negated_before(clause_before(text, start), is_thing) or _is_negated_after(
        words_after(text, end)
    )


def _is_negated_before(nearest_first: Iterator[str], is_thing: bool) -> bool:
    """Return whether a negator or an excluder stands before the keyword, near enough to deny it."""
    only_fillers = True
    for distance, word in enumerate(islice(nearest_first, WORDS_READ)):
        if word in EXCLUDERS and only_fillers:
            return is_thing or word not in NEW_START  # "utan": "without" before a thing, "but" before a verb
        if word in NEGATORS and distance <= NEGATOR_REACH:
            return next(nearest_first, "") not in ASKING
        is_filler = word in FILLERS and only_fillers
        if word in NEW_START and not is_filler:
            return False
        only_fillers = is_filler
        if distance >= NEGATOR_REACH and not only_fillers:
            return False
    return False


def _is_negated_after(words: Iterator[str]) -> bool:
    """Return whether a late negator follows that does not deny one of two numbers ("not on A but on B")."""
    near = list(islice(words, 2 * WORDS_READ))
    for at, word in enumerate(near[:WORDS_READ]):
        if word in LATE_NEGATORS:
            return not any(
                first in NEW_START and second in _REACHING for first, second in pairwise(near[at:])
            )
        if word not in FOLLOWERS:
            return False
    return False
