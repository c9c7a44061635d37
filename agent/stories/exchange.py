"""The format "agent-story/1", in which a story is exported and imported, and its check.

A document names branches, and scenes by branch and place. `read_story` decodes it strictly and checks that it is a
story as a store could have written it, or raises `bad_story` with the first fault and its place. Only `title`, `lang`,
`branches` and `scenes` matter to most documents; everything else may be missing.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from ..errors import StoryRefused
from ..lang import DEFAULT, Lang
from ..ports.stories import (
    BRANCH_DEPTH,
    BRANCH_SCENES,
    SCENE_BYTES,
    SCENE_VERSIONS,
    STORY_ASIDES,
    STORY_BRANCHES,
    STORY_CAST,
    STORY_STATES,
    CastKind,
    ChapterStatus,
    DirectiveKind,
    StateField,
    StateSetter,
)

FORMAT: Final = "agent-story/1"
NAME_CHARACTERS: Final = 200
"""Characters of a title and of the name of a branch, a member or an entity; any other text has as many as a scene."""
_NAMES: Final = ("title", "name", "entity")
CHAPTERS: Final = 1_000
MILESTONES: Final = 20  # of a chapter
CHOICES: Final = 8  # of a version


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a document."""


class ExchangedMember(_Part, frozen=True, kw_only=True):
    """A member of the cast."""

    name: str
    kind: CastKind
    look: str = ""
    voice: str = ""


class ExchangedBranch(_Part, frozen=True, kw_only=True):
    """A branch, which begins after the scene `cut` of its `parent`; the first one has no parent."""

    name: str
    parent: str | None = None
    cut: int = 0


class ExchangedState(_Part, frozen=True, kw_only=True):
    """A state that a version sets."""

    entity: str
    field: StateField
    value: str
    by: StateSetter = "rule"


class PlacedState(ExchangedState, frozen=True, kw_only=True):
    """A state that holds from a scene on."""

    branch: str
    seq: int
    locked: bool = False


class ExchangedVersion(_Part, frozen=True, kw_only=True):
    """A version that is not active."""

    text: str
    kind: DirectiveKind = "import"
    directive: str = ""
    choices: tuple[str, ...] = ()
    states: tuple[ExchangedState, ...] = ()


class ExchangedScene(_Part, frozen=True, kw_only=True):
    """A scene with its active version, which is missing where the scene was undone, and its shelved versions."""

    branch: str
    seq: int
    text: str | None = None
    kind: DirectiveKind = "import"
    directive: str = ""
    choices: tuple[str, ...] = ()
    states: tuple[ExchangedState, ...] = ()
    shelved: tuple[ExchangedVersion, ...] = ()

    def list_active(self) -> tuple[ExchangedVersion, ...]:
        """Return the active version, or nothing where the scene was undone."""
        if self.text is None:
            return ()
        active = ExchangedVersion(
            text=self.text,
            kind=self.kind,
            directive=self.directive,
            choices=self.choices,
            states=self.states,
        )
        return (active,)


class MilestoneMark(_Part, frozen=True, kw_only=True):
    """A scene in which a milestone was met, or from which on it is ahead again."""

    branch: str
    seq: int
    met: bool = True


class ExchangedMilestone(_Part, frozen=True, kw_only=True):
    """A milestone of a chapter."""

    text: str
    met: tuple[MilestoneMark, ...] = ()


class ExchangedConclusion(_Part, frozen=True, kw_only=True):
    """The conclusion of a chapter that a branch came to, or its being open again."""

    branch: str
    seq: int
    status: ChapterStatus = "concluded"
    summary: str = ""


class ExchangedChapter(_Part, frozen=True, kw_only=True):
    """A chapter, which begins at the scene `from_seq` of a branch."""

    branch: str
    title: str
    from_seq: int = 1
    place: str = ""
    scenario: str = ""
    direction: str = ""
    milestones: tuple[ExchangedMilestone, ...] = ()
    conclusions: tuple[ExchangedConclusion, ...] = ()


class ExchangedAside(_Part, frozen=True, kw_only=True):
    """Talk beside the story, at Unix milliseconds."""

    question: str
    answer: str
    at: int = 0


class ExchangedStory(_Part, frozen=True, kw_only=True):
    """A story; `told` names the branch that was told last."""

    format: Literal["agent-story/1"]
    title: str
    lang: Lang = DEFAULT
    foundation: str = ""
    cast: tuple[ExchangedMember, ...] = ()
    branches: tuple[ExchangedBranch, ...] = (ExchangedBranch(name="main"),)
    scenes: tuple[ExchangedScene, ...] = ()
    states: tuple[PlacedState, ...] = ()
    chapters: tuple[ExchangedChapter, ...] = ()
    asides: tuple[ExchangedAside, ...] = ()
    told: str | None = None


def read_story(document: Mapping[str, Any]) -> ExchangedStory:
    """Return a checked document with its branches each after its parent; raises `bad_story` with the first fault."""
    try:
        story = msgspec.convert(document, ExchangedStory)
    except (msgspec.ValidationError, RecursionError) as error:
        why, _, place = str(error).partition(" - at `$")
        raise _make_fault(place.rstrip("`").lstrip(".") or "the document", why) from None
    _check_texts(story)
    _check_limits(story)
    ordered = _order_branches(story.branches)
    checked = msgspec.structs.replace(story, branches=ordered)
    _check_scenes(checked)
    return checked


def _make_fault(place: str, why: str) -> StoryRefused:
    return StoryRefused("bad_story", f"The import was not taken; {place}: {why}.")


def _check_texts(part: object, place: str = "") -> None:
    """Check every text of a document: none has half a character or is too long, and no name is blank."""
    if isinstance(part, msgspec.Struct):
        for name in part.__struct_fields__:
            _check_texts(getattr(part, name), f"{place}.{name}" if place else name)
    elif isinstance(part, tuple):
        for nth, each in enumerate(part):
            _check_texts(each, f"{place}[{nth}]")
    elif isinstance(part, str):
        is_name = place.rpartition(".")[2] in _NAMES
        if is_name and not part.strip():
            raise _make_fault(place, "a name is missing")
        most = NAME_CHARACTERS if is_name else SCENE_BYTES
        if len(part) > most:
            raise _make_fault(place, f"it has more than {most} characters")
        try:
            part.encode()
        except UnicodeEncodeError:
            raise _make_fault(place, "it holds half a character") from None


def _check_limits(story: ExchangedStory) -> None:
    counted = (
        ("cast", story.cast, STORY_CAST),
        ("branches", story.branches, STORY_BRANCHES),
        ("asides", story.asides, STORY_ASIDES),
        ("chapters", story.chapters, CHAPTERS),
    )
    for place, parts, most in counted:
        if len(parts) > most:
            raise _make_fault(place, f"a story has at most {most}")
    if not story.branches:
        raise _make_fault("branches", "a story has one at least")
    _refuse_twice("cast", [each.name.strip().casefold() for each in story.cast])
    _refuse_twice("branches", [each.name.strip().casefold() for each in story.branches])
    about = {
        (each.entity.casefold(), each.field)
        for states in (story.states, *(scene.states for scene in story.scenes))
        for each in states
    }
    if len(about) > STORY_STATES:
        raise _make_fault("states", f"a story has at most {STORY_STATES} entities and fields")
    for nth, state in enumerate(story.states):
        if state.locked and state.by != "hand":
            raise _make_fault(f"states[{nth}].locked", "only a state that a hand has set is locked")
    for nth, chapter in enumerate(story.chapters):
        if len(chapter.milestones) > MILESTONES:
            raise _make_fault(f"chapters[{nth}].milestones", f"a chapter has at most {MILESTONES}")


def _refuse_twice(place: str, names: Sequence[str]) -> None:
    seen: set[str] = set()
    for nth, name in enumerate(names):
        if name in seen:
            raise _make_fault(f"{place}[{nth}].name", "the name is there twice")
        seen.add(name)


def _order_branches(branches: tuple[ExchangedBranch, ...]) -> tuple[ExchangedBranch, ...]:
    """Return the branches each after its parent, else in their order."""
    by_name = {each.name: each for each in branches}
    first = [nth for nth, each in enumerate(branches) if each.parent is None]
    if len(first) != 1:
        place = f"branches[{first[1]}].parent" if first else "branches"
        raise _make_fault(place, "one branch, and only one, has no parent")
    depth: dict[str, int] = {}
    for nth, branch in enumerate(branches):
        path: list[ExchangedBranch] = []
        at: ExchangedBranch | None = branch
        while at is not None and at.name not in depth:
            if at in path:
                raise _make_fault(f"branches[{nth}].parent", "the parents go round in a circle")
            path.append(at)
            if at.parent is not None and at.parent not in by_name:
                raise _make_fault(f"branches[{nth}].parent", "there is no such branch")
            at = None if at.parent is None else by_name[at.parent]
        for each in reversed(path):
            depth[each.name] = 0 if each.parent is None else depth[each.parent] + 1
    return tuple(sorted(branches, key=lambda each: depth[each.name]))


def _check_scenes(story: ExchangedStory) -> None:
    seqs = _list_places(story)
    tips: dict[str, int] = {}
    owners = {each.name: each for each in story.branches}
    depth: dict[str, int] = {}
    for branch in story.branches:
        of = f'branch "{branch.name}"'
        places, active = sorted(seqs[branch.name]), sum(seqs[branch.name].values())
        if places != [*range(branch.cut + 1, branch.cut + 1 + len(places))] or not all(
            seqs[branch.name][seq] for seq in places[:active]
        ):
            raise _make_fault(f"the scenes of {of}", "they do not follow each other without a hole")
        tips[branch.name] = branch.cut + active
        if tips[branch.name] > BRANCH_SCENES:
            raise _make_fault(f"the scenes of {of}", f"there are more than {BRANCH_SCENES}")
        if branch.parent is None:
            if branch.cut:
                raise _make_fault(f"the cut of {of}", "the first branch begins at 0")
            depth[branch.name] = 0
            continue
        if not 0 <= branch.cut <= tips[branch.parent]:
            raise _make_fault(f"the cut of {of}", "its parent has no such scene")
        owner = owners[branch.parent]
        while owner.parent is not None and branch.cut <= owner.cut:
            owner = owners[owner.parent]
        depth[branch.name] = depth[owner.name] + 1
        if depth[branch.name] > BRANCH_DEPTH:
            raise _make_fault(of, f"branches fork more than {BRANCH_DEPTH} deep")
    _check_references(story, seqs, tips)


def _list_places(story: ExchangedStory) -> dict[str, dict[int, bool]]:
    """Return for each branch the places of its own scenes, with whether the scene is active."""
    places: dict[str, dict[int, bool]] = {each.name: {} for each in story.branches}
    cuts = {each.name: each.cut for each in story.branches}
    for nth, scene in enumerate(story.scenes):
        if scene.branch not in places:
            raise _make_fault(f"scenes[{nth}].branch", "there is no such branch")
        if scene.seq in places[scene.branch]:
            raise _make_fault(f"scenes[{nth}].seq", "the place is there twice")
        if scene.seq <= cuts[scene.branch]:
            raise _make_fault(f"scenes[{nth}].seq", "the branch begins later")
        versions = (*scene.shelved, *scene.list_active())
        if not versions:
            raise _make_fault(f"scenes[{nth}].text", "the scene has no text")
        if len(versions) > SCENE_VERSIONS:
            raise _make_fault(f"scenes[{nth}].shelved", f"a scene has at most {SCENE_VERSIONS} versions")
        for version in versions:
            _check_version(f"scenes[{nth}]", version)
        places[scene.branch][scene.seq] = scene.text is not None
    return places


def _check_version(place: str, version: ExchangedVersion) -> None:
    if not version.text.strip():
        raise _make_fault(f"{place}.text", "the scene has no words")
    if len(version.text.encode()) > SCENE_BYTES:
        raise _make_fault(f"{place}.text", f"a scene has at most {SCENE_BYTES // 1024} KiB")
    if len(version.choices) > CHOICES:
        raise _make_fault(f"{place}.choices", f"a scene offers at most {CHOICES}")


def _check_references(
    story: ExchangedStory, seqs: Mapping[str, Mapping[int, bool]], tips: Mapping[str, int]
) -> None:
    """Check that all that names a branch and a place names one that is there."""
    for nth, state in enumerate(story.states):
        if state.branch not in tips or not 0 <= state.seq <= BRANCH_SCENES:  # its scene may be undone
            raise _make_fault(f"states[{nth}]", "there is no such branch or scene")
    for nth, chapter in enumerate(story.chapters):
        place = f"chapters[{nth}]"
        if chapter.branch not in tips or not 0 < chapter.from_seq <= BRANCH_SCENES:
            raise _make_fault(place, "there is no such branch or scene")
        for milestone in chapter.milestones:
            for mark in milestone.met:
                if not seqs.get(mark.branch, {}).get(mark.seq, False):
                    raise _make_fault(f"{place}.milestones", "there is no such branch or scene")
        ended = [each.branch for each in chapter.conclusions]
        if len(set(ended)) != len(ended):
            raise _make_fault(f"{place}.conclusions", "a branch concludes a chapter once")
        for end in chapter.conclusions:
            if end.branch not in tips or not 0 <= end.seq <= BRANCH_SCENES:
                raise _make_fault(f"{place}.conclusions", "there is no such branch or scene")
    if story.told is not None and story.told not in tips:
        raise _make_fault("told", "there is no such branch")
