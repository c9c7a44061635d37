"""What can go wrong, and whose fault it is.

Everything the server raises on purpose derives from `AgentError`; libraries' own exceptions are mapped
to one of these once, in the adapter that called the library.
"""

from typing import Literal, TypeAlias


class AgentError(Exception):
    """Base of every error that this package raises on purpose."""


class UsageError(AgentError):
    """The operator asked for something that cannot be done; the message is one line that says what to do."""


class BadFrame(AgentError):
    """A client sent a frame that the wire does not allow.

    `code` is the wire's error code (`bad_json` or `bad_message`), `message` a sentence for the client that
    never repeats what it sent, `ref` the message id where one could be read.
    """

    def __init__(self, code: str, message: str, ref: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.ref = ref


class BadRequest(AgentError):
    """A client asked over HTTP for what cannot be answered.

    `code` is a word for programs, `message` a sentence for the client that never repeats what it sent.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class BadDocument(BadRequest):
    """A document that was sent cannot be used. Codes: `unsupported`, `not_utf8`, `too_long`, `empty`, `unreadable`."""


class BadItem(BadRequest):
    """What is to be remembered cannot be kept as it is; the message says what to change.

    Codes: `empty`, `too_long`, `no_source`, `bad_source`, `no_key`, `bad_time`, `no_limit`, `bad_confidence`,
    `by_rule`.
    """


class WireClosed(AgentError):
    """The connection is gone. `code` is the WebSocket close code (1006 when there was none)."""

    def __init__(self, code: int = 1006) -> None:
        super().__init__(f"connection closed ({code})")
        self.code = code


ModelFault: TypeAlias = Literal[
    "connect", "timeout", "rate", "server", "auth", "request", "protocol", "cut", "open"
]
"""How a model failed: no connection (or one that broke before the first byte); too slow; too many requests (429);
its own fault (5xx); the key (401, 403); what was asked (any other 4xx, and what no model can be asked); an answer that
breaks the protocol; one that ended before its end; not tried, since its breaker is open."""


class ModelFailed(AgentError):
    """The model failed, timed out or said too much; nothing of its draft may be shown.

    The message is a line of our own: neither the key, nor the address, nor what the model or its server said.
    kind: see `ModelFault`. retry_after: seconds that a server asked to be left alone for; None where it asked nothing.
    """

    def __init__(self, message: str, kind: ModelFault = "protocol", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after


class Withdrawn(AgentError):
    """A text cites what was remembered and is not any more."""


class GivenUp(AgentError):
    """Nobody waits any more for what a worker thread does, so it stopped; nothing half done is kept."""


class SandboxFailed(AgentError):
    """The process that works on what others have sent is not there; nothing is wrong with what it was to work on."""


class SandboxKilled(AgentError):
    """What that process was given ended it: it went over a limit of memory or CPU, or took too long."""


class EmbeddingFailed(AgentError):
    """A served model gave no vectors; the message holds neither texts, nor the key, nor the address.

    `kind` says what a caller can do: `unreachable` (no connection, or one that broke), `timeout` and `busy` (429, 5xx)
    may be tried again later; `refused` (any other status) and `bad_answer` (not the vectors that were asked for)
    fail again until the operator changes something.
    """

    def __init__(
        self, kind: Literal["unreachable", "timeout", "busy", "refused", "bad_answer"], message: str
    ) -> None:
        super().__init__(message)
        self.kind = kind


class BadTool(AgentError):
    """A tool's definition cannot be used; the message is one line that says which part and why.

    `why` is a clause that repeats nothing of the definition but a name; `pointer` the JSON Pointer of the part, where
    one is known, its names shortened to what can stand in a line.
    """

    def __init__(self, why: str, pointer: str = "") -> None:
        super().__init__(f"{pointer}: {why}" if pointer else why)
        self.why = why
        self.pointer = pointer


class BadDecision(AgentError):
    """What a model wrote is no decision. `problems` says why, a line each, for its second try and for nobody else."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("what the model wrote is no decision")
        self.problems = problems


class McpFailed(AgentError):
    """An MCP server did not do what it was asked; the message is a clause of our own, without a word of the server's.

    `kind` says what that means for a request: `refused`, nothing of it was done; `broken`, it answered an error, or
    what is no answer; `gone`, it has ended or cannot be reached.
    """

    def __init__(self, kind: Literal["refused", "broken", "gone"], message: str) -> None:
        super().__init__(message)
        self.kind = kind


class ActionFailed(AgentError):
    """The action certainly had no effect; the message goes to the client."""


class ActionUnknown(AgentError):
    """The action began and its outcome is not known; it is never retried by itself."""


class NotFound(AgentError):
    """There is no such thing, or it is another project's: nobody is told which."""


class Conflict(AgentError):
    """It cannot be done as things are now. `code` is a word for programs that says why."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class BadEdit(AgentError):
    """Arguments that somebody approved in place of others, and that the tool does not take; a sentence for whom did."""


class StorageFailed(AgentError):
    """What is kept could not be read or written just now; nothing half-written is left. The message names no file."""
