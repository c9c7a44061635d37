"""Traces turns: a `Tracer` makes a span of each turn, and the steps of the turn are the children of that span.

The span of a turn belongs to the context of the turn's task, as its `UsageMeter` does. Where nothing traces there is
none, and `trace_step` does nothing.

A span leaves the server, so its names and attributes are fixed words, names that the operator chose, and counts. They
are never a text of a client, a model or a document, nor a number of such a text.
"""

from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from types import TracebackType
from typing import Final, Literal, Protocol, TypeAlias

from ..errors import ModelFailed

Operation: TypeAlias = Literal["retrieval", "search_memory", "chat", "verify", "execute_tool"]
"""The operation of a step, as the GenAI conventions of OpenTelemetry name it; they have no name for `verify`."""


class Span(Protocol):
    """The span of a turn, or of a step of it."""

    def start_step(self, operation: Operation, subject: str = "", provider: str = "") -> "Span":
        """Start the span of a step. `subject`: the model or the tool. `provider`: the service of a model."""
        ...

    def set_attribute(self, name: str, value: str | float) -> None:
        """Set an attribute by its name in the conventions."""
        ...

    def end(self, problem: str = "") -> None:
        """End the span. `problem`: a fixed word for its failure, or for its cancel; "" for none. Idempotent."""
        ...


class Tracer(Protocol):
    """Makes the spans of turns, and of calls after them. No method blocks or raises."""

    def start_turn(self, parent: str = "") -> Span:
        """Start the span of a turn. `parent`: a `traceparent` header, ignored where it is not valid."""
        ...

    def start_call(self, tool: str, parent: str = "") -> Span:
        """Start the span of a call that no turn waits for. `tool`: its name, or "". `parent`: as for a turn."""
        ...


TURN_SPAN: ContextVar[Span | None] = ContextVar("turn_span", default=None)
"""The span of the turn that runs; None where nothing traces."""

TRACE_PARENT: ContextVar[str] = ContextVar("trace_parent", default="")
"""The `traceparent` header of the HTTP request at hand, not checked; "" where it has none."""

_UNTROUBLED: Final = frozenset({"answered", "no_sources", "number_mismatch"})


def end_turn(span: Span, outcome: str) -> None:
    """End the span of a turn. `outcome`: as in the counter `turns`; a refusal is no failure of the server."""
    span.set_attribute("agent.turn.outcome", outcome)
    span.end("" if outcome in _UNTROUBLED else outcome)


class TracedStep:
    """Ends the span of a step as its block ends; an exception becomes a word, and its text goes no further."""

    __slots__ = ("_span",)

    def __init__(self, span: Span) -> None:
        self._span = span

    def __enter__(self) -> Span:
        return self._span

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is None:
            self._span.end()
        elif isinstance(error, ModelFailed):
            self._span.end(error.kind)
        elif isinstance(error, Exception):
            self._span.end(type(error).__name__)
        else:
            self._span.end("closed" if isinstance(error, GeneratorExit) else "cancelled")


_NO_STEP: Final[AbstractContextManager[None]] = nullcontext()


def trace_step(
    operation: Operation, subject: str = "", provider: str = ""
) -> AbstractContextManager[Span | None]:
    """Return a block whose time is a step of the turn that runs; it has no span where nothing traces."""
    turn = TURN_SPAN.get()
    return _NO_STEP if turn is None else TracedStep(turn.start_step(operation, subject, provider))
