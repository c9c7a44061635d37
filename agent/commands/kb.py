"""`agent kb`: commands that look after a knowledge base."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from .. import log
from ..config import MEMORY, USER_DATA
from ..embedding.open import open_meaning
from ..errors import UsageError
from ..host import WorkerThreads
from ..retrieval.cache import Cache
from ..retrieval.check import check_knowledge as look_over
from ..retrieval.foreign import open_foreign_files
from ..retrieval.live_knowledge import LiveKnowledge
from ..storage.open import cache_folder
from ..text.terminal import printable_line
from .output import FAILED, OK, REFUSED, complain, write

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


@command.command
async def embed(
    *,
    kb: Folder = Path("kb"),
    data: Annotated[
        str, Parameter(env_var="AGENT_DATA", help="The server's data folder, or user for your own.")
    ] = USER_DATA,
    vectors: Annotated[str, Parameter(env_var="AGENT_VECTORS", help="As for `agent serve`.")] = "minilm",
    vectors_url: Annotated[
        str | None, Parameter(env_var="AGENT_VECTORS_URL", help="As for `agent serve`.")
    ] = None,
) -> int:
    """Make the vectors of all sections beforehand, and keep them in the data folder,
    so that a server that is started there with the same `--vectors` has them.

    It prints how far it is. Broken off, it goes on there the next time. Exit
    status: 0 all sections have vectors, 1 a served model gave none, 2 a mistake.

    Example: agent kb embed --kb docs --data data --vectors minilm
    """
    if data == MEMORY:
        raise UsageError("vectors in memory end with this command: name the server's folder with --data DIR")
    log.configure("console", "warning")
    run_sync = WorkerThreads()
    meaning = await open_meaning(vectors, vectors_url, run_sync)
    if meaning is None:
        raise UsageError(f"vectors {vectors} makes none: name a kind, such as --vectors minilm")
    meaning.on_progress = lambda done, total: write(f"{done:,} of {total:,} sections\n")
    with open_foreign_files() as foreign:
        live = await LiveKnowledge.open(kb, run_sync, meaning, Cache(cache_folder(data), kb), foreign=foreign)
        await live.embed_all()
    if not live.now.has_vectors:
        complain("the model gave no vectors: the line above says why")
        return FAILED
    write(f"all sections of {kb} have vectors\n")
    return OK
