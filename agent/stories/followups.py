"""Writes the choices that a stored scene offers, and marks the milestones that came about in it.

The reader is told of both by frames. None of it is needed for the story to go on: a teller that fails, or writes
anything else than what was asked for, leaves the scene without choices, and every milestone as it was.
"""

from dataclasses import replace

import structlog

from ..errors import ModelFailed, StorageFailed, StoryRefused
from ..ports.remember import ReturnPath
from ..ports.stories import StoredScene, StoryContext
from ..ports.story_store import StoryStore
from ..ports.teller import Teller
from ..protocol.stories import ChoicesFrame, PlotFrame, StoryChoice
from .answers import parse_choices, parse_milestones
from .keeper import ToldScene
from .prompts import assemble_choices, assemble_milestones, find_chapter
from .settings import ANSWER_TEXT

_log = structlog.get_logger("agent.stories")


class FollowUps:
    """Writes the choices of told scenes, and checks milestones."""

    def __init__(self, store: StoryStore, teller: Teller) -> None:
        self._store = store
        self._teller = teller

    async def write(self, told: ToldScene, stored: StoredScene, text: str, return_path: ReturnPath) -> None:
        """Write the choices of a scene with this `text`, then check milestones; a cancel leaves the stored part."""
        context = _with_scene(told, stored, text)
        try:
            await self._write_choices(context, stored, told.draft.seed, return_path)
            await self._check_milestones(told, context, stored, return_path)
        except (ModelFailed, StorageFailed, StoryRefused) as failed:
            _log.info("nothing more follows a scene", why=str(failed), branch=stored.branch)

    async def _write_choices(
        self, context: StoryContext, stored: StoredScene, seed: int, return_path: ReturnPath
    ) -> None:
        answer = await self._teller.write(assemble_choices(context).prompt, seed, ANSWER_TEXT)
        texts = parse_choices(answer)
        if texts:
            choices = await self._store.store_choices(stored.version, texts)
            shown = tuple(StoryChoice(each.id, each.text) for each in choices)
            return_path.send_frames([ChoicesFrame(scene=stored.scene, choices=shown)])

    async def _check_milestones(
        self, told: ToldScene, context: StoryContext, stored: StoredScene, return_path: ReturnPath
    ) -> None:
        chapter = find_chapter(context)
        ahead = [each for each in chapter.milestones if each.met_at is None] if chapter is not None else []
        if chapter is None or not ahead:
            return
        answer = await self._teller.write(
            assemble_milestones(context, ahead).prompt, told.draft.seed, ANSWER_TEXT
        )
        met = tuple(
            number
            for number, is_met in parse_milestones(answer, [each.number for each in ahead]).items()
            if is_met
        )
        if met:
            marked = dict.fromkeys(met, True)
            claim = told.draft.claim
            await self._store.mark_milestones(claim.scope, claim.story, chapter.id, stored.version, marked)
            return_path.send_frames([PlotFrame(scene=stored.scene, chapter=chapter.id, met=met)])


def _with_scene(told: ToldScene, stored: StoredScene, text: str) -> StoryContext:
    """Return the story as it is after a scene, for prompts that are about that scene."""
    window = tuple(each for each in told.context.window if each.seq < stored.seq)
    return replace(told.context, tip=stored.seq, window=(*window, told.make_scene(stored, text)))
