"""How people say what is to be remembered: in which words, and which words around them say that it is not meant.

Every field is a pattern unless it says words; read by `agent.memory.propose`, whose rules are the same for every
language. What stands at the beginning of a clause is matched there.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remembering:
    """What opens a clause, what makes something to be remembered of it, and what speaks against that.

    openers: what may stand before a clause and says nothing ("well", "please"). when: how an adverbial begins that
    may stand there, too ("after the meeting"). joining: between two clauses ("and").
    telling: asks to remember what follows; requesting: may stand before that; kept: asks to remember what stands
    before. recalling: what follows it where something is only thought back to, or is to be done.
    henceforth: from now on. defining: says what a word of the user's means. conditional: how a case begins for
    which an order is meant, where it is one for good; whenever: of itself it says so. commanding: an order in the
    second person. lasting_order: one that is for good by itself. standing: always or never. ordering: words, verbs
    in the form of an order.
    preferring, liking, deciding, intending, obliging: a subject of the first person with such a verb; obliging:
    what has to be done. habits: may follow `liking`, of whom one talks to. favourite: a word for what is preferred.
    obliged: a verb that says that something has to be done. living, being, measuring: what the first person does
    and is for long, and a verb before a number of theirs. rather: stands between what is preferred and what is not.
    linking: between such a verb and what it is about. topic: before what a decision is for.
    mine: words, whose is what follows; one: those of them, and of `equals`, that say that there is one of it.
    yours: words, who or whose is not the user. equals: says what something is; has: that something has it. nearly:
    what may stand before a number. behind: how what may follow a number begins.
    talk: words for what is said in the conversation itself; choices: for what is made in it, of which one is
    chosen. deadline: before what a day is the last one for. until: before the day something is due; lasting: before
    the day on which something that goes on ends. seeking: words, verbs of who wants an answer. done: a verb of
    being with the word that something is done; done_with: the first person has done what follows.
    all_done: a whole sentence, that something is done which was named before.
    no: a denial. denied: what says that something is not so, by what says that it is. but: after a denied number,
    before the right one. joking: a mark of what is not meant. supposing: not meant as said, or not sure; imagining:
    how a sentence begins after which nothing is meant as said. saying: somebody else's words follow.
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
