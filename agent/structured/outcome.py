"""The outcome of a request for valid values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..errors import AgentError, ModelFault
from ..ports.model import Usage
from .check import DocumentProblem

Status: TypeAlias = Literal["ok", "invalid", "exhausted", "truncated", "refused", "provider_error"]
"""The outcome of a request.

`ok`: all calls are valid. `invalid`: the request cannot work, and no model was asked. `exhausted`: the rounds are spent
and a call is invalid or missing. `truncated`: the answer was cut at `max_tokens`, twice or in the last round.
`refused`: the model or its service declined. `provider_error`: the model failed.
"""

CallStatus: TypeAlias = Literal["ok", "invalid", "truncated", "refused", "surplus"]
"""The outcome of a call.

`ok`: it is valid. `invalid`: it is not, or no such call is allowed. `truncated`, `refused`: its answer was cut, or
declined, so that it is not parsed. `surplus`: it was added in a round that requested something else; it is in no
`values`.
"""

NO_USAGE = Usage()

Change: TypeAlias = Literal["changed", "same", "inserted", "removed"]


@dataclass(frozen=True, slots=True)
class Doc:
    """An existing document. `name`: of its tool. `value`: of the tool's type, or its JSON."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractedCall:
    """One call, or in an update one document.

    `id`: ours, `c1`, `c2` ... in the order of arrival; a document's own. `name`: of its tool, as the model wrote it.
    `value`: where `status` is `ok`, a value of the tool's type, or plain JSON where the tool has none. Otherwise plain
    JSON of the best attempt (the fewest problems, the last among equals); None where no JSON could be read. `problems`:
    of that value. `repaired`: the model's text was not JSON and was repaired. `change`: in an update only.
    """

    id: str
    name: str
    status: CallStatus
    value: Any = None
    problems: tuple[DocumentProblem, ...] = ()
    repaired: bool = False
    change: Change | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The outcome of a request, with its calls.

    `calls`: all calls in order; in an update the documents first, in their order. `errors`: the reasons that `status`
    is not `ok`, and every patch and call of the last answer that was not applied, also where `status` is `ok`, a line
    each; they may hold a model's words. `attempts`: the number of requests to the model. `text`: the model's text
    beside the calls in its last answer. `fault`, `retry_after`: of `agent.errors.ModelFailed`.
    """

    status: Status
    calls: tuple[ExtractedCall, ...] = ()
    errors: tuple[str, ...] = ()
    attempts: int = 0
    usage: Usage = NO_USAGE
    text: str = ""
    fault: ModelFault | None = None
    retry_after: float | None = None

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of all valid calls without removed documents. Raises `NotExtracted` unless `status` is `ok`."""
        if self.status != "ok":
            raise NotExtracted(self)
        return tuple(each.value for each in self.calls if each.status == "ok" and each.change != "removed")

    @property
    def documents(self) -> Mapping[str, Any]:
        """The same `values` by id."""
        values = self.values
        ids = (each.id for each in self.calls if each.status == "ok" and each.change != "removed")
        return dict(zip(ids, values, strict=True))


class NotExtracted(AgentError):
    """Not all requested values are valid.

    `outcome`: of the request. The message holds no words of a model.
    """

    def __init__(self, outcome: Extraction) -> None:
        failed = sum(each.status != "ok" for each in outcome.calls)
        super().__init__(
            f"{outcome.status} after {outcome.attempts} rounds; calls that do not hold: {failed}"
        )
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class PartialCall:
    """A call while it is written.

    `id`, `name`: as in its `ExtractedCall`. `value`: the object so far, plain JSON. It is not validated, and its last
    string may be cut anywhere.
    """

    id: str
    name: str
    value: dict[str, Any]
