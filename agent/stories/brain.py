"""Tells scenes: the Brain of a connection that directs a story.

One message is one scene, one version of a scene, or an aside. The branch is claimed first, in one statement, so that of
two connections one tells and the other is told to wait. Each sentence is sent as soon as the model has ended it. The
Brain does not return before the session has handed the told scene to the keeper: when the turn ends in any other way,
the Brain frees the claim, and no word of the scene is left anywhere.
"""

from collections.abc import Callable
from contextlib import aclosing

import structlog
import trio

from ..errors import ModelFailed, StorageFailed, StoryRefused
from ..ports.brain import DraftCompleted, Question, RunCall, TurnEvent, TurnRefusal, VerifiedPart
from ..ports.stories import BranchTip, DirectiveKind, RecalledScene, SceneClaim, SceneDraft, StoryContext
from ..ports.story_store import StoryStore
from ..ports.teller import Teller, TellingPrompt
from ..protocol.stories import StoryMessage
from .consultant import STORY_FAILED
from .contradictions import describe_contradictions
from .keeper import StoryKeeper, ToldAside, ToldScene
from .opened_branches import OpenedBranch, OpenedBranches
from .prompts import assemble_aside, assemble_scene, pack_prompt, unpack_prompt
from .recalling import StoryRecall
from .sentences import clean_scene
from .settings import ASIDE_TEXT
from .telling import make_fiction, make_refusal

RELEASE_TIMEOUT = 2.0  # seconds to free a claim after a cancel
MODEL_FAILED = "The model gave no scene; send the directive again, or write the scene yourself."
_NO_WORDS = "A scene has words: write some."
_NO_PROMPT = "No model told this scene, so it cannot be told again: edit it, or write another version of it."

Emit = Callable[[TurnEvent], None]

_log = structlog.get_logger("agent.stories")


class StoryBrain:
    """Tells the scenes of all stories (implements `agent.ports.brain.Brain`).

    `timeout`: seconds that the model may take for a scene. `pick_seed`: returns a seed for a telling.
    """

    def __init__(
        self,
        *,
        store: StoryStore,
        teller: Teller,
        recall: StoryRecall,
        keeper: StoryKeeper,
        branches: OpenedBranches,
        timeout: float,
        pick_seed: Callable[[], int],
    ) -> None:
        self._store = store
        self._teller = teller
        self._recall = recall
        self._keeper = keeper
        self._branches = branches
        self._timeout = timeout
        self._pick_seed = pick_seed

    async def answer(self, question: Question, emit: Emit, act: RunCall | None = None) -> None:
        """Tell the scene that a message directs, or answer its aside; or give the reason and the remedy.

        Cancelled, the branch is free again within `RELEASE_TIMEOUT` seconds, and nothing of the scene is stored.
        """
        message: StoryMessage = question.directive
        try:
            opened = self._branches.find(question.scope)
            if message.aside:
                await self._answer_aside(opened, message, emit)
            else:
                await self._tell(opened, question, message, emit)
        except StoryRefused as refused:
            emit(TurnRefusal(make_refusal(refused.code, refused.message), is_error=True))
        except StorageFailed:
            emit(TurnRefusal(make_refusal("story_failed", STORY_FAILED), is_error=True))
        except ModelFailed as failed:
            _log.warning("a scene was not told", why=str(failed), kind=failed.kind)
            emit(TurnRefusal(make_refusal("model_failed", MODEL_FAILED, MODEL_FAILED)))

    async def _tell(
        self, opened: OpenedBranch, question: Question, message: StoryMessage, emit: Emit
    ) -> None:
        """Claim the branch, tell the scene, and wait until it was told; else free the branch."""
        await self._keeper.begin_turn(opened.tip.branch)
        tip, scope = opened.tip, opened.scope
        directive = clean_scene(message.text) if message.own else message.text
        if message.own and not directive:
            raise StoryRefused("bad_message", _NO_WORDS)
        if message.choice is not None:
            directive = (await self._store.choice(scope, tip, message.choice)).text
        claim = await self._store.claim_scene(scope, tip, question.key_or_id, message.retell or "")
        try:
            told = await self._tell_claimed(claim, tip, message, directive, emit)
            emit(DraftCompleted())
            emit(VerifiedPart(text=make_fiction(""), keeps=told))
            await self._keeper.wait_taken(claim)
        finally:
            if self._keeper.release(claim):
                with trio.CancelScope(shield=True, deadline=trio.current_time() + RELEASE_TIMEOUT):
                    await self._free(claim)

    async def _free(self, claim: SceneClaim) -> None:
        try:
            await self._store.release_claim(claim)
        except StorageFailed:
            _log.warning(
                "a branch could not be freed; it is free once this process ends", branch=claim.branch
            )

    async def _tell_claimed(
        self, claim: SceneClaim, tip: BranchTip, message: StoryMessage, directive: str, emit: Emit
    ) -> ToldScene:
        """Send the sentences of the scene; return it as it is to be kept."""
        context = await self._store.load_context(claim.scope, claim.story, claim.branch)
        seed = self._pick_seed()
        kind: DirectiveKind = "choice" if message.choice is not None else "text"
        snapshot = b""
        if message.own:
            kind = "own"
            _emit_part(directive, emit)
        else:
            if message.retell is not None:
                kind = "retell"
                snapshot = await self._store.snapshot(claim.scope, claim.story, tip.version)
                if not snapshot:
                    raise StoryRefused("bad_message", _NO_PROMPT)
                prompt = unpack_prompt(snapshot)
                directive = tip.scene.directive if tip.scene is not None else ""
            else:
                recalled = await self._find_scenes(context, directive)
                prompt = assemble_scene(context, directive, recalled, describe_contradictions(context)).prompt
                snapshot = pack_prompt(prompt)
            await self._send_scene(prompt, seed, emit)
        return ToldScene(
            SceneDraft(
                claim=claim,
                kind=kind,
                directive="" if message.own else directive,
                seed=seed,
                snapshot=snapshot,
                model="" if message.own else self._teller.name,
            ),
            context,
        )

    async def _send_scene(self, prompt: TellingPrompt, seed: int, emit: Emit) -> None:
        """Send each sentence of a scene as the model ends it."""
        with trio.move_on_after(self._timeout) as limit:
            async with aclosing(self._teller.tell_scene(prompt, seed)) as sentences:
                async for sentence in sentences:
                    _emit_part(sentence, emit)
        if limit.cancelled_caught:
            raise ModelFailed(
                "the scene took too long: if the model is only slow, raise turn-timeout", "timeout"
            )

    async def _find_scenes(self, context: StoryContext, directive: str) -> tuple[RecalledScene, ...]:
        """Return the earlier scenes that a directive is about; none where recall fails: the scene is told without."""
        try:
            return await self._recall.recall_for_prompt(context, directive)
        except StorageFailed:
            _log.warning("a scene is told without recalled ones", branch=context.branch.id)
            return ()

    async def _answer_aside(self, opened: OpenedBranch, message: StoryMessage, emit: Emit) -> None:
        scope, tip = opened.scope, opened.tip
        context = await self._store.load_context(scope, tip.story, tip.branch)
        prompt = assemble_aside(context, message.text, await self._find_scenes(context, message.text)).prompt
        text = ""
        with trio.move_on_after(self._timeout):
            text = await self._teller.write(prompt, self._pick_seed(), ASIDE_TEXT)
        if not text:
            raise ModelFailed("the words beside the story took too long", "timeout")
        emit(DraftCompleted())
        emit(VerifiedPart(text=make_fiction(text), keeps=ToldAside(scope, tip.story, message.text)))


def _emit_part(text: str, emit: Emit) -> None:
    emit(DraftCompleted())
    emit(VerifiedPart(text=make_fiction(text), last=False))
