"""Queues the requests of one client beside the turn, such as those to the memory, and its feedback; pure.

They are answered one after the other, in their order, beside any turn. A request beyond the bounds is refused at once.
"""

from typing import Any

from ..ports.conversation import Scope
from ..protocol.inbound import RateAnswer, Search
from ..protocol.outbound import Error
from ..protocol.stories import AnyConsult
from ..wire.bucket import Bucket
from .core_output import CoreOutput
from .effects import AskConsultant, StoreFeedback
from .events import ConsultAnswered
from .sent_answers import SentAnswers

CONSULTS_WAITING = 8  # requests of one client, behind the request that is being answered
RECALLS_PER_SECOND = 10.0  # of one client, with lists of threads and of their messages; the burst is as large
RATINGS_PER_SECOND, RATINGS_AT_ONCE = 1.0, 10.0  # of one client

GOING_DOWN = "The server is going down; connect again in a moment."
_TOO_MUCH = "Too many requests to the memory are waiting; wait for an answer, then ask again."
_TOO_FAST = "Too many searches of the memory; wait a second, then search again."
_TOO_MANY_RATINGS = "Too much feedback at once; wait a second, then send it again."


class ConsultQueue:
    """The unanswered requests of one client, and its unanswered feedback.

    `scope`: the user and thread, as of the last answer. `answers`: can be rated.
    """

    __slots__ = ("_answers", "_frames", "_out", "_ratings", "_recalls", "scope")

    def __init__(self, out: CoreOutput, scope: Scope, answers: SentAnswers) -> None:
        self._out = out
        self._answers = answers
        self._frames: list[AnyConsult] = []  # the first is being answered, CONSULTS_WAITING wait
        self._recalls = Bucket(RECALLS_PER_SECOND, RECALLS_PER_SECOND)
        self._ratings = Bucket(RATINGS_PER_SECOND, RATINGS_AT_ONCE)
        self.scope = scope

    def add_frame(self, frame: AnyConsult) -> None:
        """Have `frame` answered, now or after the frames before it; or send the reason why not."""
        if self._out.draining:
            self._refuse("shutting_down", GOING_DOWN, frame)
        elif len(self._frames) > CONSULTS_WAITING:
            self._refuse("busy", _TOO_MUCH, frame)
        elif isinstance(frame, Search) and not self._recalls.take_token(self._out.now):
            self._refuse("rate_limited", _TOO_FAST, frame)
        elif isinstance(frame, RateAnswer) and not self._ratings.take_token(self._out.now):
            self._refuse("rate_limited", _TOO_MANY_RATINGS, frame)
        else:
            self._frames.append(frame)
            self._out.record_fact("consults", str(frame.__struct_config__.tag))
            if len(self._frames) == 1:
                self._begin(frame)

    def finish_first(self, reply: ConsultAnswered) -> None:
        """Send the answer to the first request, and have the next request answered."""
        self._frames.pop(0)
        self.scope = reply.scope or self.scope
        self._out.send_frame(reply.frame)
        if isinstance(reply.frame, Error):
            self._out.record_fact("errors", reply.frame.code)
        if self._frames:
            self._begin(self._frames[0])

    def _begin(self, frame: AnyConsult) -> None:
        if isinstance(frame, RateAnswer):
            self._out.add(StoreFeedback(frame, self._answers.find(frame.message), self.scope))
        else:
            self._out.add(AskConsultant(frame, self.scope))

    def _refuse(self, code: Any, message: str, frame: AnyConsult) -> None:
        self._out.send_frame(Error(code=code, message=message, id=frame.id))
        self._out.record_fact("errors", code)
