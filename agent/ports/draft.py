"""The port behind which drafts are made: from a question and its evidence to a text that is still to be verified."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from .conversation import Exchange
from .search import Hit, Lang

Form: TypeAlias = Literal["text", "claims"]


@dataclass(frozen=True, slots=True)
class Charter:
    """What every prompt of a project says, and none of another; it is no source.

    role: who the model is to be, in the words of the project's owner. rules: name and text of each of its RULES
    documents, whole, in a fixed order.
    """

    role: str = ""
    rules: tuple[tuple[str, str], ...] = ()


NO_CHARTER = Charter()


@dataclass(frozen=True, slots=True)
class Reminder:
    """What a prompt says of what is remembered; no source: what of it may be cited stands in the evidence.

    standing: what always holds, rules and preferences. situation: how things are just now. said: what was said before
    that fits the question, and that nothing may be cited from. Each is a part of a prompt, or "".
    """

    standing: str = ""
    situation: str = ""
    said: str = ""

    def saying(self, text: str) -> "Reminder":
        """Return it with a text before what was said."""
        return replace(self, said=f"{text}\n\n{self.said}".rstrip())


NO_REMINDER = Reminder()


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a prompt, as a model is given it. tokens: estimated."""

    name: str
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked.

    instructions: the system text (use only the snippets given, ask when something is missing).
    question: the user's own words; never a source.
    lang: the language to answer in.
    history: what was said before, oldest first; context, and no source either.
    again: why there is another draft, "" for the first one.
    attempt: 0 for the first draft, 1 for the first redraft.
    form: what the draft is to be: text, or claims, a JSON array (or one object a line) of
    `{"text": a sentence, "evidence": [which hits of the evidence hold it, counted from 1]}`.
    may_ask: the draft may be a question instead, marked by `ASK:` at its start.
    charter: what the project says. reminder: what is remembered.
    """

    instructions: str
    question: str
    lang: Lang
    attempt: int = 0
    form: Form = "text"
    may_ask: bool = False
    history: tuple[Exchange, ...] = ()
    again: str = ""
    charter: Charter = NO_CHARTER
    reminder: Reminder = NO_REMINDER

    def retold(self, attempt: int, again: str) -> "Prompt":
        """Return what is asked for another draft, for the reason `again`."""
        return replace(self, attempt=attempt, again=again)


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a draft, as the model made it: not verified, not for a client."""

    text: str


class Drafter(Protocol):
    """Drafts an answer from evidence."""

    def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the draft piece by piece.

        Raises `agent.errors.ModelFailed` when the model cannot go on. The caller closes the generator
        (`contextlib.aclosing`); on cancel the generator lets go of its connection before it returns.
        """
        ...
