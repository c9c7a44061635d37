"""Makes each `TellingPrompt` of a story: for a scene, choices, milestones, a summary, and an aside; pure.

Strategy: the sections stand from those that seldom change to those that always do. Before the border: the instructions,
the foundation, the cast, the summaries, the present chapter, and the states as of the window's beginning. A service can
keep its work on them, since the window begins at a multiple of ten scenes. Behind the border: the window, which grows,
the states that changed since, contradictions, recalled statements, the pacing, and last the directive. Milestones stand
in the prompts of choices and of their check only, so that no scene runs after them.

Each section has its budget in characters (`PROMPT_...` in `agent.stories.settings`). A `TellingPrompt`
whose snapshot would be too large loses its recalled statements first, and then the oldest scenes of its window.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

import msgspec

from ..config import CHARACTERS_PER_TOKEN
from ..lang import LANGUAGES
from ..lang.storytelling import StoryPrompting
from ..ports.draft import PromptSection
from ..ports.stories import (
    SNAPSHOT_BYTES,
    Chapter,
    EntityState,
    Milestone,
    RecalledScene,
    SceneText,
    StoryContext,
)
from ..ports.teller import TellingPrompt
from ..text.words import split_words
from . import settings

Task: TypeAlias = Literal["scene", "choices", "milestones", "summary", "aside"]
_ROOM: Final = 1024  # bytes of a snapshot for its form


@dataclass(frozen=True, slots=True)
class StoryPrompt:
    """A prompt as parts and as a teller is given it.

    `sections`: in their order, those without text left out. `border`: the number of sections before the border.
    """

    sections: tuple[PromptSection, ...]
    border: int
    prompt: TellingPrompt


def assemble_scene(
    context: StoryContext,
    directive: str,
    recalled: Sequence[RecalledScene] = (),
    contradictions: Sequence[str] = (),
) -> StoryPrompt:
    """Return the prompt for the next scene of a branch.

    `recalled`: the best first; those of the window are among the facts only. `contradictions`: sentences, the latest
    last. The packed prompt is within `SNAPSHOT_BYTES`.
    """
    texts = LANGUAGES[context.story.lang].storytelling.prompting
    before = min((scene.seq for scene in context.window), default=context.tip + 1)
    statements = [each for each in recalled if each.seq < before]
    window, known = list(context.window), list(recalled)
    while True:
        fresh = {
            "window": _format_window(window, texts),
            "changes": _format_changes(context, directive, before, texts),
            "contradictions": _fit_lines(contradictions, settings.PROMPT_CONTRADICTIONS),
            "recalled": _format_recalled(statements, texts),
            "pacing": _format_pacing(context, texts),
            "directive": directive[: settings.PROMPT_DIRECTIVE],
        }
        facts = _make_facts("scene", context, directive) | {
            "recalled": [
                (each.seq, each.text[: settings.RECALLED_STATEMENT])
                for each in known[: settings.FACT_RECALLED]
            ],
            "states": _choose_states(context, directive),
        }
        prompt = _make_prompt(context, texts.telling, _stable_sections(context, texts), fresh, facts)
        if _measure(prompt.prompt) <= SNAPSHOT_BYTES - _ROOM or not (statements or window):
            return prompt
        statements, window = statements[: len(statements) // 2], window if statements else window[1:]
        known = known[: len(known) // 2]


def assemble_choices(context: StoryContext) -> StoryPrompt:
    """Return the prompt for the choices of the last scene of `context.window`."""
    texts = LANGUAGES[context.story.lang].storytelling.prompting
    chapter = find_chapter(context)
    ahead = [each for each in chapter.milestones if each.met_at is None] if chapter is not None else []
    fresh = {
        "window": _format_window(context.window[-3:], texts),
        "milestones": _fit_lines([each.text for each in ahead], settings.PROMPT_MILESTONES),
    }
    facts = _make_facts("choices", context, "choices")
    return _make_prompt(context, texts.choosing, _stable_sections(context, texts), fresh, facts)


def assemble_milestones(context: StoryContext, milestones: Sequence[Milestone]) -> StoryPrompt:
    """Return the prompt that asks which of `milestones` came about in the last scene of `context.window`."""
    texts = LANGUAGES[context.story.lang].storytelling.prompting
    lines = [f"{each.number}. {' '.join(each.text.split())}" for each in milestones]
    scene = context.window[-1:]
    fresh = {
        "window": _format_window(scene, texts),
        "milestones": _fit_lines(lines, settings.PROMPT_MILESTONES),
    }
    facts = _make_facts("milestones", context, "milestones") | {
        "milestones": [(each.number, each.text) for each in milestones],
        "scene": scene[0].text if scene else "",
    }
    return _make_prompt(context, texts.checking, {}, fresh, facts)


def assemble_summary(context: StoryContext, chapter: Chapter, scenes: Sequence[SceneText]) -> StoryPrompt:
    """Return the prompt for the summary of `chapter`, which has the `scenes`, oldest first."""
    texts = LANGUAGES[context.story.lang].storytelling.prompting
    stable = {"chapter": _format_chapter(chapter, texts)}
    fresh = {"window": _format_window(scenes, texts)}
    facts = _make_facts("summary", context, "summary") | {
        "scenes": [_first_sentence(each.text) for each in (*scenes[:3], *scenes[3:][-3:])]
    }
    return _make_prompt(context, texts.summarising, stable, fresh, facts)


def assemble_aside(
    context: StoryContext, question: str, recalled: Sequence[RecalledScene] = ()
) -> StoryPrompt:
    """Return the prompt for an answer beside the story."""
    texts = LANGUAGES[context.story.lang].storytelling.prompting
    fresh = {
        "window": _format_window(context.window[-3:], texts),
        "recalled": _format_recalled(recalled, texts),
        "question": question[: settings.PROMPT_DIRECTIVE],
    }
    facts = _make_facts("aside", context, question)
    return _make_prompt(context, texts.talking, _stable_sections(context, texts), fresh, facts)


def find_chapter(context: StoryContext) -> Chapter | None:
    """Return the chapter in which the next scene stands: the last one, unless it is concluded."""
    chapter = context.chapters[-1] if context.chapters else None
    return chapter if chapter is not None and chapter.status == "open" else None


# --- snapshots


def pack_prompt(prompt: TellingPrompt) -> bytes:
    """Return `prompt` as a snapshot; equal prompts give equal bytes, also after `unpack_prompt`."""
    fields = {
        "stable": prompt.stable,
        "fresh": prompt.fresh,
        "lang": prompt.lang,
        "facts": dict(prompt.facts),
    }
    return zlib.compress(msgspec.json.encode(fields), 6)


def unpack_prompt(snapshot: bytes) -> TellingPrompt:
    """Return the prompt that `pack_prompt` packed. Raises `ValueError` for other bytes."""
    try:
        stream = zlib.decompressobj()
        text = stream.decompress(snapshot, 16 * SNAPSHOT_BYTES)
        fields = msgspec.json.decode(text, type=_Snapshot)
    except (zlib.error, msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise ValueError("not a snapshot of a prompt") from None
    if fields.lang not in LANGUAGES:
        raise ValueError("not a snapshot of a prompt")
    return TellingPrompt(stable=fields.stable, fresh=fields.fresh, lang=fields.lang, facts=fields.facts)


class _Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    stable: str
    fresh: str
    lang: str
    facts: dict[str, Any]


def _measure(prompt: TellingPrompt) -> int:
    """Return the bytes of `prompt` before it is packed; `pack_prompt` adds a few at most."""
    return len(msgspec.json.encode((prompt.stable, prompt.fresh, dict(prompt.facts))))


# --- sections


def _make_prompt(
    context: StoryContext,
    instructions: str,
    stable: Mapping[str, str],
    fresh: Mapping[str, str],
    facts: Mapping[str, Any],
) -> StoryPrompt:
    """Return a prompt of sections, each below its heading."""
    headings = LANGUAGES[context.story.lang].storytelling.prompting
    sections = [PromptSection("instructions", len(instructions) // CHARACTERS_PER_TOKEN, instructions)]
    border = 0
    for side in (stable, fresh):
        border = border or len(sections) if side is fresh else 0
        for name, text in side.items():
            if text:
                whole = f"{getattr(headings, name)}\n{text}"
                sections.append(PromptSection(name, len(whole) // CHARACTERS_PER_TOKEN, whole))
    return StoryPrompt(
        tuple(sections),
        border,
        TellingPrompt(
            stable="\n\n".join(each.text for each in sections[:border]),
            fresh="\n\n".join(each.text for each in sections[border:]),
            lang=context.story.lang,
            facts=facts,
        ),
    )


def _stable_sections(context: StoryContext, texts: StoryPrompting) -> dict[str, str]:
    chapter = find_chapter(context)
    earlier = [each for each in context.chapters if each is not chapter and each.summary]
    summaries = [f"{each.title}: {each.summary}" for each in earlier]
    states = [_format_state(each, texts) for each in context.window_states]
    return {
        "foundation": context.story.foundation[: settings.PROMPT_FOUNDATION],
        "cast": _format_cast(context, texts),
        "chapters": _fit_lines(summaries, settings.PROMPT_SUMMARIES, newest=True),
        "chapter": _format_chapter(chapter, texts) if chapter is not None else "",
        "states": _fit_lines(states, settings.PROMPT_STATES, newest=True),
    }


def _format_cast(context: StoryContext, texts: StoryPrompting) -> str:
    lines = []
    for member in context.cast:
        parts = [f"- {member.name} ({texts.kinds[member.kind]})"]
        parts += [f"{texts.look}: {member.look}"] if member.look else []
        parts += [f"{texts.voice}: {member.voice}"] if member.voice else []
        lines.append("; ".join(parts))
    return _fit_lines(lines, settings.PROMPT_CAST)


def _format_chapter(chapter: Chapter, texts: StoryPrompting) -> str:
    """Return `chapter` without its `milestones`."""
    named = {
        texts.place: chapter.place,
        texts.scenario: chapter.scenario,
        texts.direction: chapter.direction,
    }
    lines = [chapter.title, *(f"{name}: {text}" for name, text in named.items() if text)]
    return "\n".join(lines)[: settings.PROMPT_CHAPTER]


def _format_state(state: EntityState, texts: StoryPrompting) -> str:
    fixed = f" {texts.locked}" if state.locked else ""
    return f"- {state.entity} {texts.fields[state.field]} {state.value}{fixed}"


def _format_window(scenes: Sequence[SceneText], texts: StoryPrompting) -> str:
    """Return the last of `scenes` that fit into `PROMPT_WINDOW`; the end of the last one if it does not fit."""
    blocks: list[str] = []
    room = settings.PROMPT_WINDOW
    for scene in reversed(scenes):
        head = [texts.scene.format(seq=scene.seq)]
        head += [f"{texts.reader}: {scene.directive}"] if scene.directive else []
        block = "\n".join([*head, scene.text])
        if len(block) > room:
            if not blocks:
                blocks.append(block[-room:])
            break
        blocks.append(block)
        room -= len(block) + 2
    return "\n\n".join(reversed(blocks))


def _format_changes(context: StoryContext, directive: str, before: int, texts: StoryPrompting) -> str:
    """Return the states that were set since the window's beginning, and older ones that the directive names.

    The older ones stand in a long table before the border only while it has room for them.
    """
    known = {(each.entity, each.field, each.value, each.seq, each.locked) for each in context.window_states}
    total = sum(len(each.entity) + len(each.value) for each in context.window_states)
    is_cut = total > settings.PROMPT_STATES // 2
    words = set(split_words(directive)) if is_cut else set()
    lines = [
        _format_state(each, texts)
        for each in context.states
        if (each.entity, each.field, each.value, each.seq, each.locked) not in known
        or (words and words & set(split_words(each.entity)))
    ]
    return _fit_lines(lines, settings.PROMPT_CHANGES, newest=True)


def _format_recalled(recalled: Sequence[RecalledScene], texts: StoryPrompting) -> str:
    lines = [
        f"- {texts.scene.format(seq=each.seq)}: {' '.join(each.text.split())[: settings.RECALLED_STATEMENT]}"
        for each in recalled
    ]
    return _fit_lines(lines, settings.PROMPT_RECALLED)


def _format_pacing(context: StoryContext, texts: StoryPrompting) -> str:
    chapter = find_chapter(context)
    first = chapter.from_seq if chapter is not None else 1
    scene = context.tip + 1
    return texts.pace.format(scene=scene, part=max(1, scene - first + 1))[: settings.PROMPT_PACING]


def _fit_lines(lines: Iterable[str], most: int, newest: bool = False) -> str:
    """Return the first `lines` that fit into `most` characters together, or with `newest` the last ones."""
    chosen: list[str] = []
    room = most
    for line in reversed(list(lines)) if newest else lines:
        if len(line) + 1 > room:
            break
        chosen.append(line)
        room -= len(line) + 1
    return "\n".join(reversed(chosen) if newest else chosen)


# --- facts for a teller without a language model


def _make_facts(task: Task, context: StoryContext, directive: str) -> dict[str, Any]:
    chapter = find_chapter(context)
    return {
        "task": task,
        "directive": directive[: settings.PROMPT_DIRECTIVE],
        "foundation": context.story.foundation[: settings.RECALLED_STATEMENT],
        "cast": [(each.name, each.kind) for each in context.cast],
        "place": chapter.place if chapter is not None else "",
        "seq": context.tip + 1,
    }


def _choose_states(context: StoryContext, directive: str) -> list[tuple[str, str, str, int]]:
    """Return the states of entities that the directive may name, and then the latest ones; `FACT_STATES` at most."""
    words = set(split_words(directive))
    latest = sorted(context.states, key=lambda each: each.seq, reverse=True)
    named = [each for each in latest if words & set(split_words(each.entity))]
    chosen = dict.fromkeys([*named, *latest])
    return [(each.entity, each.field, each.value, each.seq) for each in list(chosen)[: settings.FACT_STATES]]


def _first_sentence(text: str) -> str:
    return text[: settings.RECALLED_STATEMENT].partition("\n")[0]
