"""Makes answers of results, refusals and exceptions, in the shape that the clients of a path read."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import msgspec
import structlog

from ...errors import BadEdit, BadItem, BadRequest, BadTool, Conflict, NotFound, StorageFailed, describe_error
from ...protocol.approvals import DecisionView
from ...protocol.problems import FAULTS, KIND, FieldError, ProblemError, code_of, make_problem
from ...protocol.route import Shape
from ..request_head import Refusal
from ..responses import JSON, Answer, plain_text

T = TypeVar("T")
_log = structlog.get_logger("agent.server")
_encode = msgspec.json.Encoder().encode


def answer_with(
    content: msgspec.Struct, status: int = 200, headers: Mapping[str, str] | None = None
) -> Answer:
    """Return an answer with `content` as JSON."""
    return Answer(status=status, content=_encode(content), headers=headers or {})


DONE = Answer(status=204)
"""The answer to a request that succeeded without content."""


def answer_problem(
    code: str,
    detail: str = "",
    errors: Sequence[FieldError] = (),
    headers: Mapping[str, str] | None = None,
    decision: DecisionView | None = None,
) -> Answer:
    """Return the answer with the problem of a `code`. `headers` win over the code's own."""
    problem = make_problem(code, detail, errors, decision)
    after = FAULTS[problem.code].retry_after
    usual = {"Retry-After": str(after)} if after else {}
    if problem.status == 401:
        usual = {"WWW-Authenticate": "Bearer"}
    return Answer(
        status=problem.status, content=_encode(problem), headers={**usual, **(headers or {})}, kind=KIND
    )


def answer_refusal(refusal: Refusal, shape: Shape) -> Answer:
    """Return a refusal as an answer. In the shape `problem`, its code supplies the words that `refusal` lacks."""
    if shape == "problem":
        return answer_problem(code_of(refusal.status, refusal.code), refusal.words, headers=refusal.headers)
    if shape == "openai":
        return Answer(status=refusal.status, content=refusal.as_error(), headers=refusal.headers, kind=JSON)
    if shape == "rpc":
        return Answer(
            status=refusal.status, content=refusal.as_rpc_error(), headers=refusal.headers, kind=JSON
        )
    return plain_text(f"{refusal.words}\n", refusal.status, refusal.headers)


async def catch_errors(
    act: Callable[[], Awaitable[T]], new_id: Callable[[], str], shape: Shape = "problem"
) -> T | Answer:
    """Return the result of `act`, or the answer to its exception: an error of the API, of a port, or a fault.

    A fault is logged by its type and place, under an id from `new_id` that the answer names. Raises only `Cancelled`.
    """
    try:
        return await act()
    except ProblemError as wrong:
        return answer_problem(wrong.code, wrong.detail, wrong.errors, decision=wrong.decision)
    except BadRequest as bad:
        return answer_refusal(Refusal(400, bad.message, code=bad.code), shape)
    except NotFound:
        return answer_problem("not_found")
    except Conflict as conflict:
        return answer_problem(conflict.code)
    except BadTool as bad:
        return answer_problem("bad_tool", errors=[FieldError(f"/tools{bad.pointer}", bad.why)])
    except BadItem as bad:
        return answer_problem("bad_item", errors=[FieldError("/text", bad.message)])
    except BadEdit as bad:
        return answer_problem("bad_edit", errors=[FieldError(f"/arguments{bad.pointer}", str(bad))])
    except StorageFailed:
        return answer_problem("storage")
    except Exception as broken:  # noqa: BLE001 - the edge of one request
        fault = new_id()
        first = broken
        while isinstance(first, ExceptionGroup):
            first = first.exceptions[0]
        _log.error("request broke", fault=fault, **describe_error(first))
        words = f"Something broke here; ask again, or report fault {fault}."
        return answer_refusal(Refusal(500, words, code="internal"), shape)
