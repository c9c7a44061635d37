"""A brain around another that has a language model fill in what is proposed, while the other one answers.

Strategy: keywords choose the actions (`agent.actions.wishes`), the model fills in their fields beside the draft, from
the same evidence, and `agent.actions.filled` keeps what is the user's own or cited. All of it is one nursery within the
turn, so a cancel ends both. The answer is said as soon as it stands. A payload that is not there PAYLOAD_WAIT seconds
later, or for which the model failed, is what the words give. What an action still lacks then is asked for in one fixed
question behind the answer; its wish stays open for the next message, and nothing is suggested.

Where nobody could confirm an action (a plain request), or none is asked for, the other brain answers alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog
import trio

from ..actions.filled import Source, filled
from ..actions.wishes import only_tells, wishes
from ..config import PAYLOAD_WAIT
from ..errors import ModelFailed
from ..grounding import questions, refusals
from ..grounding.evidence import evidence_for, shown
from ..lang import LANGUAGES, Lang
from ..ports.brain import Act, Drafted, Proposal, Question, Refused, TurnEvent, Verified, Wish
from ..ports.draft import Charter, Prompt
from ..ports.fill import Filler
from ..ports.observe import Observer
from ..ports.search import Hit, Snippet
from ..text.language import language
from .brain import GroundedBrain
from .settings import AnswerSettings

_log = structlog.get_logger("agent.answering")
_NOTHING_FOUND = ("no_sources", "memory_unread")  # codes of refusals


class FillingBrain:
    """Answers as another brain does, and proposes with payloads that a model filled in: implements `Brain`.

    It keeps nothing between turns: what a message leaves open goes to the session, and comes back with the next one.
    """

    def __init__(
        self, grounded: GroundedBrain, filler: Filler, settings: AnswerSettings, observer: Observer
    ) -> None:
        self._grounded = grounded
        self._charter = grounded.charter
        self._filler = filler
        self._settings = settings
        self._observer = observer

    async def answer(
        self, question: Question, emit: Callable[[TurnEvent], None], act: Act | None = None
    ) -> None:
        """Answer one question; the last event carries the proposals, and the wishes that are left open.

        Takes PAYLOAD_WAIT seconds longer at most than the other brain. Cancelled, nothing more is emitted, and
        the streams of both models are closed before it returns.
        """
        wanted = wishes(question.text, question.wishes) if question.wishes is not None else ()
        if not wanted:
            await self._grounded.answer(question, emit)
            return
        lang = self._lang(question, wanted)
        turn = _Turn(emit)
        await trio.lowlevel.checkpoint()  # the other brain reads the message too, which may be long
        async with trio.open_nursery() as nursery:
            filling = _Filling(
                self._filler, self._settings.turn_timeout, question, wanted, lang, self._charter
            )
            for wish in wanted:
                nursery.start_soon(filling.fill, wish)
            if only_tells(question.text, wanted):
                turn.hear(Drafted())
                turn.hear(Verified(questions.received(lang)))
            else:
                await self._grounded.answer(question, turn.hear, found=filling.found)
            filling.found(())  # where nothing was searched for, or found
            with trio.move_on_after(PAYLOAD_WAIT):
                await filling.ended.wait()
            nursery.cancel_scope.cancel()
        await self._finish(question, turn, filling, lang)

    def _lang(self, question: Question, wanted: Sequence[Wish]) -> Lang:
        """Return the language of the answer; a message that is but a number has that of the wish."""
        if question.lang:
            return question.lang
        told = (language(words) for words in reversed((*wanted[0].words[:-1], question.text)))
        return next((each for each in told if each), self._settings.lang)

    async def _finish(self, question: Question, turn: "_Turn", filling: "_Filling", lang: Lang) -> None:
        """Say what is missing, and propose the rest."""
        last = turn.last
        if last is None:
            return  # a brain that said no last word: its session tells
        said = await _read([*(each.question for each in question.history), *filling.words()])
        cited = [Source(shown(each), evidence_for(each)) for each in turn.cited]
        proposed: list[Proposal] = []
        left: list[Wish] = []
        for wish in filling.wanted:
            await trio.lowlevel.checkpoint()
            proposal, outcome = wish.proposal, filling.outcomes.get(wish.proposal.action, "late")
            if outcome == "filled":
                proposal = filled(wish, filling.fields[proposal.action], said, cited)
                if proposal.missing:
                    outcome = "asked"
                    left.append(_left(wish, proposal.missing))
            if outcome != "asked":
                proposed.append(proposal)
            self._observer.count("payloads", outcome)
            if outcome not in ("filled", "asked"):
                _log.warning("payload from words", action=proposal.action, why=outcome)
        missing = {name for wish in left for name in wish.proposal.missing}
        turn.end(last, missing, lang, tuple(proposed), tuple(left))


class _Turn:
    """What the other brain says, passed on; its last word is said here, and the last one of the turn is not.

    last: that word. cited: what all that was said cites.
    """

    def __init__(self, emit: Callable[[TurnEvent], None]) -> None:
        self._emit = emit
        self.last: Verified | Refused | None = None
        self.cited: list[Snippet] = []

    def hear(self, event: TurnEvent) -> None:
        """Pass on what is said; a refusal is kept, since it ends a turn."""
        if isinstance(event, Verified | Refused):
            self.cited += event.text.citations
        if isinstance(event, Refused):
            self.last = event
        elif isinstance(event, Verified) and event.last:
            self.last = event
            self._emit(Verified(event.text, last=False))
        else:
            self._emit(event)

    def end(
        self,
        last: Verified | Refused,
        missing: set[str],
        lang: Lang,
        proposed: tuple[Proposal, ...],
        left: tuple[Wish, ...],
    ) -> None:
        """Say the last word of the turn."""
        if isinstance(last, Refused):
            if not proposed and last.text.blocked and last.text.blocked.code in _NOTHING_FOUND:
                last = Refused(
                    refusals.no_sources(lang, unread=last.text.unread)
                )  # nothing of what was to be suggested is
            self._emit(Refused(questions.together(last.text, missing, lang), proposed, left))
            return
        self._emit(Drafted())
        self._emit(Verified(questions.after(last.text, missing, lang), True, proposed, left))


class _Filling:
    """The payloads of one turn while they are filled in.

    fields, outcomes: by action, what the model gave and what became of it: filled, or why not. ended: all of them are.
    """

    def __init__(
        self,
        filler: Filler,
        timeout: float,
        question: Question,
        wanted: tuple[Wish, ...],
        lang: Lang,
        charter: Charter,
    ) -> None:
        self.wanted = wanted
        self.fields: dict[str, Mapping[str, Any]] = {}
        self.outcomes: dict[str, str] = {}
        self.ended = trio.Event()
        self._filler = filler
        self._timeout = timeout
        self._question = question
        self._lang = lang
        self._charter = charter
        self._evidence: Sequence[Hit] = ()
        self._begin = trio.Event()

    def words(self) -> tuple[str, ...]:
        """Return the messages that the wishes were made in, the one that is answered last, each once."""
        return tuple(dict.fromkeys(each for wish in self.wanted for each in wish.words))

    def found(self, hits: Sequence[Hit]) -> None:
        """Begin, with this evidence; what comes later is too late."""
        if not self._begin.is_set():
            self._evidence = hits
            self._begin.set()

    async def fill(self, wish: Wish) -> None:
        """Have one payload filled in, once the evidence is there."""
        await self._begin.wait()
        action, outcome = wish.proposal.action, "late"
        told = "\n\n".join(wish.words)
        instructions = LANGUAGES[self._lang].prompting.filling
        history = self._question.history
        prompt = Prompt(instructions, told, self._lang, history=history, charter=self._charter)
        with trio.move_on_after(self._timeout):
            try:
                self.fields[action] = await self._filler.fill(action, prompt, self._evidence)
                outcome = "filled"
            except ModelFailed as error:
                outcome = error.kind
        self.outcomes[action] = outcome
        if len(self.outcomes) == len(self.wanted):
            self.ended.set()


def _left(wish: Wish, missing: tuple[str, ...]) -> Wish:
    """Return what is open of a wish: what its words gave of the rest; the model fills it in anew."""
    given = {name: value for name, value in wish.proposal.payload.items() if name not in missing}
    return Wish(Proposal(wish.proposal.action, given, missing), wish.words)


async def _read(texts: Sequence[str]) -> list[Source]:
    """Read the numbers of the user's messages, one a step. A cancel leaves nothing."""
    read: list[Source] = []
    for text in texts:
        read.append(Source.of(text))
        await trio.lowlevel.checkpoint()
    return read
