"""Extracts the text of an uploaded file, in a worker thread that waits for the process which reads it.

A file has the type that it was sent as, or else that of its suffix. Reading stops soon after its request has ended, and
CPU and memory per file are limited. If a file did not have its turn in time, its client is told to try again: its file
is not at fault.
"""

from collections.abc import Callable
from functools import partial
from pathlib import PurePosixPath
from typing import TypeAlias

import trio

from ...errors import BadRequest, GivenUp, SandboxFailed
from ...ports.work import RunSync
from ...protocol.problems import ProblemError
from ...retrieval.effort import Effort
from ...retrieval.texts import UploadedText
from .context import ExtractedText

# Seconds for a thread, and for what it then reads: less than the `HTTP_TIMEOUT` that answers for all.
READING_TIMEOUT = 25.0

ExtractText: TypeAlias = Callable[[str, str, bytes, Effort], UploadedText]
"""Returns the text of a file, with its counts; blocks.

Arguments: its name, the type that it was sent as, its bytes, and the `Effort` that says when to give up. Raises
`agent.errors.BadRequest` with one of the codes `unsupported`, `not_utf8`, `too_long`, `empty` and `unreadable`,
`agent.errors.SandboxFailed` if no file can be read now, and `agent.errors.GivenUp`.
"""

_WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_TYPES = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".pdf": "application/pdf",
    ".docx": _WORD,
}
_CODES = {
    "unsupported": "unsupported_media_type",
    "not_utf8": "bad_upload",
    "too_long": "text_too_long",
    "empty": "bad_upload",
    "unreadable": "unreadable",
}


def guess_media_type(filename: str, mime: str) -> str:
    """Return the media type of a file: the `mime` that it was sent as, or else that of its suffix."""
    sent = mime.partition(";")[0].strip().lower()
    if sent not in ("", "application/octet-stream"):
        return sent
    return _TYPES.get(PurePosixPath(filename).suffix.lower(), "text/plain")


class UploadReader:
    """Reads uploads (implements `context.TextExtractor`). `text_of` extracts a text in a thread of `run_sync`."""

    def __init__(self, run_sync: RunSync, text_of: ExtractText) -> None:
        self._run = run_sync
        self._text_of = text_of

    async def __call__(self, filename: str, mime: str, data: bytes) -> ExtractedText:
        """Return a file's text. Raises `ProblemError`.

        Reading ends soon after this is cancelled, or after `READING_TIMEOUT` seconds.
        """
        effort = Effort()
        try:
            with trio.move_on_after(READING_TIMEOUT):
                found = await self._run(partial(self._text_of, filename, mime, data, effort))
                mime = guess_media_type(filename, mime)
                return ExtractedText(found.text, mime, found.pieces, found.report)
        except BadRequest as bad:
            code, why = _CODES.get(bad.code, "bad_upload"), bad.message
        except GivenUp:
            code, why = "unreadable", ""
        except SandboxFailed:
            code, why = "too_many_uploads", ""
        else:
            code, why = "too_many_uploads", ""
            if effort.begun:
                code, why = "unreadable", "The file took too long to be read."
        finally:
            effort.give_up()
        raise ProblemError(code, why)
