"""Reads untrusted files in a process that can be killed (`reader` runs in it).

Strategy: a parser on hostile bytes can take all memory, or abort its process, and no Python code can catch that. So
all uploads are read in that process, and of the folder the formats of third-party parsers (PDF, DOCX,
reStructuredText) and all long files. Short Markdown, HTML and text files of the folder are read in this process, by
readers whose time and memory are bounded by the length of the file. A file over which the process ended is left out
and remembered by its hash, so that it ends a process once and not at each attempt.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

import msgspec
import structlog

from agent.documents import Document
from agent.errors import BadDocument, SandboxFailed, SandboxKilled
from agent.ports.projects import DocumentText
from agent.ports.search import Passage
from agent.ports.work import Isolate
from agent.sandbox import Sandbox

from .effort import Effort
from .load import Skipped, SourceFile
from .packed_sections import unpack_sections
from .read import document_of, passages_of, read_whole
from .reader import (
    DocumentReply,
    DocumentRequest,
    FileRequest,
    LeftOutReply,
    RefusalReply,
    Reply,
    Request,
    SectionsReply,
    TextReply,
    TextRequest,
    UploadRequest,
)
from .terms import FileTerms
from .texts import UploadedText, cite_document, passages_of_text

FOREIGN_BYTES = 1024 * 1024  # of a file of the folder; a larger one is read in the sandbox, of any kind
FOREIGN_TEXT = 64 * 1024  # of a project's text, likewise: each was read there once when it came
FOREIGN_SECONDS = 40.0  # for one file to be read there; a machine that is busy gives it half of a processor
FOREIGN_KILLERS = 1024  # files that ended that process, and are not tried again

_log = structlog.get_logger("agent.retrieval")

_MODULE = "agent.retrieval.reader"  # its `main` runs in the process
_PARSED_BY_OTHERS = frozenset((".pdf", ".docx", ".rst"))
_LIMITS = "could not be read within its limits"

_replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
_encode = msgspec.msgpack.Encoder().encode


def is_foreign(file: str, size: int) -> bool:
    """Tell whether `file` of the folder is read in the process. `size`: in bytes."""
    return size > FOREIGN_BYTES or PurePosixPath(file).suffix.lower() in _PARSED_BY_OTHERS


@contextmanager
def open_foreign_files(isolate: Isolate | None = None) -> "Iterator[ForeignFiles]":
    """Provide `ForeignFiles` for the time of the block.

    `isolate`: answers the requests of `reader`; None starts a process for it when one is first needed.
    """
    files = ForeignFiles(isolate or Sandbox(_MODULE))
    try:
        yield files
    finally:
        files.close()


class ForeignFiles:
    """Reads untrusted files through `isolate`, which answers the requests of `reader`.

    Thread-safe; all methods block.
    """

    def __init__(self, isolate: Isolate) -> None:
        self._isolate = isolate
        self._killers: OrderedDict[bytes, None] = OrderedDict()

    def start(self) -> None:
        """Start the process without waiting for it, since a file will have to be read soon."""
        self._isolate.start()

    def close(self) -> None:
        """End the current reading. Idempotent; takes a few milliseconds."""
        self._isolate.close()

    def passages_of(self, source: SourceFile) -> tuple[Passage, ...] | Skipped:
        """Return the sections of a file of the folder, read in either process, or why it is left out."""
        if not is_foreign(source.file, len(source.data)):
            return passages_of(source)
        found = self.read_sections(source, Effort())
        return found if isinstance(found, Skipped) else found[0]

    def read_whole(self, source: SourceFile) -> tuple[Document, tuple[Passage, ...]] | Skipped:
        """Return a file of the folder and its sections, read in either process, or why it is left out."""
        return read_whole(
            source, None, self.read_document if is_foreign(source.file, len(source.data)) else document_of
        )

    def read_sections(
        self, source: SourceFile, effort: Effort
    ) -> tuple[tuple[Passage, ...], FileTerms] | Skipped:
        """Return the sections of a file of the folder and their words, or why it is left out.

        Raises `agent.errors.GivenUp` when `effort` was given up.
        """
        reply = self._request_file(source.file, FileRequest(source.file, source.data), source.data, effort)
        found = unpack_sections(source.file, reply.content) if isinstance(reply, SectionsReply) else None
        return _skip_file(source.file, reply) if found is None else found

    def read_document(self, source: SourceFile, effort: Effort) -> Document | Skipped:
        """Return a file of the folder as blocks, or why it is left out. Raises as `read_sections` does."""
        reply = self._request_file(
            source.file, DocumentRequest(source.file, source.data), source.data, effort
        )
        return reply.document if isinstance(reply, DocumentReply) else _skip_file(source.file, reply)

    def sections_of_text(self, text: DocumentText, effort: Effort) -> tuple[Passage, ...] | Skipped:
        """Return the sections of a stored text, or why it is left out. Raises as `read_sections` does."""
        if len(text.text) <= FOREIGN_TEXT:
            return passages_of_text(text, effort)
        file = cite_document(text.category, text.filename)
        request = TextRequest(text.category, text.filename, text.text)
        reply = self._request_file(file, request, text.text.encode(), effort)
        found = unpack_sections(file, reply.content) if isinstance(reply, SectionsReply) else None
        return _skip_file(file, reply) if found is None else found[0]

    def text_of(self, filename: str, mime: str, data: bytes, effort: Effort) -> UploadedText:
        """Return the text of an uploaded document, with its counts (see `texts.extract_text`).

        Raises the errors of that function, and `agent.errors.SandboxFailed` when nothing can be read now.
        """
        request = UploadRequest(filename, mime, data)
        try:
            reply = self._request_reply(request, f"{PurePosixPath(filename).suffix} {mime}", data, effort)
        except SandboxKilled:
            raise _limits_error() from None
        match reply:
            case TextReply(text, pieces, report):
                return UploadedText(text, pieces, report)
            case RefusalReply(code, message):
                raise BadDocument(code, message)
        raise _limits_error()

    def _request_file(self, file: str, request: Request, data: bytes, effort: Effort) -> Reply | Skipped:
        """Return the reply to a request for a file that can be left out."""
        try:
            return self._request_reply(request, PurePosixPath(file).suffix, data, effort)
        except SandboxKilled:
            return Skipped(file, _LIMITS)
        except SandboxFailed as failed:
            return Skipped(file, f"cannot be read: {failed}", passing=True)

    def _request_reply(self, request: Request, kind: str, data: bytes, effort: Effort) -> Reply:
        """Return the reply, unless the same file has killed the process before.

        `kind`: the suffix and type that select the reader.
        """
        key = hashlib.blake2b(kind.lower().encode("utf-8", "replace") + b"\0" + data, digest_size=24).digest()
        if key in self._killers:
            raise SandboxKilled("it has ended a process before")
        try:
            return _replies.decode(
                self._isolate.ask(_encode(request), FOREIGN_SECONDS, effort.check, effort.begin)
            )
        except (SandboxKilled, msgspec.DecodeError, RecursionError) as error:
            self._killers[key] = None
            while len(self._killers) > FOREIGN_KILLERS:
                self._killers.popitem(last=False)
            _log.warning("a file ended the reader process", why=str(error))
            raise SandboxKilled(str(error)) from None


def _limits_error() -> BadDocument:
    return BadDocument("unreadable", "The document could not be read within its limits: split it.")


def _skip_file(file: str, reply: Reply | Skipped) -> Skipped:
    if isinstance(reply, Skipped):
        return reply
    return Skipped(file, reply.reason if isinstance(reply, LeftOutReply) else _LIMITS)
