"""The record of phrases that ask for something to be remembered, and of words around them that show it is not meant.

Every field is a pattern unless it says "words". `agent.intents.item_proposals` reads them with the same rules for all
languages. Patterns of the beginning of a clause are matched there only.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembering:
    """Phrases that open a clause, phrases that make it worth remembering, and phrases that speak against that.

    `openers`: phrases before a clause without content ("well", "please"). `when`: beginnings of an adverbial that may
    also stand there ("after the meeting"). `joining`: between two clauses ("and"). `telling`: asks to remember the text
    after it; `requesting`: may stand before that; `kept`: asks to remember the text before it. `recalling`: the text
    after `telling` where it is only a recollection, or a thing to do. `henceforth`: "from now on". `defining`: gives
    the meaning of the user's word. `conditional`: begins a case in which an order applies, when it is a lasting one;
    `whenever`: does so and makes it a lasting one by itself. `commanding`: an order in the second person.
    `lasting_order`: an order that is lasting by itself. `standing`: always or never. `ordering`: words, verbs in the
    form of an order. `preferring`, `liking`, `deciding`, `intending`, `obliging`: a subject of the first person with
    such a verb; `obliging`: for a duty. `habits`: may follow `liking`, of the addressee. `favourite`: a word for a
    preferred thing. `obliged`: a verb of a duty. `living`, `being`, `measuring`: lasting facts about the first person,
    and a verb before a number of theirs. `rather`: stands between the preferred thing and the other. `linking`: between
    such a verb and its subject. `topic`: before the purpose of a decision. `mine`: words, owners in the first person;
    `one`: those of them, and of `equals`, for a single thing. `yours`: words, owners or subjects other than the user.
    `equals`: links a thing with its value; `has`: links a thing with its property. `nearly`: may stand before a number.
    `behind`: beginnings of the text after a number. `talk`: words for things said in the conversation itself;
    `choices`: words for things made in it to choose from. `deadline`: before the last day for something. `until`:
    before the day on which something is due; `lasting`: before the last day of something that goes on. `seeking`:
    words, verbs of a person who wants an answer. `done`: a verb of being with a word for done; `done_with`: the first
    person has done the thing after it. `all_done`: a whole sentence which tells that a thing named before is done.
    `no`: a denial. `denied`: negative phrases, by the positive ones. `but`: after a denied number, before the right
    one. `joking`: a mark of a joke. `supposing`: marks a supposition or a doubt; `imagining`: beginnings of a sentence
    after which no clause is meant as it is said. `saying`: another person's words follow. `idea`, `lesson`: announces
    an idea or a lesson, the text after it; `suggesting`, `learning`: begins a clause that is one. `happened`,
    `happening`: a verb of a change that was, or that is to come. `this_day`: a part of the day on which it is said.
    `on_day`: before the name or the number of a day; `day_part`: may follow it. `unclear`: words, subjects that only
    the sentence before names. `hints`: words, of which every idea and lesson, and every `this_day`, has one.
    """

    openers: str
    when: str
    joining: str
    requesting: str
    telling: str
    kept: str
    recalling: str
    henceforth: str
    conditional: str
    commanding: str
    lasting_order: str
    defining: str
    whenever: str
    standing: str
    ordering: frozenset[str]
    preferring: str
    liking: str
    habits: str
    favourite: str
    rather: str
    deciding: str
    linking: str
    topic: str
    intending: str
    obliging: str
    obliged: str
    living: str
    being: str
    measuring: str
    mine: frozenset[str]
    one: frozenset[str]
    yours: frozenset[str]
    equals: str
    has: str
    nearly: str
    behind: str
    talk: frozenset[str]
    choices: frozenset[str]
    deadline: str
    until: str
    lasting: str
    seeking: frozenset[str]
    done: str
    done_with: str
    all_done: str
    no: str
    denied: Mapping[str, str]
    but: str
    joking: str
    supposing: str
    imagining: str
    saying: str
    idea: str
    suggesting: str
    lesson: str
    learning: str
    happened: str
    happening: str
    this_day: str
    on_day: str
    day_part: str
    unclear: frozenset[str]
    hints: frozenset[str]
