"""How people say what is to be remembered: in which words, and which words around them say that it is not meant.

Every field is a pattern unless it says words; read by `agent.memory.propose`, whose rules are the same for every
language. What stands at the beginning of a clause is matched there.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remembering:
    """What opens a clause, what makes something to be remembered of it, and what speaks against that.

    openers: what may stand before a clause and says nothing ("well", "please"). when: how an adverbial begins that may
    stand there, too ("after the meeting"). joining: between two clauses ("and").
    telling: asks to remember what follows. recalling: what follows it where something is only thought
    back to, or is to be done.
    henceforth: from now on. standing: always or never. ordering: words, verbs in the form of an order.
    preferring, deciding, intending: a subject of the first person with such a verb. rather: stands between what is
    preferred and what is not. linking: between such a verb and what it is about. topic: before what a decision is for.
    mine: words, whose is what follows. yours: words, who or whose is not the user. equals: says what something is;
    has: that something has it. nearly: what may stand before a number. behind: how what may follow a number begins.
    talk: words for what is said in the conversation itself. until: before the day something is due. seeking: words,
    verbs of who wants an answer. done: a verb of being with the word that something is done; done_with: the first
    person has done what follows.
    no: a denial. denied: what says that something is not so, by what says that it is. but: after a denied number,
    before the right one. supposing: not meant as said, or not sure; imagining: how a sentence begins after which
    nothing is meant as said. saying: somebody else's words follow.
    """

    openers: str
    when: str
    joining: str
    telling: str
    recalling: str
    henceforth: str
    standing: str
    ordering: frozenset[str]
    preferring: str
    rather: str
    deciding: str
    linking: str
    topic: str
    intending: str
    mine: frozenset[str]
    yours: frozenset[str]
    equals: str
    has: str
    nearly: str
    behind: str
    talk: frozenset[str]
    until: str
    seeking: frozenset[str]
    done: str
    done_with: str
    no: str
    denied: Mapping[str, str]
    but: str
    supposing: str
    imagining: str
    saying: str
