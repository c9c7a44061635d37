"""Projects: rooms with documents, threads, calls and keys of their own, none of which another one can see."""

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from .brain import Question
from .draft import Charter, Section
from .pages import Page, Window
from .search import Library

Category: TypeAlias = Literal["FACTS", "RULES", "STATE"]
"""What a document is: what answers are looked up in; what stands whole in every prompt; how things are just now."""

HOUSE = "default"
"""The project that is always there: it answers from the operator's own knowledge base, and cannot be deleted."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project. role: what every prompt of it says the model is. created_at: Unix milliseconds, as every time here.

    revision: changes with the role and with every document.
    """

    id: str
    name: str
    role: str
    created_at: int
    revision: int = 0


@dataclass(frozen=True, slots=True)
class ProjectKey:
    """A key of a project, without the key itself. revoked_at: None while it opens the project."""

    id: str
    project: str
    name: str
    created_at: int
    revoked_at: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A document, without its text. sha256: of the bytes that were sent, in hex. size: of those, in bytes.

    pieces: into how many it was cut. version: 1, and one more each time that it was replaced. error: why it could not
    be read, "" where it could.
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


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document's text, as it is read, and where it belongs."""

    id: str
    category: Category
    filename: str
    text: str


class ProjectStore(Protocol):
    """Keeps projects, their keys and their documents.

    Every method raises `agent.errors.NotFound` for what is not there, or is another project's, which is the same, and
    `agent.errors.StorageFailed` when the store cannot be used. Cancelled, a write is done whole or not at all.
    """

    async def create_project(self, id: str, name: str, role: str, at: int) -> Project:
        """Keep a new project. Raises `Conflict("too_many_projects")` over PROJECTS_MOST."""
        ...

    async def project(self, id: str) -> Project:
        """Return a project."""
        ...

    async def projects(self, window: Window) -> Page[Project]:
        """Return projects, oldest first."""
        ...

    async def change_project(self, id: str, name: str | None, role: str | None) -> Project:
        """Change what is not None."""
        ...

    async def delete_project(self, id: str) -> None:
        """Delete a project with all that is its own; rows of the ledger stay. Raises `Conflict("kept")` for HOUSE."""
        ...

    async def add_key(self, project: str, id: str, digest: str, name: str, at: int) -> ProjectKey:
        """Keep a key by its SHA-256 in hex."""
        ...

    async def keys(self, project: str, window: Window) -> Page[ProjectKey]:
        """Return a project's keys, oldest first, revoked ones too."""
        ...

    async def revoke_key(self, project: str, id: str, at: int) -> None:
        """Let a key open nothing any more. Idempotent."""
        ...

    async def project_of_key(self, digest: str) -> str | None:
        """Return the project that a key opens, or None."""
        ...

    async def put_document(self, document: Document, text: str) -> Document:
        """Keep a document under its id, in place of the one of the same project, category and filename.

        The same bytes again change nothing and return what is kept, with its id. Raises `Conflict("project_full")` and
        `Conflict("rules_too_long")` over DOCUMENTS_MOST, DOCUMENTS_BYTES and RULES_BYTES.
        """
        ...

    async def document(self, project: str, id: str) -> Document:
        """Return a document."""
        ...

    async def documents(self, project: str, window: Window) -> Page[Document]:
        """Return a project's documents, oldest first."""
        ...

    async def delete_document(self, project: str, id: str) -> None:
        """Delete a document and its text."""
        ...

    async def texts(self, project: str) -> tuple[int, tuple[DocumentText, ...]]:
        """Return a project's revision and the texts of its documents that could be read, by category and filename."""
        ...


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a project answers from, as it was at one moment: its documents, which can be searched, and its charter."""

    documents: Library
    charter: Charter


class ProjectLibrary(Protocol):
    """The documents of every project, ready to be searched."""

    async def present(self, project: str) -> Holdings:
        """Return what a project answers from now; whoever keeps it keeps it as it is.

        Raises `agent.errors.NotFound` and `agent.errors.StorageFailed` as `ProjectStore` does. Cancelled, it leaves
        nothing; what others wait for, they get.
        """
        ...


class PromptDebug(Protocol):
    """Shows what a model would be asked, and asks none."""

    async def __call__(self, question: Question) -> tuple[Section, ...]:
        """Return the parts of the first prompt of a question's turn, in their order, empty ones too.

        Raises `agent.errors.NotFound` for a project that is not there, `agent.errors.ModelFailed` for a prompt over
        its budget, and `agent.errors.StorageFailed`. Cancelled, it leaves nothing.
        """
        ...
