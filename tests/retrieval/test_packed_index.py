"""An index is kept for the next start: it tells the same, takes over what changes, and no state of it does harm."""

import gc
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from agent.embedding.tokens import TokenSplitter
from agent.retrieval import index_folders as places
from agent.retrieval.cache import FOLDER, Cache
from agent.retrieval.effort import Effort
from agent.retrieval.folder import FolderReader
from agent.retrieval.folder_cache import FolderCache
from agent.retrieval.index_folders import OwnPlace, remove_unused, restore_copy, save_copy
from agent.retrieval.load import FILE_BYTES, Skipped, SourceFile, read_file
from agent.retrieval.meaning import KnowledgeEmbedder
from agent.retrieval.search import KnowledgeBase

from ..examples import sample
from .test_cache import cut, data, embedding, file_of, kb, start, told
from .test_meaning import Served, must

__all__ = ("cut", "data", "kb")  # fixtures


@pytest.fixture(autouse=True)
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose words an index was built of, since that was last looked at; every index is worth keeping."""
    names: list[str] = []
    real = FolderCache.collect_terms

    def noted(self: FolderCache, read: object) -> object:
        names.append("built")
        return real(self, read)  # type: ignore[arg-type]

    monkeypatch.setattr(FolderCache, "collect_terms", noted)
    monkeypatch.setattr("agent.retrieval.folder._SMALL", 0)
    monkeypatch.setattr("agent.retrieval.folder._GONE_SHARE", 1000)
    return names


def around(data: Path) -> Path:
    """Return where the files of tantivy are."""
    return file_of(data).with_suffix("")


def plain(kb: Path) -> KnowledgeBase:
    """Return what a server tells that keeps nothing."""
    return must(FolderReader(kb).update())


def test_a_later_start_builds_no_index(kb: Path, data: Path, cut: list[str], built: list[str]) -> None:
    """It tells the same; a later change is taken over, and does not touch what is kept."""
    first = start(kb, data)
    assert built == ["built"]
    (before,) = [path for path in around(data).iterdir() if path.name.startswith("kept-")]
    was = places.digest_files(before)
    cut.clear()
    built.clear()
    reader = FolderReader(kb, None, FolderCache(Cache(data, kb)))
    knowledge = must(reader.update())
    assert told(knowledge) == told(first) == told(plain(kb))
    assert (knowledge.statement_count, knowledge.topics("en")) == (first.statement_count, first.topics("en"))
    assert built == ["built"]  # by the plain one
    assert cut == ["kb/d.md"] + [f"kb/{name}" for name in ("a.md", "b.md", "c.txt", "d.md")]
    (kb / "a.md").write_text("A gnu.\n")
    assert must(reader.update()).find_hits("gnu", "en", 1, 0)
    assert told(knowledge) == told(first)
    assert places.digest_files(before) == was


def test_what_changed_between_two_starts_is_taken_over(kb: Path, data: Path, cut: list[str]) -> None:
    """A changed, a new and a removed file; also by the start after that."""
    start(kb, data)
    (kb / "a.md").write_text("A quagga, and stripes.\n")
    (kb / "e.md").write_text("Another zebra.\n")
    (kb / "c.txt").unlink()
    cut.clear()
    second = start(kb, data)
    assert cut == ["kb/a.md", "kb/d.md", "kb/e.md"]
    cut.clear()
    third = start(kb, data)
    assert cut == ["kb/d.md"]
    for knowledge in (second, third):
        assert {passage.file for passage in knowledge.passages} == {"kb/a.md", "kb/b.md", "kb/e.md"}
        said = {hit.snippet.plain_text for hit in knowledge.find_hits("zebra quagga", "en", 9, 0)}
        assert {"A quagga, and stripes.", "Another zebra."} <= said
        assert not knowledge.find_hits("kronor", "sv", 9, 0.5)


@pytest.mark.parametrize(("share", "anew"), [(0.05, True), (1000, False)])
def test_what_is_kept_is_written_anew_when_much_has_changed(
    kb: Path, data: Path, built: list[str], monkeypatch: pytest.MonkeyPatch, share: float, anew: bool
) -> None:
    """While a server runs; after a start whatever has changed, so that nothing that is gone is kept for long."""
    monkeypatch.setattr("agent.retrieval.folder_cache._LATER", share)
    reader = FolderReader(kb, None, FolderCache(Cache(data, kb)))
    must(reader.update())
    reader.write_cache(Effort())
    (was,) = around(data).glob("kept-*")
    (kb / "a.md").write_text("A gnu.\n")
    changed = must(reader.update())
    reader.write_cache(Effort())
    assert was.exists() is not anew
    built.clear()
    assert told(start(kb, data)) == told(changed)
    assert (built == []) is anew
    assert not was.exists()


def test_what_cannot_be_read_now_is_not_told_from_the_last_start(
    kb: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever took a file's permission away, and started anew, is right."""
    start(kb, data)

    def fails(folder: Path, path: str, limit: int = FILE_BYTES) -> SourceFile | Skipped | None:
        if path.endswith("a.md"):
            return Skipped("kb/a.md", "cannot be read: permission denied", passing=True)
        return read_file(folder, path, limit)

    monkeypatch.setattr("agent.retrieval.folder.read_file", fails)
    knowledge = start(kb, data)
    assert [skipped.file for skipped in knowledge.skipped] == ["kb/a.md"]
    assert {passage.file for passage in knowledge.passages} == {"kb/b.md", "kb/c.txt"}


def _no_folder(data: Path) -> None:
    shutil.rmtree(around(data))


def _cut_off(data: Path) -> None:
    path = max(around(data).glob("kept-*/*"), key=lambda each: each.stat().st_size)
    path.write_bytes(path.read_bytes()[:-1])


def _letter(data: Path) -> None:
    path = next(around(data).glob("kept-*/*.term"))
    content = path.read_bytes()
    path.write_bytes(content[:20] + bytes([content[20] ^ 1]) + content[21:])


def _row(change: str) -> Callable[[Path], None]:
    def spoil(data: Path) -> None:
        with closing(sqlite3.connect(file_of(data))) as connection, connection:
            connection.execute(f"UPDATE wholes SET {change}")

    return spoil


@pytest.mark.parametrize(
    "spoil",
    sample(
        [
            _letter,
            _no_folder,
            _cut_off,
            _row("content = zeroblob(9)"),
            _row("place = '../elsewhere'"),
            _row("place = 7"),
            _row("told = x'00'"),
            _row("key = x'00'"),
        ],
        4,
    ),
)
def test_a_damaged_index_is_built_anew(
    kb: Path, data: Path, built: list[str], spoil: Callable[[Path], None]
) -> None:
    """Of what is kept of the files; the start after that takes it again."""
    first = start(kb, data)
    spoil(data)
    built.clear()
    assert told(start(kb, data)) == told(first)
    assert built == ["built"]
    built.clear()
    assert told(start(kb, data)) == told(first)
    assert built == []


def test_it_is_of_one_model(kb: Path, data: Path, built: list[str]) -> None:
    """With its vectors, which are not made again."""
    served = Served()
    with_vectors = embedding(served)
    first = start(kb, data, with_vectors)
    assert first.has_vectors
    asked = len(served.asked)
    built.clear()
    again: KnowledgeEmbedder = embedding(served)
    second = start(kb, data, again)
    assert (second.has_vectors, built) == (True, [])
    assert len(served.asked) == asked
    start(kb, data)
    assert built == ["built"]


def test_a_later_start_splits_no_word_into_tokens(
    kb: Path, data: Path, static: KnowledgeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Splitting the words of a large folder took longer than all else of such a start."""
    monkeypatch.setattr("agent.embedding.static._FEW", 0)
    split: list[str] = []
    real = TokenSplitter.split

    def noted(self: TokenSplitter, text: str) -> list[int]:
        split.append(text)
        return real(self, text)

    monkeypatch.setattr(TokenSplitter, "split", noted)
    first = start(kb, data, static.for_another_base())
    near = told(first)
    for _ in range(2):
        split.clear()
        second = FolderReader(
            kb, (meaning := static.for_another_base()), FolderCache(Cache(data, kb), meaning)
        ).update()
        assert split == []
        assert told(must(second)) == near


def test_two_servers_of_one_folder_do_not_touch_each_other(kb: Path, data: Path) -> None:
    """Each changes its own copy; when they are gone, only what is kept is there."""
    start(kb, data)
    one, two = (FolderReader(kb, None, FolderCache(Cache(data, kb))) for _ in range(2))
    first, second = must(one.update()), must(two.update())
    (kb / "a.md").write_text("A gnu.\n")
    changed = must(one.update())
    one.write_cache(Effort())
    assert changed.find_hits("gnu", "en", 1, 0)
    assert told(second) == told(first)
    (kb / "a.md").write_text("A kudu.\n")
    assert must(two.update()).find_hits("kudu", "en", 1, 0)
    assert changed.find_hits("gnu", "en", 1, 0)
    assert len([path for path in around(data).iterdir() if path.is_dir()]) == 3
    del one, two, first, second, changed
    gc.collect()
    assert [path.name[:5] for path in around(data).iterdir()] == ["kept-"]


def test_what_a_crash_left_is_removed_and_what_is_in_use_stays(tmp_path: Path) -> None:
    """It is told by its lock, which the system lets go of."""
    (tmp_path / "own-crashed").mkdir()
    (tmp_path / "own-crashed" / "meta.json").write_text("{}")
    (tmp_path / "own-crashed.lock").touch()
    used = OwnPlace(tmp_path)
    (used.path / "meta.json").write_text("{}")
    name, sum_of = save_copy(used)
    other, _ = save_copy(used)
    remove_unused(tmp_path, name)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [name, used.path.name, f"{used.path.name}.lock"]
    )
    assert other != name
    copy = restore_copy(tmp_path, name, sum_of)
    assert copy is not None
    assert (copy.path / "meta.json").read_text() == "{}"
    assert restore_copy(tmp_path, name, b"other") is None
    del used, copy
    remove_unused(tmp_path)
    assert not tmp_path.exists()


def test_without_hard_links_files_are_copied(
    kb: Path, data: Path, built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a place that cannot be made leaves the index in memory."""

    def none(*given: object) -> None:
        raise PermissionError(1, "not here")

    first = start(kb, data)
    with monkeypatch.context() as then:
        then.setattr("os.link", none)
        built.clear()
        assert told(start(kb, data)) == told(first)
        assert built == []
    shutil.rmtree(data / FOLDER)
    monkeypatch.setattr(places, "_acquire_lock", none)
    assert told(start(kb, data)) == told(first)


def test_no_collection_looks_at_what_the_knowledge_base_holds(tmp_path: Path, data: Path) -> None:
    """However many sections there are, read now or by the last start."""
    kb = tmp_path / "many"
    kb.mkdir()
    (kb / "a.md").write_text(
        "\n\n".join([f"# H{at}\n\nA zebra of {at} and\n\n- it{at}" for at in range(300)])
    )
    readers = []
    for _ in range(2):
        gc.collect()
        before = len(gc.get_objects())
        reader = FolderReader(kb, None, FolderCache(Cache(data, kb)))
        knowledge = must(reader.update())
        reader.write_cache(Effort())
        gc.collect()
        assert len(knowledge.passages) == 300
        assert len(gc.get_objects()) - before < 150
        readers.append((reader, knowledge))
