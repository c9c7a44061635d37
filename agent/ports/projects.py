"""Stores projects, each with documents, threads, calls and keys of its own that no other project can see."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from .brain import Question
from .draft import Charter, PromptSection
from .pages import Page, Window
from .search import Library, Passage

Category: TypeAlias = Literal["FACTS", "RULES", "STATE"]
"""The use of a document: `FACTS` are searched for answers, `RULES` stand whole in every prompt, `STATE` describes the
present.
"""

HOUSE = "default"
"""The project that always exists, and cannot be deleted: it answers from the operator's own knowledge base, and from
the documents that were uploaded into it.
"""


@dataclass(frozen=True, slots=True)
class Project:
    """A project. `role` is the model's role in every prompt of it. `created_at` is in Unix milliseconds, as every time
    here.

    `revision` changes with the role and with every document.
    """

    id: str
    name: str
    role: str
    created_at: int
    revision: int = 0


@dataclass(frozen=True, slots=True)
class ProjectKey:
    """A key of a project, without the secret itself. `revoked_at` is None while it opens the project."""

    id: str
    project: str
    name: str
    created_at: int
    revoked_at: int | None = None


@dataclass(frozen=True, slots=True)
class ReadingReport:
    """The counts of an upload that was read.

    `pages`: of a file that has pages, else 0. Left out are: the text of `blank_pages`, which hold none (scanned ones do
    not), the `cut_pages` after the most that are read, and the text in `pictures`, which are counted in DOCX only.
    """

    pages: int = 0
    blank_pages: int = 0
    cut_pages: int = 0
    pictures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDocument:
    """A document, without its text. `sha256` (in hex) and `size` are of the bytes that were sent.

    `pieces` counts the parts into which it was cut. `version` is 1, and one more after each replacement. `error` says
    why it could not be read, "" where it could. `report` counts what was read and left out.
    """

    id: str
    project: str
    category: Category
    filename: str
    mime: str
    sha256: str
    size: int
    pieces: int
    version: int
    created_at: int
    error: str = ""
    report: ReadingReport = ReadingReport()


@dataclass(frozen=True, slots=True)
class DocumentText:
    """The text of a readable document, with its category and filename."""

    id: str
    category: Category
    filename: str
    text: str


class ProjectStore(Protocol):
    """Stores projects, their keys and their documents.

    Every method raises `agent.errors.NotFound` for an unknown id, and equally for another project's, and
    `agent.errors.StorageFailed` when the store cannot be used. Cancelled, a write is done whole or not at all.
    """

    async def create_project(self, id: str, name: str, role: str, at: int) -> Project:
        """Store a new project. Raises `Conflict("too_many_projects")` over `PROJECTS_MOST`."""
        ...

    async def project(self, id: str) -> Project:
        """Return the project `id`."""
        ...

    async def projects(self, window: Window) -> Page[Project]:
        """Return projects, oldest first."""
        ...

    async def change_project(self, id: str, name: str | None, role: str | None) -> Project:
        """Change `name` and `role`, each unless it is None; return the project."""
        ...

    async def delete_project(self, id: str) -> tuple[str, ...]:
        """Delete a project with all of its data; rows of the ledger stay. Raises `Conflict("kept")` for `HOUSE`.

        Return the ids of the calls that another process has claimed, which may be about to begin.
        """
        ...

    async def add_key(self, project: str, id: str, digest: str, name: str, at: int) -> ProjectKey:
        """Store a key by `digest`, its SHA-256 in hex."""
        ...

    async def keys(self, project: str, window: Window) -> Page[ProjectKey]:
        """Return a project's keys, oldest first, revoked ones too."""
        ...

    async def revoke_key(self, project: str, id: str, at: int) -> None:
        """Revoke a key, so that it opens nothing any more. Idempotent."""
        ...

    async def find_key(self, digest: str) -> ProjectKey | None:
        """Return the key with `digest`, or None if no key that opens a project has it."""
        ...

    async def put_document(self, document: StoredDocument, text: str) -> StoredDocument:
        """Store a document under its id, in place of the one of the same project, category and filename.

        The same bytes again change nothing and return the stored document, with its id. Raises
        `Conflict("project_full")` and `Conflict("rules_too_long")` over `DOCUMENTS_MOST`, `DOCUMENTS_BYTES` and
        `RULES_BYTES`.
        """
        ...

    async def document(self, project: str, id: str) -> StoredDocument:
        """Return the document `id`."""
        ...

    async def documents(self, project: str, window: Window) -> Page[StoredDocument]:
        """Return a project's documents, oldest first."""
        ...

    async def delete_document(self, project: str, id: str) -> None:
        """Delete a document and its text."""
        ...

    async def texts(self, project: str) -> tuple[int, tuple[DocumentText, ...]]:
        """Return a project's revision and the texts of its readable documents, by category and filename."""
        ...


@dataclass(frozen=True, slots=True)
class Holdings:
    """The basis of a project's answers at one moment: its documents, which can be searched, and its charter.

    `has_documents`: whether there is anything to search.
    """

    documents: Library
    charter: Charter
    has_documents: bool = True


class ProjectLibrary(Protocol):
    """The documents of every project, ready to be searched."""

    async def load_holdings(self, project: str) -> Holdings:
        """Return the present basis of a project's answers; a caller that keeps it keeps it as it is.

        Raises `agent.errors.NotFound` and `agent.errors.StorageFailed` as `ProjectStore` does. Cancelled, it leaves
        nothing; work that other callers wait for goes on.
        """
        ...

    async def find_sections(self, project: str, file: str) -> Sequence[Passage]:
        """Return the sections of a project's document in their order; () for an unknown one.

        `file`: as it is cited. Raises and is cancelled as `load_holdings` does.
        """
        ...


class PromptDebug(Protocol):
    """Shows the prompt that a model would get, and calls no model."""

    async def __call__(self, question: Question) -> tuple[PromptSection, ...]:
        """Return the parts of the first prompt of a question's turn, in their order, empty ones too.

        Raises `agent.errors.NotFound` for an unknown project, `agent.errors.ModelFailed` for a prompt over its budget,
        and `agent.errors.StorageFailed`. Cancelled, it leaves nothing.
        """
        ...
