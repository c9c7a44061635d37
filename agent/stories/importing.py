"""Reads an import, and finds the states that its scenes set where it names none; pure.

The rules read each scene after the ones before it in its lineage, as they do when a scene is told.
"""

import json
from collections.abc import Mapping
from typing import Any

from ..errors import StoryRefused
from ..ports.stories import CastMember, EntityState
from .exchange import ExchangedScene, ExchangedStory, read_story
from .states import find_states


def read_import(document: bytes) -> Mapping[str, Any]:
    """Return the object of an import, JSON in UTF-8, with the states of its scenes.

    Raises `StoryRefused` for a document that is no story, a field that stands twice, and a fault of the story.
    """
    try:
        read = json.loads(document, object_pairs_hook=_read_object, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise StoryRefused("bad_story", "Send one JSON object in UTF-8, with each field once.") from None
    if not isinstance(read, dict):
        raise StoryRefused("bad_story", "Send one JSON object: an exported story.")
    found = find_missing_states(read_story(read), read["scenes"])
    scenes = [
        {**scene, "states": found[scene["branch"], scene["seq"]]}
        if found.get((scene["branch"], scene["seq"]))
        else scene
        for scene in read["scenes"]
    ]
    return {**read, "scenes": scenes}


def find_missing_states(
    story: ExchangedStory, given: "list[dict[str, Any]]"
) -> dict[tuple[str, int], list[dict[str, str]]]:
    """Return the states of each scene without a field `states` in `given`, by its branch and place."""
    named = {(each["branch"], each["seq"]) for each in given if "states" in each}
    cast = [CastMember(id="", name=each.name, kind=each.kind) for each in story.cast]
    scenes: dict[str, list[ExchangedScene]] = {}
    for each in sorted(story.scenes, key=lambda each: each.seq):
        scenes.setdefault(each.branch, []).append(each)
    states: dict[str, list[EntityState]] = {}  # that the scenes of a lineage set, by branch
    found: dict[tuple[str, int], list[dict[str, str]]] = {}
    for branch in story.branches:  # parents first
        line = [each for each in states.get(branch.parent or "", ()) if each.seq <= branch.cut]
        for scene in scenes.get(branch.name, ()):
            if scene.text is None:
                continue
            place = (branch.name, scene.seq)
            if place in named:
                line += [_make_state(each.entity, each.field, each.value, *place) for each in scene.states]
                continue
            latest = tuple({(each.entity, each.field): each for each in line}.values())
            new = find_states(scene.text, cast, latest, story.lang, seq=scene.seq, branch=branch.name)
            line += new
            found[place] = [{"entity": each.entity, "field": each.field, "value": each.value} for each in new]
        states[branch.name] = line
    return found


def _make_state(entity: str, field: Any, value: str, branch: str, seq: int) -> EntityState:
    return EntityState(entity=entity, field=field, value=value, seq=seq, branch=branch, by="rule")


def _read_object(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(fields)) < len(fields):
        raise ValueError("a field stands twice")
    return dict(fields)


def _refuse_constant(_: str) -> None:
    raise ValueError("not a number")
