"""Stories of a server: opened at their first use, and their trouble is told."""

from pathlib import Path

import pytest

from agent.compose.adapters import Adapters
from agent.compose.readiness import Readiness
from agent.compose.stories import open_stories
from agent.errors import StorageFailed
from agent.settings import Settings
from agent.storage.stories import FILE
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.told import ANA, begin


async def test_stories_that_cannot_be_kept_are_told_and_stop_nothing(tmp_path: Path) -> None:
    """`/readyz` says why, new clients stay welcome, and it says so no more once stories can be kept again."""
    readiness = Readiness()
    settings = Settings.of(kb=tmp_path, data=str(tmp_path / "data"))
    async with open_stories(
        settings=settings,
        adapters=Adapters(run_sync=inline),
        clock=Noon(),
        on_trouble=readiness.note_story_trouble,
    ) as stories:
        assert not (tmp_path / "data").exists()
        assert readiness.explain_limping() == ""
        (tmp_path / "data" / FILE).mkdir(parents=True)
        with pytest.raises(StorageFailed):
            await begin(stories)
        assert readiness.explain_limping().startswith("Stories cannot be told: stories cannot be kept in ")
        (tmp_path / "data" / FILE).rmdir()
        tip = await begin(stories)
        assert (await stories.story(ANA, tip.story)).title == "The harbour"
        assert readiness.explain_limping() == ""
