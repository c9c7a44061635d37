"""`agent search`: what the knowledge base gives for a question, without a server or a model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import trio
from cyclopts import Parameter

from ..embedding.open import open_meaning
from ..errors import UsageError
from ..host import Threads
from ..lang import DEFAULT, Lang
from ..ports.search import Hit
from ..retrieval.foreign import foreign_files
from ..retrieval.load import load
from ..retrieval.search import KnowledgeBase
from ..retrieval.synonyms import read_synonyms
from ..text.language import language
from ..text.terminal import printable, printable_line
from .lines import read_lines
from .output import OK, write, write_line

Folder = Annotated[Path, Parameter(env_var="AGENT_KB", help="Folder of the knowledge base's documents.")]

SERVED = "openai:"
_WANTED = 'write {"id": "...", "text": "..."} on one line'


class _Query(msgspec.Struct):
    """A question of a file; `id` is any JSON value and comes back with the hits."""

    id: msgspec.Raw
    text: str


class _Found(msgspec.Struct):
    """A hit as JSON; `lines` are the first and the last line of the snippet, counted from 1."""

    file: str
    score: float
    lines: tuple[int, int]


class _Answer(msgspec.Struct, kw_only=True):
    """The hits for one question, best first."""

    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    hits: list[_Found]


def search(
    text: str | None = None,
    *,
    kb: Folder = Path("kb"),
    k: Annotated[int, Parameter(name=["-k", "--hits"])] = 10,
    json: Annotated[bool, Parameter(negative=())] = False,
    queries: Path | None = None,
    lang: Lang | None = None,
    floor: float | None = None,
    vectors: Annotated[str, Parameter(env_var="AGENT_VECTORS")] = "auto",
) -> int:
    """Search the knowledge base as a turn of the server does: what is too far from
    the question is no hit, so nothing may be found.

    With --json each question gives one line:
      {"id": ..., "hits": [{"file": "kb/a.md", "score": 0.9, "lines": [3, 4]}]}
    lines: the first and the last of the snippet. id: that of the line in
    --queries; a question given here has none.

    Exit status: 0 searched, whether or not anything was found; 2 there is no
    knowledge base, or a line cannot be read (those before it are answered).

    Example: agent search "how long is the return period" --kb docs -k 3

    Parameters
    ----------
    text
        The question.
    k
        Hits at most, for each question.
    json
        Print JSON lines, for programs.
    queries
        File of JSON lines, {"id": ..., "text": "..."}, to search for one after the other.
    lang
        Language of the questions; without it, each one's own words tell.
    floor
        How sure the best hit must be for anything to be found, 0 to 1; 0 ranks
        whatever matches. By default what a turn of the server takes.
    vectors
        As agent serve takes it: auto, off, static, minilm or bert:FOLDER.
    """
    if (text is None) == (queries is None):
        raise UsageError("give one question, or a file of them with --queries FILE.jsonl")
    if k < 1:
        raise UsageError("-k must be at least 1")
    if floor is not None and not 0 <= floor <= 1:
        raise UsageError("--floor must be 0 to 1")
    if vectors.startswith(SERVED):
        raise UsageError(
            f"agent search asks no model server: {vectors} works with agent serve; here take --vectors auto, off, "
            "static, minilm or bert:FOLDER"
        )
    loaded = load(kb)
    synonyms, _ = read_synonyms(kb)
    meaning = trio.run(open_meaning, vectors, None, Threads(1))
    with foreign_files() as foreign:
        knowledge = KnowledgeBase.build(
            loaded.sources, loaded.skipped, synonyms, meaning, foreign.passages_of
        )
    for query in _asked(text, queries):
        asked = lang or language(query.text) or DEFAULT
        vector = trio.run(knowledge.vector, query.text, asked)
        hits = knowledge.find(query.text, asked, k, floor, vector)
        if json:
            write_line(msgspec.json.encode(_answer(query, hits)))
        else:
            write("" if queries is None else _heading(query))
            write("".join(map(_for_people, hits)) or "nothing found\n")
    return OK


def _asked(text: str | None, queries: Path | None) -> Iterator[_Query]:
    """Yield what is to be searched for."""
    if text is not None:
        yield _Query(msgspec.Raw(), text)
    if queries is not None:
        for _, query in read_lines([queries], _Query, _WANTED):
            yield query


def _answer(query: _Query, hits: Sequence[Hit]) -> _Answer:
    found = [
        _Found(hit.snippet.file, round(hit.score, 4), (hit.snippet.first, hit.snippet.last)) for hit in hits
    ]
    return _Answer(id=query.id if bytes(query.id) else msgspec.UNSET, hits=found)


def _heading(query: _Query) -> str:
    """Return the line above a question's hits: its id, as it was given, and the question."""
    id = bytes(query.id).decode("utf-8", "replace")
    return printable_line(f"{id} {' '.join(query.text.split())}") + "\n"


def _for_people(hit: Hit) -> str:
    """Return a hit as it is read in a terminal: score, place, and the snippet under it."""
    snippet = hit.snippet
    last = f"-{snippet.last}" if snippet.last > snippet.first else ""
    place = f"{printable_line(snippet.file)}:{snippet.first}{last}"
    lines = printable(snippet.text).split("\n")
    return f"{hit.score:.2f}  {place}\n" + "".join(f"      {line}\n" for line in lines)
