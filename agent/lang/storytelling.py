"""The records of interactive stories: sentences of their prompts, words of their rules, and the mock's sentences."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryPrompting:
    """The prompts of stories (`agent.stories.prompts`). A text that "leads into" something stands before it."""

    # Instructions.
    telling: str  # how to tell a scene
    choosing: str  # how to offer choices, as a JSON array
    checking: str  # how to answer the numbered list of milestones, as a JSON object
    summarising: str  # how to sum up a chapter
    talking: str  # how to answer beside the story
    # Headings, which lead into the sections.
    foundation: str
    cast: str
    chapters: str  # the summaries of earlier chapters
    chapter: str  # the present chapter
    states: str  # as of the window's beginning
    window: str  # the last scenes
    changes: str  # states since the window's beginning
    contradictions: str
    recalled: str
    pacing: str
    directive: str
    milestones: str
    question: str
    # Names inside the sections.
    kinds: Mapping[str, str]  # of the cast: person, place, thing
    fields: Mapping[str, str]  # of a state: place, holder, condition
    place: str
    scenario: str
    direction: str
    look: str
    voice: str
    locked: str  # behind a value that only the reader changes
    scene: str  # with {seq}
    reader: str  # leads into the directive of a scene
    pace: str  # with {scene}, the number of the next scene, and {part}, its number in the chapter
    # Sentences about contradictions, with {entity}, {earlier}, {seq}, {later} and {at}.
    disagreements: Mapping[str, str]
    reader_names: frozenset[str]  # names before a colon with which a model begins the reader's next turn


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryWords:
    """Words of the rules that find states (`agent.stories.readings`): few and general, in all their forms."""

    determiners: frozenset[str]  # before a noun
    indefinite: frozenset[str]  # those of them before a thing that is not named yet
    person_pronouns: frozenset[str]  # as a subject
    recipients: frozenset[str]  # personal pronouns as an object
    thing_pronouns: frozenset[str]
    own: frozenset[str]  # owners in the third person
    within: frozenset[str]  # prepositions of a place where something is
    toward: frozenset[str]  # prepositions of a place that is reached
    away: frozenset[str]  # prepositions of a place that is left
    part: frozenset[str]  # between a part and its whole
    about: frozenset[str]  # prepositions before a thing that is only spoken or thought of
    along: frozenset[str]  # prepositions before a thing that is taken along
    particles: frozenset[str]  # adverbs between a verb and its object or place
    joining: frozenset[str]  # words that begin another clause
    reporting: frozenset[str]  # those of them behind which is told what somebody says or thinks
    endings: tuple[str, ...]  # of inflected nouns and adjectives, the longest first
    owner: str  # ending of an owner
    definite: tuple[str, ...]  # endings of a noun that needs no article; () where there are none
    # Verbs.
    perfect: frozenset[str]  # those of `keeping` that help another verb
    placing: frozenset[str]  # puts a thing somewhere
    keeping: frozenset[str]  # has a thing
    taking: frozenset[str]  # gets a thing
    giving: frozenset[str]  # lets another one have a thing
    going: frozenset[str]  # goes, or is somewhere
    destroying: frozenset[str]  # destroys a thing, or is destroyed
    dying: frozenset[str]  # a person's death as the subject
    killing: frozenset[str]  # a person's death as the object
    being: frozenset[str]  # to be, to lie, to stand
    remarking: frozenset[str]  # says, thinks, seeks or depicts; states nothing of the thing
    unreal: frozenset[str]  # negations, conditions and modals
    former: frozenset[str]  # earlier times
    carried: frozenset[str]  # clothes, bags and parts of the body in which a person has a thing
    # Conditions, as the value of a state.
    destroyed: str
    dead: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneGrammar:
    """Sentences of the mock teller (`agent.llm.mock_storyteller`). None of them places a thing.

    {person}, {other} and {place} are members of the cast, {thing} the thing in question, {value} a state's value and
    {text} a quoted statement.
    """

    openings: tuple[str, ...]
    openings_at: tuple[str, ...]  # with {place}
    actions: tuple[str, ...]  # with {person}
    meetings: tuple[str, ...]  # with {person} and {other}
    moods: tuple[str, ...]
    closings: tuple[str, ...]
    article: str  # before a name that has none
    somebody: str  # in place of {person}, where the cast has none
    place_fact: str
    holder_fact: str
    condition_fact: str
    recalled_fact: str  # with {text}
    unknown: tuple[str, ...]  # with {thing}
    unknown_thing: str  # in place of {thing}
    # A directive that needs a fact.
    asking: frozenset[str]  # question words, inside sentences too
    counting: str  # pattern of questions for a number
    seeking: frozenset[str]  # verbs that need a thing's place
    choices: tuple[str, ...]  # with {person} and {place}
    summary: str  # leads into a summary
    aside: str  # with {text}, a sentence of the story's foundation


@dataclass(frozen=True, slots=True)
class Storytelling:
    """All data of a language for interactive stories."""

    prompting: StoryPrompting
    words: StoryWords
    grammar: SceneGrammar
