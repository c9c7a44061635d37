"""Reading a folder of documents: what is taken, what is skipped and why."""

import os
from pathlib import Path

import pytest

from agent.errors import UsageError
from agent.retrieval.check import check_knowledge
from agent.retrieval.folder import FolderReader
from agent.retrieval.load import Skipped, SourceFile, load_documents
from agent.retrieval.read import passages_of


def test_every_document_is_read_in_order(tmp_path: Path) -> None:
    """Files are named by their path below the folder; other kinds and hidden folders are left alone."""
    (tmp_path / "sv").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "b.md").write_text("B\n")
    (tmp_path / "a.MD").write_bytes(b"\xef\xbb\xbfA")
    (tmp_path / "sv" / "c.md").write_text("å", encoding="utf-8")
    (tmp_path / "sv" / "c.HTM").write_text("<p>c")
    (tmp_path / "notes.txt").write_text("n")
    (tmp_path / "table.csv").write_text("no")
    (tmp_path / ".git" / "d.md").write_text("no")
    loaded = load_documents(tmp_path)
    assert loaded.sources == (
        SourceFile("kb/a.MD", b"\xef\xbb\xbfA"),
        SourceFile.of("kb/b.md", "B\n"),
        SourceFile.of("kb/notes.txt", "n"),
        SourceFile.of("kb/sv/c.HTM", "<p>c"),
        SourceFile.of("kb/sv/c.md", "å"),
    )
    assert loaded.skipped == ()


def test_line_ends_are_kept(tmp_path: Path) -> None:
    """A file is not changed by reading it."""
    (tmp_path / "a.md").write_bytes(b"one\r\ntwo\rthree\n")
    assert load_documents(tmp_path).sources[0].data == b"one\r\ntwo\rthree\n"


def test_what_cannot_be_used_is_named(tmp_path: Path) -> None:
    """A file that is too large, a link or no file at all is skipped with its reason."""
    (tmp_path / "good.md").write_text("good")
    (tmp_path / "large.md").write_text("x" * 101)
    (tmp_path / "link.md").symlink_to(tmp_path / "good.md")
    os.mkfifo(tmp_path / "pipe.md")
    loaded = load_documents(tmp_path, limit=100)
    assert [source.file for source in loaded.sources] == ["kb/good.md"]
    assert loaded.skipped == (
        Skipped("kb/large.md", "is larger than 100 bytes"),
        Skipped("kb/link.md", "is a symbolic link"),
        Skipped("kb/pipe.md", "is not a regular file"),
    )


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    """Nothing outside the folder is read, and it is named, once; so it is by a server and by a check."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("secret")
    (tmp_path / "kb").mkdir()
    (tmp_path / "kb" / "a.md").write_text("a")
    (tmp_path / "kb" / "more").symlink_to(tmp_path / "outside")
    loaded = load_documents(tmp_path / "kb")
    assert [source.file for source in loaded.sources] == ["kb/a.md"]
    assert loaded.skipped == (Skipped("kb/more/", "is a symbolic link"),)
    reader = FolderReader(tmp_path / "kb")
    update = reader.update()
    assert update
    assert (update.knowledge.skipped, update.left_out) == (loaded.skipped, loaded.skipped)
    assert not reader.needs_retry
    assert reader.update() is None
    assert [(each.kind, each.words) for each in check_knowledge(tmp_path / "kb").findings] == [
        ("unreadable", "is a symbolic link")
    ]


def test_a_file_that_goes_away_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that cannot be opened or read is named with the system's reason."""
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "b.md").write_text("b")
    opened = os.open

    def refuse(path: str, flags: int) -> int:
        if path.endswith("a.md"):
            raise PermissionError(13, "Permission denied")
        return opened(path, flags)

    monkeypatch.setattr(os, "open", refuse)
    assert load_documents(tmp_path).skipped == (Skipped("kb/a.md", "cannot be read: permission denied"),)


def test_a_name_that_is_not_utf8_can_still_be_sent(tmp_path: Path) -> None:
    """Bytes in a name that are not UTF-8 become replacement marks."""
    try:
        Path(os.fsdecode(bytes(tmp_path) + b"/\xff.md")).write_text("x")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert load_documents(tmp_path).sources[0].file == "kb/\ufffd.md"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (None, "does not exist"),
        ("file", "is not a folder"),
        ("empty", "holds no documents"),
        ("broken", "holds no documents (1 could not be read)"),
    ],
)
def test_a_folder_without_documents_is_a_usage_error(tmp_path: Path, make: str | None, words: str) -> None:
    """The error is one line that names the folder and says how to point to one."""
    folder = tmp_path / "kb"
    if make == "file":
        folder.write_text("x")
    elif make:
        folder.mkdir()
        if make == "broken":
            os.mkfifo(folder / "a.md")
    with pytest.raises(UsageError) as caught:
        load_documents(folder)
    message = str(caught.value)
    assert words in message
    assert str(folder) in message
    assert "--kb" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.md", b"abc\xff", "is not UTF-8 (byte 3)"),
        ("a.pdf", b"no", "is not a PDF"),
        ("a.docx", b"no", "is not a DOCX"),
    ],
)
def test_a_file_that_is_not_what_it_says_is_named_when_it_is_read(
    name: str, data: bytes, reason: str
) -> None:
    """It was loaded, and gives no sections."""
    read = passages_of(SourceFile(f"kb/{name}", data))
    assert isinstance(read, Skipped)
    assert read.file == f"kb/{name}"
    assert read.reason.startswith(reason)


def test_the_synonyms_beside_the_documents_are_none(tmp_path: Path) -> None:
    """Only at the top of the folder; another file of that name is a text."""
    (tmp_path / "a.md").write_text("a")
    (tmp_path / "synonyms.txt").write_text("price cost")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "synonyms.txt").write_text("Words that mean the same.")
    assert [source.file for source in load_documents(tmp_path).sources] == ["kb/a.md", "kb/sub/synonyms.txt"]
