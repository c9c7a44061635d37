"""`agent recall`: what is found of what was said, without a server or a model."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from ..config import MEMORY
from ..embedding.open import open_near
from ..errors import UsageError
from ..host import Threads, WallClock
from ..lang import DEFAULT, Lang
from ..log import silent
from ..ports.conversation import Scope
from ..ports.recall import Excerpt, Search
from ..recall.recall import Recall
from ..storage.memories import FILE
from ..storage.open import ledger_folder, opened_memory
from ..storage.settings import StorageSettings
from ..text.language import language
from ..text.terminal import printable, printable_line
from .lines import read_lines
from .output import OK, complain, write, write_line
from .search import SERVED

_WANTED = 'write {"id": "...", "text": "..."} on one line'


class _Query(msgspec.Struct):
    """A question of a file; `id` is any JSON value and comes back with the hits."""

    id: msgspec.Raw
    text: str


class _Found(msgspec.Struct):
    """A turn or an item as JSON. id: the turn's own in its thread, or the item's. at: ISO 8601, in UTC."""

    id: str
    score: float
    text: str
    at: str
    speaker: str
    thread: str


class _Answer(msgspec.Struct, kw_only=True):
    """What was found for one question, best first."""

    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    hits: list[_Found]


@dataclass(frozen=True)
class Whose:
    """Whose conversations are searched.

    Args:
        project: Project of the conversations: over HTTP its id, over a socket the knowledge base's folder; without it
            those that were imported.
        thread: The one conversation to search; without it all of the user's.
        user: Whose conversations; without it those of nobody who is known.
        speaker: The name of who asks, who is meant by "I"; without it the user.
        lang: Language of the questions; without it, each one's own words tell.
    """

    project: str = ""
    thread: str | None = None
    user: str = ""
    speaker: str = ""
    lang: Lang | None = None

    def search(self, text: str, at: int, k: int, floor: float | None) -> Search:
        """Return a search for a text."""
        return Search(
            text,
            self.lang or language(text) or DEFAULT,
            Scope(self.project, self.thread or "", self.user),
            at,
            k,
            speaker=self.speaker,
            reach="user" if self.thread is None else "thread",
            floor=floor,
        )


async def recall(
    text: str | None = None,
    *,
    data: Annotated[
        str, Parameter(env_var="AGENT_DATA", help="Folder of what is remembered, or user for yours.")
    ],
    whose: Annotated[Whose, Parameter(name="*")] = Whose(),
    k: Annotated[int, Parameter(name=["-k", "--hits"])] = 10,
    json: Annotated[bool, Parameter(negative=())] = False,
    queries: Path | None = None,
    floor: float | None = None,
    vectors: Annotated[str, Parameter(env_var="AGENT_VECTORS")] = "auto",
) -> int:
    """Search what was said, as a turn of the server does: where nothing fits,
    nothing is found.

    With --json, and with --queries, each question gives one line, its best hit first:
      {"id": ..., "hits": [{"id": "D1:3", "score": 0.9, "text": "...",
       "at": "2026-05-03T10:00:00Z", "speaker": "Ann", "thread": "ann"}]}
    score: of the best hit, how surely anything fits. text: of a long turn the part
    that fits best. id: that of the line in --queries; a question given here has none.

    Exit status: 0 searched, whether or not anything was found; 2 nothing is
    remembered there, or a line cannot be read (those before it are answered).

    Example: agent recall "when did Ann move" --data DIR -k 3

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
    floor
        How surely anything must fit for anything to be found, 0 to 1; 0 ranks
        whatever matches. By default what a turn of the server takes.
    vectors
        As agent serve takes it: auto, off, static, minilm or bert:FOLDER. Those of
        the last two are kept for the next call.
    """
    if (text is None) == (queries is None):
        raise UsageError("give one question, or a file of them with --queries FILE.jsonl")
    if k < 1:
        raise UsageError("-k must be at least 1")
    if floor is not None and not 0 <= floor <= 1:
        raise UsageError("--floor must be 0 to 1")
    if vectors.startswith(SERVED):
        raise UsageError(
            "agent recall asks no model server: take --vectors auto, off, static, minilm or bert:FOLDER"
        )
    if data == MEMORY or not (ledger_folder(data) / FILE).is_file():
        raise UsageError("nothing is remembered there: name the folder that a server keeps, its --data DIR")
    clock, threads = WallClock(), Threads(1)
    with silent():
        async with opened_memory(StorageSettings(data), threads, clock) as memory:
            recall = Recall(memory, threads, await open_near(vectors, None, threads, memory))
            await recall.catch_up()
            await recall.embed()
            unkept = await recall.keep_vectors()
            if unkept:
                complain(f"{unkept} vectors could not be kept, and will be made again")
            for query in _asked(text, queries):
                found = await recall.recall(whose.search(query.text, clock.now_ms(), k, floor))
                hits = sorted(found.excerpts, key=lambda each: -each.score)
                if json or queries is not None:
                    id = query.id if bytes(query.id) else msgspec.UNSET
                    write_line(msgspec.json.encode(_Answer(id=id, hits=[_found(each) for each in hits])))
                else:
                    write("".join(map(_for_people, hits)) or "nothing found\n")
    return OK


def _asked(text: str | None, queries: Path | None) -> Iterator[_Query]:
    """Yield what is to be searched for."""
    if text is not None:
        yield _Query(msgspec.Raw(), text)
    if queries is not None:
        for _, query in read_lines([queries], _Query, _WANTED):
            yield query


def _found(excerpt: Excerpt) -> _Found:
    return _Found(
        excerpt.message or excerpt.id,
        round(excerpt.score, 4),
        excerpt.text,
        _when(excerpt.at),
        excerpt.by,
        excerpt.thread,
    )


def _when(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _for_people(excerpt: Excerpt) -> str:
    """Return what was found as it is read in a terminal: score, when, who, and the text under it."""
    head = f"{excerpt.score:.2f}  {_when(excerpt.at)}  {excerpt.by or excerpt.kind}  {excerpt.message or excerpt.id}"
    return (
        printable_line(head)
        + "\n"
        + "".join(f"      {line}\n" for line in printable(excerpt.text).split("\n"))
    )
