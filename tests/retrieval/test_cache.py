"""What was read is kept for the next start: what is taken from it is the same, and no state of it does harm."""

import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import trio
import trio.testing

import agent
from agent.compose.knowledge import Knowledge
from agent.config import MEMORY
from agent.errors import GivenUp
from agent.lexical.meanings import VocabularyMeanings
from agent.retrieval import cache as module
from agent.retrieval.cache import BASES, FOLDER, MODELS, Cache, code_digest
from agent.retrieval.effort import Effort
from agent.retrieval.entries import CachedKeys, CacheEntry
from agent.retrieval.folder import FolderReader
from agent.retrieval.folder_cache import FolderCache
from agent.retrieval.load import SourceFile, load_documents
from agent.retrieval.matrix import SectionMatrix
from agent.retrieval.matrix import unpack_rows as rows_of
from agent.retrieval.meaning import KnowledgeEmbedder
from agent.retrieval.packed_sections import pack_sections, unpack_sections
from agent.retrieval.read import passages_of
from agent.retrieval.search import KnowledgeBase
from agent.retrieval.terms import terms_of
from agent.settings import Settings
from agent.testing.network import inline
from tests.examples import sample

from . import warned
from .test_live_knowledge import Hints
from .test_meaning import Served, must

QUESTIONS = ("zebra", "What does the plan cost?", "quagga", "stripes")
ANEW = "cache of the knowledge base is damaged, making it anew"
LOST = "cache of the knowledge base cannot be written, the next start reads all files"


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    """A folder with four files of different kinds."""
    folder = tmp_path / "kb"
    folder.mkdir()
    (folder / "a.md").write_text(
        "# A\n\nThese have stripes:\n\n- the zebra\n- the okapi\n\n## B\n\n> A quagga.\n"
    )
    (folder / "b.md").write_text("| Plan | Price |\n| - | - |\n| Small | 299 kr |\n\n```\ncode = 1\n```\n")
    (folder / "c.txt").write_text("Priset för planen är 300 kronor.")
    (folder / "d.md").write_text("# Only a heading\n")
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder that is not there yet."""
    return tmp_path / "data"


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are cut into sections, since that was last looked at."""
    names: list[str] = []

    def noted(source: SourceFile, effort: Effort) -> object:
        names.append(source.file)
        return passages_of(source, effort)

    monkeypatch.setattr("agent.retrieval.folder.passages_of", noted)
    return names


def start(
    kb: Path, data: Path, meaning: KnowledgeEmbedder | None = None, effort: Effort | None = None
) -> KnowledgeBase:
    """Do what a server does: read everything, and keep it."""
    reader = FolderReader(kb, meaning, FolderCache(Cache(data, kb), meaning))
    knowledge = must(reader.update())
    reader.write_cache(effort or Effort())
    return knowledge


def told(knowledge: KnowledgeBase) -> list[tuple[object, ...]]:
    """Return everything that is told of some questions, and how surely; passages by what they hold."""
    return [
        tuple([(hit.snippet, hit.passage.headings, hit.passage.lang, hit.score) for hit in hits])
        for question in QUESTIONS
        for lang in ("en", "sv")
        for hits in [knowledge.find_hits(question, lang, 9, 0)]
    ]


def file_of(data: Path) -> Path:
    (found,) = (data / FOLDER).glob("*.sqlite")
    return found


def count(data: Path, table: str = "files") -> int:
    with closing(sqlite3.connect(file_of(data))) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_a_later_start_reads_only_what_changed(kb: Path, data: Path, cut: list[str]) -> None:
    """It tells the same, and holds the same, as one that reads everything."""
    first = start(kb, data)
    assert sorted(cut) == ["kb/a.md", "kb/b.md", "kb/c.txt", "kb/d.md"]
    cut.clear()
    later = start(kb, data)
    assert cut == ["kb/d.md"]  # it holds nothing that could be kept
    assert told(later) == told(first) == told(KnowledgeBase.build(load_documents(kb).sources))
    cut.clear()
    (kb / "a.md").write_text("A gnu.")
    (kb / "c.txt").rename(kb / "e.txt")
    assert told(start(kb, data)) == told(KnowledgeBase.build(load_documents(kb).sources))
    assert sorted(cut) == ["kb/a.md", "kb/d.md", "kb/e.txt"]
    assert count(data) == 3


def test_sections_come_back_as_they_were() -> None:
    """Of every document of the shipped knowledge base: each snippet is equal, and what is shared is shared."""
    for source in load_documents(Path(__file__).parents[2] / "kb").sources:
        passages = passages_of(source)
        assert isinstance(passages, tuple)
        terms = terms_of(passages, Effort())
        content = pack_sections(passages, terms)
        assert content is not None
        found = unpack_sections(source.file, content)
        assert found is not None
        assert found[1] == terms
        for one, other in zip(passages, found[0], strict=True):
            assert (one.file, one.headings, one.lang, one.snippets) == (
                other.file,
                other.headings,
                other.lang,
                other.snippets,
            )
            assert all(each.headings is other.headings for each in other.snippets)


def test_what_utf_8_cannot_hold_is_not_kept(kb: Path, data: Path) -> None:
    """Half of a character, in whatever text."""
    half = SourceFile.of("kb/a.md", "A zebra.")
    passages = passages_of(half)
    assert isinstance(passages, tuple)
    terms = terms_of(passages, Effort())
    assert pack_sections(passages, type(terms)(["\ud800"], terms.sections)) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xc1",
        b"\x94\x90\x90\x90\x92\x90\x90",
        b"\x94\x90\x90\x91\x93\x05\xa2en\x90\x92\x90\x90",
    ],
)
def test_what_does_not_fit_together_is_not_taken(content: bytes) -> None:
    """Also when its checksum is right; an empty file is one that fits."""
    found = unpack_sections("kb/a.md", content)
    assert found is None or found[0] == ()


@pytest.mark.parametrize(
    "spoil",
    sample(
        [
            lambda content: b"",
            lambda content: b"not a database" * 1000,
            lambda content: content[:100],
            lambda content: content[: len(content) // 2],
            lambda content: content[:-1],
            lambda content: content[:100] + bytes(len(content) - 100),
            lambda content: content.replace(b"zebra", b"zebru"),
            lambda content: content.replace(b"\x04zebra", b"\xc1zebra").replace(b"okapi", b"okap\xff"),
            lambda content: content[:60] + b"\0\0\0\x09" + content[64:],  # another format
        ],
        3,
    ),
    ids=["empty", "foreign", "head", "half", "last byte", "zeros", "a letter", "encoding", "format"],
)
@pytest.mark.parametrize("size", [1, pytest.param(20, marks=pytest.mark.proof)])
def test_a_damaged_cache_is_made_anew(kb: Path, data: Path, cut: list[str], spoil: object, size: int) -> None:
    """Nothing wrong is told, at most one line is logged, and the start after that takes everything from it."""
    for at in range(size - 1):
        (kb / f"x{at:03}.md").write_text(f"A zebra of number {at} looks like an okapi. " * 15)
    first = start(kb, data)
    path = file_of(data)
    path.write_bytes(spoil(path.read_bytes()))  # type: ignore[operator]
    with warned() as events:
        second = start(kb, data)
    assert told(second) == told(first)
    assert set(events) <= {ANEW, "cache of the knowledge base cannot be read"}
    cut.clear()
    assert told(start(kb, data)) == told(first)
    assert cut == ["kb/d.md"]


def test_one_damaged_entry_costs_one_file(kb: Path, data: Path, cut: list[str]) -> None:
    """The others are taken; it is written again."""
    start(kb, data)
    with closing(sqlite3.connect(file_of(data))) as connection, connection:
        connection.execute("UPDATE files SET content = zeroblob(9) WHERE rowid = 2")
    cut.clear()
    with warned() as events:
        start(kb, data)
    assert events == [ANEW]
    assert len(cut) == 2


def test_another_version_reads_everything_itself(
    kb: Path, data: Path, cut: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What other code has read is not taken, and not kept beside its own."""
    start(kb, data)
    cut.clear()
    monkeypatch.setattr(module, "code_digest", lambda: b"another")
    start(kb, data)
    assert len(cut) == 4
    assert count(data) == 3


def test_a_version_is_told_by_its_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every line of what reads, and the versions of the parsers."""
    copy = tmp_path / "agent" / "retrieval"
    copy.mkdir(parents=True)
    monkeypatch.setattr(module, "__file__", str(copy / "cache.py"))
    (copy / "read.py").write_text("one")
    hashes = {code_digest()}
    (copy / "read.py").write_text("two")
    hashes.add(code_digest())
    (copy / "stop_en.txt").write_text("the")
    hashes.add(code_digest())
    monkeypatch.setattr(module, "version", lambda name: "99")
    hashes.add(code_digest())
    monkeypatch.setattr(module, "FORMAT", 99)
    hashes.add(code_digest())
    assert len(hashes) == 5


def test_a_version_is_told_by_all_code_that_reading_needs() -> None:
    """Every room that one of them imports is among them, but for what errors are called and where it is done."""
    root = Path(agent.__file__).parent
    sources = [path for part in module._CODE for path in (root / part).glob("*.py")]
    named = re.compile(r"^from (?:agent|\.)\.(\w+)", re.MULTILINE)
    needed = {name for path in sources for name in named.findall(path.read_text(encoding="utf-8"))}
    assert needed - {"errors", "sandbox", "sandboxed"} <= {
        part.partition("/")[0].removesuffix(".py") for part in module._CODE
    }


def test_what_is_no_longer_there_is_dropped(kb: Path, data: Path) -> None:
    """With its vectors; and the caches of the knowledge bases that were used least."""
    served = Served()
    start(kb, data, embedding(served))
    (kb / "a.md").unlink()
    start(kb, data, embedding(served))
    assert (count(data), count(data, "vectors")) == (2, 2)
    for at in range(BASES + 2):
        start(kb, data / "of many")
        kb = kb.rename(kb.with_name(f"kb{at}"))
    assert len(list((data / "of many" / FOLDER).iterdir())) == BASES


def embedding(served: Served) -> KnowledgeEmbedder:
    """Return the vectors of a served model, as a server that starts has them."""
    return KnowledgeEmbedder(served, served.encode, None, SectionMatrix, VocabularyMeanings, unpacked=rows_of)


def test_vectors_are_kept_for_each_model(kb: Path, data: Path) -> None:
    """They are not made again, whichever of some models is used; of more, those that were used last are kept."""
    for name in ("one", "two", "one", "two"):
        served = Served()
        served.name = name
        knowledge = start(kb, data, embedding(served))
        assert knowledge.has_vectors
        made = served.asked
        assert [text for text, _ in made] == [] or count(data, "vectors") in (3, 6)
    assert made == []
    for at in range(MODELS + 1):
        served = Served()
        served.name = f"more {at}"
        start(kb, data, embedding(served))
    assert count(data, "vectors") == 3 * MODELS


def test_vectors_of_another_length_are_not_taken(kb: Path, data: Path) -> None:
    """As when a model changes what it gives and not its name."""
    start(kb, data, embedding(Served()))
    served = Served()
    served.dimension = 8
    start(kb, data, embedding(served))
    assert len(served.asked) == 4


def test_a_disk_that_cannot_be_written_to_hurts_nobody(
    kb: Path, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Full, or a folder that is none: it is said once, and everything is read each time."""
    data.write_text("a file")
    with warned() as events:
        assert told(start(kb, data)) == told(KnowledgeBase.build(load_documents(kb).sources))
    assert events == [LOST]
    data.unlink()

    def full(connection: sqlite3.Connection, entry: CacheEntry) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    reader = FolderReader(kb, memory=FolderCache(Cache(data, kb)))
    assert reader.update()
    with monkeypatch.context() as disk, warned() as events:
        disk.setattr(module, "_insert", full)
        reader.write_cache(Effort())
        reader.write_cache(Effort())
    assert events == [LOST]
    assert count(data) == 0
    reader.write_cache(Effort())  # there is room again
    assert count(data) == 3


def test_two_servers_share_one_data_folder(
    kb: Path, data: Path, cut: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who writes while another one does writes the next time; who reads then reads the documents."""
    monkeypatch.setattr(module, "_PATIENCE", 0.0)
    one, other = (FolderReader(kb, memory=FolderCache(Cache(data, kb))) for _ in range(2))
    assert one.update()
    assert other.update()
    one.write_cache(Effort())
    (kb / "a.md").write_text("A gnu.")
    assert other.update()
    with closing(sqlite3.connect(file_of(data), isolation_level=None)) as busy:
        busy.execute("BEGIN EXCLUSIVE")
        with warned() as events:
            other.write_cache(Effort())
            cut.clear()
            knowledge = must(FolderReader(kb, memory=FolderCache(Cache(data, kb))).update())
        assert len(cut) == 4
        assert events == [LOST, "cache of the knowledge base cannot be read"]
    other.write_cache(Effort())
    one.write_cache(Effort())
    cut.clear()
    assert told(start(kb, data)) == told(knowledge)
    assert cut == ["kb/d.md"]


def test_writing_is_given_up_at_any_entry(kb: Path, data: Path, cut: list[str]) -> None:
    """Of what was being written nothing is there, and the next one writes all of it."""
    cache = Cache(data, kb)
    effort = Effort()

    def entries(held: CachedKeys) -> Iterator[CacheEntry]:
        for at in range(9):
            yield CacheEntry(bytes([at]), b"content")
            if at == 5:
                effort.give_up()

    with pytest.raises(GivenUp):
        cache.write(entries, "", [bytes([at]) for at in range(9)], effort)
    assert count(data) == 0
    start(kb, data)
    assert count(data) == 3


def test_only_this_user_may_read_it(kb: Path, data: Path) -> None:
    """It holds what the documents hold."""
    start(kb, data)
    assert (data / FOLDER).stat().st_mode & 0o077 == 0
    assert file_of(data).stat().st_mode & 0o077 == 0


async def test_a_server_keeps_what_it_reads(
    kb: Path, data: Path, cut: list[str], autojump_clock: trio.testing.MockClock
) -> None:
    """At its start and after each change, in its data folder; one without a folder keeps nothing."""
    for where in (str(data), str(data), MEMORY):
        cut.clear()
        hints = Hints()
        settings = Settings.of(kb=kb, data=where, vectors="off")
        knowledge = Knowledge(settings=settings, run_sync=inline, watch=hints)
        await knowledge.read()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(knowledge.keep)
            (kb / "c.txt").write_text("A gnu.")
            await hints.tell()
            nursery.cancel_scope.cancel()
    assert sorted(cut) == ["kb/a.md", "kb/b.md", "kb/c.txt", "kb/d.md"]
    cut.clear()
    start(kb, data)
    assert cut == ["kb/d.md"]


@pytest.mark.proof
def test_a_thread_that_writes_ends_soon(kb: Path, data: Path) -> None:
    """Given up at any moment, it stops within a tenth of a second of its CPU, and nothing of it is there."""
    from threading import Timer  # noqa: PLC0415
    from time import thread_time  # noqa: PLC0415

    for at in range(60):
        (kb / f"x{at}.md").write_text("".join(f"A zebra of number {at} {line}.\n\n" for line in range(400)))
    reader = FolderReader(kb, memory=FolderCache(Cache(data, kb)))
    assert reader.update()
    for delay in (0.0, 0.01, 0.05, 0.1):
        effort, ended = Effort(), [0.0]

        def give_up(effort: Effort = effort) -> None:
            effort.give_up()

        began = thread_time()
        Timer(delay, give_up).start()
        try:
            reader.write_cache(effort)
        except GivenUp:
            ended.append(thread_time() - began)
        assert ended[-1] < delay + 0.1
        if file_of(data).exists():
            assert count(data) in (0, 63)


_WRITES = """
import resource, sys
from pathlib import Path
from agent.retrieval.cache import Cache
from agent.retrieval.entries import IndexEntry

cache = Cache(Path(sys.argv[1]), Path(sys.argv[2]))
whole = IndexEntry(b"key", b"x" * (32 << 20), "kept-0", b"told")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert cache.write_index(whole)
with cache.open_reader() as reading:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    assert reading.find_index(b"key") == whole
"""


@pytest.mark.proof
def test_an_index_is_kept_without_a_copy(kb: Path, data: Path) -> None:
    """32 MB are written with less than 8 more, also when they take the place of others, and are there as they were."""
    for _ in range(2):
        command = [sys.executable, "-c", _WRITES, str(data), str(kb)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        assert int(done.stdout) < 8 << 10
