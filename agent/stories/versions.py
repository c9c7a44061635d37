"""The state tables of a scene's versions and of chapters.

A version is active from the moment its scene was told. Shelved, it stays and can be picked again, but only in the last
scene of a branch, and only while no other branch inherits that scene. A chapter is concluded, and the last one can be
opened again. The database has the moves of both tables, and refuses all others.
"""

from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, TypeAlias

from ..errors import StoryRefused
from ..fsm import Engine, StateTable, TableWord, TransitionRow
from ..ports.stories import ChapterStatus, VersionStatus


class VersionState(TableWord):
    """The states of a version; `agent.ports.stories.VersionStatus` has the same words."""

    ACTIVE = "active"
    SHELVED = "shelved"


class VersionTrigger(TableWord):
    """The events that change a version."""

    SHELVE = "shelve"
    PICK = "pick"


class VersionGuard(TableWord):
    """The conditions of a row."""

    LAST = "last"


class ChapterState(TableWord):
    """The states of a chapter; `agent.ports.stories.ChapterStatus` has the same words."""

    OPEN = "open"
    CONCLUDED = "concluded"


class ChapterTrigger(TableWord):
    """The events that change a chapter."""

    CONCLUDE = "conclude"
    REOPEN = "reopen"


class ChapterGuard(TableWord):
    """The conditions of a row."""

    LAST = "last"


class StoryDeed(TableWord):
    """The effects of a row; there are none, since a store writes the new state."""


VersionTable: TypeAlias = StateTable[VersionState, VersionTrigger, VersionGuard, StoryDeed]
ChapterTable: TypeAlias = StateTable[ChapterState, ChapterTrigger, ChapterGuard, StoryDeed]

VERSIONS: VersionTable = StateTable(
    title="Version of a scene",
    states=VersionState,
    triggers=VersionTrigger,
    guards=VersionGuard,
    deeds=StoryDeed,
    initial=VersionState.ACTIVE,
    rows=(
        TransitionRow(VersionTrigger.SHELVE, VersionState.ACTIVE, VersionGuard.LAST, VersionState.SHELVED),
        TransitionRow(VersionTrigger.PICK, VersionState.SHELVED, VersionGuard.LAST, VersionState.ACTIVE),
    ),
)

CHAPTERS: ChapterTable = StateTable(
    title="Chapter",
    states=ChapterState,
    triggers=ChapterTrigger,
    guards=ChapterGuard,
    deeds=StoryDeed,
    initial=ChapterState.OPEN,
    rows=(
        TransitionRow(ChapterTrigger.CONCLUDE, ChapterState.OPEN, None, ChapterState.CONCLUDED),
        TransitionRow(ChapterTrigger.REOPEN, ChapterState.CONCLUDED, ChapterGuard.LAST, ChapterState.OPEN),
    ),
)


@dataclass(slots=True)
class _Placed:
    """A version or a chapter as its table sees it. `is_last`: nothing comes after it, and no branch inherits it."""

    state: TableWord
    is_last: bool


_IS_LAST: Final = attrgetter("is_last")
_VERSIONS = Engine(VERSIONS, {VersionGuard.LAST: _IS_LAST}, {})
_CHAPTERS = Engine(CHAPTERS, {ChapterGuard.LAST: _IS_LAST}, {})


def move_version(status: VersionStatus, trigger: VersionTrigger, is_last: bool) -> VersionStatus:
    """Return the status of a version after `trigger`; raises `StoryRefused` with `conflict` when it is refused."""
    placed = _Placed(VersionState(status), is_last)
    if _VERSIONS.fire(placed, trigger) is None:  # type: ignore[arg-type]
        raise StoryRefused("conflict", "This version cannot change so: read the scene again.")
    return "active" if placed.state is VersionState.ACTIVE else "shelved"


def move_chapter(status: ChapterStatus, trigger: ChapterTrigger, is_last: bool) -> ChapterStatus:
    """Return the status of a chapter after `trigger`; raises `StoryRefused` with `conflict` when it is refused."""
    placed = _Placed(ChapterState(status), is_last)
    if _CHAPTERS.fire(placed, trigger) is None:  # type: ignore[arg-type]
        raise StoryRefused("conflict", "This chapter cannot change so: only the last one is opened again.")
    return "open" if placed.state is ChapterState.OPEN else "concluded"


def moves_of_table(table: StateTable[Any, Any, Any, Any]) -> frozenset[tuple[str, str]]:
    """Return the allowed moves of a status by a table."""
    return frozenset(
        (row.source.value, row.target.value)
        for row in table.rows
        if row.target is not None and row.target is not row.source
    )
