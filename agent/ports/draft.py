"""Drafts answers: a `Prompt` and its evidence go in, a text that is still to be verified comes out."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from .conversation import Exchange
from .search import Hit, Lang

DraftForm: TypeAlias = Literal["text", "claims"]


@dataclass(frozen=True, slots=True)
class Charter:
    """The part of every prompt that the project's owner writes; it is no source.

    `role` describes the model's role in the owner's words. `rules` holds name and text of each of the project's `RULES`
    documents, whole, in a fixed order.
    """

    role: str = ""
    rules: tuple[tuple[str, str], ...] = ()


NO_CHARTER = Charter()


@dataclass(frozen=True, slots=True)
class Reminder:
    """The part of a prompt that comes from memory. It is no source: the citable part of memory stands in the evidence.

    `standing` holds rules and preferences, which always apply. `situation` describes the present state, from memory and
    from the program of the client. `past_messages` holds earlier messages that fit the question, and that must not be
    cited. Each is a part of a prompt, or "".
    """

    standing: str = ""
    situation: str = ""
    past_messages: str = ""

    def with_situation(self, text: str) -> "Reminder":
        """Return the reminder with `text` after the situation."""
        return replace(self, situation=f"{self.situation}\n\n{text}".lstrip())

    def with_recalled(self, text: str) -> "Reminder":
        """Return the reminder with `text` before the earlier messages."""
        return replace(self, past_messages=f"{text}\n\n{self.past_messages}".rstrip())


NO_REMINDER = Reminder()


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A part of a prompt, as a model receives it. `tokens` is an estimate."""

    name: str
    tokens: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """A request for a draft.

    `instructions` is the system text (use only the snippets given, ask when something is missing). `question` holds the
    user's own words; never a source. `lang` is the language to answer in. `history` holds the earlier exchanges, oldest
    first; context, and no source either. `again` is the reason for another draft, "" for the first one. `attempt` is 0
    for the first draft, 1 for the first redraft. `sent` is the beginning of the answer that the user has already; the
    draft continues it, and may be empty. `form` is the form of the draft: text, or claims, a JSON array (or one object
    a line) of `{"text": a sentence, "evidence": [numbers of the hits that hold it, counted from 1]}`. `may_ask` says
    that the draft may be a question instead, marked by `ASK:` at its start. `charter` comes from the project,
    `reminder` from memory.
    """

    instructions: str
    question: str
    lang: Lang
    attempt: int = 0
    form: DraftForm = "text"
    may_ask: bool = False
    history: tuple[Exchange, ...] = ()
    again: str = ""
    sent: str = ""
    charter: Charter = NO_CHARTER
    reminder: Reminder = NO_REMINDER

    def for_redraft(self, attempt: int, again: str, sent: str = "") -> "Prompt":
        """Return the prompt for the draft number `attempt`, which the reason `again` makes necessary.

        `sent`: the beginning of the answer that was sent, which the draft continues.
        """
        return replace(self, attempt=attempt, again=again, sent=sent)


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of a draft, as the model made it: not verified, not for a client."""

    text: str


class Drafter(Protocol):
    """Drafts an answer from evidence."""

    def stream(self, prompt: Prompt, evidence: Sequence[Hit]) -> AsyncGenerator[Delta, None]:
        """Yield the draft piece by piece.

        Raises `agent.errors.ModelFailed` when the model cannot go on. The caller closes the generator
        (`contextlib.aclosing`); on cancel the generator closes its connection before it returns.
        """
        ...
