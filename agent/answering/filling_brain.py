"""Fills in the payloads of proposals with a language model, while another `Brain` answers.

Strategy: keywords choose the actions (`agent.intents.wishes`), and the model fills in their fields beside the draft,
from the same evidence. `agent.intents.grounded_fields` keeps the values that are the user's own or cited. Filling and
answering run in one nursery within the turn, so a cancel ends both. The answer is streamed as soon as it is verified.
When a payload is not ready `PAYLOAD_WAIT` seconds later, or the model failed, the payload is read from the user's
words. Fields that an action still lacks then are asked for in one fixed question after the answer; the wish stays open
for the next message, and the action is not suggested.

When no action can be confirmed (a plain request), or the message asks for none, the other `Brain` answers alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog
import trio

from ..errors import ModelFailed
from ..grounding import questions, refusals
from ..grounding.evidence import citation_text, evidence_for
from ..intents.grounded_fields import NumberSource, ground_fields
from ..intents.user_message import UserMessage
from ..intents.wishes import only_completes, read_wishes
from ..lang import LANGUAGES, Lang
from ..ports.brain import (
    DraftCompleted,
    Proposal,
    Question,
    RunCall,
    TurnEvent,
    TurnRefusal,
    VerifiedPart,
    Wish,
)
from ..ports.draft import Charter, Prompt
from ..ports.fill import Filler
from ..ports.observe import Observer
from ..ports.search import Hit, Snippet
from ..text.language import detect_language
from .brain import GroundedBrain
from .settings import AnswerSettings

PAYLOAD_WAIT = 5.0  # for a language model that still fills one in when the answer stands

_log = structlog.get_logger("agent.answering")
_NOTHING_FOUND = ("no_sources", "memory_unread")  # codes of refusals


class FillingBrain:
    """Answers as `grounded`, and proposes actions with payloads of a model (implements `agent.ports.brain.Brain`).

    The brain has no state between turns: open wishes go to the session, and come back with the next message.
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
        self, question: Question, emit: Callable[[TurnEvent], None], act: RunCall | None = None
    ) -> None:
        """Answer one question; the last event carries the proposals, and the wishes that are left open.

        Takes `PAYLOAD_WAIT` seconds longer at most than `grounded`. Cancelled, nothing more is emitted, and the streams
        of both models are closed before this returns.
        """
        message = UserMessage.of(question)
        wishes = read_wishes(message, question.wishes) if question.wishes is not None else ()
        if not wishes:
            await self._grounded.answer(question, emit)
            return
        lang = self._lang_of(question, wishes)
        turn = EventRelay(emit)
        await trio.lowlevel.checkpoint()  # the other Brain reads the message too, which may be long
        async with trio.open_nursery() as nursery:
            filling = _PayloadFilling(
                self._filler, self._settings.turn_timeout, question, wishes, lang, self._charter
            )
            for wish in wishes:
                nursery.start_soon(filling.fill_payload, wish)
            if only_completes(message, wishes):
                turn.pass_on(DraftCompleted())
                turn.pass_on(VerifiedPart(text=questions.acknowledge_details(lang)))
            else:
                await self._grounded.answer(question, turn.pass_on, on_evidence=filling.start_filling)
            filling.start_filling(())  # where nothing was searched for, or found
            with trio.move_on_after(PAYLOAD_WAIT):
                await filling.ended.wait()
            nursery.cancel_scope.cancel()
        await self._finish_turn(question, turn, filling, lang)

    def _lang_of(self, question: Question, wishes: Sequence[Wish]) -> Lang:
        """Return the language of the answer; for a message that is only a number, the language of the wish."""
        if question.lang:
            return question.lang
        languages = (detect_language(words) for words in reversed((*wishes[0].words[:-1], question.text)))
        return next((each for each in languages if each), self._settings.lang)

    async def _finish_turn(
        self, question: Question, turn: "EventRelay", filling: "_PayloadFilling", lang: Lang
    ) -> None:
        """Ask for missing fields, and propose the complete actions."""
        last_event = turn.last_event
        if last_event is None:
            return  # a Brain without a last event: its session reports that
        user_texts = await _read_texts(
            [*(each.question for each in question.history), *filling.collect_messages()]
        )
        cited = [NumberSource(citation_text(each), evidence_for(each)) for each in turn.cited]
        proposed: list[Proposal] = []
        open_wishes: list[Wish] = []
        for wish in filling.wishes:
            await trio.lowlevel.checkpoint()
            proposal, outcome = wish.proposal, filling.outcomes.get(wish.proposal.action, "late")
            if outcome == "filled":
                proposal = ground_fields(wish, filling.fields[proposal.action], user_texts, cited)
                if proposal.missing:
                    outcome = "asked"
                    open_wishes.append(_open_wish(wish, proposal.missing))
            if outcome != "asked":
                proposed.append(proposal)
            self._observer.count("payloads", outcome)
            if outcome not in ("filled", "asked"):
                _log.warning("payload from words", action=proposal.action, why=outcome)
        missing = {name for wish in open_wishes for name in wish.proposal.missing}
        turn.end_turn(last_event, missing, lang, tuple(proposed), tuple(open_wishes))


class EventRelay:
    """Passes on the other Brain's events, and holds back the end of the turn.

    `last_event`: the other Brain's last event. `cited`: the snippets that its texts cite.
    """

    def __init__(self, emit: Callable[[TurnEvent], None]) -> None:
        self._emit = emit
        self.last_event: VerifiedPart | TurnRefusal | None = None
        self.cited: list[Snippet] = []

    def pass_on(self, event: TurnEvent) -> None:
        """Pass on an event, marking the last text as not last.

        A refusal is held back, since it ends a turn, and so is a text that only announces the proposals.
        """
        if isinstance(event, VerifiedPart | TurnRefusal):
            self.cited += event.text.citations
        if isinstance(event, TurnRefusal) or (isinstance(event, VerifiedPart) and event.announces):
            self.last_event = event
        elif isinstance(event, VerifiedPart) and event.last:
            self.last_event = event
            self._emit(VerifiedPart(text=event.text, last=False))
        else:
            self._emit(event)

    def end_turn(
        self,
        last_event: VerifiedPart | TurnRefusal,
        missing: set[str],
        lang: Lang,
        proposals: tuple[Proposal, ...],
        open_wishes: tuple[Wish, ...],
    ) -> None:
        """Emit the last event of the turn, with the question for the missing fields."""
        if isinstance(last_event, TurnRefusal):
            if not proposals and last_event.text.blocked and last_event.text.blocked.code in _NOTHING_FOUND:
                # No action is suggested after all.
                last_event = TurnRefusal(refusals.no_sources(lang, unread=last_event.text.unread))
            self._emit(
                TurnRefusal(questions.join_refusal(last_event.text, missing, lang), proposals, open_wishes)
            )
            return
        if last_event.announces:
            text = last_event.text if proposals else questions.acknowledge_details(lang)
            self._emit(VerifiedPart(text=text, last=False))
        self._emit(DraftCompleted())
        self._emit(
            VerifiedPart(
                text=questions.follow_answer(last_event.text, missing, lang),
                last=True,
                proposals=proposals,
                wishes=open_wishes,
            )
        )


class _PayloadFilling:
    """The payloads of one turn while they are filled in.

    `fields`: the model's values, by action. `outcomes`: `filled` or the reason of the failure, by action. `ended`: set
    when every wish has an outcome.
    """

    def __init__(
        self,
        filler: Filler,
        timeout: float,
        question: Question,
        wishes: tuple[Wish, ...],
        lang: Lang,
        charter: Charter,
    ) -> None:
        self.wishes = wishes
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

    def collect_messages(self) -> tuple[str, ...]:
        """Return the messages of the wishes, each once, the present message last."""
        return tuple(dict.fromkeys(each for wish in self.wishes for each in wish.words))

    def start_filling(self, hits: Sequence[Hit]) -> None:
        """Begin to fill in, with the evidence `hits`; a second call does nothing."""
        if not self._begin.is_set():
            self._evidence = hits
            self._begin.set()

    async def fill_payload(self, wish: Wish) -> None:
        """Have the model fill in one payload, once the evidence is there."""
        await self._begin.wait()
        action, outcome = wish.proposal.action, "late"
        wish_text = "\n\n".join(wish.words)
        instructions = LANGUAGES[self._lang].prompting.filling
        history = self._question.history
        prompt = Prompt(
            instructions=instructions,
            question=wish_text,
            lang=self._lang,
            history=history,
            charter=self._charter,
        )
        with trio.move_on_after(self._timeout):
            try:
                self.fields[action] = await self._filler.fill(action, prompt, self._evidence)
                outcome = "filled"
            except ModelFailed as error:
                outcome = error.kind
        self.outcomes[action] = outcome
        if len(self.outcomes) == len(self.wishes):
            self.ended.set()


def _open_wish(wish: Wish, missing: tuple[str, ...]) -> Wish:
    """Return the open part of a wish: the fields `missing`, and the others as the words give them, to fill in anew."""
    payload = {name: value for name, value in wish.proposal.payload.items() if name not in missing}
    return Wish(Proposal(action=wish.proposal.action, payload=payload, missing=missing), wish.words)


async def _read_texts(texts: Sequence[str]) -> list[NumberSource]:
    """Read the numbers of the user's messages, one message a step. Cancelled, nothing is left."""
    sources: list[NumberSource] = []
    for text in texts:
        sources.append(NumberSource.of(text))
        await trio.lowlevel.checkpoint()
    return sources
