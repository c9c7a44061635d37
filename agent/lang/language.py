"""What a language must have: one frozen record, put together from small ones by who reads them.

Strategy: no field has a default, so that a language which lacks one is an error of the type checker, and of the first
import. The records hold data only, no two languages in one place; what is made of it (patterns, tables over all
languages) is made by the module that uses it. Words are written folded: composed, in small letters, with the plain
apostrophe. Where a field says pattern, it is the alternatives of a regular expression, matched on word boundaries.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from .counting import Counting
from .dating import Dating
from .page import Page
from .remembering import Remembering

_CODE = re.compile(r"[a-z]{2}")


def words(text: str) -> frozenset[str]:
    """Return the words of `text` as a set: one string of words reads better than a list of quoted ones."""
    return frozenset(text.split())


def table(record: Any) -> dict[str, Any]:
    """Return what a record holds, by the names of its fields and in their order."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


@dataclass(frozen=True, slots=True)
class Writing:
    """How it is written (`agent.text.words`, `agent.text.sentences`).

    function_words: that carry grammar and no subject: articles, pronouns, prepositions, conjunctions, auxiliaries,
    question words. letters: its small letters beyond a to z, in any order. abbreviations: without the last full stop,
    which ends no sentence.
    """

    function_words: frozenset[str]
    letters: str
    abbreviations: frozenset[str]


@dataclass(frozen=True, slots=True)
class Telling:
    """What tells a text in it from others, beside its function words and letters (`agent.text.language`).

    words: frequent in questions: content words that hardly another language has, and function words as people type
    them without its letters. endings: pattern of the ends of its words that others hardly have. pairs: pattern of such
    letters in a row. marks: within its words, such as the apostrophe.
    """

    words: frozenset[str]
    endings: str
    pairs: str
    marks: str


@dataclass(frozen=True, slots=True)
class Asking:
    """What asks for a thing of each kind (`agent.retrieval.asked`): patterns. Money and time are numbers too."""

    number: str
    money: str
    time: str


@dataclass(frozen=True, slots=True)
class Searching:
    """How it is searched (`agent.lexical`, `agent.retrieval`).

    stemmer: name of the Snowball stemmer as tantivy has it; "" where there is none, and words are compared as they are
    written. empty_words: that say nothing of what a question is about, beside the function words. joining: pattern of
    how a question begins that goes on from the one before it. referring: words that stand for something named before.
    """

    stemmer: str
    empty_words: frozenset[str]
    asking: Asking
    joining: str
    referring: frozenset[str]


@dataclass(frozen=True, slots=True)
class Recalling:
    """How what was said is asked for (`agent.recall`).

    asker: words by which one means oneself. agent: those by which one means whom one talks to. requests: pattern of how
    one asks for something to be done, in which such a word says nothing of who said it. everything: pattern of a whole
    question for all that is remembered of oneself. times: words that say when something was, beside what `Dating` and
    the calendar hold. endings: pattern of the ends of words that the stemmer leaves on and a talk does not tell apart,
    each behind three letters at least; "" of none. joints: letters that may stand between the parts of a word made of
    two; () where words are written apart.
    """

    asker: frozenset[str]
    agent: frozenset[str]
    requests: str
    everything: str
    times: frozenset[str]
    endings: str
    joints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stating:
    """What surrounds the numbers of a statement (`agent.grounding.binding`, `agent.retrieval.statements`).

    said_of_all: words that say of a number what any row says. priced: words that a currency says already. calendar:
    names of days and months, and words for them. versions: pattern of what stands before a version, with or without a
    full stop or a colon. parts: pattern of what names the part of a text whose number follows. examples: pattern of
    what makes an example of a statement. at_most, at_least: patterns of what makes a bound of a number.
    """

    said_of_all: frozenset[str]
    priced: frozenset[str]
    calendar: frozenset[str]
    versions: str
    parts: str
    examples: str
    at_most: str
    at_least: str


@dataclass(frozen=True, slots=True)
class Filing:
    """What a page calls what it says of itself before its text (`agent.documents.front`): keys, the best first."""

    title: tuple[str, ...]
    description: tuple[str, ...]
    lang: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tooling:
    """What is said about the call of a tool (`agent.grounding.questions`). A number stands in none.

    question: asks for the parameters {names}. joining: between two of them. anything: asks for more, where no parameter
    can be named. confirm: beside a call that waits for its user's word. hand_over: beside one that waits for nobody's,
    and is done elsewhere.
    """

    question: str
    joining: str
    anything: str
    confirm: str
    hand_over: str


@dataclass(frozen=True, slots=True)
class Refusals:
    """What is said in place of an answer (`agent.grounding.refusals`); a number stands in none.

    memory_unread: in its place, where some of what is remembered could not be read. suggested: before either, where
    something is suggested.
    """

    no_sources: str
    memory_unread: str
    suggested: str
    number_mismatch: str
    model_failed: str


@dataclass(frozen=True, slots=True)
class Pleasantries:
    """Something of each of the things that people say to a server which are no question."""

    greeting: str
    thanks: str
    abilities: str


@dataclass(frozen=True, slots=True)
class Courtesies:
    """What is no question, and what is said to it (`agent.text.courtesy`, `agent.grounding.courtesies`).

    heard: patterns. after: pattern of what may follow. replies: a number stands in none. about: leads into the list of
    what the documents are about. opener: asks about the topic {}. noted: to the order to remember something.
    stated: to what asks nothing, and may be remembered; a suggestion follows.
    """

    heard: Pleasantries
    after: str
    replies: Pleasantries
    about: str
    opener: str
    noted: str
    stated: str


@dataclass(frozen=True, slots=True)
class Quoting:
    """The frame of an answer that quotes (`agent.llm.wording`); a number stands in none.

    lead: with {section}. other_language: with {language}, which is named as in `names`. nothing: where nothing can be
    quoted. asking: asks back, after the mark `ASK:`. names: of other languages, by code; one that is not there is
    called what it calls itself. remembered: leads into what the user has told.
    """

    lead: str
    bare_lead: str
    other_language: str
    nothing: str
    asking: str
    names: Mapping[str, str]
    remembered: str


@dataclass(frozen=True, slots=True)
class Prompting:
    """What a model is told (`agent.answering.prompts`); a number stands in none.

    only_snippets: how to answer. ask_back, say_so: what to do when the snippets do not say, where it may ask and where
    not. claims: the JSON to answer with. again, unread: why there is a second draft. filling: how to fill in a payload.
    noting: how to find what a user's message has to remember. known, before, message: lead into what is remembered
    already, into what was said before that message, and into it, between fences.
    role, rules: lead into what a project says of its model, and into its rules, which both stand between fences.
    memory, situation, said: lead into what the user wants kept to, into what else is remembered, and into what the
    agent said before, between fences as well. disagree: of {older} and {newer}, which say different numbers.
    unreadable: that some of what is remembered could not be read.
    """

    only_snippets: str
    ask_back: str
    say_so: str
    claims: str
    again: str
    unread: str
    filling: str
    noting: str
    known: str
    before: str
    message: str
    role: str
    rules: str
    memory: str
    situation: str
    said: str
    disagree: str
    unreadable: str


@dataclass(frozen=True, slots=True)
class Keywords:
    """The words that ask for each action, by the action's name on the wire; to add an action, add a field."""

    schedule_callback: tuple[str, ...]
    send_sms: tuple[str, ...]
    create_ticket: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mood:
    """What tells a request from a report, a statement and a question about the action (`agent.actions.wanted`).

    speakers: the user as a subject. others: anybody else, as a subject or as the one who is asked. users: the user as
    an object. objects: anybody else as one. anyone: of the others, those who may be called upon. modals: verbs that
    make a request of a sentence. promising: of those, the ones that only do so before their subject. leave: those with
    which the user asks for something ("can I"). wanting: verbs of a wish. getting: verbs that make a request of "can
    I". asking: question words. inverting: verbs that open a question which is answered with yes or no. stating: verbs
    in a form that no request has. past: pattern of verbs in the past. being: verbs that make the thing before them the
    subject of a statement. articles: before a thing that is not there yet. known: before a thing that is. endings:
    pattern of what makes a known thing of a keyword. otherwise: words that make another thing or another wish of it.
    linking: stand between a verb and its sentence. conditions: begin what is not asked for but supposed. proposing:
    after a question word, make a request of it. counting: after a word that begins something else, say how much.
    """

    speakers: frozenset[str]
    others: frozenset[str]
    users: frozenset[str]
    objects: frozenset[str]
    anyone: frozenset[str]
    modals: frozenset[str]
    promising: frozenset[str]
    leave: frozenset[str]
    wanting: frozenset[str]
    getting: frozenset[str]
    asking: frozenset[str]
    inverting: frozenset[str]
    stating: frozenset[str]
    past: str
    being: frozenset[str]
    articles: frozenset[str]
    known: frozenset[str]
    endings: str
    otherwise: frozenset[str]
    linking: frozenset[str]
    conditions: frozenset[str]
    proposing: frozenset[str]
    counting: frozenset[str]


@dataclass(frozen=True, slots=True)
class Calling:
    """What stands around a number and says whose and what it is (`agent.actions.phones`).

    dialling: keywords of a callback where a number follows at once. reaching: before a number where somebody is
    reached. phones: words for a phone number. labels: pattern of words
    whose number is no phone. joining: between such a word and its number. amounts: pattern of what follows an amount.
    being: pattern of what stands between a number and what it is said to be. outdated: pattern of what stands before a
    number that is not to be used. lapsed: pattern of what follows one. origins: before the number that somebody called
    from. addressed: whose number is not the user's. corrections: words that take back the number before them.
    saying: pattern of what leads into the words to send.
    """

    dialling: frozenset[str]
    reaching: frozenset[str]
    phones: frozenset[str]
    labels: str
    joining: frozenset[str]
    amounts: str
    being: str
    outdated: str
    lapsed: str
    origins: frozenset[str]
    addressed: frozenset[str]
    corrections: frozenset[str]
    saying: str


@dataclass(frozen=True, slots=True)
class Acting:
    """Which words ask for an action, and which of them say that it is not wanted (`agent.actions.triggers`).

    negators, excluders, fillers, late_negators, followers: as told there. asking: before a negator, makes a request of
    it ("why not"). new_start: begin something else, which what stands before does not negate. carries_on: after a
    comma, go on with the same clause. clock: stand before the time of a day.
    """

    keywords: Keywords
    negators: frozenset[str]
    excluders: frozenset[str]
    fillers: frozenset[str]
    late_negators: frozenset[str]
    followers: frozenset[str]
    asking: frozenset[str]
    new_start: frozenset[str]
    carries_on: frozenset[str]
    clock: frozenset[str]
    mood: Mood
    calling: Calling


@dataclass(frozen=True, slots=True)
class Completing:
    """What is said and heard when an action lacks what it needs (`agent.grounding.questions`, `agent.actions.wishes`).

    question: asks for {fields}. joining: between two of them. phone, text, subject: what each field is, as an indirect
    question. received: said to a message that tells nothing else. A number stands in none. withdrawing: pattern of how
    a message begins that takes the wish back.
    """

    question: str
    joining: str
    phone: str
    text: str
    subject: str
    received: str
    withdrawing: str


@dataclass(frozen=True, slots=True)
class Deciding:
    """What is said, and what is listened for, where tools are offered.

    rules: what a language model is told of deciding (`agent.llm.model_decider`). no_tools: that no call is left.
    nothing: that nothing was found. again: why it is to decide a second time, before a list.
    which: asks which tool is meant, of {first} and {second}; which_any: without their names. missing: asks for {field},
    a tool's parameter; missing_any: without its name. unsure: asks again after what could not be done. returned,
    failed: lead into the lines of a result; empty, failed_empty: where it has none. A number stands in none.
    mail, dates, times, codes: words in the name of a parameter that say what it holds; codes: a name or a number that
    is compared letter by letter. joining: pattern of what may stand between a parameter's name and its value.
    """

    rules: str
    no_tools: str
    nothing: str
    again: str
    which: str
    which_any: str
    missing: str
    missing_any: str
    unsure: str
    returned: str
    failed: str
    empty: str
    failed_empty: str
    mail: frozenset[str]
    dates: frozenset[str]
    times: frozenset[str]
    codes: frozenset[str]
    joining: str


@dataclass(frozen=True, slots=True)
class Sayings:
    """A sentence about a made-up number for each kind of it; {} is the number."""

    price: str
    phone: str
    percent: str
    date: str
    elsewhere: str
    question: str


@dataclass(frozen=True, slots=True)
class Inventing:
    """What the mock makes numbers up with, so that the rule has something to refuse (`agent.llm.inventions`).

    months: some, as they stand in a date. other_units: what each unit is exchanged for, as it stands after a number.
    """

    sayings: Sayings
    months: tuple[str, ...]
    other_units: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Language:
    """A language: all that the server must know to be asked in it, to search in it and to answer in it.

    code: two letters (ISO 639-1), the name of its folder. name: what it calls itself.
    Raises ValueError for another kind of code.
    """

    code: str
    name: str
    writing: Writing
    telling: Telling
    searching: Searching
    recalling: Recalling
    stating: Stating
    counting: Counting
    dating: Dating
    filing: Filing
    tooling: Tooling
    refusals: Refusals
    courtesies: Courtesies
    quoting: Quoting
    prompting: Prompting
    acting: Acting
    remembering: Remembering
    completing: Completing
    deciding: Deciding
    inventing: Inventing
    page: Page

    def __post_init__(self) -> None:
        """Check what the types cannot say."""
        if not _CODE.fullmatch(self.code):
            raise ValueError(f"the code of a language has two small letters (ISO 639-1), not {self.code!r}")
