"""`agent recall`: searches past messages and memory items, without a server or a model."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter

from ..config import MEMORY
from ..embedding.open import open_near
from ..errors import UsageError
from ..host import WallClock, WorkerThreads
from ..lang import DEFAULT, Lang
from ..log import silence_log
from ..memory.recall.recall import IndexRecaller
from ..ports.conversation import Scope
from ..ports.recall import Excerpt, RecallQuery
from ..storage.memories import FILE
from ..storage.open import explain_missing, is_kept, open_memory_store
from ..storage.settings import StorageSettings
from ..text.language import detect_language
from ..text.terminal import printable, printable_line
from .output import OK, complain, write, write_line
from .questions import check_search, check_vectors, read_questions


class _RecallHit(msgspec.Struct, kw_only=True):
    """A message or an item as JSON. `id`: the message's own in its thread, or the item's. `at`: ISO 8601, in UTC."""

    id: str
    score: float
    text: str
    at: str
    speaker: str
    thread: str


class _RecallHits(msgspec.Struct, kw_only=True):
    """The hits for one question, best first."""

    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    hits: list[_RecallHit]


@dataclass(frozen=True)
class SearchedConversations:
    """The conversations to search, and the author of the questions.

    Args:
        project: Project of the conversations: over HTTP its id, over a socket the --kb, or its --kb-name; without
            it the imported ones.
        thread: The one conversation to search; without it all of the user's.
        user: Name of the user of the conversations; without it those of users without a name.
        speaker: Name of the person that "I" means in the questions; without it the user.
        lang: Language of the questions; by default each is detected from its words.
    """

    project: str = ""
    thread: str | None = None
    user: str = ""
    speaker: str = ""
    lang: Lang | None = None

    def search(self, text: str, at: int, k: int, floor: float | None) -> RecallQuery:
        """Return a search for `text` in these conversations."""
        return RecallQuery(
            text=text,
            lang=self.lang or detect_language(text) or DEFAULT,
            scope=Scope(self.project, self.thread or "", self.user),
            at=at,
            limit=k,
            speaker=self.speaker,
            reach="user" if self.thread is None else "thread",
            floor=floor,
        )


async def recall(
    text: str | None = None,
    *,
    data: Annotated[
        str, Parameter(env_var="AGENT_DATA", help="Folder of the memory, or user for your data folder.")
    ],
    conversations: Annotated[SearchedConversations, Parameter(name="*")] = SearchedConversations(),
    k: Annotated[int, Parameter(name=["-k", "--hits"])] = 10,
    json: Annotated[bool, Parameter(negative=())] = False,
    queries: Path | None = None,
    floor: float | None = None,
    vectors: Annotated[str, Parameter(env_var="AGENT_VECTORS")] = "auto",
) -> int:
    """Search past messages and items, as a turn of the server does: where nothing
    fits, nothing is found.

    With `--json`, and with `--queries`, each question gives one line, its best hit first:
      {"id": ..., "hits": [{"id": "D1:3", "score": 0.9, "text": "...",
       "at": "2026-05-03T10:00:00Z", "speaker": "Ann", "thread": "ann"}]}
    `score`: of the best hit, how surely anything fits. `text`: of a long turn the part
    that fits best. `id`: that of the line in `--queries`; a question given here has none.

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
        How surely the best hit must fit for anything to be found, 0 to 1; 0 ranks
        all matches. By default the floor of a turn of the server.
    vectors
        As for `agent serve`: auto, off, static, minilm or bert:FOLDER. Those of
        the last two are kept for the next call.
    """
    check_search(text, queries, k, floor)
    check_vectors("agent recall", vectors)
    clock, threads = WallClock(), WorkerThreads(1)
    if data == MEMORY:
        raise UsageError("no memory is there: name the folder that a server keeps, its --data DIR")
    if not await is_kept(data, FILE, threads, clock):
        raise UsageError(explain_missing("memory", data))
    with silence_log():
        async with open_memory_store(StorageSettings(data), threads, clock) as memory:
            recall = IndexRecaller(memory, threads, await open_near(vectors, None, threads, memory))
            await _load_index(recall, conversations.search("", 0, k, floor))
            for query in read_questions(text, queries):
                result = await recall.recall(conversations.search(query.text, clock.now_ms(), k, floor))
                hits = sorted(result.excerpts, key=lambda each: -each.score)
                if json or queries is not None:
                    answer = _RecallHits(id=query.given_id, hits=[_make_hit(each) for each in hits])
                    write_line(msgspec.json.encode(answer))
                else:
                    write("".join(map(_for_people, hits)) or "nothing found\n")
    return OK


async def _load_index(recall: IndexRecaller, search: RecallQuery) -> None:
    """Load the index that a search reaches, and make and keep the vectors that it lacks."""
    await recall.load_index(search.scope, search.reach)
    await recall.embed_rows()
    unkept = await recall.save_vectors()
    if unkept:
        complain(f"{unkept} vectors could not be kept, and will be made again")


def _make_hit(excerpt: Excerpt) -> _RecallHit:
    return _RecallHit(
        id=excerpt.message or excerpt.id,
        score=round(excerpt.score, 4),
        text=excerpt.text,
        at=_when(excerpt.at),
        speaker=excerpt.by,
        thread=excerpt.thread,
    )


def _when(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _for_people(excerpt: Excerpt) -> str:
    """Return a hit as lines for people: score, time, speaker, and the text under them."""
    head = f"{excerpt.score:.2f}  {_when(excerpt.at)}  {excerpt.by or excerpt.kind}  {excerpt.message or excerpt.id}"
    return (
        printable_line(head)
        + "\n"
        + "".join(f"      {line}\n" for line in printable(excerpt.text).split("\n"))
    )
