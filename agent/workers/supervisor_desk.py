"""The supervisor's services to workers: it keeps the places of all workers, and answers questions about all of them.

Every message is answered in the step in which it came. The exception is a question about all workers: the desk
asks each of them, and leaves out a worker that is silent for `WORKER_ANSWER` seconds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import msgspec
import trio

from ..server.capacity import Place, PlacePool
from ..server.metrics import Metrics
from .figures import FigureSums, collect_families
from .messages import (
    LAST,
    WORKER_ANSWER,
    GiveWay,
    KeepPlace,
    LeavePlace,
    MayGiveWay,
    PlaceGranted,
    PlaceRefused,
    PlaceRequest,
    ReportRequest,
    WorkerReport,
    WorkersAnswer,
    WorkersQuestion,
)

Send = Callable[[msgspec.Struct], None]


@dataclass(eq=False)
class _DeskWorker:
    """A worker as the desk knows it. `places` maps the numbers that the worker gave its places to these."""

    send: Send
    places: dict[int, Place] = field(default_factory=dict)


class _OpenQuestion:
    """A question about all workers, while their answers come."""

    def __init__(self, workers: set[int]) -> None:
        self.missing = workers
        self.unready: dict[int, str] = {}
        self.answered = trio.Event()
        self._look()

    def answer(self, worker: int, unready: str) -> None:
        """Note the answer of a worker."""
        if worker in self.missing:
            self.missing.discard(worker)
            self.unready[worker] = unready
            self._look()

    def drop_worker(self, worker: int) -> None:
        """Stop waiting for a worker that has ended, and leave it out."""
        self.missing.discard(worker)
        self._look()

    def describe_unready(self) -> str:
        """Return why one worker is not ready; "" when all are."""
        silent = [f"Worker {each} does not answer." for each in sorted(self.missing)]
        unready = [f"Worker {each}: {why}" for each, why in sorted(self.unready.items()) if why]
        return next(iter([*unready, *silent]), "")

    def _look(self) -> None:
        if not self.missing:
            self.answered.set()


class SupervisorDesk:
    """The desk of one supervisor. `places`: of all workers. `metrics`: the supervisor's own figures."""

    def __init__(self, places: PlacePool, metrics: Metrics, nursery: trio.Nursery) -> None:
        self._places = places
        self._metrics = metrics
        self._nursery = nursery
        self._sums = FigureSums()
        self._workers: dict[int, _DeskWorker] = {}
        self._questions: dict[int, _OpenQuestion] = {}
        self._last = LAST

    def add_worker(self, number: int, send: Send) -> None:
        """Serve a worker from now on. `send` sends it a message and never blocks."""
        self._workers[number] = _DeskWorker(send)

    def remove_worker(self, number: int) -> None:
        """Release the places of a worker that has ended."""
        worker = self._workers.pop(number, None)
        if worker is not None:
            for place in worker.places.values():
                self._places.leave(place)
            worker.places.clear()
            self._sums.end_worker(number)
            for question in self._questions.values():
                question.drop_worker(number)

    def hear(self, number: int, message: msgspec.Struct) -> None:
        """Handle a message of a worker."""
        worker = self._workers[number]
        match message:
            case PlaceRequest():
                self._enter(worker, message)
            case MayGiveWay(place=place, after=after) if place in worker.places:
                tell = partial(self._give_way, worker, place)
                self._places.may_give_way(worker.places[place], tell, trio.current_time() + after)
            case KeepPlace(place=place) if place in worker.places:
                self._places.keep(worker.places[place])
            case LeavePlace(place=place) if place in worker.places:
                self._places.leave(worker.places.pop(place))
            case WorkersQuestion(question=question, what=what):
                self._nursery.start_soon(self._answer_question, worker.send, question, what == "figures")
            case WorkerReport():
                self._take_report(number, message)
            case _:
                pass  # the message is about a place that was given away before

    def _enter(self, worker: _DeskWorker, message: PlaceRequest) -> None:
        greedy = self._places.is_full_for(message.address)
        place = self._places.take_now(message.address, trio.current_time())
        if place is None:
            worker.send(PlaceRefused(message.place, "address" if greedy else "connections"))
        else:
            worker.places[message.place] = place
            worker.send(PlaceGranted(message.place))

    def _give_way(self, worker: _DeskWorker, place: int) -> None:
        if worker.places.pop(place, None) is not None:
            worker.send(GiveWay(place))

    async def _answer_question(self, send: Send, question_number: int, figures: bool) -> None:
        """Ask all workers, and answer the worker that asked."""
        self._last += 1
        number = self._last
        question = self._questions[number] = _OpenQuestion(set(self._workers))
        for each in self._workers.values():
            each.send(ReportRequest(number, figures))
        try:
            with trio.move_on_after(WORKER_ANSWER):
                await question.answered.wait()
        finally:
            del self._questions[number]
        text = self._sums.text(collect_families(self._metrics)) if figures else b""
        send(WorkersAnswer(question_number, text, question.describe_unready()))

    def _take_report(self, number: int, report: WorkerReport) -> None:
        if report.figures is not None:
            self._sums.set_report(number, report.figures)
        if report.question in self._questions:
            self._questions[report.question].answer(number, report.unready)
