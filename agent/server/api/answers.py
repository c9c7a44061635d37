"""The one place where what went wrong becomes an answer, in the shape that the clients of a path read."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import msgspec
import structlog

from ...errors import BadEdit, BadItem, BadRequest, BadTool, Conflict, NotFound, StorageFailed
from ...protocol.problems import FAULTS, KIND, Unanswerable, Wrong, code_of, problem
from ...protocol.routes import Shape
from ...session.turn import where
from ..answers import JSON, Answer, plainly
from ..sniff import Refusal

T = TypeVar("T")
_log = structlog.get_logger("agent.server")
_encode = msgspec.json.Encoder().encode


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


def tell(refusal: Refusal, shape: Shape) -> Answer:
    """Return the answer that tells a refusal; of a problem, in its code's own words where it has none."""
    if shape == "problem":
        return failed(code_of(refusal.status, refusal.code), refusal.words, headers=refusal.headers)
    if shape == "openai":
        return Answer(refusal.status, refusal.as_error(), refusal.headers, JSON)
    return plainly(f"{refusal.words}\n", refusal.status, refusal.headers)


async def caught(
    act: Callable[[], Awaitable[T]], new_id: Callable[[], str], shape: Shape = "problem"
) -> T | Answer:
    """Return what `act` returns, or the answer to what it raises: one of the API's own, of a port's, or a fault.

    A fault is logged by its type and place under an id that its client is told. Raises nothing but Cancelled.
    """
    try:
        return await act()
    except Unanswerable as wrong:
        return failed(wrong.code, wrong.detail, wrong.errors)
    except BadRequest as bad:
        return tell(Refusal(400, bad.message, code=bad.code), shape)
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
        words = f"Something broke here; ask again, or report fault {fault}."
        return tell(Refusal(500, words, code="internal"), shape)
