"""The tables of stories; the rules that the database itself enforces on their rows are in `story_contents.py`.

Words stand in `words`, `version_words`, `state_words`, `snapshots` and `branches` and nowhere else; other tables refer
to them by number. SQLite overwrites deleted data (`PRAGMA secure_delete`), but leaves copies of rows behind in pages
that it splits or merges. Rows of these five tables come at the end, only ever get shorter, and are never deleted: so
their pages are neither split nor merged, and emptied words are in no file once the log is truncated. Names are compared
by digests.
"""

import hashlib

import sqlalchemy as sa

from ...ports.stories import BRANCH_DEPTH, SCENE_BYTES, SNAPSHOT_BYTES
from ..columns import moves_of, numbered_table, one_of, text, where, whole
from ..dialect import NUMBER

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


def make_digest(*names: str) -> str:
    """Return the digest by which names are compared: without regard to case and outer blanks."""
    joined = "\0".join(name.strip().casefold() for name in names)
    return hashlib.blake2b(joined.encode("utf-8", "replace"), digest_size=16).hexdigest()


def number_digest(*names: str) -> int:
    """Return a digest as `make_digest` does, as a number of 63 bits: what stands in many rows is compared sooner so."""
    return int(make_digest(*names)[:16], 16) >> 1
