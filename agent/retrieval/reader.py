"""What the process that reads files of others is asked and answers, as bytes (`sandbox`), and its `main`.

Strategy: the whole work on a file is done there: it is parsed, cut into sections and into words. What comes back is
what a cache would keep of it (`kept`), or a text, or why there is none: MessagePack by schema, nothing that can run
code.
"""

import msgspec

from agent.documents import Document
from agent.errors import BadDocument
from agent.ports.projects import Category, DocumentText
from agent.sandboxed import serve

from .effort import Effort
from .kept import packed
from .load import Skipped, Source
from .read import document_of, passages_of
from .terms import terms_of
from .texts import passages_of_text, text_of

HALVES = "holds a half of a character"


class FileRequest(msgspec.Struct, frozen=True, array_like=True, tag="file"):
    """Asks for the sections of a file of the folder."""

    file: str
    data: bytes


class DocumentRequest(msgspec.Struct, frozen=True, array_like=True, tag="document"):
    """Asks for a file of the folder as blocks."""

    file: str
    data: bytes


class TextRequest(msgspec.Struct, frozen=True, array_like=True, tag="text"):
    """Asks for the sections of a text that is kept of a project's document."""

    category: Category
    filename: str
    text: str


class UploadRequest(msgspec.Struct, frozen=True, array_like=True, tag="upload"):
    """Asks for the text of a document that was sent."""

    filename: str
    mime: str
    data: bytes


class SectionsReply(msgspec.Struct, frozen=True, array_like=True, tag="sections"):
    """Sections, as `kept.packed` writes them."""

    content: bytes


class DocumentReply(msgspec.Struct, frozen=True, array_like=True, tag="document"):
    """A file as blocks."""

    document: Document


class TextReply(msgspec.Struct, frozen=True, array_like=True, tag="text"):
    """A text, and into how many sections it is cut."""

    text: str
    pieces: int


class LeftOutReply(msgspec.Struct, frozen=True, array_like=True, tag="left_out"):
    """Why a file is left out, in a few words."""

    reason: str


class RefusalReply(msgspec.Struct, frozen=True, array_like=True, tag="refusal"):
    """Why a document that was sent cannot be used, as `agent.errors.BadDocument` says it."""

    code: str
    message: str


Request = FileRequest | DocumentRequest | TextRequest | UploadRequest
Reply = SectionsReply | DocumentReply | TextReply | LeftOutReply | RefusalReply

_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
_encode = msgspec.msgpack.Encoder().encode


def answer(request: bytes) -> bytes:
    """Return the reply to a request. Blocks. Raises MemoryError, and `msgspec.DecodeError` for no request."""
    asked = _requests.decode(request)
    try:
        return _encode(_reply(asked))
    except UnicodeEncodeError:
        return _encode(LeftOutReply(HALVES))


def main(lifeline: int) -> None:
    """Answer requests until whoever asks is gone. lifeline: see `sandboxed.serve`."""
    for file in ("a.md", "a.pdf", "a.docx"):  # imports what most requests need while nobody waits for it yet
        answer(_encode(FileRequest(file, b"a")))
    serve(answer, lifeline)


def _reply(asked: Request) -> Reply:
    effort = Effort()
    match asked:
        case UploadRequest(filename, mime, data):
            try:
                return TextReply(*text_of(filename, mime, data, effort))
            except BadDocument as bad:
                return RefusalReply(bad.code, bad.message)
        case DocumentRequest(file, data):
            with effort.one_file():
                document = document_of(Source(file, data), effort)
            return LeftOutReply(document.reason) if isinstance(document, Skipped) else DocumentReply(document)
        case FileRequest(file, data):
            passages = passages_of(Source(file, data), effort)
        case TextRequest(category, filename, text):
            passages = passages_of_text(DocumentText("", category, filename, text), effort)
    if isinstance(passages, Skipped):
        return LeftOutReply(passages.reason)
    content = packed(passages, terms_of(passages, effort))
    return LeftOutReply(HALVES) if content is None else SectionsReply(content)
