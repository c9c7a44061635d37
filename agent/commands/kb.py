"""`agent kb`: commands that look after a knowledge base."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from ..retrieval.check import check_knowledge as look_over
from ..retrieval.foreign import open_foreign_files
from ..text.terminal import printable_line
from .output import OK, REFUSED, write

command = App(name="kb", help="Look after the knowledge base.\n\nExample: agent kb check --kb docs")

Folder = Annotated[Path, Parameter(env_var="AGENT_KB", help="Folder of the knowledge base's documents.")]


@command.command
def check(*, kb: Folder = Path("kb")) -> int:
    """Report files that cannot be read, are empty, too large or the same as
    another, and numbers on which two files contradict each other.

    Two files contradict each other when a row, list item or sentence of one and
    of the other have the same words and the same kinds of numbers, and one
    number differs. Files in different languages are not compared.

    Each finding is one line: its kind, the files (with the line where it is
    about one), and the mistake. Then come how many files, sections and
    statements were read, and how many files were left out and why; that is no
    finding. Exit status: 0 nothing found, 3 findings, 2 there is no such folder.

    Example: agent kb check --kb docs
    """
    with open_foreign_files() as foreign:
        report = look_over(kb, foreign.read_whole)
    for finding in report.findings:
        write(printable_line(f"{finding.kind}: {', '.join(finding.files)}: {finding.words}") + "\n")
    for line in report.read.to_lines():
        write(printable_line(line) + "\n")
    return REFUSED if report.findings else OK
