"""The record of the words that ask for an action, and of words around them that show that it is not wanted.

`agent.intents` reads them with the same rules for all languages.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Keywords:
    """The words that ask for each action, by the action's name on the wire; to add an action, add a field."""

    schedule_callback: tuple[str, ...]
    send_sms: tuple[str, ...]
    create_ticket: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mood:
    """Words that distinguish a request from reports, statements and questions about the action (`agent.intents`)."""

    speakers: frozenset[str]  # the user as a subject
    others: frozenset[str]  # anybody else, as a subject or as the addressee
    users: frozenset[str]  # the user as an object
    objects: frozenset[str]  # anybody else as an object
    anyone: frozenset[str]  # those of `others` that may be called upon
    modals: frozenset[str]  # verbs that make a sentence a request
    promising: frozenset[str]  # those of `modals` that do so only before their subject
    leave: frozenset[str]  # those of `modals` with which the user asks for something ("can I")
    wanting: frozenset[str]  # verbs of a wish
    getting: frozenset[str]  # verbs that make "can I" a request
    asking: frozenset[str]  # question words
    inverting: frozenset[str]  # verbs that open a question for yes or no
    stating: frozenset[str]  # verbs in a form that no request has
    past: str  # pattern of verbs in the past
    being: frozenset[str]  # verbs that make the thing before them the subject of a statement
    articles: frozenset[str]  # words before a new thing
    known: frozenset[str]  # words before a known thing
    endings: str  # pattern of endings that make a keyword a known thing
    otherwise: frozenset[str]  # words that make a keyword another thing or another wish
    linking: frozenset[str]  # words between a verb and its sentence
    conditions: frozenset[str]  # words that begin a condition rather than a request
    proposing: frozenset[str]  # words behind a question word that make it a request
    counting: frozenset[str]  # words behind a new start that tell an amount


@dataclass(frozen=True, slots=True, kw_only=True)
class Calling:
    """Words around a number that tell its owner and its kind (`agent.intents.phone_numbers`)."""

    regions: tuple[str, ...]  # countries (ISO 3166) with national phone numbers that its speakers write
    dialling: frozenset[str]  # keywords of a callback with the number right behind them
    reaching: frozenset[str]  # words before a number where a person is reached
    phones: frozenset[str]  # words for a phone number
    labels: str  # pattern of words before a number that is no phone
    joining: frozenset[str]  # words between a label and its number
    amounts: str  # pattern of the text behind an amount
    being: str  # pattern of the text between a number and its description
    outdated: str  # pattern of the text before a number that is not to be used
    lapsed: str  # pattern of the text behind a number that is not to be used
    origins: frozenset[str]  # words before the number of a past caller
    addressed: frozenset[str]  # words for people other than the user, before their number
    corrections: frozenset[str]  # words that take back the number before them
    saying: str  # pattern of the text before words to send


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """Words that ask for an action, and words that show that it is not wanted (`agent.intents.triggers`)."""

    keywords: Keywords
    # Denials (`agent.intents.keyword_negations`): `negators` and `excluders` before a keyword, with no words but
    # `fillers` behind an excluder; `late_negators` behind it, with no words but `followers` between.
    negators: frozenset[str]
    excluders: frozenset[str]
    fillers: frozenset[str]
    late_negators: frozenset[str]
    followers: frozenset[str]
    asking: frozenset[str]  # words before a negator that make it a request ("why not")
    new_start: frozenset[str]  # words that begin something else, which earlier words do not negate
    carries_on: frozenset[str]  # words behind a comma that continue the same clause
    clock: frozenset[str]  # words before the time of a day
    mood: Mood
    calling: Calling
