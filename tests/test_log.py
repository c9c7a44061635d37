"""Log lines are one per event, carry the ids that were bound, and hold nothing that somebody said."""

import gc
import io
import json
import logging
import os
import sys
import threading
import warnings
import weakref
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Any, TextIO, get_args

import pytest
import structlog

from agent.errors import ModelFailed
from agent.log import WITHHELD, Format, Level, close, configure, log_python_errors, short_hash
from agent.spool import LOG_LINES

SENTINEL = "864209753"
log = structlog.get_logger()


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    """Leave logging as it was found."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    root.handlers, root.level = before
    structlog.contextvars.clear_contextvars()
    structlog.reset_defaults()


def to(format: Format = "json", level: Level = "info") -> io.StringIO:
    """Configure logging to a buffer and return it."""
    stream = io.StringIO()
    configure(format, level, stream)
    return stream


def only(stream: io.StringIO) -> dict[str, Any]:
    """Return the one JSON line that was written."""
    (line,) = stream.getvalue().splitlines()
    event: dict[str, Any] = json.loads(line)
    return event


@pytest.mark.parametrize("format", get_args(Format))
def test_a_line_tells_the_worker_that_it_is_of(format: Format) -> None:
    """Whoever logs, in whatever thread."""
    stream = io.StringIO()
    configure(format, "info", stream, worker=3)
    log.info("turn ended")
    thread = threading.Thread(target=log.info, args=("loop was late",))
    thread.start()
    thread.join()
    for line in stream.getvalue().splitlines():
        assert "worker=3" in line or json.loads(line)["worker"] == 3
    assert len(stream.getvalue().splitlines()) == 2


def fail(text: str) -> None:
    """Raise an error that quotes `text`, with a cause that does too."""
    try:
        int(text + "x")
    except ValueError as error:
        raise ModelFailed(text) from error


def test_json_line_has_time_level_event_and_bound_ids() -> None:
    """Context variables are merged into the line, and time is UTC."""
    stream = to()
    structlog.contextvars.bind_contextvars(session="s1", message="m1")
    log.info("turn ended", reason="done", seconds=0.5)
    event = only(stream)
    assert list(event)[:3] == ["timestamp", "level", "event"]
    assert event.pop("timestamp").endswith("Z")
    assert event == {
        "level": "info",
        "event": "turn ended",
        "session": short_hash("s1"),
        "message": short_hash("m1"),
        "reason": "done",
        "seconds": 0.5,
    }


def test_console_line_is_one_line_whatever_is_in_it() -> None:
    """Line breaks, escapes and quotes of a value cannot forge a second line or a second field."""
    stream = to("console")
    log.warning("odd id", odd='a\n2026 error b="c"\x1b[31m', plain="x", count=3, none=None, swedish="å\ud800")
    (line,) = stream.getvalue().splitlines()
    head, tail = line.split(" warning odd id ")
    assert head.endswith("Z")
    assert tail == (
        'odd="a\\n2026 error b=\\"c\\"\\u001b[31m" plain=x count=3 none=null swedish="\\u00e5\\ud800"'
    )


OPEN = (
    "session",
    "thread",
    "project",
    "call",
    "message",
    "suggestion",
    "suggestionId",
    "thread_id",
    "of_user",
)


@pytest.mark.parametrize("name", OPEN)
def test_what_an_id_opens_is_hashed(name: str) -> None:
    """The same id is the same twelve digits in every line, and no part of it is written; a number is one of nothing."""
    stream = to()
    log.info("a", **{name: SENTINEL}, deep={name: [SENTINEL, 3]}, none={name: None})
    event = only(stream)
    assert (event[name], event["deep"], event["none"]) == (
        short_hash(SENTINEL),
        {name: [short_hash(SENTINEL), 3]},
        {name: None},
    )


@pytest.mark.parametrize("format", ["console", "json"])
@pytest.mark.parametrize(
    "fields",
    [
        {"draft": SENTINEL},
        {"text": SENTINEL},
        {"user_text": SENTINEL},
        {"Phone": SENTINEL},
        {"payload": {"to": SENTINEL}},
        {"call": {"payload": SENTINEL}},
        {"calls": [{"phone": SENTINEL}]},
        {"token": SENTINEL},
        {"authorization": SENTINEL},
        {"problem": ValueError(SENTINEL)},
        {"thing": {"deep": {"deep": {"deep": {"deep": [SENTINEL]}}}}},
        {"struct": type("Holder", (), {"__repr__": lambda self: SENTINEL})()},
        {"raw": SENTINEL.encode()},
    ],
)
def test_words_and_secrets_are_withheld_at_the_default_level(format: Format, fields: dict[str, Any]) -> None:
    """A field that could hold a draft, a token or a phone number does not reach the line."""
    stream = to(format)
    log.info("event", **fields)
    assert SENTINEL not in stream.getvalue()
    assert "event" in stream.getvalue()


def test_debug_level_shows_words_but_no_secrets() -> None:
    """An operator who asks for debug sees drafts; a token is never written."""
    stream = to(level="debug")
    log.debug("drafted", draft="fourteen", api_token=SENTINEL)
    event = only(stream)
    assert (event["draft"], event["api_token"]) == ("fourteen", WITHHELD)


@pytest.mark.parametrize("form", ["true", "object", "tuple", "method"])
def test_exception_is_logged_by_type_and_place_only(form: str) -> None:
    """However the exception is handed over, its message stays out at the default level."""
    stream = to()
    try:
        fail(SENTINEL)
    except ModelFailed as error:
        if form == "method":
            log.exception("turn failed")
        else:
            info = {"true": True, "object": error, "tuple": (type(error), error, error.__traceback__)}[form]
            log.error("turn failed", exc_info=info)
    event = only(stream)
    assert event["error"] == "ModelFailed <- ValueError"
    assert event["at"].startswith("test_log.py:")
    assert event["at"].endswith(" in fail")
    assert SENTINEL not in stream.getvalue()


def test_place_is_our_innermost_frame() -> None:
    """The line points into this package, not into a library that it called."""
    stream = to()
    try:
        configure("json", "loud")  # type: ignore[arg-type]
    except KeyError:
        log.exception("x")
    assert only(stream)["at"].startswith("agent/log.py:")


def test_exception_group_names_what_is_in_it() -> None:
    """A group is logged by the types of its parts, and by the place of the first."""
    stream = to()
    try:
        fail(SENTINEL)
    except ModelFailed as error:
        log.error("x", exc_info=ExceptionGroup(SENTINEL, [error, OSError(SENTINEL)]))
    event = only(stream)
    assert event["error"] == "ExceptionGroup(ModelFailed <- ValueError, OSError)"
    assert event["at"].endswith(" in fail")
    assert SENTINEL not in stream.getvalue()


def test_exception_of_a_loop_of_causes_is_logged() -> None:
    """Two errors that name each other as cause end the chain."""
    stream = to()
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first
    log.error("x", exc_info=first)
    assert only(stream)["error"] == "ValueError <- KeyError"


def test_exc_info_without_an_exception_adds_nothing() -> None:
    """`exc_info` outside an except block is no error of its own."""
    stream = to()
    log.error("x", exc_info=(None, None, None))
    log.error("x", exc_info=True)
    assert all("error" not in json.loads(line) for line in stream.getvalue().splitlines())


def test_debug_level_has_the_traceback_in_the_same_line() -> None:
    """Debug adds the whole traceback, still as one line."""
    stream = to(level="debug")
    try:
        fail(SENTINEL)
    except ModelFailed:
        log.exception("x")
    assert "Traceback" in only(stream)["traceback"]


def test_a_logged_exception_is_not_kept_alive() -> None:
    """After the line is written nothing refers to the exception, nor to what its frames held."""
    stream = to()

    class Held(Exception):
        pass

    def logged() -> weakref.ref[Held]:
        try:
            raise Held
        except Held as error:
            log.exception("x", problem=error)
            return weakref.ref(error)

    ref = logged()
    gc.collect()
    assert ref() is None
    assert stream.getvalue()


def test_values_are_made_plain() -> None:
    """Enums, paths and collections are readable; long text is cut, other objects are named by type."""
    stream = to()

    class Color(Enum):
        RED = 1

    log.info("x", color=Color.RED, path=Path("a/b"), many=(1, {2}), long="y" * 1000, thing=object())
    event = only(stream)
    assert (event["color"], event["path"], event["many"], event["thing"]) == (
        "RED",
        "a/b",
        [1, [2]],
        "object",
    )
    assert event["long"] == "y" * 300 + "…"


def test_levels_below_the_threshold_are_not_written() -> None:
    """The level is a floor."""
    stream = to(level="warning")
    log.info("quiet")
    log.warning("loud")
    assert only(stream)["event"] == "loud"


def test_libraries_log_through_the_same_line_without_arguments() -> None:
    """A library's warning is one of our lines; its arguments, which may quote a client, are left out."""
    stream = to()
    to_library = logging.getLogger("some.library")
    to_library.info("request %s", SENTINEL)
    try:
        fail(SENTINEL)
    except ModelFailed:
        to_library.exception("bad frame %s", SENTINEL)
    event = only(stream)
    assert (event["event"], event["library"], event["level"]) == ("bad frame %s", "some.library", "error")
    assert event["error"] == "ModelFailed <- ValueError"
    assert SENTINEL not in stream.getvalue()


def test_configuring_again_replaces_what_was() -> None:
    """The last stream gets each line, once."""
    before, after = to(), to()
    log.info("x")
    logging.getLogger("lib").warning("y")
    assert before.getvalue() == ""
    assert len(after.getvalue().splitlines()) == 2


def test_default_stream_is_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output is left to the commands."""
    configure("json", "info")
    log.info("x")
    out, err = capsys.readouterr()
    assert out == ""
    assert '"event": "x"' in err


def test_a_closed_stream_loses_lines_and_raises_nothing() -> None:
    """A log that nobody reads any more must not end a session."""
    stream = to()
    stream.close()
    log.info("x")
    assert stream.closed


@pytest.fixture
def pipe() -> Iterator[tuple[int, TextIO]]:
    """A pipe whose writer is a stream; it is drained at the end."""
    read, write = os.pipe()
    with open(write, "w") as stream:
        yield read, stream
        configure("json", "info", io.StringIO())  # lets go of it
        os.set_blocking(read, False)
        with suppress(BlockingIOError):
            while True:
                os.read(read, 1 << 20)
    os.close(read)


def test_nobody_waits_for_the_reader_of_a_pipe(pipe: tuple[int, TextIO]) -> None:
    """Far more than a pipe holds is logged by us and by a library; what was dropped is counted, and said once."""
    read, stream = pipe
    lost: list[None] = []
    configure("json", "info", stream, on_dropped=lambda: lost.append(None))
    put = LOG_LINES + 1000

    def make_noise() -> None:
        for _ in range(put // 10):
            logging.getLogger("lib").warning("y")
            for _ in range(9):
                log.info("x")

    noise = threading.Thread(target=make_noise, daemon=True)
    noise.start()
    noise.join(30)
    assert not noise.is_alive()
    assert not close(0.01)
    assert not close()  # it gave up before
    assert lost
    reading = threading.Thread(target=lambda: lines.extend(_lines_until_last(read)))
    lines: list[dict[str, Any]] = []
    reading.start()
    while not close():
        os.sched_yield()
    log.info("last")
    reading.join(30)
    said = [line for line in lines if line["event"] == "log lines dropped"]
    assert sum(line["lines"] for line in said) == len(lost)
    assert len(lines) - len(said) + len(lost) == put // 10 * 10 + 1
    assert said[0]["level"] == "warning"


def _lines_until_last(read: int) -> list[dict[str, Any]]:
    data = b""
    while b'"last"' not in data or not data.endswith(b"\n"):
        data += os.read(read, 1 << 16)
    return [json.loads(line) for line in data.splitlines()]


def test_no_standard_error_loses_lines_and_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process may be started without one."""
    monkeypatch.setattr(sys, "stderr", None)
    configure("json", "info")
    log.info("x")
    assert close()


def test_what_python_itself_would_print_is_logged(capfd: pytest.CaptureFixture[str]) -> None:
    """A warning, an error in a finaliser, a thread that breaks: one line each, without their words."""
    stream = to()

    class Broken:
        def __del__(self) -> None:
            fail(SENTINEL)

    before = warnings.showwarning, sys.unraisablehook, threading.excepthook
    with warnings.catch_warnings(), log_python_errors():
        warnings.simplefilter("always")
        warnings.warn(SENTINEL, ResourceWarning, stacklevel=1)
        Broken()
        gc.collect()
        thread = threading.Thread(target=fail, args=[SENTINEL])
        thread.start()
        thread.join()
    assert (warnings.showwarning, sys.unraisablehook, threading.excepthook) == before
    warned, finaliser, broke = map(json.loads, stream.getvalue().splitlines())
    assert (warned["event"], warned["category"]) == ("python warning", "ResourceWarning")
    assert warned["at"].startswith("test_log.py:")
    assert (finaliser["event"], finaliser["error"]) == (
        "exception in a finaliser",
        "ModelFailed <- ValueError",
    )
    assert (broke["event"], broke["error"]) == ("thread broke", "ModelFailed <- ValueError")
    assert SENTINEL not in stream.getvalue()
    assert capfd.readouterr() == ("", "")
