"""Handlers for a project's documents, and for the prompt that they end up in."""

from hashlib import sha256

from ...errors import ModelFailed
from ...ports.projects import Category, StoredDocument
from ...protocol.http import PromptQuery
from ...protocol.problems import ProblemError
from ...protocol.records import from_record
from ...protocol.views import DocumentPage, DocumentView, PromptView, ReportView
from ..responses import Answer
from .answers import DONE, answer_with
from .context import ApiServices, Request, UploadedFile, record_audit
from .pages import answer_page, parse_window

_CATEGORIES: dict[str, Category] = {"FACTS": "FACTS", "RULES": "RULES", "STATE": "STATE"}


async def put_document(services: ApiServices, request: Request) -> Answer:
    """Store a document, in place of the one with the same category and name. Answers 200 if it replaced one."""
    upload: UploadedFile = request.body
    await services.projects.project(request.project)  # no work for a project that is not there
    read = await services.read(upload.filename, upload.mime, upload.data)
    new = StoredDocument(
        id=services.new_id(),
        project=request.project,
        category=_CATEGORIES[upload.category],
        filename=upload.filename,
        mime=read.mime,
        sha256=sha256(upload.data).hexdigest(),
        size=len(upload.data),
        pieces=read.pieces,
        version=1,
        created_at=services.clock.now_ms(),
        report=read.report,
    )
    stored = await services.projects.put_document(new, read.text)
    services.note_change(request.project)
    await record_audit(services, request.project, request.by, "document_kept", stored.id)
    return answer_with(_document(stored), 201 if stored.id == new.id and stored.version == 1 else 200)


async def list_documents(services: ApiServices, request: Request) -> Answer:
    """Answer with a page of a project's documents."""
    page = await services.projects.documents(request.project, parse_window("documents", request.query))
    return answer_page("documents", page, _document, DocumentPage)


async def get_document(services: ApiServices, request: Request) -> Answer:
    """Answer with a document."""
    return answer_with(
        _document(await services.projects.document(request.project, request.names["document_id"]))
    )


async def delete_document(services: ApiServices, request: Request) -> Answer:
    """Delete a document."""
    document = request.names["document_id"]
    await services.projects.delete_document(request.project, document)
    services.note_change(request.project)
    await record_audit(services, request.project, request.by, "document_deleted", document)
    return DONE


async def prompt_debug(services: ApiServices, request: Request) -> Answer:
    """Answer with the prompt that the model would get for a message."""
    query: PromptQuery = request.query
    if services.show_prompt is None:
        raise ProblemError("not_found", "This server's answers are made without prompts.")
    question = await services.desk.preview_question(
        request.project, query.user_id or "", query.message, query.thread_id
    )
    try:
        sections = await services.show_prompt(question)
    except ModelFailed:
        raise ProblemError("prompt_too_long") from None
    return answer_with(PromptView(sections))


def _document(document: StoredDocument) -> DocumentView:
    return from_record(
        DocumentView,
        document,
        project_id=document.project,
        bytes=document.size,
        chunks_count=document.pieces,
        status="failed" if document.error else "indexed",
        error=document.error or None,
        report=from_record(ReportView, document.report),
    )
