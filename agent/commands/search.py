"""`agent search`: searches the knowledge base for a question, without a server or a model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import trio
from cyclopts import Parameter

from ..embedding.open import open_meaning
from ..host import WorkerThreads
from ..lang import DEFAULT, Lang
from ..ports.search import Hit
from ..retrieval.foreign import open_foreign_files
from ..retrieval.load import load_documents
from ..retrieval.search import KnowledgeBase
from ..retrieval.synonyms import read_synonyms
from ..text.language import detect_language
from ..text.terminal import printable, printable_line
from .output import OK, write, write_line
from .questions import QuestionLine, check_search, check_vectors, read_questions

Folder = Annotated[Path, Parameter(env_var="AGENT_KB", help="Folder of the knowledge base's documents.")]


class _SearchHit(msgspec.Struct):
    """A hit as JSON; `lines` are the first and the last line of the snippet, counted from 1."""

    file: str
    score: float
    lines: tuple[int, int]


class _SearchHits(msgspec.Struct, kw_only=True):
    """The hits for one question, best first."""

    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    hits: list[_SearchHit]


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
    """Search the knowledge base as a turn of the server does: a section that is too
    far from the question is no hit, so nothing may be found.

    With `--json` each question gives one line:
      {"id": ..., "hits": [{"file": "kb/a.md", "score": 0.9, "lines": [3, 4]}]}
    `lines`: the first and the last of the snippet. `id`: that of the line in
    `--queries`; a question given here has none.

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
        Language of the questions; by default each is detected from its words.
    floor
        How sure the best hit must be for anything to be found, 0 to 1; 0 ranks
        all matches. By default the floor of a turn of the server.
    vectors
        As for `agent serve`: auto, off, static, minilm or bert:FOLDER.
    """
    check_search(text, queries, k, floor)
    check_vectors("agent search", vectors)
    loaded = load_documents(kb)
    synonyms, _ = read_synonyms(kb)
    meaning = trio.run(open_meaning, vectors, None, WorkerThreads(1))
    with open_foreign_files() as foreign:
        passages = foreign.passages_of
        knowledge = KnowledgeBase.build(loaded.sources, loaded.skipped, synonyms, meaning, passages)
    for query in read_questions(text, queries):
        query_lang = lang or detect_language(query.text) or DEFAULT
        vector = trio.run(knowledge.embed_question, query.text, query_lang)
        hits = knowledge.find_hits(query.text, query_lang, k, floor, vector)
        if json:
            write_line(msgspec.json.encode(_answer(query, hits)))
        else:
            heading = "" if queries is None else _heading(query)
            write(heading + ("".join(map(_for_people, hits)) or "nothing found\n"))
    return OK


def _answer(query: QuestionLine, hits: Sequence[Hit]) -> _SearchHits:
    found = [
        _SearchHit(hit.snippet.file, round(hit.score, 4), (hit.snippet.first, hit.snippet.last))
        for hit in hits
    ]
    return _SearchHits(id=query.given_id, hits=found)


def _heading(query: QuestionLine) -> str:
    """Return the line above a question's hits: its given id, and the question."""
    id = bytes(query.id).decode("utf-8", "replace")
    return printable_line(f"{id} {' '.join(query.text.split())}") + "\n"


def _for_people(hit: Hit) -> str:
    """Return a hit as lines for people: score, place, and the snippet under them."""
    snippet = hit.snippet
    last = f"-{snippet.last}" if snippet.last > snippet.first else ""
    place = f"{printable_line(snippet.file)}:{snippet.first}{last}"
    lines = printable(snippet.text).split("\n")
    return f"{hit.score:.2f}  {place}\n" + "".join(f"      {line}\n" for line in lines)
