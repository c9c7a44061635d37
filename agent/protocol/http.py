"""What is asked over the HTTP API: one Struct for each body and query; pure.

Names are snake_case. A field that a request does not have is refused and not skipped: a misspelt `arguments` of an
approval would otherwise approve what nobody meant. So is one that an object has twice, of which readers take either.
The project is named by `project_id`; where it is left out, it is the one that the key opens, or the house's own. A
thread, a call or an item that is not the user's of `user_id`, where a request names both, is not there.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from ..config import (
    DESCRIPTION_CHARACTERS,
    ITEM_REPLACES,
    ITEM_TEXT,
    MAX_ID,
    MAX_TEXT,
    NAME_CHARACTERS,
    PAGE_MOST,
    PAGE_USUAL,
    ROLE_CHARACTERS,
    TOOLS_REQUEST,
)
from ..lang import Lang
from ..ports.calls import CallStatus
from ..ports.memory import ItemStatus
from ..ports.projects import Category

Id: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
Hash: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_ID)]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=NAME_CHARACTERS)]
RoleStatement: TypeAlias = Annotated[str, Meta(min_length=1, max_length=ROLE_CHARACTERS)]
Words: TypeAlias = Annotated[str, Meta(min_length=1, max_length=MAX_TEXT)]
ItemWords: TypeAlias = Annotated[str, Meta(min_length=1, max_length=ITEM_TEXT)]
Described: TypeAlias = Annotated[str, Meta(max_length=DESCRIPTION_CHARACTERS)]
Limit: TypeAlias = Annotated[int, Meta(ge=1, le=PAGE_MOST)]
Tools: TypeAlias = Annotated[tuple[Mapping[str, Any], ...], Meta(max_length=TOOLS_REQUEST)]
Outcome: TypeAlias = Literal["accept", "edit", "respond", "ignore"]


class _Asked(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Common to all that is sent."""


# --- queries


class NoQuery(_Asked, frozen=True):
    """No parameters."""


class OfProject(_Asked, frozen=True):
    """Which project's."""

    project_id: Id | None = None


class Paged(_Asked, frozen=True):
    """Which part of a list. cursor: the `next_cursor` of the part before it."""

    limit: Limit = PAGE_USUAL
    cursor: Id | None = None


class PagedOfProject(Paged, frozen=True):
    """Which part of a project's list."""

    project_id: Id | None = None


class ThreadsQuery(PagedOfProject, frozen=True):
    """Which threads: all, or one user's."""

    user_id: Id | None = None


class CallsQuery(PagedOfProject, frozen=True):
    """Which calls: all, those in one status, those of one thread."""

    status: CallStatus | None = None
    thread_id: Id | None = None


class OfUser(OfProject, frozen=True, kw_only=True):
    """Which user's, of which project."""

    user_id: Id


class MemoryQuery(PagedOfProject, frozen=True, kw_only=True):
    """Which of a user's items: all but what was forgotten, or those of one status."""

    user_id: Id
    status: ItemStatus | None = None


class PromptQuery(_Asked, frozen=True):
    """What a prompt is shown for. user_id: who would say it, where it begins a thread."""

    message: Words
    thread_id: Id | None = None
    user_id: Id | None = None


# --- bodies


class _Role(_Asked, frozen=True, kw_only=True):
    """What every prompt says the model is, as `role_statement`, or as `roleStatement`, which older callers send."""

    role_statement: RoleStatement | None = None
    older: RoleStatement | None = msgspec.field(name="roleStatement", default=None)

    @property
    def role(self) -> str | None:
        """The role statement, by whichever of its names it came."""
        return self.role_statement if self.role_statement is not None else self.older


class NewProject(_Role, frozen=True, kw_only=True):
    """A project to be made. role_statement: what every prompt says the model is; `roleStatement` is read as well."""

    name: Name


class ChangedProject(_Role, frozen=True, kw_only=True):
    """What is to be changed of a project; what is left out stays."""

    name: Name | None = None


class NewKey(_Asked, frozen=True):
    """A key to be made. name: what its operator calls it."""

    name: Name


class Upload(_Asked, frozen=True):
    """A document, as multipart/form-data: its bytes as `file`, with a filename, and what it is."""

    file: bytes
    category: Category


class ChatMessage(_Asked, frozen=True):
    """A message to a thread; without `thread_id` to a new one.

    user_id: whose thread it is. tools: that may be called for it. interrupt: a turn in progress is cancelled for it.
    begin: calls that need no approval and that the caller runs are handed over as begun, with a lease.
    """

    user_id: Id
    message: Words
    project_id: Id | None = None
    thread_id: Id | None = None
    tools: Tools = ()
    lang: Lang | None = None
    interrupt: bool = False
    begin: bool = True


class ApproveCall(_Asked, frozen=True):
    """What somebody says to a suggested call.

    user_id: of whose thread it is. accept: run it. edit: run it with these `arguments`. respond: do not; `text` is the
    thread's next message instead. ignore: do not. arguments_hash: of the arguments that were seen; others are not
    approved. go_on: answer the user from what comes of it, where the server runs it.
    """

    user_id: Id
    outcome: Outcome = "accept"
    project_id: Id | None = None
    arguments: Mapping[str, Any] | None = None
    text: Words | None = None
    arguments_hash: Hash | None = None
    go_on: bool = msgspec.field(name="continue", default=False)


class RejectCall(_Asked, frozen=True):
    """A call that is declined, or whose approval is taken back. user_id: who does so, of whose thread it is."""

    user_id: Id | None = None
    project_id: Id | None = None


class DecideItem(_Asked, frozen=True):
    """What a user decides about an item of his.

    decision: edit has the corrected `text`; accept may name what it `replaces`, as its user was told. revision: that
    the user saw; another one is not decided.
    """

    user_id: Id
    decision: Literal["accept", "reject", "start", "done", "block", "unblock", "reopen", "edit", "forget"]
    project_id: Id | None = None
    text: ItemWords | None = None
    lang: Lang | None = None
    revision: int | None = None
    replaces: Annotated[tuple[Id, ...], Meta(max_length=ITEM_REPLACES)] | None = None


class RefersToProject(_Asked, frozen=True):
    """Which project's."""

    project_id: Id | None = None


class ToolResult(_Asked, frozen=True):
    """How a call ended that its caller runs. data: what came of it. error: why it failed. go_on: answer the user now.

    arguments_hash: of the arguments that were run; that of others is not taken.
    """

    tool_call_id: Id
    ok: bool
    project_id: Id | None = None
    data: Any = None
    error: Described | None = None
    arguments_hash: Hash | None = None
    go_on: bool = msgspec.field(name="continue", default=False)
