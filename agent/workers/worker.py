"""One worker: a whole server, except for its port and its shared limits.

It obeys the supervisor's messages. When the channel ends, the supervisor is gone and no more connections come: the
worker drains.
"""

from collections.abc import Callable
from itertools import count
from typing import Literal

import structlog
import trio

from ..app import App
from ..compose.adapters import Adapters
from ..compose.edge import Siblings
from ..errors import UsageError
from ..server.accept import ListenerSource
from ..server.limits import SharedLimits
from ..server.rates import (
    BURST,
    REQUEST_BURST,
    WRONG_TOKEN_BURST,
    Rates,
    message_rate,
    request_rate,
    wrong_token_rate,
)
from ..settings import Settings
from .channel import Channel
from .figures import collect_families
from .messages import (
    LAST,
    WORKER_ANSWER,
    AliveProbe,
    AliveReply,
    BeginWork,
    ConnectionsEnded,
    DrainRequest,
    GiveWay,
    PlaceGranted,
    PlaceRefused,
    ReportRequest,
    StartFailed,
    StopRequest,
    ToWorker,
    WorkerLeaving,
    WorkerReady,
    WorkerReport,
    WorkersAnswer,
    WorkersQuestion,
    WorkerUp,
)
from .rates import SharedRates
from .shared_places import SharedPlaces

_log = structlog.get_logger("agent.workers")
_NO_ANSWER = "The supervisor does not answer."
_SOON = "The documents have just been read."


def shared_rates(file: int, settings: Settings) -> tuple[Rates, Rates, Rates]:
    """Return the rates of messages, wrong tokens and API requests. `file` is a descriptor of `make_rates`."""
    messages = message_rate(settings.server, settings.session.rate_limit)
    return (
        SharedRates(file, 0, messages, BURST),
        SharedRates(file, 1, wrong_token_rate, WRONG_TOKEN_BURST),
        SharedRates(file, 2, request_rate(settings.server), REQUEST_BURST),
    )


class Worker:
    """One worker, from its first message on.

    `listens` gives its connections. `rates` are those of messages, wrong tokens and API requests, shared by all
    workers.
    """

    def __init__(
        self,
        channel: Channel[ToWorker],
        begin: BeginWork,
        settings: Settings,
        listens: ListenerSource,
        rates: tuple[Rates, Rates, Rates],
        adapters: Adapters | None = None,
    ) -> None:
        self._channel = channel
        self._places = SharedPlaces(channel.send)
        messages, wrong_tokens, requests = rates
        limits = SharedLimits(
            servers=begin.workers,
            places=self._places,
            messages=messages,
            wrong_tokens=wrong_tokens,
            requests=requests,
            on_departure=self.connection_ended,
        )
        siblings = Siblings(
            listens=listens,
            port=begin.port,
            limits=limits,
            figures=self._figures,
            unready=self._unready,
        )
        self.server = App(settings, adapters, siblings)
        self._all = trio.CancelScope()
        self._up = False
        self._ready = False  # the supervisor knows; before, it prefers other workers
        self._numbers = count(LAST + 1)
        self._open_questions: dict[int, tuple[trio.Event, list[WorkersAnswer]]] = {}

    def connection_ended(self) -> None:
        """Tell the supervisor that a connection has ended."""
        self._channel.send(ConnectionsEnded(1))

    async def run(
        self, when_up: Callable[[], None] = lambda: None, when_ready: Callable[[], None] = lambda: None
    ) -> None:
        """Serve until drained or stopped.

        `when_up` is called before the first connection, `when_ready` once the documents are read. Raises `UsageError`,
        and tells the supervisor, when it cannot start.
        """
        with self._all:
            async with trio.open_nursery() as around:
                around.start_soon(self._obey)
                try:
                    async with trio.open_nursery() as nursery:
                        await nursery.start(self.server.run)
                        self._up = True
                        when_up()
                        self._channel.send(WorkerUp())
                        around.start_soon(self._say_when_ready, when_ready)
                except* UsageError as group:
                    self._channel.send(StartFailed(str(_first_error(group))))
                    raise
                finally:
                    self._report(LAST, figures=True)
                    with trio.CancelScope(shield=True, deadline=trio.current_time() + WORKER_ANSWER):
                        await self._channel.wait_written()
                around.cancel_scope.cancel()

    def drain(self) -> None:
        """Begin to end, and tell the supervisor; a worker that is not up yet ends at once."""
        self._channel.send(WorkerLeaving())
        if self._up:
            self.server.drain()
        else:
            self._all.cancel()

    async def _obey(self) -> None:
        while (message := await self._channel.receive()) is not None:
            match message:
                case PlaceGranted() | PlaceRefused():
                    self._places.take_answer(message)
                case GiveWay(place=place):
                    self._places.drop_place(place)
                case ReportRequest(question=question, figures=figures):
                    self._report(question, figures)
                case WorkersAnswer(question=question) if question in self._open_questions:
                    answered, answers = self._open_questions[question]
                    answers.append(message)
                    answered.set()
                case AliveProbe():
                    self._channel.send(AliveReply())
                case DrainRequest():
                    self.drain()
                case StopRequest():
                    self.drain()
                    self.server.stop()
                case _:
                    pass  # a late answer
        _log.error("supervisor is gone", then="draining")
        self._places.end()
        self.drain()

    async def _say_when_ready(self, when_ready: Callable[[], None]) -> None:
        await self.server.ready()
        when_ready()
        self._ready = True
        self._channel.send(WorkerReady())

    def _report(self, question: int, figures: bool) -> None:
        report = collect_families(self.server.metrics) if figures else None
        unready = self.server.unready or ("" if self._ready else _SOON)
        self._channel.send(WorkerReport(question, unready, report))

    async def _figures(self) -> bytes:
        """Return the figures of all workers, or this worker's alone if the supervisor does not answer."""
        answer = await self._ask("figures")
        return self.server.metrics.text() if answer is None else answer.figures

    async def _unready(self) -> str:
        answer = await self._ask("unready")
        return _NO_ANSWER if answer is None else answer.unready

    async def _ask(self, what: Literal["figures", "unready"]) -> WorkersAnswer | None:
        """Ask the supervisor about all workers; return `None` if it does not answer."""
        number = next(self._numbers)
        answered, answers = self._open_questions[number] = trio.Event(), []
        self._channel.send(WorkersQuestion(number, what))
        try:
            with trio.move_on_after(2 * WORKER_ANSWER):  # once for the other workers
                await answered.wait()
        finally:
            del self._open_questions[number]
        return answers[0] if answers else None


def _first_error(group: BaseExceptionGroup[UsageError]) -> UsageError:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    assert isinstance(error, UsageError)
    return error
