"""The record of phrases that ask for something to be remembered, and of words around them that show it is not meant.

Every field of the type `str` is a pattern, and every other holds words. `agent.intents.item_proposals` reads them with
the same rules for all languages. Patterns of the beginning of a clause are matched there only.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembering:
    """Phrases that open a clause, phrases that make it worth remembering, and phrases that speak against that."""

    # The beginning of a clause.
    openers: str  # phrases without content ("well", "please")
    when: str  # beginnings of an adverbial that may also stand there ("after the meeting")
    joining: str  # between two clauses ("and")

    # Orders to remember.
    requesting: str  # may stand before `telling`
    telling: str  # asks to remember the text behind it
    kept: str  # asks to remember the text before it
    recalling: str  # the text behind `telling` where it is only a recollection, or a thing to do

    # Standing orders and definitions.
    henceforth: str  # "from now on"
    conditional: str  # begins a case in which an order applies, when the order is a lasting one
    commanding: str  # an order in the second person
    lasting_order: str  # an order that is lasting by itself
    defining: str  # gives the meaning of the user's word
    whenever: str  # begins a case in which an order applies, and makes the order a lasting one
    standing: str  # always or never
    ordering: frozenset[str]  # verbs in the form of an order

    # Preferences, decisions, plans and duties: a subject of the first person with a verb.
    preferring: str
    liking: str
    habits: str  # of the addressee; may follow `liking`
    favourite: str  # a word for a preferred thing
    rather: str  # between the preferred thing and the other
    deciding: str
    linking: str  # between such a verb and its subject
    topic: str  # before the purpose of a decision
    intending: str
    obliging: str  # a duty of the first person
    obliged: str  # a verb of a duty

    # Facts about the user and the user's things.
    living: str  # a lasting fact about the first person
    being: str  # a lasting fact about the first person
    measuring: str  # a verb before a number of the first person
    mine: frozenset[str]  # owners in the first person
    one: frozenset[str]  # those of `mine`, and of `equals`, for a single thing
    yours: frozenset[str]  # owners or subjects other than the user
    equals: str  # between a thing and its value
    has: str  # between a thing and its property
    nearly: str  # may stand before a number
    behind: str  # beginnings of the text behind a number
    talk: frozenset[str]  # things said in the conversation itself
    choices: frozenset[str]  # things made in the conversation to choose from

    # Days.
    deadline: str  # before the last day for something
    until: str  # before the day on which something is due
    lasting: str  # before the last day of something that goes on

    # The end of an open matter.
    seeking: frozenset[str]  # verbs of a person who wants an answer
    done: str  # a verb of being with a word for done
    done_with: str  # the first person has done the thing behind it
    all_done: str  # a whole sentence which tells that a thing named before is done

    # Denials, and words that are not meant in earnest.
    no: str  # a denial
    denied: Mapping[str, str]  # patterns of negative phrases, by the positive ones
    but: str  # behind a denied number, before the right one
    joking: str  # a mark of a joke
    supposing: str  # a mark of a supposition or a doubt
    imagining: str  # beginnings of a sentence behind which no clause is meant as it is said
    saying: str  # the words of another person follow

    # Ideas, lessons and events.
    idea: str  # announces an idea, the text behind it
    suggesting: str  # begins a clause that is an idea
    lesson: str  # announces a lesson, the text behind it
    learning: str  # begins a clause that is a lesson
    happened: str  # a verb of a change that was
    happening: str  # a verb of a change that is to come
    this_day: str  # a part of the day on which the clause is said
    on_day: str  # before the name or the number of a day
    day_part: str  # may follow `on_day`
    unclear: frozenset[str]  # subjects that only the sentence before names
    hints: frozenset[str]  # every idea and lesson, and every `this_day`, has one of these words
