"""The record of a language: one frozen record, composed of small ones by the modules that read them.

Strategy: no field has a default, so that a missing field is an error of the type checker, and of the first import. The
records hold data of one language only; patterns and tables over all languages are built by the modules that use them.
Words are written folded: composed, in lower case, with the plain apostrophe. A field called a pattern holds the
alternatives of a regular expression, matched on word boundaries.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from .counting import Counting
from .dating import Dating
from .page import PageTexts
from .remembering import Remembering

_CODE = re.compile(r"[a-z]{2}")


def words(text: str) -> frozenset[str]:
    """Split `text` into a set of words: one string of words reads better than a list of quoted ones."""
    return frozenset(text.split())


def table(record: Any) -> dict[str, Any]:
    """Return the fields of `record` by name, in their order."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


@dataclass(frozen=True, slots=True)
class Orthography:
    """How the language is written (`agent.text.words`, `agent.text.sentences`).

    `function_words`: words of grammar without a subject: articles, pronouns, prepositions, conjunctions, auxiliaries,
    question words. `letters`: its lower-case letters beyond a to z, in any order. `abbreviations`: without the last
    full stop, which ends no sentence.
    """

    function_words: frozenset[str]
    letters: str
    abbreviations: frozenset[str]


@dataclass(frozen=True, slots=True)
class Telling:
    """Features that distinguish the language from others, beside function words and letters (`agent.text.language`).

    `words`: frequent in questions: content words that hardly another language has, and function words as people type
    them without its letters. `endings`: pattern of endings of its words that are rare in other languages. `pairs`:
    pattern of such pairs of letters. `marks`: characters inside words, such as the apostrophe.
    """

    words: frozenset[str]
    endings: str
    pairs: str
    marks: str


@dataclass(frozen=True, slots=True)
class QuestionPatterns:
    """Patterns of questions for a kind of thing (`agent.retrieval.parsed_question`). Money and time are numbers too.

    `^` is the beginning of a sentence. `counted`: stands before the name of the counted things. `share`: asks for a
    share of something, which has no unit of its own.
    """

    number: str
    money: str
    time: str
    counted: str
    share: str


@dataclass(frozen=True, slots=True)
class Searching:
    """Data for searching (`agent.lexical`, `agent.retrieval`).

    `stemmer`: name of the Snowball stemmer in tantivy; "" where it has none, and words are compared as they are
    written. `empty_words`: words that do not name the subject of a question, beside the function words. `joining`:
    pattern of the beginning of a question that continues the one before. `referring`: words for a thing named before.
    """

    stemmer: str
    empty_words: frozenset[str]
    asking: QuestionPatterns
    joining: str
    referring: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalling:
    """Words of questions about earlier conversations (`agent.memory.recall`).

    `asker`: words for oneself. `agent`: words for the addressee. `requests`: pattern of requests, in which such a word
    does not tell the speaker. `everything`: pattern of a whole question for all memory items about oneself. `times`:
    words for points in time, beside those of `Dating` and the calendar. `endings`: pattern of word endings that the
    stemmer leaves on and that are ignored here, each after three letters at least; "" for none. `joints`: letters that
    may stand between the parts of a compound; () where words are written apart.
    """

    asker: frozenset[str]
    agent: frozenset[str]
    requests: str
    everything: str
    times: frozenset[str]
    endings: str
    joints: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stating:
    """Words around the numbers of a statement (`agent.grounding.binding`, `agent.retrieval.statements`).

    `said_of_all`: words that any row may say of a number. `priced`: words that a currency already implies. `calendar`:
    names of days and months, and words for them. `versions`: pattern of the text before a version, with or without a
    full stop or a colon. `parts`: pattern of names of a text's parts before their number. `examples`: pattern of words
    that make a statement an example. `at_most`, `at_least`: patterns of words that make a number a bound.
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
    """Keys of a page's front matter (`agent.documents.front_matter`), the best first."""

    title: tuple[str, ...]
    description: tuple[str, ...]
    lang: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tooling:
    """Sentences about a tool call (`agent.grounding.questions`). None holds a number.

    `question`: asks for the parameters {names}. `joining`: between two of them. `anything`: asks for more, where no
    parameter can be named. `confirm`: beside a call that waits for its user's approval. `hand_over`: beside a call that
    waits for no approval and is run elsewhere.
    """

    question: str
    joining: str
    anything: str
    confirm: str
    hand_over: str


@dataclass(frozen=True, slots=True)
class Refusals:
    """Sentences in place of an answer (`agent.grounding.refusals`); none holds a number.

    `memory_unread`: when some memory items could not be read. `suggested`: before either, where an action is suggested.
    """

    no_sources: str
    memory_unread: str
    suggested: str
    number_mismatch: str
    model_failed: str


@dataclass(frozen=True, slots=True)
class Pleasantries:
    """Data for each kind of message that is no question: greetings, thanks, and questions about abilities."""

    greeting: str
    thanks: str
    abilities: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Courtesies:
    """Messages that are no question, and replies to them (`agent.text.courtesy`, `agent.grounding.courtesies`).

    `heard`: patterns. `after`: pattern of the text that may follow. `replies`: none holds a number. `about`: leads into
    the list of the documents' topics. `opener`: asks about the topic {}. `noted`: reply to an order to remember
    something. `stated`: reply to a message that asks nothing and may be remembered; a suggestion follows.
    """

    heard: Pleasantries
    after: str
    replies: Pleasantries
    about: str
    opener: str
    noted: str
    stated: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoting:
    """The frame of an answer that quotes (`agent.llm.wording`); none holds a number.

    `lead`: with {section}. `other_language`: with {language}, which is named as in `names`. `nothing`: where nothing
    can be quoted. `asking`: asks back, after the mark `ASK:`. `names`: of other languages, by code; a missing one is
    called by its own `Language.name`. `remembered`: leads into the user's memory items.
    """

    lead: str
    bare_lead: str
    other_language: str
    nothing: str
    asking: str
    names: Mapping[str, str]
    remembered: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompting:
    """The prompts of a model (`agent.answering.prompts`); none holds a number.

    `only_snippets`: how to answer. `ask_back`, `say_so`: instructions for missing evidence, where the model may ask and
    where it may not. `claims`: the JSON to answer with. `again`, `unread`: the reason for a second draft. `go_on`: the
    reason for a draft that continues an answer, of which a part was sent and stands below between fences. `filling`:
    how to fill in a payload. `noting`: how to find things to remember in a user's message. `known`, `before`,
    `message`: lead into the memory items, into the messages before that message, and into the message, between fences.
    `role`, `rules`: lead into a project's description of its model, and into its rules, both between fences. `memory`,
    `situation`, `said`: lead into the user's standing rules, into the other memory items, and into the agent's earlier
    messages, between fences as well. `context`: leads into the description of the message by the user's program,
    between fences too. `disagree`: about {older} and {newer}, whose numbers differ. `unreadable`: states that some
    memory items could not be read.
    """

    only_snippets: str
    ask_back: str
    say_so: str
    claims: str
    again: str
    go_on: str
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
    context: str
    disagree: str
    unreadable: str


@dataclass(frozen=True, slots=True)
class Keywords:
    """The words that ask for each action, by the action's name on the wire; to add an action, add a field."""

    schedule_callback: tuple[str, ...]
    send_sms: tuple[str, ...]
    create_ticket: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mood:
    """Words that distinguish a request from reports, statements and questions about the action (`agent.intents.moods`).

    `speakers`: the user as a subject. `others`: anybody else, as a subject or as the addressee. `users`: the user as an
    object. `objects`: anybody else as an object. `anyone`: those of `others` that may be called upon. `modals`: verbs
    that make a sentence a request. `promising`: those that do so only before their subject. `leave`: those with which
    the user asks for something ("can I"). `wanting`: verbs of a wish. `getting`: verbs that make "can I" a request.
    `asking`: question words. `inverting`: verbs that open a question for yes or no. `stating`: verbs in a form that no
    request has. `past`: pattern of verbs in the past. `being`: verbs that make the thing before them the subject of a
    statement. `articles`: before a new thing. `known`: before a known thing. `endings`: pattern of endings that make a
    keyword a known thing. `otherwise`: words that make it another thing or another wish. `linking`: stand between a
    verb and its sentence. `conditions`: begin a condition rather than a request. `proposing`: after a question word,
    make it a request. `counting`: after a word that begins something else, tell an amount.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Calling:
    """Words around a number that tell its owner and its kind (`agent.intents.phone_numbers`).

    `regions`: countries (ISO 3166) with national phone numbers that its speakers write. `dialling`: keywords of a
    callback with the number right after them. `reaching`: before a number where a person is reached. `phones`: words
    for a phone number. `labels`: pattern of words before a number that is no phone. `joining`: between such a word and
    its number. `amounts`: pattern of the text after an amount. `being`: pattern of the text between a number and its
    description. `outdated`: pattern of the text before a number that is not to be used. `lapsed`: pattern of the text
    after such a number. `origins`: before the number of a past caller. `addressed`: words for people other than the
    user, before their number. `corrections`: words that take back the number before them. `saying`: pattern of the text
    before words to send.
    """

    regions: tuple[str, ...]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Acting:
    """Words that ask for an action, and words that show that it is not wanted (`agent.intents.triggers`).

    `negators`, `excluders`, `fillers`, `late_negators`, `followers`: as explained there. `asking`: before a negator,
    makes it a request ("why not"). `new_start`: begin something else, which earlier words do not negate. `carries_on`:
    after a comma, continue the same clause. `clock`: stand before the time of a day.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Completing:
    """Sentences and patterns for an action that lacks a field (`agent.grounding.questions`, `agent.intents.wishes`).

    `question`: asks for {fields}. `joining`: between two of them. `phone`, `text`, `subject`: each field as an indirect
    question. `received`: reply to a message that tells nothing else. None holds a number. `withdrawing`: pattern of the
    beginning of a message that takes the wish back.
    """

    question: str
    joining: str
    phone: str
    text: str
    subject: str
    received: str
    withdrawing: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciding:
    """Sentences and patterns for tools.

    `rules`: the instructions of a language model for deciding (`agent.llm.model_decider`). `no_tools`: states that no
    call is left. `nothing`: states that nothing was found. `again`: the reason for a second decision, before a list.
    `which`: asks which of the tools {first} and {second} is meant; `which_any`: without their names. `missing`: asks
    for {field}, a tool's parameter; `missing_any`: without its name. `unsure`: asks again after a failure. `returned`,
    `failed`: lead into the lines of a result; `empty`, `failed_empty`: for a result without lines. None holds a number.
    `mail`, `dates`, `times`, `codes`: words in a parameter's name that show its kind; `codes`: a name or a number that
    is compared letter by letter. `joining`: pattern of the text that may stand between a parameter's name and its
    value.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Sayings:
    """A sentence about an invented number for each kind of number; {} is the number."""

    price: str
    phone: str
    percent: str
    date: str
    elsewhere: str
    question: str


@dataclass(frozen=True, slots=True)
class Inventing:
    """Data for the mock model's invented numbers, which the number rule has to refuse (`agent.llm.inventions`).

    `months`: some months, as they stand in a date. `other_units`: the replacement of each unit, as it stands after a
    number.
    """

    sayings: Sayings
    months: tuple[str, ...]
    other_units: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language: all data that the server needs for questions, searches and answers in it.

    `code`: two letters (ISO 639-1), the name of its folder. `name`: its name in the language itself.
    Raises `ValueError` for an invalid code.
    """

    code: str
    name: str
    writing: Orthography
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
    page: PageTexts

    def __post_init__(self) -> None:
        """Check the form of `code`, which its type does not."""
        if not _CODE.fullmatch(self.code):
            raise ValueError(f"the code of a language has two small letters (ISO 639-1), not {self.code!r}")
