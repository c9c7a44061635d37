"""Answers of the HTTP API as values, and the one place where what went wrong becomes one."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
import structlog

from ...errors import BadEdit, BadItem, BadTool, Conflict, NotFound, StorageFailed
from ...protocol.problems import FAULTS, KIND, Unanswerable, Wrong, problem
from ...session.turn import where
from ..http import SECURITY
from ..sniff import Refusal
from .plain import opening

T = TypeVar("T")
_log = structlog.get_logger("agent.server")
_encode = msgspec.json.Encoder().encode
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. kept: what is kept of its content for a request that comes again, where that is not all of it.

    made: the project that the request made, if it made one.
    """

    status: int
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = JSON
    kept: bytes | None = None
    made: str | None = None

    def render(self, body: bool = True) -> bytes:
        """Return the whole HTTP/1.1 answer as bytes; without its body when it answers a HEAD."""
        about = (
            {}
            if self.status == 204
            else {"Content-Type": self.kind, "Content-Length": str(len(self.content))}
        )
        return opening({**about, **SECURITY, **self.headers}, self.status) + (self.content if body else b"")


def told(content: msgspec.Struct, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Return an answer of JSON."""
    return Answer(status, _encode(content), headers or {})


DONE = Answer(204)
"""What is answered where there is nothing to say."""


def failed(
    code: str, detail: str = "", errors: Sequence[Wrong] = (), headers: Mapping[str, str] | None = None
) -> Answer:
    """Return the answer that tells a problem."""
    made = problem(code, detail, errors)
    after = FAULTS[made.code].retry_after
    usual = {"Retry-After": str(after)} if after else {}
    if made.status == 401:
        usual = {"WWW-Authenticate": "Bearer"}
    return Answer(made.status, _encode(made), {**usual, **(headers or {})}, KIND)


def refused(refusal: Refusal, code: str) -> Answer:
    """Return the answer that tells a refusal of the edge's."""
    return failed(code, refusal.words, headers=refusal.headers)


async def caught(act: Callable[[], Awaitable[T]], new_id: Callable[[], str]) -> T | Answer:
    """Return what `act` returns, or the answer to what it raises: one of the API's own, of a port's, or a fault.

    A fault is logged by its type and place under an id that its client is told. Raises nothing but Cancelled.
    """
    try:
        return await act()
    except Unanswerable as wrong:
        return failed(wrong.code, wrong.detail, wrong.errors)
    except NotFound:
        return failed("not_found")
    except Conflict as conflict:
        return failed(conflict.code)
    except BadTool as bad:
        return failed("bad_tool", errors=[Wrong(f"/tools{bad.pointer}", bad.why)])
    except BadItem as bad:
        return failed("bad_item", errors=[Wrong("/text", bad.message)])
    except BadEdit as bad:
        return failed("bad_edit", errors=[Wrong("/arguments", str(bad))])
    except StorageFailed:
        return failed("storage")
    except Exception as broken:  # noqa: BLE001 - the edge of one request
        fault = new_id()
        first = broken
        while isinstance(first, ExceptionGroup):
            first = first.exceptions[0]
        _log.error("request broke", fault=fault, **where(first))
        return failed("internal", f"Something broke here; ask again, or report fault {fault}.")
