"""The tables of stories, and the rules that the database itself enforces.

A version's status moves only as its state table allows, and only in the last scene of a branch that no other branch
inherits; one version of a scene is active at most, and no place below an active scene is empty. Triggers check all of
this, and the table `moves` is filled from the state tables.

Words stand in `words`, `version_words`, `state_words`, `snapshots` and `branches` and nowhere else; other tables refer
to them by number. SQLite overwrites deleted data (`PRAGMA secure_delete`), but leaves copies of rows behind in pages
that it splits or merges. Rows of these five tables come at the end, only ever get shorter, and are never deleted: so
their pages are neither split nor merged, and emptied words are in no file once the log is truncated. Names are compared
by digests.
"""

import hashlib
from collections.abc import Collection
from typing import Final

import sqlalchemy as sa

from ...ports.stories import BRANCH_DEPTH, SCENE_BYTES, SNAPSHOT_BYTES
from ...stories.versions import CHAPTERS, VERSIONS, moves_of_table
from ..columns import fill_moves, moves_of, numbered_table, one_of, text, where, whole
from ..contents import DatabaseContents, OwnerFunctions
from ..dialect import NUMBER
from ..migrations import STORY_STEPS
from ..schema import server_metadata
from ..triggers import Trigger
from . import FILE

VERSION_MOVES: Final = moves_of_table(VERSIONS)
CHAPTER_MOVES: Final = moves_of_table(CHAPTERS)
MOVES: Final = VERSION_MOVES | CHAPTER_MOVES

# The words of the columns that have a fixed set of them, equal to the `Literal` types of `agent.ports.stories`. They
# are part of the tables: add a word here with a step in `migrations.py` that adds it to the table of an older file.
VERSION_STATUSES = ("active", "shelved")
CHAPTER_STATUSES = ("open", "concluded")
DIRECTIVES = ("text", "choice", "own", "retell", "edit", "import")
CAST_KINDS = ("person", "place", "thing")
FIELDS = ("place", "holder", "condition")
SETTERS = ("rule", "model", "hand")

IS_ACTIVE = "status = 'active'"
COUNTS = "counts = 1"
"""The conditions of the partial indexes over active versions, and over states that count."""

metadata = sa.MetaData()

stories = numbered_table(
    metadata,
    "stories",
    text("project"),
    text("user"),
    text("thread"),
    text("lang"),
    whole("words"),  # title and foundation
    whole("created_at"),
    whole("updated_at"),
    whole("revision"),
    whole("told"),  # the branch that was told or made last
    sa.Index("stories_of", "project", "user", "thread"),
)

branches = numbered_table(
    metadata,
    "branches",
    whole("story", sa.ForeignKey("stories.number"), null=True),  # none once it is deleted
    text("called"),  # a digest of its present name
    text("name"),  # as it was made: a fork is this row alone
    whole("renamed", null=True),  # the words of its present name
    whole("parent", sa.ForeignKey("branches.number"), null=True),
    whole("cut"),
    whole("depth"),
    whole("created_at"),
    sa.UniqueConstraint("story", "called"),
    sa.CheckConstraint("cut >= 0"),
    sa.CheckConstraint(f"depth BETWEEN 0 AND {BRANCH_DEPTH}"),
    sa.CheckConstraint("parent IS NOT NULL OR cut = 0"),
    sa.Index("branches_below", "parent", "cut"),
)

claims = numbered_table(  # scenes that are being told
    metadata,
    "claims",
    text("id"),
    whole("branch", sa.ForeignKey("branches.number")),
    text("owner"),
    text("message"),
    whole("seq"),
    whole("retold"),
    whole("at"),
    sa.UniqueConstraint("branch"),
)

scenes = numbered_table(
    metadata,
    "scenes",
    whole("branch", sa.ForeignKey("branches.number")),
    whole("seq"),
    whole("undone", null=True),  # the version that an undo shelved, until something else is told
    sa.UniqueConstraint("branch", "seq"),
    sa.CheckConstraint("seq > 0"),
)

versions = numbered_table(
    metadata,
    "versions",
    whole("scene", sa.ForeignKey("scenes.number")),
    text("status"),
    text("kind"),
    whole("seed"),
    text("model"),
    whole("at"),
    text("claim", null=True),
    one_of("status", VERSION_STATUSES),
    one_of("kind", DIRECTIVES),
    sa.UniqueConstraint("claim"),
    sa.Index("versions_of", "scene", "number"),
    sa.Index("one_active", "scene", unique=True, **where(IS_ACTIVE)),
)

words = numbered_table(  # of everything but versions and states: one text, or several as JSON
    metadata,
    "words",
    whole("story"),
    text("text"),
    sa.Index("words_of", "story"),
)


def _numbered_by(column: str) -> sa.Column[int]:
    return sa.Column(column, NUMBER, primary_key=True, autoincrement=False)


version_words = sa.Table(
    "version_words",
    metadata,
    _numbered_by("version"),
    whole("story"),
    text("directive"),
    text("text"),
    sa.CheckConstraint(f"length(text) <= {SCENE_BYTES}"),
    sa.Index("version_words_of", "story"),
    sqlite_strict=True,
)

snapshots = sa.Table(
    "snapshots",
    metadata,
    _numbered_by("version"),
    whole("story"),
    sa.Column("packed", sa.LargeBinary, nullable=False),
    sa.CheckConstraint(f"length(packed) <= {SNAPSHOT_BYTES}"),
    sa.Index("snapshots_of", "story"),
    sqlite_strict=True,
)

choices = numbered_table(
    metadata,
    "choices",
    whole("version", sa.ForeignKey("versions.number")),
    whole("nth"),
    whole("words"),
    sa.UniqueConstraint("version", "nth"),
)

asides = numbered_table(
    metadata,
    "asides",
    whole("story", sa.ForeignKey("stories.number")),
    whole("at"),
    whole("words"),  # question and answer
    sa.Index("asides_of", "story"),
)

chapters = numbered_table(
    metadata,
    "chapters",
    whole("branch", sa.ForeignKey("branches.number")),
    whole("from_seq"),
    whole("words"),  # title, place, scenario and direction
    sa.Index("chapters_of", "branch", "from_seq"),
)

conclusions = numbered_table(  # that a branch came to; the nearest one in a lineage counts
    metadata,
    "conclusions",
    whole("chapter", sa.ForeignKey("chapters.number")),
    whole("branch", sa.ForeignKey("branches.number")),
    whole("seq"),
    text("status"),
    whole("words"),  # the summary
    one_of("status", CHAPTER_STATUSES),
    sa.UniqueConstraint("chapter", "branch"),
    sa.Index("conclusions_of", "branch"),
)

milestones = numbered_table(
    metadata,
    "milestones",
    whole("chapter", sa.ForeignKey("chapters.number")),
    whole("nth"),
    whole("words"),
    sa.UniqueConstraint("chapter", "nth"),
)

met = numbered_table(  # milestones met, or again ahead, in a version; the last one in a lineage counts
    metadata,
    "met",
    whole("milestone", sa.ForeignKey("milestones.number")),
    whole("version", sa.ForeignKey("versions.number")),
    whole("is_met"),
    sa.CheckConstraint("is_met IN (0, 1)"),
    sa.Index("met_of", "milestone"),
    sa.Index("met_in", "version"),
)

members = numbered_table(
    metadata,
    "members",
    whole("story", sa.ForeignKey("stories.number")),
    text("kind"),
    text("called"),  # a digest of its name
    whole("words"),  # name, look and voice
    whole("revision"),
    one_of("kind", CAST_KINDS),
    sa.UniqueConstraint("story", "called"),
)

states = numbered_table(
    metadata,
    "states",
    whole("story", sa.ForeignKey("stories.number")),
    whole("branch", sa.ForeignKey("branches.number")),
    whole("seq"),
    whole("version", sa.ForeignKey("versions.number"), null=True),  # none for one that a hand has set
    whole("about"),  # a digest of entity and field
    whole("counts"),  # whether its version is active; kept by a trigger
    text("field"),
    text("setter"),
    whole("locked"),
    one_of("field", FIELDS),
    one_of("setter", SETTERS),
    sa.CheckConstraint("counts IN (0, 1)"),
    sa.CheckConstraint("locked IN (0, 1)"),
    sa.CheckConstraint("locked = 0 OR setter = 'hand'"),
    sa.Index("states_at", "branch", "seq", "about", **where(COUNTS)),
    sa.Index("states_about", "story", "about"),
    sa.Index("states_locked", "story", "about", **where("locked = 1")),
    sa.Index("states_in", "version", **where("version IS NOT NULL")),
)

state_words = sa.Table(
    "state_words",
    metadata,
    _numbered_by("state"),
    whole("story"),
    text("entity"),
    text("value"),
    sa.Index("state_words_of", "story"),
    sqlite_strict=True,
)

scene_log = numbered_table(  # scenes that an index has to read again, in their order; filled by triggers
    metadata,
    "scene_log",
    whole("story"),
    whole("scene"),
    sa.Index("scene_log_of", "story", "number"),
    followed=True,
)

moves = moves_of(metadata)

_PLACED = "FROM scenes s JOIN branches b ON b.number = s.branch WHERE s.number = NEW.scene"
_HOLE = (
    f"NEW.status = 'active' AND NOT EXISTS (SELECT 1 {_PLACED} AND (s.seq = b.cut + 1 OR EXISTS ("
    "SELECT 1 FROM scenes p JOIN versions v ON v.scene = p.number"
    " WHERE p.branch = s.branch AND p.seq = s.seq - 1 AND v.status = 'active')))"
)
_NOT_LAST = (
    f"OLD.status <> NEW.status AND EXISTS (SELECT 1 {_PLACED} AND (EXISTS ("
    "SELECT 1 FROM scenes n JOIN versions v ON v.scene = n.number"
    " WHERE n.branch = s.branch AND n.seq > s.seq AND v.status = 'active')"
    " OR EXISTS (SELECT 1 FROM branches c WHERE c.parent = s.branch AND c.cut >= s.seq)))"
)
_LOG = f"INSERT INTO scene_log (story, scene) SELECT b.story, s.number {_PLACED}"


def _word_triggers(table: str, change: str) -> tuple[Trigger, Trigger]:
    """Return the triggers that let rows of words only be emptied. `change` is true where a word is not emptied."""
    return (
        Trigger(
            name=f"{table}_kept", table=table, event="BEFORE DELETE", refusal="words are emptied, not deleted"
        ),
        Trigger(
            name=f"{table}_frozen",
            table=table,
            event="BEFORE UPDATE",
            when=change,
            refusal="words do not change",
        ),
    )


TRIGGERS = (
    Trigger(
        name="versions_moves",
        table="versions",
        event="BEFORE UPDATE OF status",
        when="OLD.status <> NEW.status AND NOT EXISTS (SELECT 1 FROM moves WHERE a = OLD.status AND b = NEW.status)",
        refusal="a version does not move so",
    ),
    Trigger(
        name="versions_begin",
        table="versions",
        event="BEFORE INSERT",
        when="NEW.status <> 'active'",
        refusal="a version does not begin so",
    ),
    Trigger(
        name="versions_follow",
        table="versions",
        event="BEFORE INSERT",
        when=_HOLE,
        refusal="a scene follows another",
    ),
    Trigger(
        name="versions_pick",
        table="versions",
        event="BEFORE UPDATE OF status",
        when=f"OLD.status <> NEW.status AND {_HOLE}",
        refusal="a scene follows another",
    ),
    Trigger(
        name="versions_last",
        table="versions",
        event="BEFORE UPDATE OF status",
        when=_NOT_LAST,
        refusal="only the last scene of a branch changes",
    ),
    Trigger(
        name="versions_count",
        table="versions",
        event="AFTER UPDATE OF status",
        follow_up=f"UPDATE states SET counts = CASE WHEN NEW.{IS_ACTIVE} THEN 1 ELSE 0 END WHERE version = NEW.number",
    ),
    Trigger(name="versions_told", table="versions", event="AFTER INSERT", follow_up=_LOG),
    Trigger(name="versions_moved", table="versions", event="AFTER UPDATE OF status", follow_up=_LOG),
    Trigger(
        name="conclusions_moves",
        table="conclusions",
        event="BEFORE UPDATE OF status",
        when="OLD.status <> NEW.status AND NOT EXISTS (SELECT 1 FROM moves WHERE a = OLD.status AND b = NEW.status)",
        refusal="a chapter does not move so",
    ),
    *_word_triggers("words", "NEW.text <> '' OR NEW.story <> OLD.story"),
    *_word_triggers("version_words", "NEW.text <> '' OR NEW.directive <> '' OR NEW.story <> OLD.story"),
    *_word_triggers("state_words", "NEW.entity <> '' OR NEW.value <> '' OR NEW.story <> OLD.story"),
    *_word_triggers("branches", "NEW.name <> OLD.name AND NEW.name <> ''"),
    *_word_triggers("snapshots", "NEW.packed <> x'' OR NEW.story <> OLD.story"),
)


def fill(connection: sa.Connection, now: int) -> None:
    """Write the rows that belong to the schema, in a write transaction."""
    fill_moves(connection, moves, MOVES)


def make_digest(*names: str) -> str:
    """Return the digest by which names are compared: without regard to case and outer blanks."""
    joined = "\0".join(name.strip().casefold() for name in names)
    return hashlib.blake2b(joined.encode("utf-8", "replace"), digest_size=16).hexdigest()


def number_digest(*names: str) -> int:
    """Return a digest as `make_digest` does, as a number of 63 bits: what stands in many rows is compared sooner so."""
    return int(make_digest(*names)[:16], 16) >> 1


_AT_WORK: Final = "SELECT owner FROM claims"


def _list_owners(connection: sa.Connection) -> list[str]:
    return [owner for (owner,) in connection.exec_driver_sql(_AT_WORK)]


def _free_claims(connection: sa.Connection, owners: Collection[str], now: int) -> None:
    if owners:
        connection.execute(sa.delete(claims).where(claims.c.owner.in_(owners)))


def _move_claims(connection: sa.Connection, owner: str, to: str) -> None:
    connection.execute(sa.update(claims).where(claims.c.owner == owner).values(owner=to))


STORIES = DatabaseContents(
    file=FILE,
    name="stories",
    unusable="stories cannot be kept in {data}: {why}",
    instead="choose another place with --data DIR",
    steps=STORY_STEPS,
    tables=metadata,
    triggers=TRIGGERS,
    fill=fill,
    server_tables=server_metadata,
    owned=OwnerFunctions(
        at_work=_list_owners,
        settle=_free_claims,
        move=_move_claims,
        prune=lambda connection, now, since: since,
        find_work=lambda version: _AT_WORK,
        folder="tellers",
    ),
)
