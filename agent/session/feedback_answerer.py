"""Stores a client's feedback on an answer of its session: each frame is answered by one frame, also after a failure.

The answer comes from the session, or else from the stored thread that the session has open, and only the verdict from
the client. A forgotten answer is not stored: `SentAnswers` drops it at once where this process forgets, and the memory
is asked for the forgetting of others before and after the write.
"""

from collections.abc import Callable

import msgspec
import structlog
import trio

from ..errors import NotFound, StorageFailed, describe_error
from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.feedback import FeedbackAccess, RatedAnswer, Rating
from ..ports.remember import MEMORY_FILES, MemoryAccess
from ..protocol.consult_frames import FeedbackStored
from ..protocol.inbound import RateAnswer
from ..protocol.outbound import Error, Outbound, Response
from ..protocol.thread_frames import make_message
from .events import ConsultAnswered
from .sent_answers import SentAnswer

FEEDBACK_TIMEOUT = 10.0  # seconds for one rating

_log = structlog.get_logger("agent.session")

_OFF = "This server keeps no feedback, and nothing was stored; ask its operator for a server with a store."
_UNKNOWN = "This session has no such answer any more; ask the question again, then rate the new answer."
_FAILED = "The feedback could not be stored; send it again in a moment."


class FeedbackAnswerer:
    """Stores feedback for one session. `memory`: knows the forgotten messages; None on a server without memory.

    `new_id`: makes the key of an answer that has none yet, and names the log line of a fault.
    """

    def __init__(
        self,
        feedback: FeedbackAccess,
        memory: MemoryAccess | None,
        clock: Clock,
        new_id: Callable[[], str],
    ) -> None:
        self._feedback = feedback
        self._memory = memory
        self._clock = clock
        self._new_id = new_id

    async def answer(self, frame: RateAnswer, answer: SentAnswer | None, scope: Scope) -> ConsultAnswered:
        """Return the answer to `frame` once the feedback is stored, or could not be, within `FEEDBACK_TIMEOUT` seconds.

        `answer`: the rated one; None looks for it in the thread of `scope`. Raises nothing but `trio.Cancelled`; the
        feedback is then stored whole or not at all.
        """
        try:
            with trio.fail_after(FEEDBACK_TIMEOUT):
                reply = await self._store(frame, answer or await self._find_stored(frame.message, scope))
        except (StorageFailed, trio.TooSlowError):
            reply = Error("feedback_failed", _FAILED, frame.id)
        except NotFound:
            reply = Error("unknown_answer", _UNKNOWN, frame.id)
        except Exception as broken:  # noqa: BLE001 - the edge of one rating
            fault = self._new_id()
            _log.error("feedback broke", fault=fault, **describe_error(broken))
            reply = Error(
                "internal", f"Something broke here; send it again, or report fault {fault}.", frame.id
            )
        return ConsultAnswered(reply, trio.current_time())

    async def _store(self, frame: RateAnswer, answer: SentAnswer) -> Outbound:
        is_remembered = bool(answer.key)
        answer.key = answer.key or self._new_id()
        text = (frame.text or "").strip()
        rating = Rating(
            message=answer.key,
            verdict=frame.verdict,
            text=text,
            model=self._feedback.model,
            at=self._clock.now_ms(),
        )
        if is_remembered and await self._is_forgotten(answer):
            raise NotFound("it was forgotten")
        store, project = self._feedback.store, self._feedback.project
        await store.put_feedback(rating, _make_rated(answer, project), lambda: not answer.is_forgotten)
        if is_remembered and await self._is_forgotten(answer):
            await store.delete_feedback(project, answer.key)
            raise NotFound("it was forgotten")
        return FeedbackStored(frame.message, frame.verdict, text, frame.id)

    async def _find_stored(self, message: str, scope: Scope) -> SentAnswer:
        """Return the answer to a message of a stored thread. Raises `NotFound`."""
        if self._memory is None:
            raise NotFound("this session has not sent it")
        question, stored = await self._memory.threads.find_exchange(scope, message)
        answer = make_message(stored)
        if answer.unsourced:
            raise NotFound("its citations are not known")
        cited = tuple(each.file for each in answer.citations)
        return SentAnswer(
            message=message,
            key=message,
            scope=scope,
            question=question.text,
            response=Response(
                text=answer.text,
                citations=answer.citations,
                confidence=answer.confidence,
                blocked=answer.blocked,
            ),
            cites=tuple(file.removeprefix(MEMORY_FILES) for file in cited if file.startswith(MEMORY_FILES)),
        )

    async def _is_forgotten(self, answer: SentAnswer) -> bool:
        """Return whether any process has forgotten words of the answer."""
        if answer.is_forgotten or self._memory is None:
            return answer.is_forgotten
        cites = {answer.key: answer.cites}
        return bool(await self._memory.desk.forgotten_messages(answer.scope, cites)) or answer.is_forgotten


def refuse_feedback(frame: RateAnswer) -> ConsultAnswered:
    """Return the answer of a server that keeps no feedback."""
    return ConsultAnswered(Error("feedback_off", _OFF, frame.id), trio.current_time())


def _make_rated(answer: SentAnswer, project: str) -> RatedAnswer:
    response = answer.response
    return RatedAnswer(
        project=project,
        scope=answer.scope,
        question=answer.question,
        answer=response.text,
        citations=tuple(msgspec.to_builtins(each) for each in response.citations),
        confidence=response.confidence,
        blocked=response.blocked.code if response.blocked else None,
    )
