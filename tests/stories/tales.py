"""Stories for tests: contexts as a store gives them, and a branch that grows scene by scene."""

from collections.abc import Iterable, Sequence

from agent.lang import Lang
from agent.ports.stories import (
    Branch,
    CastKind,
    CastMember,
    Chapter,
    DirectiveKind,
    EntityState,
    SceneText,
    Story,
    StoryContext,
)


def member(name: str, kind: CastKind, look: str = "", voice: str = "") -> CastMember:
    """Return a member of the cast, whose id is its name."""
    return CastMember(id=name, name=name, kind=kind, look=look, voice=voice)


def scene(seq: int, text: str, directive: str = "", kind: DirectiveKind = "text") -> SceneText:
    """Return an active scene of the branch `b`."""
    return SceneText(
        scene=f"s{seq}", version=f"v{seq}", seq=seq, branch="b", directive=directive, text=text, kind=kind
    )


def context(
    scenes: Sequence[SceneText] = (),
    cast: Iterable[CastMember] = (),
    chapters: Iterable[Chapter] = (),
    states: Sequence[EntityState] = (),
    lang: Lang = "en",
    foundation: str = "A valley without roads.",
) -> StoryContext:
    """Return the context of a branch with all its `scenes` and `states`, as a store makes it."""
    tip = scenes[-1].seq if scenes else 0
    before = max(0, (tip // 10 - 1) * 10)
    return StoryContext(
        story=Story(
            id="t", title="Tale", foundation=foundation, lang=lang, created_at=0, updated_at=0, revision=1
        ),
        branch=Branch("b", "main", None, 0),
        lineage=(("b", tip),),
        tip=tip,
        cast=tuple(cast),
        chapters=tuple(chapters),
        window=tuple(each for each in scenes if each.seq > before),
        window_states=latest(each for each in states if each.seq <= before),
        states=latest(states),
    )


def latest(states: Iterable[EntityState]) -> tuple[EntityState, ...]:
    """Return the latest state of each entity and field."""
    return tuple({(each.entity, each.field): each for each in states}.values())
