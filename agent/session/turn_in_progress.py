"""One turn while it is in progress, and the answer that its texts are.

`SessionTurns` decides; here a turn's facts are kept, and its verified texts put together.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ..ports.brain import FictionText, Question, VerifiedText, Wish
from ..ports.remember import MEMORY_FILES, FinishedAnswer
from ..protocol.outbound import Error, ProgressStep, Response
from .cited_sources import CitedSources
from .effects import SpeakText
from .events import BrainEvent, BrainFailed, CallRequested, LiveSuggestion, MemoryErased
from .history import History
from .sent_answers import SentAnswer

BrainOutput: TypeAlias = BrainEvent | CallRequested | BrainFailed
"""The events of a turn that wait while a text is streamed or a call runs."""


@dataclass(slots=True, kw_only=True)
class TurnInProgress:
    """The turn in progress.

    `drafting`: a model is asked. `step_told`: the step that the client was told last, "" for none. `complete`: the
    Brain has emitted its last event. `asks`: that event asks the user for arguments that a call lacks. `pending_call`:
    the call that the turn waits for. `pending_events`: events that arrived while a text was streamed or a call ran.
    """

    number: int
    question: Question
    history: History  # of the turn's thread
    texts: list[VerifiedText] = field(default_factory=list)
    sources: CitedSources = field(default_factory=CitedSources)
    text: str = ""  # the streamed text so far, as the client has it
    offers: tuple[LiveSuggestion, ...] = ()
    pending_events: deque[BrainOutput] = field(default_factory=deque)
    pending_call: CallRequested | None = None
    unwritten_texts: int = 0  # texts handed out and not yet written
    drafting: bool = False
    step_told: ProgressStep | Literal[""] = ""
    complete: bool = False
    asks: bool = False
    wishes: tuple[Wish, ...] = ()  # left open for the next message
    keeps: Any = None  # by the Brain, opaque, to be kept with the answer
    erased: tuple[MemoryErased, ...] = ()  # during the turn

    @property
    def open_wishes(self) -> tuple[Wish, ...]:
        """The wishes that the turn leaves open, with the mark of speech."""
        return tuple([Wish(each.proposal, each.words, self.question.follows_speech) for each in self.wishes])

    def add_text(self, verified: VerifiedText, last: bool) -> SpeakText:
        """Add a text and return the effect that streams it. `last`: no further text follows in this turn."""
        text = join_text(self.text, verified)
        self.texts.append(verified)
        self.text += text
        self.step_told = ""
        self.unwritten_texts += 1
        return SpeakText(
            turn=self.number,
            text=text,
            verified=verified,
            end=len(self.text),
            last=last,
            marks=self.sources.add_text(verified),
        )

    def rests_on_forgotten(self, events: tuple[MemoryErased, ...]) -> bool:
        """Return whether the message, or memory that the texts so far cite, was forgotten with any of `events`."""
        if not events:
            return False
        cites = make_answered(self.text, self.texts).cites if self.texts else ()
        message = self.question.key_or_id
        return any(message in each.messages or not each.refs.isdisjoint(cites) for each in events)

    def is_erased_by(self, events: tuple[MemoryErased, ...]) -> bool:
        """Return whether the texts so far, the question or the evidence were forgotten with any of `events`."""
        if not events or not self.texts:
            return False
        response = make_response(self.text, self.texts, CitedSources(self.texts), self.question.id)
        answer = SentAnswer.of(self.question, response, make_answered(self.text, self.texts).cites)
        return any(answer.is_erased_by(each) for each in events)


def join_text(earlier: str, text: VerifiedText) -> str:
    """Return `text` as it continues `earlier`, the text before it; a refusal follows after a space."""
    return f" {text.text}" if text.blocked and earlier and not earlier[-1].isspace() else text.text


def describe_fault(failure: BrainFailed, message: str) -> Error:
    """Return the error frame about a fault in the turn of a message."""
    words = f"Something broke here; ask again, or report fault {failure.fault}."
    return Error(code="internal", message=words, id=message)


def make_response(
    text: str, texts: list[VerifiedText], sources: CitedSources, message: str, asks: bool = False
) -> Response:
    """Return the `Response` to a message: the whole text, its sources, and the confidence of the last text.

    The confidence is `low` when some of the memory could not be read for any of the texts.

    `texts`: the verified texts. `sources`: those of `texts`. `message`: the message's id. `asks`: the text asks the
    user for arguments that a call lacks.
    """
    last, unread = texts[-1], any(each.unread for each in texts)
    return Response(
        text=text,
        citations=sources.collect(),
        id=message,
        confidence="low" if unread and last.confidence else last.confidence,
        blocked=last.blocked,
        asks=asks,
        without_memory=unread,
        fiction=isinstance(last, FictionText),
    )


def make_answered(
    text: str,
    texts: list[VerifiedText],
    keeps: Any = None,
    describe: Callable[[], str] | None = None,
) -> FinishedAnswer:
    """Return the whole answer in the form that a recorder takes. `keeps`: the Brain's data to store with it.

    `describe`: returns the details that are shown beside its text, as JSON.
    """
    files = [each.file for piece in texts for each in piece.citations if each.file.startswith(MEMORY_FILES)]
    cites = tuple(each.removeprefix(MEMORY_FILES) for each in dict.fromkeys(files))
    return FinishedAnswer(text, texts[-1].blocked is not None, cites, keeps, describe)
