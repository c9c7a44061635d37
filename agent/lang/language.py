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

from .acting import Acting
from .counting import Counting
from .dating import Dating
from .inbox import InboxTexts
from .page import PageTexts
from .remembering import Remembering
from .saying import Saying
from .story_page import StoryPageTexts
from .storytelling import Storytelling

_CODE = re.compile(r"[a-z]{2}")


def words(text: str) -> frozenset[str]:
    """Split `text` into a set of words: one string of words reads better than a list of quoted ones."""
    return frozenset(text.split())


def table(record: Any) -> dict[str, Any]:
    """Return the fields of `record` by name, in their order."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


@dataclass(frozen=True, slots=True)
class Orthography:
    """How the language is written (`agent.text.words`, `agent.text.sentences`)."""

    # Words of grammar without a subject: articles, pronouns, prepositions, conjunctions, auxiliaries, question words.
    function_words: frozenset[str]
    letters: str  # its lower-case letters beyond a to z, in any order
    abbreviations: frozenset[str]  # without the last full stop, which ends no sentence


@dataclass(frozen=True, slots=True)
class Telling:
    """Features that distinguish the language from others, beside function words and letters (`agent.text.language`)."""

    # Frequent in questions: content words that hardly another language has, and function words as people type them
    # without the letters of the language.
    words: frozenset[str]
    endings: str  # of its words, those that are rare in other languages, with "|" between them
    pairs: str  # pattern of such pairs of letters
    marks: str  # characters inside words, such as the apostrophe


@dataclass(frozen=True, slots=True)
class QuestionPatterns:
    """Patterns of questions for a kind of thing (`agent.retrieval.parsed_question`). Money and time are numbers too.

    `^` is the beginning of a sentence.
    """

    number: str
    money: str
    time: str
    counted: str  # stands before the name of the counted things
    share: str  # asks for a share of something, which has no unit of its own


@dataclass(frozen=True, slots=True)
class Searching:
    """Data for searching (`agent.lexical`, `agent.retrieval`)."""

    # The name of the Snowball stemmer in tantivy; "" where it has none, and words are compared as they are written.
    stemmer: str
    empty_words: frozenset[str]  # words that do not name the subject of a question, beside the function words
    asking: QuestionPatterns
    joining: str  # pattern of the beginning of a question that continues the one before
    referring: frozenset[str]  # words for a thing named before


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalling:
    """Words of questions about earlier conversations (`agent.recall.query`)."""

    asker: frozenset[str]  # words for oneself
    agent: frozenset[str]  # words for the addressee
    requests: str  # pattern of requests, in which such a word does not tell the speaker
    everything: str  # pattern of a whole question for all memory items about oneself
    forgetting: str  # pattern of a whole order to forget something
    times: frozenset[str]  # words for points in time, beside those of `Dating` and the calendar
    # Pattern of word endings that the stemmer leaves on and that are ignored here, each behind three letters at least.
    endings: str
    joints: tuple[str, ...]  # letters between the parts of a compound; () where words are written apart


@dataclass(frozen=True, slots=True, kw_only=True)
class Stating:
    """Words around the numbers of a statement (`agent.grounding.binding`, `agent.retrieval.statements`)."""

    said_of_all: frozenset[str]  # words that any row may say of a number
    priced: frozenset[str]  # words that a currency already implies
    calendar: frozenset[str]  # names of days and months, and words for them
    versions: str  # pattern of the text before a version, with or without a full stop or a colon
    parts: str  # pattern of names of a text's parts before their number
    examples: str  # pattern of words that make a statement an example
    at_most: str  # pattern of words that make a number an upper bound
    at_least: str  # pattern of words that make a number a lower bound


@dataclass(frozen=True, slots=True)
class Filing:
    """Keys of a page's front matter (`agent.documents.front_matter`), the best first."""

    title: tuple[str, ...]
    description: tuple[str, ...]
    lang: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Tooling:
    """Sentences about a tool call (`agent.grounding.questions`). None holds a number."""

    question: str  # asks for the parameters {names}
    joining: str  # between two of them
    anything: str  # asks for more, where no parameter can be named
    confirm: str  # beside a call that waits for its user's approval
    hand_over: str  # beside a call that waits for no approval and is run elsewhere


@dataclass(frozen=True, slots=True)
class Refusals:
    """Sentences in place of an answer (`agent.grounding.refusals`); none holds a number."""

    no_sources: str
    memory_unread: str  # when some memory items could not be read
    suggested: str  # before either, where an action is suggested
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
    """Messages that are no question, and replies to them (`agent.text.courtesy`, `agent.grounding.courtesies`)."""

    heard: Pleasantries  # patterns
    after: str  # pattern of the text that may follow
    replies: Pleasantries  # none holds a number
    about: str  # leads into the list of the documents' topics
    noted: str  # reply to an order to remember something
    forgetting: str  # reply to an order to forget something: how it is forgotten
    stated: str  # reply to a message that asks nothing and may be remembered; a suggestion follows


@dataclass(frozen=True, slots=True, kw_only=True)
class Quoting:
    """The frame of an answer that quotes (`agent.llm.wording`); none holds a number."""

    lead: str  # with {section}
    bare_lead: str
    other_language: str  # with {language}, which is named as in `names`
    nothing: str  # where nothing can be quoted
    asking: str  # asks back, behind the mark `ASK:`
    names: Mapping[
        str, str
    ]  # of other languages, by code; a missing one is called by its own `Language.name`
    remembered: str  # leads into the user's memory items


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompting:
    """The prompts of a model (`agent.answering.prompts`); none holds a number.

    A text that "leads into" something stands before that thing, which is set between fences.
    """

    only_snippets: str  # how to answer
    # For missing evidence: the instruction where the model may ask back, and where it may not.
    ask_back: str
    say_so: str
    claims: str  # the JSON to answer with
    again: str  # the reason for a second draft: a number that no snippet holds
    go_on: str  # the reason for a draft that continues an answer, of which a part was sent and stands below
    unread: str  # the reason for a second draft: the first was not the JSON of `claims`
    filling: str  # how to fill in a payload
    noting: str  # how to find things to remember in a user's message
    known: str  # leads into the memory items ...
    before: str  # ... into the messages before the message ...
    message: str  # ... and into the message
    role: str  # leads into a project's description of its model ...
    rules: str  # ... and into its rules
    memory: str  # leads into the user's standing rules ...
    situation: str  # ... into the other memory items ...
    said: str  # ... and into the agent's earlier messages
    context: str  # leads into the description of the message by the user's program
    disagree: str  # about {older} and {newer}, whose numbers differ
    unreadable: str  # states that some memory items could not be read


@dataclass(frozen=True, slots=True, kw_only=True)
class Completing:
    """Sentences and patterns for an action that lacks a field (`agent.grounding.questions`, `agent.intents.wishes`).

    None holds a number.
    """

    question: str  # asks for {fields}
    joining: str  # between two of them
    # Each field as an indirect question.
    phone: str
    text: str
    subject: str
    received: str  # reply to a message that tells nothing else
    withdrawing: str  # pattern of the beginning of a message that takes the wish back


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciding:
    """Sentences and patterns for tools. None holds a number."""

    rules: str  # the instructions of a language model for deciding (`agent.llm.model_decider`)
    no_tools: str  # states that no call is left
    nothing: str  # states that nothing was found
    again: str  # the reason for a second decision, before a list
    which: str  # asks which of the tools {first} and {second} is meant
    which_any: str  # the same without their names
    missing: str  # asks for {field}, a tool's parameter
    missing_any: str  # the same without its name
    unsure: str  # asks again after a failure
    returned: str  # leads into the lines of a result
    failed: str  # leads into the lines of a result that tells a failure
    empty: str  # for a result without lines
    failed_empty: str  # for a failure without lines
    # Words in a parameter's name that show its kind.
    mail: frozenset[str]
    dates: frozenset[str]
    times: frozenset[str]
    codes: frozenset[str]  # a name or a number that is compared letter by letter
    joining: str  # pattern of the text that may stand between a parameter's name and its value


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
    """Data for the mock model's invented numbers, which the number rule has to refuse (`agent.llm.inventions`)."""

    sayings: Sayings
    months: tuple[str, ...]  # some months, as they stand in a date
    other_units: Mapping[str, str]  # the replacement of each unit, as it stands behind a number


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
    inbox: InboxTexts
    story_page: StoryPageTexts
    storytelling: Storytelling
    saying: Saying

    def __post_init__(self) -> None:
        """Check the form of `code`, which its type does not."""
        if not _CODE.fullmatch(self.code):
            raise ValueError(f"the code of a language has two small letters (ISO 639-1), not {self.code!r}")
