"""The operator's synonyms: what they find, what is no such file, and when a changed file takes effect."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from agent.lexical.synonyms import Synonyms
from agent.retrieval import folder as module
from agent.retrieval.folder import FolderReader, Update
from agent.retrieval.search import KnowledgeBase
from agent.retrieval.synonyms import BYTES, NAME, read_synonyms


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"price \xff", "is not UTF-8 (byte 6)"),
        (b"x " * BYTES, f"is larger than {BYTES} bytes"),
        (None, "link"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, data: bytes | None, reason: str) -> None:
    """The search goes on without synonyms."""
    (tmp_path / "a.md").write_text("A zebra.")
    if data is None:
        (tmp_path / NAME).symlink_to(tmp_path / "a.md")
    else:
        (tmp_path / NAME).write_bytes(data)
    found, (skipped,) = read_synonyms(tmp_path)
    assert found == Synonyms()
    assert skipped.file == f"kb/{NAME}"
    assert reason in skipped.reason
    update = FolderReader(tmp_path).update()
    assert update is not None
    assert update.left_out == update.knowledge.skipped == (skipped,)
    assert update.knowledge.statement_count == 1


def test_no_file_is_no_synonyms(tmp_path: Path) -> None:
    """And nothing to tell."""
    assert read_synonyms(tmp_path) == (Synonyms(), ())


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    """A folder with a file, and synonyms for what it says."""
    (tmp_path / "a.md").write_text("# A\n\nThe zebra lives here.\n\n# B\n\nThe okapi lives there.\n")
    (tmp_path / NAME).write_text("pony zebra\n")
    return tmp_path


def must(update: Update | None) -> Update:
    """Return an update that there is."""
    assert update is not None
    return update


def rank(knowledge: KnowledgeBase) -> list[str]:
    """Return what a word that stands in no document finds."""
    hits = knowledge.find_hits("pony", "en", 9, 0)
    return [hit.snippet.plain_text for hit in hits if hit.score > 0.5 * hits[0].score]


ZEBRA, OKAPI = ["The zebra lives here."], ["The okapi lives there."]


@pytest.mark.parametrize("small", [0, 500])
def test_a_changed_file_takes_effect_and_the_snapshot_before_stays(
    kb: Path, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it goes, and whether an index is built anew or not; written again with the same words it is none."""
    monkeypatch.setattr(module, "_SMALL", small)
    monkeypatch.setattr(module, "_GONE_SHARE", 1000)
    reader = FolderReader(kb)
    one = must(reader.update())
    (kb / NAME).write_text("pony okapi\n")
    two = must(reader.update())
    assert (two.changed, two.left_out) == (1, ())
    (kb / NAME).write_text("# the same\npony okapi\n")
    assert reader.update() is None
    (kb / NAME).unlink()
    three = must(reader.update())
    assert reader.update() is None
    assert [rank(each.knowledge) for each in (one, two, three)] == [ZEBRA, OKAPI, []]
    assert rank(one.knowledge) == ZEBRA


def test_a_file_that_breaks_is_named_once_and_mended_is_back(kb: Path) -> None:
    """What it said before does not hold any more."""
    reader = FolderReader(kb)
    must(reader.update())
    (kb / NAME).write_bytes(b"\xff")
    broken = must(reader.update())
    assert [skipped.file for skipped in broken.left_out] == [f"kb/{NAME}"]
    assert reader.update() is None
    (kb / "b.md").write_text("A gnu.")
    other = must(reader.update())
    assert (other.left_out, [skipped.file for skipped in other.knowledge.skipped]) == ((), [f"kb/{NAME}"])
    (kb / NAME).write_text("pony zebra\n")
    mended = must(reader.update())
    assert (mended.left_out, mended.knowledge.skipped) == ((), ())


def test_a_file_that_breaks_where_there_was_none_is_named(tmp_path: Path) -> None:
    """Though the synonyms are the same, which is none."""
    (tmp_path / "a.md").write_text("A zebra.")
    reader = FolderReader(tmp_path)
    must(reader.update())
    (tmp_path / NAME).write_bytes(b"\xff")
    assert [skipped.file for skipped in must(reader.update()).left_out] == [f"kb/{NAME}"]


def test_synonyms_that_cannot_be_read_for_a_moment_stay(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a document; it is worth another look."""
    reader = FolderReader(kb)
    must(reader.update())
    opened = os.open

    def refuse(path: Any, *more: Any, **options: Any) -> int:
        if os.fspath(path).endswith(NAME):
            raise OSError(errno.EIO, "Broken", path)
        return opened(path, *more, **options)

    with monkeypatch.context() as broken:
        broken.setattr(os, "open", refuse)
        update = must(reader.update())
        assert [skipped.reason for skipped in update.left_out] == [
            "cannot be read: broken; its last content stays in use"
        ]
        assert rank(update.knowledge) == ZEBRA
        assert reader.needs_retry
        assert rank(must(reader.restart().update()).knowledge) == ZEBRA
    assert must(reader.update()).knowledge.skipped == ()
    assert not reader.needs_retry
