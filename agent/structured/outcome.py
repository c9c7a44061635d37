"""What comes of asking a model for values that hold."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..errors import AgentError, ModelFault
from ..ports.model import Usage
from .check import Problem

Status: TypeAlias = Literal["ok", "invalid", "exhausted", "truncated", "refused", "provider_error"]
"""All holds; the request itself cannot work, and no model was asked; the rounds are spent and something does not hold
or is missing; the answer was cut at `max_tokens`, twice or in the last round; the model or its service declined; the
model failed."""

CallStatus: TypeAlias = Literal["ok", "invalid", "truncated", "refused", "surplus"]
"""It holds; it does not, or nothing like it is allowed; its answer was cut, or declined, so that it is not read at all;
it was added in a round that asked for something else, so that it is told here and in no `values`."""

NO_USAGE = Usage()

Change: TypeAlias = Literal["changed", "same", "inserted", "removed"]


@dataclass(frozen=True, slots=True)
class Doc:
    """A document that exists. name: its tool. value: a value of the tool's type, or its JSON."""

    name: str
    value: Any


@dataclass(frozen=True, slots=True)
class Extracted:
    """One call, or in an update one document.

    id: ours, `c1`, `c2` ... in the order of arrival; a document's own. name: its tool, as the model wrote it.
    value: where `status` is ok, of the tool's type, or plain JSON where that is a schema. Else the best that there was,
    plain JSON (that with the fewest problems, the last among equals); None where nothing could be read.
    problems: of that. repaired: the model's text was not JSON and was mended. change: in an update only.
    """

    id: str
    name: str
    status: CallStatus
    value: Any = None
    problems: tuple[Problem, ...] = ()
    repaired: bool = False
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it. calls: every one that came, in order; in an update the documents first, in theirs.

    errors: why `status` is not ok, and every patch and call of the last answer that was not applied, also where it is
    ok, a line each; they may hold a model's words. attempts: how often a model was asked. text: what the model said
    besides, in its last answer. fault, retry_after: of `agent.errors.ModelFailed`.
    """

    status: Status
    calls: tuple[Extracted, ...] = ()
    errors: tuple[str, ...] = ()
    attempts: int = 0
    usage: Usage = NO_USAGE
    text: str = ""
    fault: ModelFault | None = None
    retry_after: float | None = None

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of all calls that hold, without what was removed. Raises `NotExtracted` unless all is ok."""
        if self.status != "ok":
            raise NotExtracted(self)
        return tuple(each.value for each in self.calls if each.status == "ok" and each.change != "removed")

    @property
    def documents(self) -> Mapping[str, Any]:
        """The same by id."""
        values = self.values
        kept = (each.id for each in self.calls if each.status == "ok" and each.change != "removed")
        return dict(zip(kept, values, strict=True))


class NotExtracted(AgentError):
    """Not all that was asked for holds. outcome: what came of it; the message holds no words of a model's."""

    def __init__(self, outcome: Outcome) -> None:
        failed = sum(each.status != "ok" for each in outcome.calls)
        super().__init__(
            f"{outcome.status} after {outcome.attempts} rounds; calls that do not hold: {failed}"
        )
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Partial:
    """A call while it is written. id, name: as in its `Extracted`. value: what is there by now, plain JSON.

    It is not validated, and its last string may be cut anywhere.
    """

    id: str
    name: str
    value: dict[str, Any]
