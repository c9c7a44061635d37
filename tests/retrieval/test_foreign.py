"""Files of others: which are read in a process of their own, and what becomes of those that it does not survive."""

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.errors import BadDocument, SandboxFailed, SandboxKilled
from agent.ports.projects import DocumentText
from agent.retrieval import foreign as module
from agent.retrieval.check import check_knowledge
from agent.retrieval.effort import Effort
from agent.retrieval.folder import FolderReader
from agent.retrieval.foreign import FOREIGN_BYTES, ForeignFiles, is_foreign
from agent.retrieval.load import Skipped, SourceFile
from agent.testing.network import InProcess

from ..documents.office import a_pdf
from ..logs import logged

LIMITS = "could not be read within its limits"
BROKEN = b"%PDF: this one ends its process"


class Fragile(InProcess):
    """Ends over what is broken. asked: how often it was asked; failing: it cannot be asked now."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = self.started = 0
        self.failing = False

    def start(self) -> None:
        self.started += 1

    def ask(
        self,
        request: bytes,
        seconds: float,
        look: Callable[[], object],
        begin: Callable[[], object] = lambda: None,
    ) -> bytes:
        if self.failing:
            raise SandboxFailed("no process can be started")
        self.asked += 1
        if BROKEN in request:
            raise SandboxKilled("the process has ended")
        return super().ask(request, seconds, look, begin)


@pytest.fixture
def isolate() -> Fragile:
    return Fragile()


@pytest.fixture
def files(isolate: Fragile) -> ForeignFiles:
    return ForeignFiles(isolate)


def test_what_others_parse_and_what_is_long_is_foreign() -> None:
    """Whatever the case of a suffix; a file of exactly the bound is read where it is."""
    assert all(is_foreign(name, 1) for name in ("a.PDF", "kb/b.docx", "a.rst"))
    assert not any(is_foreign(name, 1) for name in ("a.md", "a.mdx", "a.html", "a.txt"))
    assert not is_foreign("a.md", FOREIGN_BYTES)
    assert is_foreign("a.md", FOREIGN_BYTES + 1)


def test_what_ended_a_process_is_not_tried_again_until_it_changes(
    isolate: Fragile, files: ForeignFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the folder and sent, by its content and kind; those that were met last are known."""
    for _ in range(2):
        assert files.read_sections(SourceFile("kb/a.pdf", BROKEN), Effort()) == Skipped("kb/a.pdf", LIMITS)
    assert files.read_document(SourceFile("kb/b.pdf", BROKEN), Effort()) == Skipped("kb/b.pdf", LIMITS)
    assert isolate.asked == 1
    assert isinstance(files.read_sections(SourceFile("kb/a.pdf", BROKEN + b"!"), Effort()), Skipped)
    assert isolate.asked == 2
    for _ in range(2):
        with pytest.raises(BadDocument) as told:
            files.text_of("a.pdf", "", BROKEN, Effort())
        assert told.value.code == "unreadable"
    assert isolate.asked == 3
    monkeypatch.setattr(module, "FOREIGN_KILLERS", 1)
    files.read_sections(SourceFile("kb/a.docx", BROKEN), Effort())
    files.read_sections(SourceFile("kb/a.pdf", BROKEN), Effort())
    assert isolate.asked == 5


def test_a_log_line_names_no_file_that_was_sent(files: ForeignFiles) -> None:
    """Only why: of the folder the name is told where it is left out."""
    with logged() as lines, pytest.raises(BadDocument):
        files.text_of("annas salary.pdf", "", BROKEN, Effort())
    assert "ended the reader process" in lines.getvalue()
    assert "anna" not in lines.getvalue()


def test_a_reply_that_is_none_counts_as_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a process says that was taken over."""
    for reply in (b"", b"\x00", b"\x92\xa8sections\xc4\x01\xff"):
        monkeypatch.setattr("agent.testing.network.answer_request", lambda _, reply=reply: reply)
        files = ForeignFiles(InProcess())
        assert files.read_sections(SourceFile("kb/a.pdf", b""), Effort()) == Skipped("kb/a.pdf", LIMITS)


def test_short_texts_of_projects_are_read_here(
    isolate: Fragile, files: ForeignFiles, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each was read within the limits when it came; long ones are read there again."""
    monkeypatch.setattr(module, "FOREIGN_TEXT", 100)
    short = DocumentText("1", "FACTS", "a.md", "# A\n\nOne word.\n")
    assert not isinstance(files.sections_of_text(short, Effort()), Skipped)
    assert isolate.asked == 0
    long = DocumentText("1", "FACTS", "a.md", "# A\n\n" + "One word. " * 10)
    found = files.sections_of_text(long, Effort())
    assert not isinstance(found, Skipped)
    assert (isolate.asked, found[0].file) == (1, "docs/a.md")


def test_the_folder_is_read_without_a_process_where_none_is_needed(tmp_path: Path, isolate: Fragile) -> None:
    """Nor is one begun to be started."""
    (tmp_path / "a.md").write_text("A zebra.")
    assert FolderReader(tmp_path, foreign=ForeignFiles(isolate)).update()
    assert (isolate.started, isolate.asked) == (0, 0)


def test_foreign_files_are_read_last_and_stand_in_their_order(tmp_path: Path, isolate: Fragile) -> None:
    """The process starts meanwhile; one that ends it is left out, and what cannot be read now is tried again."""
    (tmp_path / "a.pdf").write_bytes(a_pdf())
    (tmp_path / "b.md").write_text("A zebra.")
    (tmp_path / "c.pdf").write_bytes(BROKEN)
    (tmp_path / "d.md").write_text("An okapi.")
    told: list[tuple[int, int]] = []
    isolate.failing = True
    reader = FolderReader(tmp_path, foreign=ForeignFiles(isolate))
    first = reader.update(progress=lambda *far: told.append(far))
    assert first
    assert told == [(0, 4), (0, 4), (1, 4), (1, 4), (2, 4), (3, 4)]
    assert isolate.started == 1
    assert [(each.file, each.reason, each.passing) for each in first.left_out] == [
        (f"kb/{name}.pdf", "cannot be read: no process can be started", True) for name in ("a", "c")
    ]
    assert reader.needs_retry
    isolate.failing = False
    update = reader.update()
    assert update
    assert [each.file for each in update.knowledge.passages if each.file != "kb/a.pdf"] == [
        "kb/b.md",
        "kb/d.md",
    ]
    assert update.knowledge.passages[0].file == "kb/a.pdf"
    assert update.left_out == (Skipped("kb/c.pdf", LIMITS),)
    assert not reader.needs_retry
    assert reader.update() is None
    isolate.failing = True
    update = reader.update([str(tmp_path / "a.pdf")])
    assert update is None  # its content is the same
    (tmp_path / "a.pdf").write_bytes(a_pdf() + b"\n")
    update = reader.update()
    assert update
    (skipped,) = update.left_out
    assert skipped.reason.endswith("its last content stays in use")
    assert update.knowledge.of_file("kb/a.pdf")


def test_without_a_process_such_files_are_left_out(tmp_path: Path) -> None:
    """They are never read here."""
    (tmp_path / "a.pdf").write_bytes(a_pdf())
    (tmp_path / "b.md").write_text("A zebra.")
    update = FolderReader(tmp_path).update()
    assert update
    assert [each.file for each in update.left_out] == ["kb/a.pdf"]


def test_a_look_over_a_folder_reads_foreign_files_there(
    tmp_path: Path, files: ForeignFiles, isolate: Fragile
) -> None:
    """One that ends it is a finding."""
    (tmp_path / "a.pdf").write_bytes(a_pdf())
    (tmp_path / "b.md").write_text("A zebra.")
    (tmp_path / "c.pdf").write_bytes(BROKEN)
    report = check_knowledge(tmp_path, files.read_whole)
    assert [(each.kind, each.files, each.words) for each in report.findings] == [
        ("unreadable", ("kb/c.pdf",), LIMITS)
    ]
    assert (report.read.files, isolate.asked) == (2, 2)
    assert not isinstance(files.passages_of(SourceFile("kb/b.md", b"A zebra.")), Skipped)
    assert not isinstance(files.passages_of(SourceFile("kb/a.pdf", a_pdf())), Skipped)
