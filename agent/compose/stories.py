"""Opens the stories: the store, the teller, and the parts of the connections that direct and read them.

Nothing is read and no model is asked before the first story, so a server that tells none pays for a few objects.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from random import Random

from ..host import WorkerThreads
from ..llm.open import make_teller
from ..ports.clock import Clock
from ..ports.model import LanguageModel
from ..ports.story_store import StoryStore
from ..ports.teller import Teller, TellingPrompt
from ..ports.work import RunSync
from ..protocol.kinds import STORY
from ..session.context import SessionContext
from ..settings import Settings
from ..storage.open import open_story_store
from ..stories.brain import StoryBrain
from ..stories.consultant import StoryConsultant
from ..stories.desk import StoryDesk
from ..stories.followups import FollowUps
from ..stories.keeper import StoryKeeper
from ..stories.opened_branches import OpenedBranches
from ..stories.recalling import StoryRecall
from .adapters import Adapters


class LazyTeller:
    """A teller that is made when it tells first (implements `agent.ports.teller.Teller`). `make` may block."""

    def __init__(self, name: str, make: Callable[[], Teller], run_sync: RunSync) -> None:
        self._name = name
        self._make = make
        self._run_sync = run_sync
        self._teller: Teller | None = None

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._name

    async def tell_scene(self, prompt: TellingPrompt, seed: int) -> AsyncGenerator[str, None]:
        """Yield the pieces of a scene, as they come; see the port."""
        teller = await self._open()
        async with aclosing(teller.tell_scene(prompt, seed)) as pieces:
            async for piece in pieces:
                yield piece

    async def write(self, prompt: TellingPrompt, seed: int, max_characters: int) -> str:
        """Return a short text; see the port."""
        return await (await self._open()).write(prompt, seed, max_characters)

    async def _open(self) -> Teller:
        if self._teller is None:
            self._teller = await self._run_sync(self._make)
        return self._teller


@dataclass(frozen=True, kw_only=True, slots=True)
class StoryWing:
    """The opened stories. `desk`: changes and shows them. `keeper`: stores what connections are told."""

    desk: StoryDesk
    keeper: StoryKeeper
    brain: StoryBrain
    consultant: StoryConsultant

    def make_parts(self, parts: SessionContext) -> SessionContext:
        """Return the parts of the sessions that direct stories; beside these, they share `parts` with the others."""
        return replace(
            parts,
            kind=STORY,
            brain=self.brain,
            recorder=self.keeper,
            consultant=self.consultant,
            memory=None,
            feedback=None,
            settings=replace(parts.settings, history_tokens=0),
        )


@asynccontextmanager
async def open_stories(
    *, settings: Settings, adapters: Adapters, clock: Clock, on_trouble: Callable[[str], None]
) -> AsyncGenerator[StoryStore, None]:
    """Open the store of stories for the time of a block; it makes and imports nothing before its first use.

    `on_trouble`: called with the reason when stories cannot be kept, and with "" when they can be again. Raises
    `agent.errors.UsageError` for a file that a newer version wrote.
    """
    run_sync = adapters.run_sync or WorkerThreads(2)  # one that writes, one that reads
    async with open_story_store(settings.storage, run_sync, clock, on_trouble) as store:
        yield store


def make_story_wing(
    *,
    settings: Settings,
    adapters: Adapters,
    clock: Clock,
    store: StoryStore,
    model: LanguageModel | None,
    guests: bool,
) -> StoryWing:
    """Return the wing over an open `store`, not running yet.

    `model`: the language model that the settings name, `None` for the mock and a script. `guests`: whether clients
    without a name may connect beside the operator's.
    """
    run_sync = adapters.run_sync or WorkerThreads(1)
    make = partial(make_teller, settings.model.model, model, settings.mock, settings.model.answer_tokens)
    teller = LazyTeller(settings.model.model, make, run_sync)
    branches = OpenedBranches(adapters.new_id)
    recall = StoryRecall(store, run_sync)
    keeper = StoryKeeper(store, clock, branches, FollowUps(store, teller).write)
    return StoryWing(
        desk=StoryDesk(store, teller, recall, run_sync),
        keeper=keeper,
        brain=StoryBrain(
            store=store,
            teller=teller,
            recall=recall,
            keeper=keeper,
            branches=branches,
            timeout=settings.answers.turn_timeout,
            pick_seed=lambda: Random(adapters.new_id()).getrandbits(31),
        ),
        consultant=StoryConsultant(store, branches, adapters.new_id, guests),
    )
