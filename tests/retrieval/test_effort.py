"""What reading may cost: linear in a file, bounded per file, and ended at any look when nobody waits for it."""

import gc
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from time import thread_time

import pytest

from agent.errors import GivenUp
from agent.lexical.alike import WordLikeness
from agent.lexical.stems import stem
from agent.lexical.vocabulary import Vocabulary
from agent.retrieval import effort as module
from agent.retrieval.check import check_knowledge
from agent.retrieval.effort import BoundExceeded, Effort
from agent.retrieval.folder import FolderReader
from agent.retrieval.load import FILE_BYTES, SourceFile
from agent.retrieval.search import KnowledgeBase
from agent.retrieval.settings import FILE_LINES

from ..cpu import slowness
from ..examples import sample
from . import sections, statements

TABLE = "# Prices\n\n| article | price |\n| --- | --- |\n"


def table(rows: int) -> str:
    """Return a table of articles and their prices."""
    return TABLE + "".join(f"| A{n} | {n} kr |\n" for n in range(rows))


def items(rows: int) -> str:
    """Return a list with a line that leads into it."""
    return "All articles:\n\n" + "".join(f"- article A{n} costs {n} kr\n" for n in range(rows))


class Counted(Effort):
    """Is given up at its `last` look; counts them."""

    def __init__(self, last: int | None = None) -> None:
        super().__init__()
        self.looks = 0
        self.last = last

    def check(self) -> None:
        """Look."""
        self.looks += 1
        if self.looks == self.last:
            self.give_up()
        super().check()


def quotes(depth: int) -> str:
    """Return quotes in quotes."""
    return "\n".join(">" * at + " zebra" for at in range(depth))


def headings(rows: int) -> str:
    """Return a file with little under each heading."""
    return "".join(f"{'#' * (n % 6 + 1)} H{n}\n\nArticle A{n} costs {n} kr.\n\n" for n in range(rows))


def sentences(count: int) -> str:
    """Return a paragraph on one line."""
    return "A zebra, which is striped, eats nothing but grass. " * count


def links(count: int) -> str:
    """Return a paragraph on one line, of which people see a part only."""
    return "A zebra eats [grass](http://example.com/grass) all day. " * count


def data(count: int) -> str:
    """Return a line of inlined images."""
    return "zebra ![](data:image/png;base64,QUJD) " * count


def header(count: int) -> str:
    """Return a table with as many columns as a line holds."""
    return "| a " * count + "|\n" + "| - " * count + "|\n" + ("| 5 kr " * count + "|\n") * 20


def cpu(text: str) -> float:
    """Return the seconds of this thread's CPU that cutting a file takes."""
    began = thread_time()
    assert statements(text)
    return thread_time() - began


@pytest.mark.parametrize("make", [table, items], ids=["table", "list"])
def test_a_row_costs_as_much_in_a_long_table_as_in_a_short_one(make: Callable[[int], str]) -> None:
    """4,000 rows take seconds of CPU when each looks back to the first."""
    text = make(4000)
    began = thread_time()
    found = statements(text)
    assert thread_time() - began < 0.9
    rows = [each for each in found if each.kind in ("row", "item")]
    assert len(rows) == 4000
    assert rows[-1].plain_text == (
        "A3999; price: 3999 kr" if make is table else "article A3999 costs 3999 kr"
    )
    assert rows[-1].lead == ("" if make is table else "All articles:")
    assert rows[-1].text.startswith("| article | price |\n" if make is table else "- article")


SHAPES = [table, items, quotes, headings, sentences, links, data, header]


@pytest.mark.parametrize("make", sample(SHAPES, 3))
def test_any_shape_of_file_takes_time_by_its_length(make: Callable[[int], str]) -> None:
    """Eight times as much takes about eight times as long, and not 64 times."""
    few, many = make(80), make(640)
    assert cpu(many) < 0.5 + 24 * cpu(few)


def full(make: Callable[[int], str]) -> str:
    """Return a file as large as one may be."""
    each = len(make(1000)) / 1000
    return make(min(45_000, int(FILE_BYTES / each)))


@pytest.mark.proof
@pytest.mark.parametrize(
    "text",
    [
        *(pytest.param(full(make), id=make.__name__) for make in (table, items, sentences, data)),
        pytest.param(headings(20_000), id="headings"),
        pytest.param(quotes(2000), id="quotes"),
        pytest.param("word " * (FILE_BYTES // 5), id="words"),
        pytest.param("1 2 3 " * (FILE_BYTES // 6), id="numbers"),
        pytest.param("x" * FILE_BYTES, id="letters"),
        pytest.param("x1 " * (FILE_BYTES // 3), id="names"),
        pytest.param("```\n" + "x = 5\n" * 90_000 + "```\n", id="code"),
        pytest.param("zebra\n\n" * 45_000, id="paragraphs"),
        pytest.param("[" + ",".join(f'{{"price":{n}}}' for n in range(200_000)) + "]", id="json"),
    ],
)
def test_the_largest_files_are_read_within_their_bound(text: str) -> None:
    """Each in some seconds, so that no shape of file is left out for taking too long."""
    began = thread_time()
    sections(text)
    assert thread_time() - began < 12


def test_a_file_over_a_bound_is_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many lines, or too much CPU: the others are served, and every command says why."""
    (tmp_path / "a.md").write_text("A zebra.")
    (tmp_path / "long.md").write_text("\n" * FILE_LINES)
    update = FolderReader(tmp_path).update()
    assert update
    (skipped,) = update.left_out
    assert (skipped.file, skipped.reason) == ("kb/long.md", f"has more than {FILE_LINES} lines; split it")
    assert [(found.kind, found.files, found.words) for found in check_knowledge(tmp_path).findings] == [
        ("oversized", ("kb/long.md",), skipped.reason)
    ]
    (tmp_path / "long.md").write_text(table(200))
    clock = iter(range(100))
    monkeypatch.setattr(module, "thread_time", lambda: 30 * next(clock))
    update = FolderReader(tmp_path).update()
    assert update
    assert [skipped.reason for skipped in update.left_out] == ["takes more than 20 s to read; split it"]
    assert update.knowledge.statement_count == 1


def test_the_bound_is_that_of_one_file() -> None:
    """What other files take, and what comes after the cutting, does not count."""
    effort = Effort()

    def look_on() -> None:
        for _ in range(100):
            effort.check()

    with effort.limit_file(seconds=0), pytest.raises(BoundExceeded):
        look_on()
    look_on()


def test_reading_ends_at_any_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reader is at when it is given up, the next one reads everything, on nothing half built."""
    monkeypatch.setattr("agent.retrieval.folder._SMALL", 0)
    monkeypatch.setattr("agent.retrieval.folder._GONE_SHARE", 1000)
    (tmp_path / "a.md").write_text("A zebra.\n")
    (tmp_path / "b.md").write_text("An okapi.\n")

    reader = FolderReader(tmp_path)
    assert reader.update()
    rows = "| a |\n| - |\n" + "| b |\n" * 14
    (tmp_path / "a.md").write_text(f"A quagga.\n\n{rows}")
    whole = Counted()
    assert reader.restart().update((), whole)
    looks = 0
    for last in range(1, 3 * whole.looks):
        other = reader.restart()
        other._index = reader._index  # as if it were the same reader, which writes to the same index
        try:
            other.update((), Counted(last))
        except GivenUp:
            looks += 1
            reader = other.restart()
            update = reader.update()
            assert update
            words = ("zebra", "quagga", "okapi")
            found = [update.knowledge.find_hits(word, "en", 1, 0) for word in words]
            assert [[hit.snippet.file for hit in hits] for hits in found] == [[], ["kb/a.md"], ["kb/b.md"]]
            (tmp_path / "a.md").write_text(f"A quagga{'.' * last}\n\n{rows}")
        else:
            break
    assert looks > 20


@pytest.fixture
def no_collections() -> Iterator[None]:
    """Collect no garbage meanwhile: the objects of all tests would be looked at, which a server leaves out."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collections")
@pytest.mark.parametrize(
    "text", [table(30_000), "x y\n" * 90_000, "1 2 3 " * 600_000], ids=["rows", "lines", "line"]
)
@pytest.mark.proof
def test_a_thread_that_reads_ends_soon(text: str) -> None:
    """Given up at any moment, the reading of a large file stops within a quarter of a second of its CPU."""
    for delay in (0.0, 0.02, 0.1, 0.3, 0.7, 1.2):
        effort, clock = Effort(), Future[int]()
        took: list[float] = []

        def read(effort: Effort = effort, clock: Future[int] = clock, took: list[float] = took) -> None:
            clock.set_result(time.pthread_getcpuclockid(threading.get_ident()))
            try:
                sections(text, effort=effort)
            except GivenUp:
                took.append(thread_time())

        thread = threading.Thread(target=read)
        thread.start()
        thread_clock = clock.result()
        time.sleep(delay)
        try:
            given_up_at = time.clock_gettime(thread_clock)
        except OSError:  # the thread has ended, and its clock with it
            given_up_at = 0.0
        effort.give_up()
        thread.join()
        if took:
            assert (took[0] - given_up_at) / slowness() < 0.25, delay


def test_an_unknown_word_costs_little_among_many_that_begin_alike() -> None:
    """Runs of letters that stand in very many words are not looked up; a form of the word is found by its stem."""
    vocabulary = Vocabulary(lambda word: (stem("sv", word),))
    for n in range(20_000):
        vocabulary.add_word(f"artikelbeteckning{n}")
    word = vocabulary.add_word("artikelbeteckningarna")
    alike = WordLikeness(vocabulary)
    began = thread_time()
    assert alike.find_like("artikelbeteckningarnas")[word] == 1.0
    assert thread_time() - began < 0.1


def test_a_knowledge_base_of_documents_leaves_out_what_is_over_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It says so, as a folder does."""
    monkeypatch.setattr("agent.retrieval.read.FILE_LINES", 2)
    knowledge = KnowledgeBase.build(
        [SourceFile.of("kb/a.md", "A\n\nzebra"), SourceFile.of("kb/b.md", "A zebra.")]
    )
    assert [skipped.file for skipped in knowledge.skipped] == ["kb/a.md"]
    assert knowledge.statement_count == 1
