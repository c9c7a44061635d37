"""A project's documents, over HTTP, and the prompt that they end up in."""

from hashlib import sha256

from ...errors import ModelFailed
from ...ports.projects import Category, Document
from ...protocol.http import PromptQuery
from ...protocol.problems import Unanswerable
from ...protocol.views import DocumentPage, DocumentView, PromptSectionView, PromptView
from ..answers import Answer
from .answers import DONE, told
from .pages import paged, window
from .rooms import Request, Rooms, Uploaded, note

_CATEGORIES: dict[str, Category] = {"FACTS": "FACTS", "RULES": "RULES", "STATE": "STATE"}


async def put_document(rooms: Rooms, request: Request) -> Answer:
    """Keep a document, in place of the one of the same category and name; 200 where there was one."""
    upload: Uploaded = request.body
    await rooms.projects.project(request.project)  # no work for a project that is not there
    read = await rooms.read(upload.filename, upload.mime, upload.data)
    new = Document(
        rooms.new_id(),
        request.project,
        _CATEGORIES[upload.category],
        upload.filename,
        read.mime,
        sha256(upload.data).hexdigest(),
        len(upload.data),
        read.pieces,
        1,
        rooms.clock.now_ms(),
    )
    kept = await rooms.projects.put_document(new, read.text)
    await note(rooms, request.project, request.by, "document_kept", kept.id)
    return told(_document(kept), 201 if kept.id == new.id and kept.version == 1 else 200)


async def list_documents(rooms: Rooms, request: Request) -> Answer:
    """Tell a page of a project's documents."""
    page = await rooms.projects.documents(request.project, window("documents", request.query))
    return paged("documents", page, _document, DocumentPage)


async def get_document(rooms: Rooms, request: Request) -> Answer:
    """Tell a document."""
    return told(_document(await rooms.projects.document(request.project, request.names["document_id"])))


async def delete_document(rooms: Rooms, request: Request) -> Answer:
    """Delete a document."""
    document = request.names["document_id"]
    await rooms.projects.delete_document(request.project, document)
    await note(rooms, request.project, request.by, "document_deleted", document)
    return DONE


async def prompt_debug(rooms: Rooms, request: Request) -> Answer:
    """Tell the prompt that a message would be answered with."""
    query: PromptQuery = request.query
    if rooms.show_prompt is None:
        raise Unanswerable("not_found", "This server's answers are made without prompts.")
    question = await rooms.desk.preview(request.project, query.user_id or "", query.message, query.thread_id)
    try:
        sections = await rooms.show_prompt(question)
    except ModelFailed:
        raise Unanswerable("prompt_too_long") from None
    return told(PromptView(tuple(PromptSectionView(each.name, each.tokens, each.text) for each in sections)))


def _document(document: Document) -> DocumentView:
    return DocumentView(
        document.id,
        document.project,
        document.category,
        document.filename,
        document.mime,
        document.sha256,
        document.size,
        document.pieces,
        document.version,
        "failed" if document.error else "indexed",
        document.error or None,
        document.created_at,
    )
