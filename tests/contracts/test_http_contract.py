"""What everything that asks another server must do, whatever it asks for. A new one joins by a line in ASKERS.

Over real sockets: what must be let go of is the kernel's. What is left to the garbage collector is a warning.
"""

import gc
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import pytest
import trio
import trio.testing

from agent.actions.webhook import WEBHOOK_ANSWER_MAX, WebhookExecutor
from agent.embedding.served import ServedEmbedder
from agent.errors import ActionUnknown, EmbeddingFailed, ModelFailed
from agent.models.http import HttpModel
from agent.models.openai import OpenAI
from agent.ports.action import Call
from agent.ports.model import Finish, ModelMessage, ModelRequest, TextDelta
from tests.examples import sample
from tests.strikes.instrument import Strike
from tests.strikes.spoken import SHAPES
from tests.strikes.upstream import Reply, refused, reply, upstream

Ask = Callable[[], Awaitable[None]]


def _webhook(url: str) -> Ask:
    executor = WebhookExecutor(url)

    async def ask() -> None:
        await executor.run(
            Call(suggestion_id="s1", action="send_sms", payload={"phone": "070-1234567"}), lambda: None
        )

    return ask


def _vectors(url: str) -> Ask:
    embedder = ServedEmbedder(url, "m", "key")

    async def ask() -> None:
        await embedder.embed(["some text"])

    return ask


def _model(url: str) -> Ask:
    model = HttpModel(OpenAI("m", url))

    async def ask() -> None:
        async with aclosing(
            model.stream(ModelRequest(messages=(ModelMessage("user", "some text"),)))
        ) as stream:
            async for _ in stream:
                pass

    return ask


@dataclass(frozen=True)
class Asker:
    """ask: makes what asks a server of this address, and may ask it again. good: an answer. failed: its error.

    long: an answer that is over its bound, or, for the model, left for another reason in its middle.
    """

    ask: Callable[[str], Ask]
    good: Reply
    long: Reply
    failed: type[Exception]


JSON = {"content-type": "application/json"}
ASKERS = {
    "webhook": Asker(
        _webhook,
        Reply((b'{"sent":', b" true}"), headers=JSON),
        Reply((b" " * WEBHOOK_ANSWER_MAX, b"  "), headers=JSON),
        ActionUnknown,
    ),
    "vectors": Asker(
        _vectors,
        Reply((b'{"data": [{"index": 0,', b' "embedding": [1.0]}]}'), headers=JSON),
        Reply((b" " * WEBHOOK_ANSWER_MAX, b"  "), headers=JSON),
        EmbeddingFailed,
    ),
    "model": Asker(
        _model,
        reply(SHAPES["openai"]([TextDelta("Yes."), Finish("stop")])),
        reply([b"data: garbage\n\n"]),
        ModelFailed,
    ),
}


@pytest.fixture(params=ASKERS)
def asker(request: pytest.FixtureRequest) -> Asker:
    return ASKERS[request.param]


@asynccontextmanager
async def letting_go(open_: Callable[[], int]) -> AsyncGenerator[Callable[[], Awaitable[None]], None]:
    """Give what waits until no connection is held, though no collector need run; in the end it must find nothing."""

    async def let_go() -> None:
        with trio.move_on_after(30):
            while open_():  # noqa: ASYNC110 - the other side is looked at, not heard of
                await trio.sleep(0.005)
        held = open_()
        gc.collect(1 if held else 0)
        assert held == 0

    gc.collect()
    with warnings.catch_warnings(record=True) as left:
        warnings.simplefilter("always")
        try:
            yield let_go
        finally:
            gc.collect()
            await trio.testing.wait_all_tasks_blocked()
    assert [str(warning.message) for warning in left] == []


@pytest.mark.parametrize("answer", sample(["good", "refused", "long"], 3))
async def test_cancelled_at_any_step_it_lets_go(
    asker: Asker, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the k-th step of the task that asks, for each k until it is done."""
    monkeypatch.setattr("agent.embedding.served.SERVED_ANSWER_MAX", WEBHOOK_ANSWER_MAX)
    given = {"good": asker.good, "refused": refused(500), "long": asker.long}[answer]
    async with upstream(given) as service, letting_go(lambda: service.open) as let_go:
        ask = asker.ask(service.url)
        steps, done = 0, False
        while not done:
            steps += 1
            assert steps < 2000
            with trio.CancelScope() as scope:
                strike = Strike(steps, scope)
                trio.lowlevel.add_instrument(strike)
                try:
                    await ask()
                    assert answer == "good"
                except asker.failed:
                    assert answer != "good"
                finally:
                    trio.lowlevel.remove_instrument(strike)
                done = strike.left > 0
            await let_go()
        assert steps > 10


class Silent:
    """Takes connections and hears a handshake begin, and never answers it."""

    def __init__(self, port: int) -> None:
        self.url = f"https://127.0.0.1:{port}"
        self.open = 0
        self.heard = trio.Event()

    async def serve(self, stream: trio.SocketStream) -> None:
        self.open += 1
        async with stream:
            try:
                while await stream.receive_some():
                    self.heard.set()
            except trio.BrokenResourceError:
                pass
        self.open -= 1


@asynccontextmanager
async def silent() -> AsyncGenerator[Silent, None]:
    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        made = Silent(listener.socket.getsockname()[1])
        nursery.start_soon(partial(trio.serve_listeners, made.serve, [listener]))
        yield made
        nursery.cancel_scope.cancel()


async def test_cancelled_in_its_handshake_it_lets_go(asker: Asker) -> None:
    """After each step up to where it waits for the other side's half of the TLS handshake, and there."""
    async with silent() as service, letting_go(lambda: service.open) as let_go:
        ask = asker.ask(service.url)
        steps = 0
        while not service.heard.is_set():
            steps += 1
            async with trio.open_nursery() as nursery:
                strike = Strike(steps, nursery.cancel_scope)
                trio.lowlevel.add_instrument(strike)

                async def stop() -> None:
                    await service.heard.wait()
                    nursery.cancel_scope.cancel()

                nursery.start_soon(stop)
                try:
                    await ask()
                finally:
                    trio.lowlevel.remove_instrument(strike)
            await let_go()
        assert steps > 2
