"""What the supervisor does for workers: it keeps the places of all, and tells one of them about all.

Every message is answered in the step in which it came, but for a question about all workers: each of them is asked, and
one that has said nothing after WORKER_ANSWER seconds goes without.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import msgspec
import trio

from ..config import WORKER_ANSWER
from ..server.metrics import Metrics
from ..server.places import Place, Room
from .figures import Sums, families
from .messages import (
    LAST,
    Answer,
    Ask,
    Enter,
    GiveWay,
    Granted,
    Keep,
    Leave,
    MayGiveWay,
    Refused,
    Report,
    Reported,
)

Send = Callable[[msgspec.Struct], None]


@dataclass(eq=False)
class _Worker:
    """A worker as the desk knows it. places: those that it has, by its numbers."""

    send: Send
    places: dict[int, Place] = field(default_factory=dict)


class _Question:
    """A question about all workers, while they answer it."""

    def __init__(self, asked: set[int]) -> None:
        self.missing = asked
        self.unready: dict[int, str] = {}
        self.answered = trio.Event()
        self._look()

    def answer(self, worker: int, unready: str) -> None:
        """Take a worker's answer."""
        if worker in self.missing:
            self.missing.discard(worker)
            self.unready[worker] = unready
            self._look()

    def gone(self, worker: int) -> None:
        """Wait no more for a worker that has ended, and is not to be spoken of."""
        self.missing.discard(worker)
        self._look()

    def words(self) -> str:
        """Return why one worker is not ready; "" when all are."""
        silent = [f"Worker {each} does not answer." for each in sorted(self.missing)]
        unready = [f"Worker {each}: {why}" for each, why in sorted(self.unready.items()) if why]
        return next(iter([*unready, *silent]), "")

    def _look(self) -> None:
        if not self.missing:
            self.answered.set()


class Desk:
    """The desk of one supervisor. places: of all workers. metrics: the supervisor's own figures."""

    def __init__(self, places: Room, metrics: Metrics, nursery: trio.Nursery) -> None:
        self._places = places
        self._metrics = metrics
        self._nursery = nursery
        self._sums = Sums()
        self._workers: dict[int, _Worker] = {}
        self._questions: dict[int, _Question] = {}
        self._last = LAST

    def joins(self, number: int, send: Send) -> None:
        """Serve a worker from now on. send: tells it something; never blocks."""
        self._workers[number] = _Worker(send)

    def leaves(self, number: int) -> None:
        """Take back what a worker had: it has ended."""
        worker = self._workers.pop(number, None)
        if worker is not None:
            for place in worker.places.values():
                self._places.leave(place)
            worker.places.clear()
            self._sums.ended(number)
            for question in self._questions.values():
                question.gone(number)

    def hear(self, number: int, message: msgspec.Struct) -> None:
        """Do what a worker asks for."""
        worker = self._workers[number]
        match message:
            case Enter():
                self._enter(worker, message)
            case MayGiveWay(place=place, after=after) if place in worker.places:
                tell = partial(self._give_way, worker, place)
                self._places.may_give_way(worker.places[place], tell, trio.current_time() + after)
            case Keep(place=place) if place in worker.places:
                self._places.keep(worker.places[place])
            case Leave(place=place) if place in worker.places:
                self._places.leave(worker.places.pop(place))
            case Ask(question=question, what=what):
                self._nursery.start_soon(self._tell, worker.send, question, what == "figures")
            case Reported():
                self._reported(number, message)
            case _:
                pass  # of a place that was given away meanwhile

    def _enter(self, worker: _Worker, message: Enter) -> None:
        greedy = self._places.full_for(message.address)
        place = self._places.enter(message.address, trio.current_time())
        if place is None:
            worker.send(Refused(message.place, "address" if greedy else "connections"))
        else:
            worker.places[message.place] = place
            worker.send(Granted(message.place))

    def _give_way(self, worker: _Worker, place: int) -> None:
        if worker.places.pop(place, None) is not None:
            worker.send(GiveWay(place))

    async def _tell(self, send: Send, asked: int, figures: bool) -> None:
        """Ask all workers, and tell the one that asked."""
        self._last += 1
        number = self._last
        question = self._questions[number] = _Question(set(self._workers))
        for each in self._workers.values():
            each.send(Report(number, figures))
        try:
            with trio.move_on_after(WORKER_ANSWER):
                await question.answered.wait()
        finally:
            del self._questions[number]
        text = self._sums.text(families(self._metrics)) if figures else b""
        send(Answer(asked, text, question.words()))

    def _reported(self, number: int, report: Reported) -> None:
        if report.figures is not None:
            self._sums.reported(number, report.figures)
        if report.question in self._questions:
            self._questions[report.question].answer(number, report.unready)
