"""Files of others, read in a process that can be killed (`reader` is what is asked of it).

Strategy: a parser on hostile bytes can take all memory, or abort the process that it is in, and no Python code can
catch that. So everything that is uploaded is read there, and of the folder what other people's parsers read (PDF,
DOCX, reStructuredText) and what is long. Markdown, HTML and text of the folder that is short is read where it is, by
readers whose time and memory are bounded by its length. A file over which the process ended is left out, and known by
its hash, so that it costs that once and not each time that somebody looks.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

import msgspec
import structlog

from agent.config import FOREIGN_BYTES, FOREIGN_KILLERS, FOREIGN_SECONDS, FOREIGN_TEXT
from agent.documents import Document
from agent.errors import BadDocument, SandboxFailed, SandboxKilled
from agent.ports.projects import DocumentText
from agent.ports.search import Passage
from agent.ports.work import Isolate
from agent.sandbox import Sandbox

from .effort import Effort
from .kept import unpacked
from .load import Skipped, Source
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
from .texts import cited, passages_of_text

_log = structlog.get_logger("agent.retrieval")

_MODULE = "agent.retrieval.reader"  # whose `main` is the process
_PARSED_BY_OTHERS = frozenset((".pdf", ".docx", ".rst"))
_LIMITS = "could not be read within its limits"

_replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
_encode = msgspec.msgpack.Encoder().encode


def is_foreign(file: str, size: int) -> bool:
    """Tell whether a file of the folder is read in the process. size: in bytes."""
    return size > FOREIGN_BYTES or PurePosixPath(file).suffix.lower() in _PARSED_BY_OTHERS


@contextmanager
def foreign_files(isolate: Isolate | None = None) -> "Iterator[ForeignFiles]":
    """Have files of others read for the time of a block.

    isolate: answers what `reader` asks; None starts a process for it when one is first needed.
    """
    files = ForeignFiles(isolate or Sandbox(_MODULE))
    try:
        yield files
    finally:
        files.close()


class ForeignFiles:
    """Has files of others read. Everything here blocks; for any thread. isolate: answers what `reader` asks."""

    def __init__(self, isolate: Isolate) -> None:
        self._isolate = isolate
        self._killers: OrderedDict[bytes, None] = OrderedDict()

    def start(self) -> None:
        """Get ready, without waiting for it, since a file will have to be read soon."""
        self._isolate.start()

    def close(self) -> None:
        """End what is read now. Idempotent; takes a few milliseconds."""
        self._isolate.close()

    def passages_of(self, source: Source) -> tuple[Passage, ...] | Skipped:
        """Return the sections of a file of the folder, wherever it is to be read, or why it is left out."""
        if not is_foreign(source.file, len(source.data)):
            return passages_of(source)
        found = self.sections(source, Effort())
        return found if isinstance(found, Skipped) else found[0]

    def read_whole(self, source: Source) -> tuple[Document, tuple[Passage, ...]] | Skipped:
        """Return a file of the folder and its sections, wherever it is to be read, or why it is left out."""
        return read_whole(
            source, None, self.document if is_foreign(source.file, len(source.data)) else document_of
        )

    def sections(self, source: Source, effort: Effort) -> tuple[tuple[Passage, ...], FileTerms] | Skipped:
        """Return the sections of a file of the folder and their words, or why it is left out.

        Raises `agent.errors.GivenUp` when `effort` was given up.
        """
        reply = self._read(source.file, FileRequest(source.file, source.data), source.data, effort)
        found = unpacked(source.file, reply.content) if isinstance(reply, SectionsReply) else None
        return _skipped(source.file, reply) if found is None else found

    def document(self, source: Source, effort: Effort) -> Document | Skipped:
        """Return a file of the folder as blocks, or why it is left out. Raises as `sections` does."""
        reply = self._read(source.file, DocumentRequest(source.file, source.data), source.data, effort)
        return reply.document if isinstance(reply, DocumentReply) else _skipped(source.file, reply)

    def sections_of_text(self, text: DocumentText, effort: Effort) -> tuple[Passage, ...] | Skipped:
        """Return the sections of a text that is kept, or why it is left out. Raises as `sections` does."""
        if len(text.text) <= FOREIGN_TEXT:
            return passages_of_text(text, effort)
        file = cited(text.category, text.filename)
        asked = TextRequest(text.category, text.filename, text.text)
        reply = self._read(file, asked, text.text.encode(), effort)
        found = unpacked(file, reply.content) if isinstance(reply, SectionsReply) else None
        return _skipped(file, reply) if found is None else found[0]

    def text_of(self, filename: str, mime: str, data: bytes, effort: Effort) -> tuple[str, int]:
        """Return what `texts.text_of` does of a document that was sent.

        Raises what that does, and `agent.errors.SandboxFailed` when nothing can be read now.
        """
        asked = UploadRequest(filename, mime, data)
        try:
            reply = self._ask(asked, f"{PurePosixPath(filename).suffix} {mime}", data, effort)
        except SandboxKilled:
            raise _over_limits() from None
        match reply:
            case TextReply(text, pieces):
                return text, pieces
            case RefusalReply(code, message):
                raise BadDocument(code, message)
        raise _over_limits()

    def _read(self, file: str, asked: Request, data: bytes, effort: Effort) -> Reply | Skipped:
        """Return the reply to what is asked of a file that can be left out."""
        try:
            return self._ask(asked, PurePosixPath(file).suffix, data, effort)
        except SandboxKilled:
            return Skipped(file, _LIMITS)
        except SandboxFailed as failed:
            return Skipped(file, f"cannot be read: {failed}", passing=True)

    def _ask(self, asked: Request, kind: str, data: bytes, effort: Effort) -> Reply:
        """Return the reply, unless the same has killed the process before. kind: what else the reader depends on."""
        key = hashlib.blake2b(kind.lower().encode("utf-8", "replace") + b"\0" + data, digest_size=24).digest()
        if key in self._killers:
            raise SandboxKilled("it has ended a process before")
        try:
            return _replies.decode(
                self._isolate.ask(_encode(asked), FOREIGN_SECONDS, effort.look, effort.begin)
            )
        except (SandboxKilled, msgspec.DecodeError, RecursionError) as error:
            self._killers[key] = None
            while len(self._killers) > FOREIGN_KILLERS:
                self._killers.popitem(last=False)
            _log.warning("a file ended the process that reads files of others", why=str(error))
            raise SandboxKilled(str(error)) from None


def _over_limits() -> BadDocument:
    return BadDocument("unreadable", "The document could not be read within its limits: split it.")


def _skipped(file: str, reply: Reply | Skipped) -> Skipped:
    if isinstance(reply, Skipped):
        return reply
    return Skipped(file, reply.reason if isinstance(reply, LeftOutReply) else _LIMITS)
