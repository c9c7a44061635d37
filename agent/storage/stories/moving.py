"""Export and import of a story as JSON of the format "agent-story/1".

An export names branches, and scenes by branch and place; it has no ids and no times but those of asides. An import is
checked as a whole (`agent/stories/exchange.py`) before a row is written, and written in one transaction.
"""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ...ports.conversation import Scope
from ...ports.stories import Branch, CastMember, Chapter, EntityState, Milestone, Story
from ...stories.exchange import FORMAT, ExchangedScene, ExchangedStory, ExchangedVersion
from ...stories.versions import VersionTrigger
from ..dialect import NUMBER
from ..prepared import PreparedStatement
from ..transaction import Transaction
from . import branching, cast, lineage, reading, telling
from . import chapters as chapter_rows
from . import states as state_rows
from .lineage import BranchRow, id_of
from .schema import (
    branches,
    chapters,
    choices,
    conclusions,
    met,
    milestones,
    scenes,
    state_words,
    states,
    stories,
    version_words,
    versions,
    words,
)
from .telling import NewVersion
from .words import decode_words, write_words

_OF: sa.BindParameter[Any] = sa.bindparam("of", type_=NUMBER)
_VERSIONS = PreparedStatement(
    sa.select(
        scenes.c.branch,
        scenes.c.seq,
        versions.c.number,
        versions.c.status,
        version_words.c.text,
        version_words.c.directive,
        versions.c.kind,
    )
    .select_from(branches)
    .join(scenes, scenes.c.branch == branches.c.number)
    .join(versions, versions.c.scene == scenes.c.number)
    .join(version_words, version_words.c.version == versions.c.number)
    .where(branches.c.story == _OF)
    .order_by(scenes.c.branch, scenes.c.seq, versions.c.number)
)
_CHOICES = PreparedStatement(
    sa.select(choices.c.version, words.c.text)
    .select_from(branches)
    .join(scenes, scenes.c.branch == branches.c.number)
    .join(versions, versions.c.scene == scenes.c.number)
    .join(choices, choices.c.version == versions.c.number)
    .join(words, words.c.number == choices.c.words)
    .where(branches.c.story == _OF)
    .order_by(choices.c.version, choices.c.nth)
)
_STATES = PreparedStatement(
    sa.select(
        states.c.version,
        states.c.branch,
        states.c.seq,
        state_words.c.entity,
        states.c.field,
        state_words.c.value,
        states.c.setter,
        states.c.locked,
    )
    .join(state_words, state_words.c.state == states.c.number)
    .where(states.c.story == _OF)
    .order_by(states.c.number)
)
_CHAPTERS = PreparedStatement(
    sa.select(chapters.c.number, chapters.c.branch, chapters.c.from_seq, words.c.text)
    .select_from(branches)
    .join(chapters, chapters.c.branch == branches.c.number)
    .join(words, words.c.number == chapters.c.words)
    .where(branches.c.story == _OF)
    .order_by(chapters.c.number)
)
_MILESTONES = PreparedStatement(
    sa.select(milestones.c.chapter, milestones.c.number, words.c.text)
    .select_from(branches)
    .join(chapters, chapters.c.branch == branches.c.number)
    .join(milestones, milestones.c.chapter == chapters.c.number)
    .join(words, words.c.number == milestones.c.words)
    .where(branches.c.story == _OF)
    .order_by(milestones.c.chapter, milestones.c.nth)
)
_CONCLUSIONS = PreparedStatement(
    sa.select(
        conclusions.c.chapter, conclusions.c.branch, conclusions.c.seq, conclusions.c.status, words.c.text
    )
    .select_from(branches)
    .join(conclusions, conclusions.c.branch == branches.c.number)
    .join(words, words.c.number == conclusions.c.words)
    .where(branches.c.story == _OF)
    .order_by(conclusions.c.number)
)
_MET = PreparedStatement(
    sa.select(met.c.milestone, scenes.c.branch, scenes.c.seq, met.c.is_met)
    .select_from(branches)
    .join(scenes, scenes.c.branch == branches.c.number)
    .join(versions, sa.and_(versions.c.scene == scenes.c.number, versions.c.status == "active"))
    .join(met, met.c.version == versions.c.number)
    .where(branches.c.story == _OF)
    .order_by(scenes.c.branch, scenes.c.seq, met.c.number)
)
_LAST_TOLD = PreparedStatement(
    sa.update(stories).where(stories.c.number == _OF).values(told=sa.bindparam("branch", type_=NUMBER))
)


def export_story(scope: Scope, story: str, connection: sa.Connection) -> dict[str, Any]:
    """Return a story as JSON; the same story gives the same bytes."""
    of = lineage.find_story(connection, scope, story)
    rows = lineage.list_branches(connection, of)
    names = {each.number: each.name for each in rows}
    set_in: dict[int, list[dict[str, Any]]] = {}
    by_hand: list[dict[str, Any]] = []
    for version, branch, seq, entity, field, value, setter, locked in _STATES.rows(connection, of=of.number):
        state = {"entity": entity, "field": field, "value": value, "by": setter}
        if version is None:
            place = {"branch": names[branch], "seq": seq}
            by_hand.append(place | state | ({"locked": True} if locked else {}))
        else:
            set_in.setdefault(version, []).append(state)
    return {
        "format": FORMAT,
        "title": of.story.title,
        "lang": of.story.lang,
        "foundation": of.story.foundation,
        "cast": [_export_member(each) for each in cast.read_cast(connection, of.number)],
        "branches": [{"name": each.name, "parent": names.get(each.parent), "cut": each.cut} for each in rows],
        "scenes": _export_scenes(connection, of.number, names, set_in),
        "states": by_hand,
        "chapters": _export_chapters(connection, of.number, names),
        "asides": [
            {"question": each.question, "answer": each.answer, "at": each.at}
            for each in reading.read_asides(connection, of.number)
        ],
        "told": names.get(of.told, rows[0].name),
    }


def _export_member(member: CastMember) -> dict[str, Any]:
    made = {"name": member.name, "kind": member.kind}
    return made | {name: text for name, text in (("look", member.look), ("voice", member.voice)) if text}


def _export_scenes(
    connection: sa.Connection, story: int, names: dict[int, str], set_in: dict[int, list[dict[str, Any]]]
) -> list[dict[str, Any]]:
    offered: dict[int, list[str]] = {}
    for version, text in _CHOICES.rows(connection, of=story):
        offered.setdefault(version, []).append(text)
    exported: dict[tuple[int, int], dict[str, Any]] = {}
    for branch, seq, version, status, text, directive, kind in _VERSIONS.rows(connection, of=story):
        scene = exported.setdefault((branch, seq), {"branch": names[branch], "seq": seq})
        made = {"text": text, "kind": kind}
        made |= {"directive": directive} if directive else {}
        made |= {"choices": offered[version]} if version in offered else {}
        made |= {"states": set_in[version]} if version in set_in else {}
        if status == "active":
            scene |= made
        else:
            scene.setdefault("shelved", []).append(made)
    return [exported[place] for place in sorted(exported)]


def _export_chapters(connection: sa.Connection, story: int, names: dict[int, str]) -> list[dict[str, Any]]:
    met_in: dict[int, list[dict[str, Any]]] = {}
    for milestone, branch, seq, is_met in _MET.rows(connection, of=story):
        met_in.setdefault(milestone, []).append({"branch": names[branch], "seq": seq, "met": bool(is_met)})
    ahead: dict[int, list[dict[str, Any]]] = {}
    for chapter, milestone, text in _MILESTONES.rows(connection, of=story):
        ahead.setdefault(chapter, []).append({"text": text, "met": met_in.get(milestone, [])})
    concluded: dict[int, list[dict[str, Any]]] = {}
    for chapter, branch, seq, status, summary in _CONCLUSIONS.rows(connection, of=story):
        place = {"branch": names[branch], "seq": seq}
        concluded.setdefault(chapter, []).append(place | {"status": status, "summary": summary})
    exported = []
    for number, branch, from_seq, packed in _CHAPTERS.rows(connection, of=story):
        fields = dict(zip(("title", "place", "scenario", "direction"), decode_words(packed), strict=True))
        exported.append(
            {"branch": names[branch], "from_seq": from_seq}
            | fields
            | {"milestones": ahead.get(number, []), "conclusions": concluded.get(number, [])}
        )
    return exported


def import_story(
    scope: Scope, document: ExchangedStory, at: int, transaction: Transaction
) -> tuple[Story, Branch]:
    """Write a checked document as a new story."""
    writing = _Import(transaction.connection, scope, document, at)
    return writing.write_all()


class _Import:
    """The import of one document, in one transaction."""

    def __init__(self, connection: sa.Connection, scope: Scope, document: ExchangedStory, at: int) -> None:
        self._connection, self._scope, self._document, self._at = connection, scope, document, at
        self._branches: dict[str, BranchRow] = {}
        self._versions: dict[tuple[str, int], int] = {}

    def write_all(self) -> tuple[Story, Branch]:
        """Write all rows; return the story and the branch that was told last."""
        document, connection = self._document, self._connection
        number = branching.write_story(
            connection, self._scope, document.title, document.foundation, document.lang, self._at
        )
        for member in document.cast:
            made = CastMember(id="", name=member.name, kind=member.kind, look=member.look, voice=member.voice)
            cast.write_member(connection, number, made)
        scenes_of: dict[str, list[ExchangedScene]] = {each.name: [] for each in document.branches}
        for scene in document.scenes:
            scenes_of[scene.branch].append(scene)
        of = lineage.find_story(connection, self._scope, id_of(lineage.STORY, number))
        for branch in document.branches:  # each after its parent
            parent = self._branches[branch.parent] if branch.parent is not None else None
            own = branching.write_branch(connection, number, branch.name, parent, branch.cut, self._at)
            self._branches[branch.name] = own
            scenes = sorted(scenes_of[branch.name], key=lambda each: each.seq)
            for scene in scenes:
                self._write_scene(number, own, scene)
            for scene in reversed(scenes):  # what was undone, the last scene first
                if scene.text is None:
                    version = self._versions.pop((scene.branch, scene.seq))
                    telling.move(connection, version, VersionTrigger.SHELVE)
        self._write_hand_states(number)
        self._write_chapters(number)
        for aside in document.asides:
            packed = write_words(connection, number, aside.question, aside.answer)
            telling.ASIDE.rows(connection, story=number, at=aside.at or self._at, words=packed)
        told = self._branches[document.told or document.branches[0].name]
        _LAST_TOLD.rows(connection, of=number, branch=told.number)
        return lineage.find_story(connection, self._scope, of.story.id).story, told.make_branch()

    def _write_scene(self, story: int, own: BranchRow, scene: ExchangedScene) -> None:
        """Write the versions of a scene; the last one is active.

        A scene of a new story has nothing before it that must be looked up, and large imports hold up other writes.
        """
        told: Sequence[ExchangedVersion] = [*scene.shelved, *scene.list_active()]
        number, version = telling.insert_scene(self._connection, own.number, scene.seq), 0
        for each in told:
            if version:
                telling.move(self._connection, version, VersionTrigger.SHELVE)
            new = NewVersion(kind=each.kind, directive=each.directive, text=each.text, at=self._at)
            version = telling.insert_version(self._connection, story, number, new)
            for state in each.states:
                found = EntityState(
                    entity=state.entity,
                    field=state.field,
                    value=state.value,
                    seq=scene.seq,
                    branch="",
                    by=state.by,
                )
                state_rows.write_state(self._connection, story, own.number, version, scene.seq, found)
            telling.write_choices(self._connection, story, version, each.choices)
            self._versions[scene.branch, scene.seq] = version

    def _write_hand_states(self, number: int) -> None:
        for state in self._document.states:
            own = self._branches[state.branch]
            made = EntityState(
                entity=state.entity,
                field=state.field,
                value=state.value,
                seq=state.seq,
                branch="",
                by=state.by,
                locked=state.locked,
            )
            version = 0 if state.by == "hand" else self._versions.get((state.branch, state.seq), 0)
            state_rows.write_state(self._connection, number, own.number, version, state.seq, made)

    def _write_chapters(self, story: int) -> None:
        for chapter in self._document.chapters:
            made = Chapter(
                id="",
                branch="",
                from_seq=chapter.from_seq,
                title=chapter.title,
                place=chapter.place,
                scenario=chapter.scenario,
                direction=chapter.direction,
                milestones=tuple(
                    Milestone(number=nth, text=each.text) for nth, each in enumerate(chapter.milestones, 1)
                ),
            )
            own = self._branches[chapter.branch]
            number = chapter_rows.write_chapter(self._connection, story, own.number, chapter.from_seq, made)
            rows = chapter_rows.list_milestones(self._connection, number)
            for milestone, each in zip(rows, chapter.milestones, strict=True):
                for mark in each.met:
                    version = self._versions[mark.branch, mark.seq]
                    chapter_rows.meet_milestone(self._connection, milestone, version, mark.met)
            for end in chapter.conclusions:
                place = (number, self._branches[end.branch].number, end.seq)
                chapter_rows.write_conclusion(self._connection, story, place, end.status, end.summary)
