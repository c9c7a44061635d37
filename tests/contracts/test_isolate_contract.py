"""What answers for files of others: the process that a server has, and what stands in for it in tests."""

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from agent.errors import GivenUp
from agent.ports.work import Isolate
from agent.retrieval.effort import Effort
from agent.retrieval.foreign import ForeignFiles, open_foreign_files
from agent.retrieval.load import Skipped, SourceFile
from agent.testing.network import InProcess
from tests.documents.office import a_docx, a_pdf, an_empty_pdf


@pytest.fixture(params=[InProcess, None], ids=["in process", "sandbox"], scope="module")
def files(request: pytest.FixtureRequest) -> Iterator[ForeignFiles]:
    make: Callable[[], Isolate] | None = request.param
    with open_foreign_files(make() if make is not None else None) as made:
        made.start()
        yield made


@pytest.mark.parametrize(
    ("name", "data"), [("a.pdf", a_pdf()), ("a.docx", a_docx()), ("a.rst", b"A\n=\n\nb c.\n")]
)
def test_a_file_is_read_as_it_would_be_here(files: ForeignFiles, name: str, data: bytes) -> None:
    """Sections, words and blocks are the same, wherever they are made."""
    source = SourceFile(f"kb/{name}", data)
    here = ForeignFiles(InProcess())
    found, expected = files.read_sections(source, Effort()), here.read_sections(source, Effort())
    assert not isinstance(found, Skipped)
    assert not isinstance(expected, Skipped)
    assert found[1] == expected[1]
    assert [(each.headings, each.snippets) for each in found[0]] == [
        (each.headings, each.snippets) for each in expected[0]
    ]
    assert files.read_document(source, Effort()) == here.read_document(source, Effort())


def test_why_a_file_is_left_out_is_told(files: ForeignFiles) -> None:
    """In the words of its reader."""
    expected = Skipped("kb/a.pdf", "holds no text (scanned pages need OCR first)")
    assert files.read_sections(SourceFile("kb/a.pdf", an_empty_pdf()), Effort()) == expected
    assert files.read_document(SourceFile("kb/a.pdf", an_empty_pdf()), Effort()) == expected


def test_an_effort_that_was_given_up_reads_nothing(files: ForeignFiles) -> None:
    """And one that reads has begun."""
    effort = Effort()
    assert files.text_of("a.md", "", b"A word.", effort).text == "A word."
    assert effort.begun
    effort.give_up()
    with pytest.raises(GivenUp):
        files.text_of("a.md", "", b"A word.", effort)


@pytest.mark.parametrize("make", [InProcess, None])
def test_after_its_end_nothing_is_read(make: Callable[[], Isolate] | None) -> None:
    """Closed twice, and though it was never needed."""
    with open_foreign_files(make() if make is not None else None) as made, closing(made):
        pass
    with pytest.raises(GivenUp):
        made.read_sections(SourceFile("kb/a.pdf", b""), Effort())
