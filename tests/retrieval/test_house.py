"""The folder and the uploads of the operator are searched as one; without uploads, or their store, the folder alone."""

from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs

from agent.errors import StorageFailed
from agent.ports.draft import NO_CHARTER
from agent.ports.projects import Holdings
from agent.ports.search import Query
from agent.retrieval.house import ASKED_EVERY, HouseLibrary
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase

FOLDER = KnowledgeBase.build(
    [SourceFile.of("kb/a.md", "# Plans\n\nThe plan costs 299 kr.\n\nA dog is welcome.\n")]
)
UPLOADS = KnowledgeBase.build([SourceFile.of("docs/b.md", "# Saunas\n\nThe sauna costs 90 kr.\n")])


class Uploads:
    """Holds what it is given (of `agent.ports.projects.ProjectLibrary` what a search asks)."""

    def __init__(self, held: Holdings | Exception) -> None:
        self.held = held
        self.asked: list[str] = []

    async def load_holdings(self, project: str) -> Holdings:
        """Return it, or raise it."""
        self.asked.append(project)
        if isinstance(self.held, Exception):
            raise self.held
        return self.held

    async def find_sections(self, project: str, file: str) -> Any:
        """Return nothing."""
        return ()


async def files(library: HouseLibrary, text: str, limit: int = 40) -> list[str]:
    found = await (await library.load_snapshot()).search(Query(text, "en", limit))
    return [hit.snippet.file for hit in found]


async def test_both_are_searched_and_the_surer_comes_first() -> None:
    """With the project asked for by name, the limit kept, and the topics of both, each once."""
    uploads = Uploads(Holdings(UPLOADS, NO_CHARTER))
    library = HouseLibrary(FOLDER, uploads, "default")
    assert (await files(library, "What does the sauna cost?"))[0] == "docs/b.md"
    assert (await files(library, "What does the plan cost?"))[0] == "kb/a.md"
    assert set(await files(library, "Is a dog welcome?")) == {"kb/a.md"}
    assert len(await files(library, "What does the plan or the sauna cost?", 1)) == 1
    assert await files(library, "Who painted it?") == []
    retriever = await library.load_snapshot()
    assert list(retriever.topics("en")) == ["Plans", "Saunas"]
    scores = [hit.score for hit in await retriever.search_nearest(Query("the sauna", "en", 9))]
    assert scores == sorted(scores, reverse=True)
    assert set(uploads.asked) == {"default"}


@pytest.mark.parametrize("held", [Holdings(UPLOADS, NO_CHARTER, has_documents=False), StorageFailed()])
async def test_without_uploads_or_their_store_the_folder_is_searched_alone(
    held: Holdings | Exception,
) -> None:
    """As if there were no uploads; a store that fails is named in the log."""
    library = HouseLibrary(FOLDER, Uploads(held), "default")
    with capture_logs() as logs:
        assert await library.load_snapshot() is FOLDER
    assert [line["event"] for line in logs] == (
        ["uploads cannot be searched"] if isinstance(held, StorageFailed) else []
    )


async def test_the_store_is_asked_again_after_a_while_and_after_a_change(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Not for each turn; a change of another project asks nothing."""
    uploads = Uploads(Holdings(UPLOADS, NO_CHARTER))
    library = HouseLibrary(FOLDER, uploads, "default")
    for _ in range(5):
        await library.load_snapshot()
    library.note_change("other")
    await library.load_snapshot()
    assert len(uploads.asked) == 1
    library.note_change("default")
    await library.load_snapshot()
    assert len(uploads.asked) == 2
    await trio.sleep(2 * ASKED_EVERY)
    uploads.held = StorageFailed()
    assert await library.load_snapshot() is FOLDER
    uploads.held = Holdings(UPLOADS, NO_CHARTER)
    assert await files(library, "What does the sauna cost?") == ["docs/b.md"]
    assert len(uploads.asked) == 4


async def test_a_store_that_was_never_used_is_not_opened() -> None:
    """It holds no uploads."""
    uploads, used = Uploads(Holdings(UPLOADS, NO_CHARTER)), False
    library = HouseLibrary(FOLDER, uploads, "default", lambda: used)
    assert await library.load_snapshot() is FOLDER
    assert uploads.asked == []
    used = True
    assert (await files(library, "What does the sauna cost?"))[0] == "docs/b.md"
