"""The spans of turns, with the SDK's own exporter in memory: their tree, their attributes, and their ends."""

import json
from collections.abc import AsyncGenerator

import pytest
import trio
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from trio.testing import MockClock

from agent import tool
from agent.compose.adapters import Adapters
from agent.errors import ModelFailed
from agent.ports.decide import Act, Noop
from agent.ports.model import Finish, LanguageModel, ModelRequest, Piece, TextDelta, Usage
from agent.retrieval.load import SourceFile
from agent.settings import Settings
from agent.testing.breakable import SENTINEL
from agent.testing.fakes import ScriptedDecider
from agent.testing.models import FakeModel
from agent.testing.network import Network, network
from agent.tracing.otel import OtelTracer
from tests.examples import sample

from ..server.test_api import ask, exchange, request

TEXT = "The Standard plan costs 299 kr a month.\n\nThe Premium plan costs 599 kr a month.\n"
DOCUMENTS = (SourceFile.of("kb/pricing.md", f"# Plans\n\n{TEXT}"),)
QUESTION = "What does the Standard plan cost, asks Beatrix?"
SAID = "The Standard plan costs 299 kr a month. "
GOOD = (0.5, TextDelta(SAID), TextDelta("So it is cheap."), Finish("stop", Usage(120, 14)))
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Scripted:
    """The language model of the settings; plays `model`, which a test sets."""

    model: LanguageModel

    def stream(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        """Yield the next answer."""
        return self.model.stream(request)


class Traces:
    """A tracer whose spans stay in memory."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracer = OtelTracer(provider)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The spans that have ended, in the order of their ends."""
        return self._exporter.get_finished_spans()

    def find(self, name: str) -> ReadableSpan:
        """Return the one span of a name."""
        (span,) = [each for each in self.spans if each.name == name]
        return span


@pytest.fixture
def traces() -> Traces:
    """Return a tracer of its own for the test."""
    return Traces()


@tool(requires_approval=False)
def find_stock(plan: str) -> str:
    """Tell how many of a plan are left."""
    return f"{plan}: 8000123 are left"


@tool
def move_stock(plan: str) -> str:
    """Move a plan."""
    if plan == "Premium":
        raise RuntimeError(plan)
    return plan


def adapters(traces: Traces, *plays: object) -> Adapters:
    """The parts of a traced server, whose decider plays `plays` where there are some."""
    decider = ScriptedDecider(*plays) if plays else None  # type: ignore[arg-type]
    functions = (find_stock, move_stock) if plays else ()
    return Adapters(tracer=traces.tracer, decider=decider, functions=functions)


def settings(model: FakeModel, **chosen: object) -> Settings:
    """The settings of a server that asks `model`."""
    Scripted.model = model
    usual = {"model": "tests.tracing.test_traces:Scripted", "pace_ms": 0, "rate_limit": 0}
    return Settings.of(**(usual | chosen))


async def answer(net: Network, text: str = QUESTION) -> str:
    """Ask over a WebSocket; return the text of the response."""
    async with net.connect() as client:
        await client.ask(text)
        *_, response = await client.frames_until("response")
    return str(response["text"])


async def test_a_turn_is_a_span_whose_steps_are_its_children(
    traces: Traces, autojump_clock: MockClock
) -> None:
    """Retrieval, the request to the model with tokens and time, each verified sentence: all in one trace."""
    async with network(settings(FakeModel([GOOD])), adapters(traces), DOCUMENTS) as net:
        assert await answer(net) == f"{SAID}So it is cheap."
    turn = traces.find("invoke_agent agent-server")
    assert turn.parent is None
    assert dict(turn.attributes or {}) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "agent-server",
        "agent.turn.outcome": "answered",
    }
    children = [span for span in traces.spans if span.parent is not None]
    assert {span.parent and span.parent.span_id for span in children} == {
        turn.context and turn.context.span_id
    }
    assert {span.name for span in children} == {
        "retrieval",
        "chat tests.tracing.test_traces:Scripted",
        "verify",
    }
    request = traces.find("chat tests.tracing.test_traces:Scripted")
    assert request.kind is SpanKind.CLIENT
    assert dict(request.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "custom",
        "gen_ai.request.model": "tests.tracing.test_traces:Scripted",
        "gen_ai.response.time_to_first_chunk": 0.5,
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 14,
    }
    assert all(span.status.status_code is StatusCode.UNSET for span in traces.spans)


async def test_a_tool_call_of_a_turn_is_a_child_of_it(traces: Traces, autojump_clock: MockClock) -> None:
    """It has the tool's name, and neither its arguments nor its result."""
    parts = adapters(traces, Act("find_stock", {"plan": "Standard"}), Noop())
    async with network(settings(FakeModel([GOOD])), parts, DOCUMENTS) as net:
        await answer(net)
    call = traces.find("execute_tool find_stock")
    assert call.parent is not None
    assert dict(call.attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "find_stock",
    }
    assert call.status.status_code is StatusCode.UNSET


async def test_a_call_that_an_approval_starts_has_a_trace_of_its_own(
    traces: Traces, autojump_clock: MockClock
) -> None:
    """Its turn has ended; one that fails says so in its status."""
    parts = adapters(traces, Act("move_stock", {"plan": "Standard"}), Act("move_stock", {"plan": "Premium"}))
    async with network(settings(FakeModel()), parts, DOCUMENTS) as net, net.connect() as client:
        for plan in ("Standard", "Premium"):
            await client.ask(f"Move the {plan} plan, please.")
            *_, suggestion = await client.frames_until("action_suggestion")
            await client.confirm(suggestion["suggestionId"])
            await client.frames_until("action_executed")
    calls = [span for span in traces.spans if span.name == "execute_tool move_stock"]
    assert [(span.parent, span.status.description) for span in calls] == [(None, None), (None, "unknown")]
    turns = [span.context and span.context.trace_id for span in traces.spans if span.name[:6] == "invoke"]
    assert not {span.context and span.context.trace_id for span in calls} & set(turns)


async def test_a_cancelled_turn_ends_its_spans_as_cancelled(
    traces: Traces, autojump_clock: MockClock
) -> None:
    """The turn and the request to its model, which hangs; the next turn has a trace of its own."""
    model = FakeModel([(TextDelta(SAID), TextDelta("So it is cheap. "), 9.0), GOOD])
    async with network(settings(model), adapters(traces), DOCUMENTS) as net, net.connect() as client:
        await client.ask(QUESTION)
        await client.frames_until("stream")
        await client.cancel()
        await client.frames_until("stream_end")
        await client.ask(QUESTION)
        await client.frames_until("response")
    turns = [span for span in traces.spans if span.name == "invoke_agent agent-server"]
    assert [(span.status.status_code, span.status.description) for span in turns] == [
        (StatusCode.ERROR, "cancelled"),
        (StatusCode.UNSET, None),
    ]
    assert (turns[0].attributes or {})["agent.turn.outcome"] == "cancelled"
    requests = [span for span in traces.spans if span.name.startswith("chat")]
    assert [(span.attributes or {}).get("error.type") for span in requests] == ["cancelled", None]
    assert [span.parent and span.parent.span_id for span in requests] == [
        turn.context and turn.context.span_id for turn in turns
    ]


@pytest.mark.parametrize(
    ("play", "outcome", "problem"),
    [
        ((ModelFailed("down 31337", "auth", detail="31337"),), "model_failed", "auth"),
        ((TextDelta(f"It costs {SENTINEL} kr a month."), Finish("stop")), "number_mismatch", None),
    ],
)
async def test_a_refused_turn_names_its_outcome(
    play: tuple[Piece | ModelFailed, ...],
    outcome: str,
    problem: str | None,
    traces: Traces,
    autojump_clock: MockClock,
) -> None:
    """A model that fails is an error of the turn, and a number without support is none."""
    async with network(settings(FakeModel([play, play])), adapters(traces), DOCUMENTS) as net:
        await answer(net)
    turn = traces.find("invoke_agent agent-server")
    assert (turn.attributes or {})["agent.turn.outcome"] == outcome
    assert turn.status.description == (outcome if problem else None)
    requests = {(span.attributes or {}).get("error.type") for span in traces.spans if span.name[:4] == "chat"}
    assert requests == {problem}
    assert SENTINEL not in "".join(span.to_json() for span in traces.spans).replace("0x", "")


async def test_a_client_that_leaves_ends_the_span_of_its_turn(
    traces: Traces, autojump_clock: MockClock
) -> None:
    """Also where the turn has no text yet."""
    async with network(settings(FakeModel([(9.0,)])), adapters(traces), DOCUMENTS) as net:
        async with net.connect() as client:
            await client.ask(QUESTION)
            await trio.sleep(1)
        await trio.sleep(1)
        assert traces.find("invoke_agent agent-server").status.description == "disconnected"


async def test_no_span_holds_a_text_or_a_name_of_a_client(traces: Traces, autojump_clock: MockClock) -> None:
    """No word of a question, an answer, an argument, a result, a refused number, or a tool of a message."""
    lie = (TextDelta(f"It costs {SENTINEL} kr."), Finish("stop", Usage(1, 2)))
    theirs = {
        "name": "pay_4711_now",
        "parameters": {"type": "object"},
        "requires_approval": False,
        "risk": "low",
    }
    calls = Act("find_stock", {"plan": "Standard"}), Act("pay_4711_now", {}), Noop()
    chosen = settings(FakeModel([lie, GOOD]), client_tools=True)
    async with network(chosen, adapters(traces, *calls), DOCUMENTS) as net, net.connect() as client:
        await client.send({"type": "message", "id": "m4711", "text": QUESTION, "tools": [theirs]})
        await client.frames_until("response")
    assert {"execute_tool", "execute_tool find_stock"} <= {span.name for span in traces.spans}
    kept = [
        (span.name, dict(span.attributes or {}), span.status.description, list(span.events))
        for span in traces.spans
    ]
    words = json.dumps(kept)
    for secret in ("Beatrix", "Standard", "299", SENTINEL, "cheap", "8000123", "4711", "kb/"):
        assert secret not in words


async def test_a_request_s_traceparent_is_the_parent_of_its_turn(
    traces: Traces, autojump_clock: MockClock
) -> None:
    """Of that turn alone, also where another request follows on the same connection."""
    keep = ask(QUESTION, f"traceparent: {PARENT}").replace(b"Connection: close\r\n", b"")
    async with network(settings(FakeModel([GOOD, GOOD])), adapters(traces), DOCUMENTS) as net:
        end = net.open()
        end.feed(keep)
        await trio.sleep(2)
        end.feed(ask(QUESTION))
        await trio.sleep(2)
        end.close()
    first, second = [span for span in traces.spans if span.name == "invoke_agent agent-server"]
    assert first.parent is not None
    assert format(first.parent.span_id, "016x") == PARENT.split("-")[2]
    assert first.context is not None
    assert format(first.context.trace_id, "032x") == PARENT.split("-")[1]
    assert second.parent is None


async def test_a_thread_over_http_has_the_parent_of_each_request(
    traces: Traces, autojump_clock: MockClock
) -> None:
    """Not that of the request that woke it; the search of the memory is a step like the others."""
    model, noops = FakeModel([GOOD] * 2), adapters(traces, Noop())
    async with network(settings(model, memory="on", data="memory"), noops, DOCUMENTS) as net:
        thread: dict[str, str] = {}
        for header in ((f"traceparent: {PARENT}",), ()):
            body = json.dumps({"user_id": "beatrix", "message": QUESTION} | thread).encode()
            status, _, answered = await exchange(net, request("/chat", body, *header))
            assert status == 200, answered
            thread = {"thread_id": json.loads(answered)["thread_id"]}
    turns = [span for span in traces.spans if span.name == "invoke_agent agent-server"]
    assert [span.parent and format(span.parent.span_id, "016x") for span in turns] == [
        PARENT.split("-")[2],
        None,
    ]
    for turn in turns:
        of_turn = [span for span in traces.spans if span.parent and span.parent == turn.context]
        assert {"retrieval", "search_memory", "verify"} <= {span.name for span in of_turn}


@pytest.mark.parametrize("chosen", [{"verify": "whole"}, {"answer": "claims"}], ids=["whole", "claims"])
async def test_each_way_of_an_answer_is_verified_in_a_step(
    chosen: dict[str, str], traces: Traces, autojump_clock: MockClock
) -> None:
    """A whole draft, or its claims."""
    claims = '[{"text": "The Standard plan costs 299 kr a month.", "evidence": [1]}]'
    text = claims if "answer" in chosen else SAID
    model = FakeModel([(TextDelta(text), Finish("stop"))])
    async with network(settings(model, **chosen), adapters(traces), DOCUMENTS) as net:
        assert "299" in await answer(net)
    assert traces.find("verify").parent is not None


@pytest.mark.parametrize(
    "header",
    sample(
        [
            "",
            "00",
            PARENT.upper(),
            PARENT.replace("00-", "ff-", 1),
            PARENT + "-more",
            PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32),
            PARENT.replace("00f067aa0ba902b7", "0" * 16),
            "00-" + "a" * 15000,
            "cc-" + PARENT[3:] + "-" + "x" * 500,
            "\xe5" * 55,
            PARENT + f"\r\ntraceparent: {PARENT}",
            PARENT.replace("4bf9", "\uff14bf9").encode().decode("latin-1"),
        ],
        5,
    ),
)
async def test_a_traceparent_that_is_not_valid_is_ignored(
    header: str, traces: Traces, autojump_clock: MockClock
) -> None:
    """The turn is answered, in a trace of its own: too short, in capitals, of zeros, too long, twice."""
    data = ask(QUESTION).replace(
        b"\r\n\r\n", b"\r\ntraceparent: " + header.encode("latin-1") + b"\r\n\r\n", 1
    )
    async with network(settings(FakeModel([GOOD])), adapters(traces), DOCUMENTS) as net:
        status, _, _ = await exchange(net, data)
    assert status == 200
    assert traces.find("invoke_agent agent-server").parent is None
