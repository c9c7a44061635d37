"""Logging: one line per event, without any words of a client or a model.

Strategy: callers log short fixed words with fields (`log.info("turn ended", reason="done")`) and bind the session and
the message id with structlog's context variables. A single processor, `LogSanitiser`, then makes every value plain and
small, and withholds private values: fields named for a person's or a model's words unless the level is debug, secrets
at every level, and the message of an exception, which may quote a draft. A field that holds an id (of a session, a
thread, a project, a call, a message) is written as the `short_hash` of the id: lines of the same id can be matched with
each other, and with an id that the operator has, but a line gives no reader access. Only an exception's type and place
are written; the object itself goes no further than that processor, so a log line keeps no session alive. Lines of
libraries (`logging`) pass the same processor, and so do, within `log_python_errors`, the texts that Python itself would
print on standard error.

No caller ever waits for a reader: lines to a stream with a file descriptor go through a `Spool`, whose thread writes
them; lines that do not fit are dropped, counted and reported. A stream without a descriptor, such as a buffer in
memory, cannot block and is written to at once, so that a test finds each line when the call returns.
"""

import atexit
import json
import logging
import re
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from hashlib import sha256
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, Literal, TextIO, get_args

from .config import LOG_FLUSH, check
from .plain_structlog import structlog
from .spool import Spool, descriptor_of

Format = Literal["console", "json"]
Level = Literal["debug", "info", "warning", "error"]

WITHHELD = "[withheld]"
VALUE_MAX = 300  # characters of one value; a line stays readable
DEPTH_MAX = 4  # of nested values

# Each pattern matches names of fields, or parts of a name between underscores.
# Fields with a person's words or data, which only the debug level shows:
_PRIVATE = re.compile(
    r"(?:^|_)(?:answer|body|citations?|data|deltas?|draft|evidence|frame|number|payload|phone|prompt|query"
    r"|question|result|snippet|subject|text)(?:_|$)",
    re.IGNORECASE,
)
# Secrets, which no level shows:
_SECRET = re.compile(
    r"(?:^|_)(?:authorization|bearer|cookie|credential|key|password|secret|token)(?:_|$)", re.IGNORECASE
)
# Ids that give access, and the client's own ids, which may hold any text; these are hashed:
_ACCESS_ID = re.compile(
    r"(?:^|_)(?:call|document|item|message|project|scope|session|suggestion|thread|user)s?(?:_?ids?)?$",
    re.IGNORECASE,
)
HASH_DIGITS = 12

_PACKAGE = Path(__file__).resolve().parent
_Render = Callable[[object, str, Mapping[str, Any]], str]
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The form and the level of log lines.

    Raises `agent.errors.UsageError`, one line that names the setting, when a value cannot work.

    Args:
        log_format: Form of the log lines on standard error: console for people, json for programs.
        log_level: Lowest level that is logged. debug also logs the words of users and of the model, and the reasons of
            each answer: query, sections, drafts and numbers.
    """

    log_format: Format = "console"
    log_level: Level = "info"

    def __post_init__(self) -> None:
        """Check the values that the types cannot express."""
        check(
            (self.log_format not in get_args(Format), "log-format must be console or json"),
            (
                self.log_level not in get_args(Level),
                "log-level must be debug, info, warning or error",
            ),
        )


def configure(
    format: Format,
    level: Level,
    stream: TextIO | None = None,
    *,
    on_dropped: Callable[[], None] = lambda: None,
    worker: int | None = None,
) -> None:
    """Send every log line from `level` up to `stream` (default: standard error), as `format`.

    `on_dropped`: called for each line that is lost because the stream does not take it, by any thread; it must not
    raise. `worker`: the number of this process, written in each line; `None` for a single process. May be called again;
    the last call counts. A stream that cannot be written to loses lines and raises nothing.
    """
    threshold = _LEVELS[level]
    render: _Render = _render_json if format == "json" else _render_console
    if worker is not None:
        render = _render_for_worker(worker, render)
    close(0)
    LineWriter.present = lines = LineWriter(stream if stream is not None else sys.stderr, render, on_dropped)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            LogSanitiser(shows_private=threshold <= logging.DEBUG),
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=lines,
        cache_logger_on_first_use=False,  # module-level loggers must follow a later configure
    )
    root = logging.getLogger()
    root.handlers = [each for each in root.handlers if not isinstance(each, LibraryHandler)]
    root.addHandler(LibraryHandler())
    # A library's own debug and info lines quote frames and requests, and there may be hundreds for each file.
    root.setLevel(max(threshold, logging.WARNING))


def short_hash(id: str) -> str:
    """Return the form of an id in log lines: the first `HASH_DIGITS` hex digits of its SHA-256."""
    return sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]


@contextmanager
def silence_log() -> Iterator[None]:
    """Write no log line in a block, for a command that reports its own errors on its own stream."""
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**before)


def close(seconds: float = LOG_FLUSH) -> bool:
    """Wait until every line so far is written, `seconds` at most; return whether all are. Blocks.

    The end of the process calls this too. Later lines are still written.
    """
    return LineWriter.present is None or LineWriter.present.close(seconds)


atexit.register(close)


@contextmanager
def log_python_errors() -> Iterator[None]:
    """Log the messages that Python itself would print on standard error, which could block, for the time of a block.

    These are warnings, exceptions that cannot be caught (of finalisers), and exceptions that end a thread.
    """
    before = warnings.showwarning, sys.unraisablehook, threading.excepthook
    log = structlog.get_logger("agent.python")

    def log_warning(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        log.warning("python warning", category=category.__name__, at=f"{Path(filename).name}:{lineno}")

    warnings.showwarning = log_warning
    sys.unraisablehook = lambda failure: log.error("exception in a finaliser", exc_info=failure.exc_value)
    threading.excepthook = lambda failure: log.error("thread broke", exc_info=failure.exc_value)
    try:
        yield
    finally:
        warnings.showwarning, sys.unraisablehook, threading.excepthook = before


class LineWriter:
    """Writes lines to a stream; serves structlog as the logger factory and as the logger.

    `present`: the writer that was configured last.
    """

    present: "LineWriter | None" = None

    def __init__(self, stream: TextIO | None, render: _Render, on_dropped: Callable[[], None]) -> None:
        self._stream = stream  # this reference also keeps the stream open for the spool
        descriptor = descriptor_of(stream)
        self._spool = (
            Spool(descriptor, lambda lines: _encode_line(_make_notice(lines, render)), on_dropped)
            if descriptor is not None
            else None
        )

    def __call__(self, *_: object) -> "LineWriter":
        return self

    def msg(self, line: str) -> None:
        if self._spool is not None:
            self._spool.put(_encode_line(line))
        elif self._stream is not None:
            try:
                self._stream.write(line + "\n")
                self._stream.flush()
            except (OSError, ValueError):  # the stream is closed
                return

    debug = info = warning = error = critical = exception = msg

    def close(self, seconds: float) -> bool:
        """Wait as `agent.log.close` does."""
        return self._spool is None or self._spool.close(seconds)


def _encode_line(line: str) -> bytes:
    return line.encode("ascii", "backslashreplace") + b"\n"  # both formats are ASCII


def _make_notice(lines: int, render: _Render) -> str:
    """Return the line that stands where `lines` lines are missing."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    event = {"timestamp": now, "level": "warning", "event": "log lines dropped", "lines": lines}
    why = "the reader of the log is slower than the server: speed it up, or raise log-level"
    return render(None, "warning", event | {"why": why})


def _render_for_worker(number: int, render: _Render) -> _Render:
    return lambda logger, method, event: render(logger, method, {**event, "worker": number})


class LogSanitiser:
    """Makes an event plain and safe to write. `shows_private`: write private fields too (debug level)."""

    def __init__(self, shows_private: bool) -> None:
        self._shows_private = shows_private

    def __call__(self, logger: object, method: str, event: MutableMapping[str, Any]) -> dict[str, Any]:
        error = _exception_of(event.pop("exc_info", None))
        clean = {name: self._value(name, value, 0) for name, value in event.items()}
        if error is not None:
            clean["error"] = _names_of(error)
            clean["at"] = _place_raised(error)
            if self._shows_private:
                clean["traceback"] = "".join(traceback.format_exception(error))
        return clean

    def _value(self, name: str, value: object, depth: int) -> object:
        if _SECRET.search(name) or (_PRIVATE.search(name) and not self._shows_private):
            return WITHHELD
        if _ACCESS_ID.search(name):
            if isinstance(value, str):
                return short_hash(value)
            if isinstance(value, list | tuple | set | frozenset):
                return [self._value(name, each, depth + 1) for each in value]
        return self._plain(value, depth)

    def _plain(self, value: object, depth: int) -> object:
        if isinstance(value, BaseException):
            return _names_of(value)
        if isinstance(value, Enum):
            return value.name
        if value is None or isinstance(value, bool | int | float):
            return value
        if isinstance(value, str | Path):
            text = str(value)
            return text if len(text) <= VALUE_MAX else text[:VALUE_MAX] + "…"
        if depth < DEPTH_MAX and isinstance(value, Mapping):
            return {str(name): self._value(str(name), item, depth + 1) for name, item in value.items()}
        if depth < DEPTH_MAX and isinstance(value, list | tuple | set | frozenset):
            return [self._plain(item, depth + 1) for item in value]
        return type(value).__name__  # a repr may hold anything


class LibraryHandler(logging.Handler):
    """Logs the lines of libraries: the logger's name, the level, and the message without its arguments."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)  # also where a library lowers the level of its own logger

    def emit(self, record: logging.LogRecord) -> None:
        level = min(record.levelno // 10 * 10, logging.ERROR)
        structlog.get_logger().log(level, str(record.msg), library=record.name, exc_info=record.exc_info)


def _exception_of(exc_info: object) -> BaseException | None:
    """Return the exception of an `exc_info` in any of its usual forms, if any."""
    if isinstance(exc_info, BaseException):
        return exc_info
    if isinstance(exc_info, tuple):
        return exc_info[1] if isinstance(exc_info[1], BaseException) else None
    return sys.exception() if exc_info else None


def _names_of(error: BaseException) -> str:
    """Return an exception's type, the types in a group, and those of its causes: `A(B, C) <- D`."""
    names = []
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        name = type(link).__name__
        if isinstance(link, BaseExceptionGroup):
            name += f"({', '.join(sorted({_names_of(each) for each in link.exceptions}))})"
        names.append(name)
        link = link.__cause__
    return " <- ".join(names)


def place_of(steps: Iterable[tuple[CodeType, int | None]]) -> str:
    """Return `agent/module.py:line in function` of the innermost call of our code, else of the innermost call.

    `steps`: the code and line of each call, outermost first.
    """
    ours = last = ""
    for code, line in steps:
        path = Path(code.co_filename)
        if path.is_relative_to(_PACKAGE):
            last = ours = f"{path.relative_to(_PACKAGE.parent).as_posix()}:{line} in {code.co_name}"
        else:
            last = f"{path.name}:{line} in {code.co_name}"
    return ours or last


def _place_raised(error: BaseException) -> str:
    """Return the place where `error` was raised."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return place_of(_walk_traceback(error.__traceback__))


def _walk_traceback(step: TracebackType | None) -> Iterator[tuple[CodeType, int]]:
    while step is not None:
        yield step.tb_frame.f_code, step.tb_lineno
        step = step.tb_next


def _order_fields(event: Mapping[str, Any]) -> dict[str, Any]:
    first = {name: event[name] for name in ("timestamp", "level", "event") if name in event}
    return first | dict(event)


def _render_json(logger: object, method: str, event: Mapping[str, Any]) -> str:
    return json.dumps(_order_fields(event))  # ASCII, so no stream's encoding can refuse it


def _render_console(logger: object, method: str, event: Mapping[str, Any]) -> str:
    fields = _order_fields(event)
    head = f"{fields.pop('timestamp')} {fields.pop('level'):<7} {_escape_text(fields.pop('event'))}"
    return " ".join([head, *(f"{name}={_quote_value(value)}" for name, value in fields.items())])


def _escape_text(value: object) -> str:
    """Return text for people on one line: characters that would break the line, or the stream, are escaped."""
    text = str(value)
    return text if text.isprintable() and text.isascii() else json.dumps(text)[1:-1]


def _quote_value(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    simple = isinstance(value, str) and text.isascii() and text.isprintable() and not set(text) & set(' "=')
    return text if simple or not isinstance(value, str) else json.dumps(text)
