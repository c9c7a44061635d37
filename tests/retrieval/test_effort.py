"""What reading may cost: linear in a file, bounded per file, and ended at any look when nobody waits for it."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from time import thread_time

import pytest

from agent.config import FILE_LINES, PASSAGE_SNIPPETS
from agent.retrieval import effort as module
from agent.retrieval.check import check
from agent.retrieval.chunk import chunk
from agent.retrieval.effort import Effort, GivenUp, TooMuch
from agent.retrieval.folder import Folder
from agent.retrieval.load import Document
from agent.retrieval.search import KnowledgeBase
from agent.retrieval.vocabulary import Vocabulary

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

    def look(self) -> None:
        """Look."""
        self.looks += 1
        if self.looks == self.last:
            self.give_up()
        super().look()


@pytest.mark.parametrize("make", [table, items], ids=["table", "list"])
def test_a_row_costs_as_much_in_a_long_table_as_in_a_short_one(make: Callable[[int], str]) -> None:
    """Twice 4,000 rows take seconds of CPU when each looks back to the first."""
    text = make(4000)
    began = thread_time()
    pieces = chunk("kb/prices.md", text)
    assert thread_time() - began < 0.9
    assert len(pieces) == 4001
    assert pieces[-1].context == ("Prices . article . price" if make is table else "All articles:")


def test_a_long_part_is_several_passages_that_know_their_header() -> None:
    """What a turn looks through of a passage is bounded."""
    pieces = chunk(
        "kb/prices.md", table(2 * PASSAGE_SNIPPETS) + "\nText.\n\n" + TABLE.replace("price", "cost")
    )
    passages = list(dict.fromkeys(piece.passage for piece in pieces))
    assert [len(passage.snippets) for passage in passages] == [PASSAGE_SNIPPETS] * 2 + [2, 1]
    assert [[header.text for header in passage.headers] for passage in passages] == [
        ["| article | price |"], ["| article | price |"], ["| article | price |"], ["| article | cost |"]
    ]  # fmt: skip
    assert {passage.headings for passage in passages} == {("Prices",)}


@pytest.mark.parametrize(
    ("text", "context"),
    [
        ("Both:\n\n- one\n  - inner\n- two\n", "Both:"),
        ("Both:\n\n- one\n\n  Inner:\n  - inner\n", "Inner:"),
        ("Both:\n\n***\n\n- one\n", ""),
        ("Both:\n\n> - one\n", ""),
        ("Both:\n\n- one\n\n  two\n", ""),
    ],
)
def test_an_item_is_led_into_by_the_line_before_its_own_list(text: str, context: str) -> None:
    """Also the one after an inner list, and by no line before something else."""
    assert chunk("kb/a.md", text)[-1].context == context


def test_what_stands_above_a_row_is_bounded() -> None:
    """Headings and a header as long as the file are not kept with each of its rows."""
    name = "name " * 2000
    rows = "".join(f"| {n} | x |\n" for n in range(10))
    pieces = chunk("kb/a.md", f"# {name}\n\n## {name}\n\n| {name} | b |\n| --- | --- |\n{rows}")
    assert max(len(piece.above) + len(piece.context) for piece in pieces) < 1200
    assert max(len(heading) for heading in pieces[-1].passage.headings) <= 200


def test_a_file_over_a_bound_is_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many lines, or too much CPU: the others are served, and every command says why."""
    (tmp_path / "a.md").write_text("A zebra.")
    (tmp_path / "long.md").write_text("\n" * FILE_LINES)
    update = Folder(tmp_path).update()
    assert update
    (skipped,) = update.left_out
    assert (skipped.file, skipped.reason) == ("kb/long.md", f"has more than {FILE_LINES} lines; split it")
    assert [(found.kind, found.files, found.words) for found in check(tmp_path)] == [
        ("oversized", ("kb/long.md",), skipped.reason)
    ]
    (tmp_path / "long.md").write_text(table(200))
    clock = iter(range(100))
    monkeypatch.setattr(module, "thread_time", lambda: 30 * next(clock))
    update = Folder(tmp_path).update()
    assert update
    assert [skipped.reason for skipped in update.left_out] == ["takes more than 20 s to read; split it"]
    assert update.knowledge.snippets == 1


def test_the_bound_is_that_of_one_file() -> None:
    """What other files take, and what comes after the cutting, does not count."""
    effort = Effort()

    def look_on() -> None:
        for _ in range(100):
            effort.look()

    with effort.one_file(seconds=0), pytest.raises(TooMuch):
        look_on()
    look_on()


def test_reading_ends_at_any_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the reader is at when it is given up, the next one reads everything, on nothing half built."""
    monkeypatch.setattr("agent.retrieval.folder._SMALL", 0)
    monkeypatch.setattr("agent.retrieval.folder._GONE_SHARE", 1000)
    (tmp_path / "a.md").write_text("A zebra.\n")
    (tmp_path / "b.md").write_text("An okapi.\n")
    reader = Folder(tmp_path, len)
    assert reader.update()
    (tmp_path / "a.md").write_text("A quagga.\n\n| a |\n| - |\n")
    whole = Counted()
    assert reader.anew().update((), whole)
    looks = 0
    for last in range(1, 3 * whole.looks):
        other = reader.anew()
        other._index = reader._index  # as if it were the same reader, which writes to the same index
        try:
            other.update((), Counted(last))
        except GivenUp:
            looks += 1
            reader = other.anew()
            update = reader.update()
            assert update
            words = ("zebra", "quagga", "okapi")
            assert [len(update.knowledge.find(word, "en", 9, 0)) for word in words] == [0, 1, 1]
            (tmp_path / "a.md").write_text(f"A quagga{'.' * last}\n\n| a |\n| - |\n")
        else:
            break
    assert looks > 20


@pytest.mark.parametrize(
    "text", [table(30_000), "x y\n" * 90_000, "1 2 3 " * 600_000], ids=["rows", "lines", "line"]
)
@pytest.mark.proof
def test_a_thread_that_reads_ends_soon(text: str) -> None:
    """Given up at any moment, the reading of a large file stops within a tenth of a second of its CPU."""
    for delay in (0.0, 0.02, 0.1, 0.3, 0.7, 1.2):
        effort = Effort()
        took: list[float] = []

        def read(effort: Effort = effort, took: list[float] = took) -> None:
            try:
                chunk("kb/a.md", text, effort)
            except GivenUp:
                took.append(thread_time())

        thread = threading.Thread(target=read)
        thread.start()
        time.sleep(delay)
        effort.give_up()
        began = time.perf_counter()
        thread.join()
        if took:
            assert time.perf_counter() - began < 0.5, delay


def test_an_unknown_word_costs_little_among_many_that_begin_alike() -> None:
    """Only so many are compared, and the nearest are among them."""
    vocabulary = Vocabulary("sv")
    vocabulary.add([f"artikelbeteckning{n}" for n in range(20_000)] + ["artikelbeteckningarna"])
    vocabulary.settle()
    began = thread_time()
    found = vocabulary.variants("artikelbeteckningarmo")
    assert thread_time() - began < 0.05
    assert found[0].word == "artikelbeteckningarna"


def test_a_knowledge_base_of_documents_leaves_out_what_is_over_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It says so, as a folder does."""
    monkeypatch.setattr("agent.retrieval.chunk.FILE_LINES", 2)
    knowledge = KnowledgeBase.build([Document("kb/a.md", "A\n\nzebra"), Document("kb/b.md", "A zebra.")])
    assert [skipped.file for skipped in knowledge.skipped] == ["kb/a.md"]
    assert knowledge.snippets == 1
