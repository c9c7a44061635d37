"""The process that reads untrusted files: its requests and replies as bytes (`agent.sandbox`), and its `main`.

Strategy: the whole work on a file is done there: it is parsed, cut into sections and into words. The reply is the
form that a cache keeps (`kept`), or a text, or the reason why there is none: MessagePack by schema, nothing that can
run code.
"""

import msgspec

from agent.documents import Document
from agent.errors import BadDocument
from agent.ports.projects import Category, DocumentText, ReadingReport
from agent.sandboxed import serve_requests

from .effort import Effort
from .load import Skipped, SourceFile
from .packed_sections import pack_sections
from .read import document_of, passages_of
from .terms import terms_of
from .texts import extract_text, passages_of_text

HALVES = "holds a lone surrogate, which is half of a character"


class FileRequest(msgspec.Struct, frozen=True, array_like=True, tag="file"):
    """Asks for the sections of a file of the folder."""

    file: str
    data: bytes


class DocumentRequest(msgspec.Struct, frozen=True, array_like=True, tag="document"):
    """Asks for a file of the folder as blocks."""

    file: str
    data: bytes


class TextRequest(msgspec.Struct, frozen=True, array_like=True, tag="text"):
    """Asks for the sections of the stored text of a project's document."""

    category: Category
    filename: str
    text: str


class UploadRequest(msgspec.Struct, frozen=True, array_like=True, tag="upload"):
    """Asks for the text of an uploaded document."""

    filename: str
    mime: str
    data: bytes


class SectionsReply(msgspec.Struct, frozen=True, array_like=True, tag="sections"):
    """Sections and their words, as `packed_sections.pack_sections` writes them."""

    content: bytes


class DocumentReply(msgspec.Struct, frozen=True, array_like=True, tag="document"):
    """A file as blocks."""

    document: Document


class TextReply(msgspec.Struct, frozen=True, array_like=True, tag="text"):
    """The text of an uploaded document, with its counts (`texts.UploadedText`)."""

    text: str
    pieces: int
    report: ReadingReport


class LeftOutReply(msgspec.Struct, frozen=True, array_like=True, tag="left_out"):
    """The reason why a file is left out, in a few words."""

    reason: str


class RefusalReply(msgspec.Struct, frozen=True, array_like=True, tag="refusal"):
    """The reason why an uploaded document cannot be used, as an `agent.errors.BadDocument`."""

    code: str
    message: str


Request = FileRequest | DocumentRequest | TextRequest | UploadRequest
Reply = SectionsReply | DocumentReply | TextReply | LeftOutReply | RefusalReply

_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_encode = msgspec.msgpack.Encoder().encode


def answer_request(request: bytes) -> bytes:
    """Return the reply to a request. Blocks. Raises MemoryError, and `msgspec.DecodeError` for an invalid request."""
    decoded = _requests.decode(request)
    try:
        return _encode(_reply(decoded))
    except UnicodeEncodeError:
        return _encode(LeftOutReply(HALVES))


def main(lifeline: int) -> None:
    """Answer requests until the server is gone. `lifeline`: see `agent.sandboxed.serve_requests`."""
    for file in ("a.md", "a.pdf", "a.docx"):  # imports the parsers before the first request comes
        answer_request(_encode(FileRequest(file, b"a")))
    serve_requests(answer_request, lifeline)


def _reply(request: Request) -> Reply:
    """Return the reply to a decoded request."""
    effort = Effort()
    match request:
        case UploadRequest(filename, mime, data):
            try:
                found = extract_text(filename, mime, data, effort)
                return TextReply(found.text, found.pieces, found.report)
            except BadDocument as bad:
                return RefusalReply(bad.code, bad.message)
        case DocumentRequest(file, data):
            with effort.limit_file():
                document = document_of(SourceFile(file, data), effort)
            return LeftOutReply(document.reason) if isinstance(document, Skipped) else DocumentReply(document)
        case FileRequest(file, data):
            passages = passages_of(SourceFile(file, data), effort)
        case TextRequest(category, filename, text):
            passages = passages_of_text(DocumentText("", category, filename, text), effort)
    if isinstance(passages, Skipped):
        return LeftOutReply(passages.reason)
    content = pack_sections(passages, terms_of(passages, effort))
    return LeftOutReply(HALVES) if content is None else SectionsReply(content)
