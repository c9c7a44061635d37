"""Stores the scenes that were told to their end, and starts the follow-up of each.

A session hands a scene over (`record_exchange`) at the moment in which its last word has gone to the client; nothing
else makes a scene. The write is tried again for as long as the process lives, and holds up the branch's next scene, so
that a branch has no gaps. After the commit the reader gets a receipt. Then choices are written and milestones checked,
within `FOLLOW_UP` seconds together; the branch's next message cancels that.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import structlog
import trio

from ..errors import AgentError, StorageFailed, StoryRefused, describe_error
from ..ports.brain import Question
from ..ports.clock import Clock
from ..ports.conversation import Scope
from ..ports.memory import ProposalOutcome
from ..ports.remember import FinishedAnswer, ReturnPath
from ..ports.stories import Aside, SceneClaim, SceneDraft, SceneText, StoredScene, StoryContext
from ..ports.story_store import StoryStore
from ..protocol.outbound import Error
from ..protocol.stories import SceneStored
from .consultant import STORY_FAILED
from .opened_branches import OpenedBranches
from .states import find_scene_states

STORE_RETRY = 1.0  # seconds between two tries to store a scene
STORED_WITHIN = 5.0  # seconds that the branch's next message waits for the scene before it
FOLLOW_UP = 15.0  # seconds for the choices and the milestones of a scene together

_log = structlog.get_logger("agent.stories")


@dataclass(frozen=True, slots=True)
class ToldScene:
    """A scene that was told, as a Brain hands it over; `context` is the story as it was told from."""

    draft: SceneDraft
    context: StoryContext

    def make_scene(self, stored: StoredScene, text: str) -> SceneText:
        """Return the scene as the branch has it now."""
        return SceneText(
            scene=stored.scene,
            version=stored.version,
            seq=stored.seq,
            branch=stored.branch,
            directive=self.draft.directive,
            text=text,
            kind=self.draft.kind,
        )


@dataclass(frozen=True, slots=True)
class ToldAside:
    """Talk beside a story, as a Brain hands it over."""

    scope: Scope
    story: str
    question: str


@dataclass(slots=True)
class _BranchWork:
    """The work on one branch: whether its last scene is `stored`, and the follow-up of that."""

    stored: trio.Event = field(default_factory=trio.Event)
    follow_up: trio.CancelScope = field(default_factory=trio.CancelScope)


FollowUp: TypeAlias = Callable[[ToldScene, StoredScene, str, ReturnPath], Awaitable[None]]
"""Writes the choices of a stored scene with this text and checks milestones, for the reader of the `ReturnPath`."""


class StoryKeeper:
    """Stores told scenes (implements `agent.ports.remember.Recorder`). Run it in a nursery that outlives the sessions.

    `follow_up`: writes choices, and checks milestones.
    """

    def __init__(
        self,
        store: StoryStore,
        clock: Clock,
        branches: OpenedBranches,
        follow_up: FollowUp,
    ) -> None:
        self._store = store
        self._clock = clock
        self._branches = branches
        self._follow_up = follow_up
        self._nursery: trio.Nursery | None = None
        self._work: dict[str, _BranchWork] = {}  # by branch, until its follow-up has ended
        self._taken: dict[str, trio.Event] = {}  # claims whose Brains wait until their scene was told

    async def run(self) -> None:
        """Store scenes until cancelled."""
        async with trio.open_nursery() as self._nursery:
            await trio.sleep_forever()

    async def wait_settled(self) -> None:
        """Wait until every told scene is stored; the caller sets the deadline."""
        await trio.lowlevel.checkpoint()
        for work in list(self._work.values()):
            await work.stored.wait()

    # --- for the Brain

    async def begin_turn(self, branch: str) -> None:
        """End the follow-up of a branch's last scene, and wait until that is stored.

        Raises `StoryRefused` where it is not within `STORED_WITHIN` seconds.
        """
        await trio.lowlevel.checkpoint()
        work = self._work.get(branch)
        if work is None:
            return
        work.follow_up.cancel()
        with trio.move_on_after(STORED_WITHIN):
            await work.stored.wait()
        if not work.stored.is_set():
            raise StoryRefused(
                "story_failed", "The scene before this is not stored yet; try again in a moment."
            )

    async def wait_taken(self, claim: SceneClaim) -> None:
        """Wait until the scene of `claim` was told to its end; then its claim is the keeper's to free."""
        taken = self._taken.setdefault(claim.id, trio.Event())
        await taken.wait()

    def release(self, claim: SceneClaim) -> bool:
        """Forget a claim; return whether its scene was not told to its end, so that the claim must be freed."""
        taken = self._taken.pop(claim.id, None)
        return taken is None or not taken.is_set()

    # --- for the session

    def record_exchange(self, question: Question, answer: FinishedAnswer, return_path: ReturnPath) -> None:
        """Store a told scene, or an aside, soon; anything else is no part of a story."""
        if self._nursery is None:
            return
        told = answer.keeps
        if isinstance(told, ToldScene):
            branch = told.draft.claim.branch
            self._taken.setdefault(told.draft.claim.id, trio.Event()).set()
            work = self._work[branch] = _BranchWork()
            self._nursery.start_soon(self._keep_scene, question, told, answer.text, return_path, work)
        elif isinstance(told, ToldAside):
            aside = Aside(question=told.question, answer=answer.text, at=self._clock.now_ms())
            self._nursery.start_soon(self._keep_aside, told, aside)

    def decline_item(self, scope: Scope, item: str) -> None:
        """Ignore the decision: stories propose nothing."""

    async def record_and_propose(
        self, question: Question, answer: FinishedAnswer
    ) -> tuple[ProposalOutcome, ...]:
        """Ignore the exchange: a story is told to connections only."""
        return ()

    async def _keep_scene(
        self, question: Question, told: ToldScene, text: str, return_path: ReturnPath, work: _BranchWork
    ) -> None:
        branch = told.draft.claim.branch
        try:
            stored = await self._store_scene(told, text)
            if isinstance(stored, StoryRefused):
                code: Any = stored.code
                return_path.send_frames([Error(code=code, message=stored.message, id=question.id)])
                return
            self._advance(question.scope, told, stored, text)
            return_path.send_frames(
                [
                    SceneStored(
                        id=question.id,
                        scene=stored.scene,
                        version=stored.version,
                        branch=stored.branch,
                        seq=stored.seq,
                    )
                ]
            )
            work.stored.set()
            with work.follow_up, trio.move_on_after(FOLLOW_UP):
                await self._follow_up(told, stored, text, return_path)
        except Exception as broken:  # noqa: BLE001 - the edge of one scene
            _log.error("what follows a scene broke", **describe_error(broken))
        finally:
            work.stored.set()
            if self._work.get(branch) is work:
                del self._work[branch]

    async def _store_scene(self, told: ToldScene, text: str) -> StoredScene | StoryRefused:
        """Store a scene, however long that takes; or free its claim where its story is gone, or takes no more."""
        logged = False
        while True:
            try:
                states = find_scene_states(told.context, text, told.draft.claim.seq)
                return await self._store.store_scene(told.draft, text, states)
            except StorageFailed:
                if not logged:
                    _log.warning(
                        "a told scene cannot be stored; it is tried again", branch=told.draft.claim.branch
                    )
                    logged = True
                await trio.sleep(STORE_RETRY)
            except StoryRefused as refused:
                _log.warning("a told scene was not stored", code=refused.code)
                return await self._give_up(told, refused)
            except Exception as broken:  # noqa: BLE001 - the edge of one scene
                _log.error("storing a scene broke", **describe_error(broken))
                return await self._give_up(told, StoryRefused("story_failed", STORY_FAILED))

    async def _give_up(self, told: ToldScene, refused: StoryRefused) -> StoryRefused:
        """Free the claim of a scene that cannot be stored; return the reason, without its traceback."""
        with suppress(StorageFailed):
            await self._store.release_claim(told.draft.claim)
        return StoryRefused(refused.code, refused.message)

    def _advance(self, scope: Scope, told: ToldScene, stored: StoredScene, text: str) -> None:
        """Let the reader's next message follow the stored scene, where the reader has its branch open still."""
        self._branches.advance(scope, told.make_scene(stored, text))

    async def _keep_aside(self, told: ToldAside, aside: Aside) -> None:
        try:
            await self._store.store_aside(told.scope, told.story, aside)
        except AgentError:
            _log.warning("talk beside a story could not be stored")
