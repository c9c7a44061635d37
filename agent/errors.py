"""The errors that the package raises on purpose, by whose fault each is.

Every one derives from `AgentError`. A library's own exceptions are mapped to one of these once, in the adapter that
called the library.
"""

from typing import Literal, TypeAlias


class AgentError(Exception):
    """Base of every error that this package raises on purpose."""


class UsageError(AgentError):
    """The operator asked for something impossible; the message is one line with the remedy."""


class BadFrame(AgentError):
    """A client sent a frame that the wire does not allow.

    `code` is the wire's error code (`bad_json` or `bad_message`). `message` is a sentence for the client that never
    repeats the frame. `ref` is the message id where one could be read.
    """

    def __init__(self, code: str, message: str, ref: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.ref = ref


class BadRequest(AgentError):
    """A client sent an HTTP request that cannot be answered.

    `code` is a word for programs, `message` a sentence for the client that never repeats the request.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class BadDocument(BadRequest):
    """A document of a client cannot be used. Codes: `unsupported`, `not_utf8`, `too_long`, `empty`, `unreadable`."""


class BadItem(BadRequest):
    """A memory item cannot be kept as it is; the message says how to change it.

    Codes: `empty`, `too_long`, `no_source`, `bad_source`, `no_key`, `bad_time`, `no_limit`, `bad_confidence`.
    """


class CannotConnect(AgentError):
    """There is no session at the other end; the message is one line. `status` is the HTTP answer, if any."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class WireClosed(AgentError):
    """The connection has ended. `code` is the WebSocket close code (1006 when there was none)."""

    def __init__(self, code: int = 1006) -> None:
        super().__init__(f"connection closed ({code})")
        self.code = code


ModelFault: TypeAlias = Literal[
    "connect", "timeout", "rate", "server", "auth", "request", "length", "protocol", "cut", "open"
]
"""How a model failed: no connection (or one that broke before the first byte); too slow; too many requests (429); its
own fault (5xx); the key (401, 403); the request (any other 4xx, and requests that no model can answer); a prompt longer
than the model's context; an answer that breaks the protocol; one that ended before its end; not tried, since its
breaker is open."""


class ModelFailed(AgentError):
    """The model failed, timed out or wrote too much; nothing of its draft may be shown.

    The message is a line of our own, without the key, the address, or any text of the model or its server. `kind`: see
    `ModelFault`. `retry_after`: seconds that a server asked to be left alone for; `None` where it asked nothing.
    `detail`: the server's own sentence without secrets, for the operator's log only; "" where it gave none.
    """

    def __init__(
        self,
        message: str,
        kind: ModelFault = "protocol",
        retry_after: float | None = None,
        detail: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        self.detail = detail


class Withdrawn(AgentError):
    """A text cites a memory item that is no longer remembered."""


class GivenUp(AgentError):
    """The caller of a worker thread waits no more, so the thread's work stopped; nothing half done is kept."""


class SandboxFailed(AgentError):
    """The process that reads untrusted files has failed; its input is not at fault."""


class SandboxKilled(AgentError):
    """The process that reads untrusted files was ended by its input: a limit of memory or CPU, or its deadline."""


class EmbeddingFailed(AgentError):
    """A served model gave no vectors; the message holds neither texts, nor the key, nor the address.

    `kind` says how a caller can react. `unreachable` (no connection, or a broken one), `timeout` and `busy` (429, 5xx)
    may be tried again later. `refused` (any other status) and `bad_answer` (not the requested vectors) fail again
    until the operator changes something.
    """

    def __init__(
        self, kind: Literal["unreachable", "timeout", "busy", "refused", "bad_answer"], message: str
    ) -> None:
        super().__init__(message)
        self.kind = kind


class VoiceFailed(AgentError):
    """An engine of voice is missing, failed or took too long; the message is a clause of our own for the operator."""


class BadTool(AgentError):
    """A tool's definition cannot be used; the message is one line with the part and the reason.

    `why` is a clause that repeats nothing of the definition but a name. `pointer` is the JSON Pointer of the part,
    where one is known, with its names shortened to fit a line.
    """

    def __init__(self, why: str, pointer: str = "") -> None:
        super().__init__(f"{pointer}: {why}" if pointer else why)
        self.why = why
        self.pointer = pointer


class BadDecision(AgentError):
    """The output of a model is no decision. `problems`: the reasons, a line each, for the model's second try only."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("what the model wrote is no decision")
        self.problems = problems


class McpFailed(AgentError):
    """An MCP server failed at a request; the message is a clause of our own, without a word of the server's.

    `kind` is the state of the request. `refused`: nothing of it was done. `broken`: the server answered an error,
    or no valid answer. `gone`: the server has ended or cannot be reached.
    """

    def __init__(self, kind: Literal["refused", "broken", "gone"], message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ActionFailed(AgentError):
    """The action certainly had no effect; the message goes to the client."""


class ActionUnknown(AgentError):
    """The action began and its outcome is not known; the server never retries it by itself."""


class NotFound(AgentError):
    """No such thing exists, or it is another project's; the client is not told which of the two."""


class Conflict(AgentError):
    """The request does not fit the present state. `code` is a word for programs that says why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class StoryRefused(AgentError):
    """A request about a story is refused. `code` is an `agent.ports.stories.StoryFault`, `message` a sentence for the
    reader with the remedy, which never repeats the request.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class BadEdit(AgentError):
    """Arguments that an approver put in place of others do not fit the tool; the message is a sentence for the
    approver. `pointer` is a JSON Pointer to the parameter in question, "" for all of them.
    """

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer


class StorageFailed(AgentError):
    """Stored data could not be read or written at present; nothing half-written is left. The message names no file."""


def find_cause(error: BaseException) -> BaseException:
    """Return the exception of a group that holds one exception; any other exception unchanged."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def describe_error(error: BaseException) -> dict[str, str]:
    """Return the log fields of an exception: its type and place; never its text, never the object."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}" if trace else "?"
    return {"error": type(error).__name__, "at": place}
