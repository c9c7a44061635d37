"""Chapters, their conclusions and milestones, as seen from one branch.

A chapter begins on a branch and is seen by all that inherit its first scene. Its conclusion belongs to the branch that
came to it: of a lineage the nearest one counts, if its scene does. A milestone is met in a version of a scene, and
counts while that version is active and in the lineage; the last one that says so wins.
"""

from collections.abc import Mapping
from typing import Any, Final

import sqlalchemy as sa

from ...errors import StoryRefused
from ...ports.conversation import Scope
from ...ports.stories import Chapter, ChapterStatus, Milestone
from ...stories.versions import ChapterTrigger, move_chapter
from ..dialect import NUMBER, are_among
from ..prepared import PreparedStatement, encode_among
from ..transaction import Transaction
from . import lineage
from .lineage import BRANCH, CHAPTER, LINEAGE, VERSION, BranchRow, StoryRow, id_of
from .schema import branches, chapters, conclusions, met, milestones, scenes, versions, words
from .words import decode_words, empty_words, write_words

CHAPTERS_MOST: Final = 1_000  # of a story
MILESTONES_MOST: Final = 20  # of a chapter

_OF: sa.BindParameter[Any] = sa.bindparam("of", type_=NUMBER)
_BRANCH: sa.BindParameter[Any] = sa.bindparam("branch", type_=NUMBER)
_LIST = PreparedStatement(
    sa.select(chapters.c.number, chapters.c.branch, chapters.c.from_seq, words.c.text)
    .select_from(
        LINEAGE.join(
            chapters,
            sa.and_(
                chapters.c.branch == LINEAGE.c.branch,
                chapters.c.from_seq <= LINEAGE.c.upto + sa.case((LINEAGE.c.branch == _BRANCH, 1), else_=0),
            ),
        ).join(words, words.c.number == chapters.c.words)
    )
    .order_by(chapters.c.from_seq, chapters.c.number)
)
_CONCLUSIONS = PreparedStatement(
    sa.select(conclusions.c.chapter, conclusions.c.status, words.c.text)
    .select_from(
        LINEAGE.join(
            conclusions,
            sa.and_(conclusions.c.branch == LINEAGE.c.branch, conclusions.c.seq <= LINEAGE.c.upto),
        ).join(words, words.c.number == conclusions.c.words)
    )
    .order_by(LINEAGE.c.depth)
)
_MILESTONES = PreparedStatement(
    sa.select(milestones.c.number, milestones.c.chapter, milestones.c.nth, words.c.text)
    .join(words, words.c.number == milestones.c.words)
    .where(are_among(milestones.c.chapter, "chapters"))
    .order_by(milestones.c.chapter, milestones.c.nth)
)
_MET = PreparedStatement(
    sa.select(met.c.milestone, met.c.is_met, scenes.c.seq)
    .select_from(met)
    .join(milestones, milestones.c.number == met.c.milestone)
    .join(versions, sa.and_(versions.c.number == met.c.version, versions.c.status == "active"))
    .join(scenes, scenes.c.number == versions.c.scene)
    .join(LINEAGE, sa.and_(LINEAGE.c.branch == scenes.c.branch, scenes.c.seq <= LINEAGE.c.upto))
    .where(are_among(milestones.c.chapter, "chapters"))
    .order_by(scenes.c.seq, met.c.number)
)
_MAKE = PreparedStatement(sa.insert(chapters).returning(chapters.c.number), "branch", "from_seq", "words")
_ADD = PreparedStatement(sa.insert(milestones).returning(milestones.c.number), "chapter", "nth", "words")
_FIND = PreparedStatement(sa.select(chapters.c.branch, chapters.c.words).where(chapters.c.number == _OF))
_REWORD = PreparedStatement(
    sa.update(chapters).where(chapters.c.number == _OF).values(words=sa.bindparam("packed", type_=NUMBER))
)
_COUNT = PreparedStatement(
    sa.select(sa.func.count())
    .select_from(chapters)
    .join(branches, branches.c.number == chapters.c.branch)
    .where(branches.c.story == sa.bindparam("story", type_=NUMBER))
)
_CONCLUSION = PreparedStatement(
    sa.select(conclusions.c.number, conclusions.c.words).where(
        conclusions.c.chapter == _OF, conclusions.c.branch == _BRANCH
    )
)
_CONCLUDE = PreparedStatement(sa.insert(conclusions), "chapter", "branch", "seq", "status", "words")
_CONCLUDE_AGAIN = PreparedStatement(
    sa.update(conclusions)
    .where(conclusions.c.number == _OF)
    .values(
        status=sa.bindparam("to", type_=sa.Text),
        seq=sa.bindparam("seq", type_=NUMBER),
        words=sa.bindparam("packed", type_=NUMBER),
    )
)
_MEET = PreparedStatement(sa.insert(met), "milestone", "version", "is_met")
_PLACE_OF = PreparedStatement(
    sa.select(scenes.c.branch, scenes.c.seq, versions.c.status)
    .join(versions, versions.c.scene == scenes.c.number)
    .where(versions.c.number == _OF)
)


def read_chapters(connection: sa.Connection, own: BranchRow, tip: int) -> tuple[Chapter, ...]:
    """Return the chapters of a lineage, oldest first."""
    found = _LIST.rows(connection, branch=own.number, tip=tip)
    if not found:
        return ()
    among = encode_among([row[0] for row in found])
    concluded = {
        chapter: (status, summary)
        for chapter, status, summary in _CONCLUSIONS.rows(connection, branch=own.number, tip=tip)
    }
    met_at = {
        milestone: seq if is_met else None
        for milestone, is_met, seq in _MET.rows(connection, branch=own.number, tip=tip, chapters=among)
    }
    ahead: dict[int, list[Milestone]] = {}
    for number, chapter, nth, text in _MILESTONES.rows(connection, chapters=among):
        ahead.setdefault(chapter, []).append(Milestone(number=nth, text=text, met_at=met_at.get(number)))
    return tuple(
        _make_chapter(row, concluded.get(row[0], ("open", "")), tuple(ahead.get(row[0], ()))) for row in found
    )


def _make_chapter(
    row: tuple[Any, ...], concluded: tuple[ChapterStatus, str], ahead: tuple[Milestone, ...]
) -> Chapter:
    number, branch, from_seq, packed = row
    title, place, scenario, direction = decode_words(packed)
    status, summary = concluded
    return Chapter(
        id=id_of(CHAPTER, number),
        branch=id_of(BRANCH, branch),
        from_seq=from_seq,
        title=title,
        place=place,
        scenario=scenario,
        direction=direction,
        status=status,
        summary=summary if status == "concluded" else "",
        milestones=ahead,
    )


def list_chapters(scope: Scope, story: str, branch: str, connection: sa.Connection) -> tuple[Chapter, ...]:
    """Return the chapters of a branch's lineage, oldest first."""
    own = lineage.find_branch(connection, lineage.find_story(connection, scope, story), branch)
    return read_chapters(connection, own, lineage.find_tip(connection, own).seq)


def add_chapter(scope: Scope, story: str, chapter: Chapter, transaction: Transaction) -> Chapter:
    """Begin a chapter after the last scene of its branch."""
    connection = transaction.connection
    of = lineage.find_story(connection, scope, story)
    own = lineage.find_branch(connection, of, chapter.branch)
    tip = lineage.find_tip(connection, own).seq
    number = write_chapter(connection, of.number, own.number, tip + 1, chapter)
    return _see_chapter(connection, own, tip, number)


def write_chapter(connection: sa.Connection, story: int, branch: int, from_seq: int, chapter: Chapter) -> int:
    """Write a chapter that begins at a place, with its milestones; return its number."""
    ((count,),) = _COUNT.rows(connection, story=story)
    if count >= CHAPTERS_MOST or len(chapter.milestones) > MILESTONES_MOST:
        raise StoryRefused(
            "story_full",
            f"A story has {CHAPTERS_MOST} chapters, and a chapter {MILESTONES_MOST} milestones at most.",
        )
    packed = write_words(connection, story, *_words_of(chapter))
    ((number,),) = _MAKE.rows(connection, branch=branch, from_seq=from_seq, words=packed)
    for nth, milestone in enumerate(chapter.milestones, 1):
        _ADD.rows(connection, chapter=number, nth=nth, words=write_words(connection, story, milestone.text))
    return int(number)


def _words_of(chapter: Chapter) -> tuple[str, str, str, str]:
    return chapter.title, chapter.place, chapter.scenario, chapter.direction


def list_milestones(connection: sa.Connection, chapter: int) -> list[int]:
    """Return the numbers of a chapter's milestones, in their order."""
    return [row[0] for row in _MILESTONES.rows(connection, chapters=encode_among([chapter]))]


def _see_chapter(connection: sa.Connection, own: BranchRow, tip: int, number: int) -> Chapter:
    """Return a chapter as a branch sees it; raises `unknown_story` if it is not in the lineage."""
    for chapter in read_chapters(connection, own, tip):
        if chapter.id == id_of(CHAPTER, number):
            return chapter
    raise lineage.unknown()


def _find_chapter(
    connection: sa.Connection, of: StoryRow, id: str, branch: str
) -> tuple[int, int, BranchRow, int]:
    """Return number and words of a chapter, with the branch that looks at it and its tip.

    Without `branch` that is the one on which the chapter began.
    """
    number = lineage.number_of(CHAPTER, id)
    for began, packed in _FIND.rows(connection, of=number):
        own = lineage.find_branch(connection, of, branch or id_of(BRANCH, began))
        return number, packed, own, lineage.find_tip(connection, own).seq
    raise lineage.unknown()


def find_chapter(scope: Scope, story: str, chapter: str, connection: sa.Connection) -> Chapter:
    """Return a chapter, as the branch sees it on which it began."""
    of = lineage.find_story(connection, scope, story)
    number, _, own, tip = _find_chapter(connection, of, chapter, "")
    return _see_chapter(connection, own, tip, number)


def edit_chapter(scope: Scope, story: str, chapter: Chapter, transaction: Transaction) -> Chapter:
    """Put the title, place, scenario and direction of `chapter` in the place of the present ones."""
    connection = transaction.connection
    of = lineage.find_story(connection, scope, story)
    number, before, own, tip = _find_chapter(connection, of, chapter.id, chapter.branch)
    seen = _see_chapter(connection, own, tip, number)
    if _words_of(seen) != _words_of(chapter):
        _REWORD.rows(connection, of=number, packed=write_words(connection, of.number, *_words_of(chapter)))
        empty_words(connection, before)
    return _see_chapter(connection, own, tip, number)


def move_conclusion(
    scope: Scope,
    story: str,
    id: str,
    trigger: ChapterTrigger,
    summary: str,
    branch: str,
    transaction: Transaction,
) -> Chapter:
    """Conclude a chapter with its summary, or open it again, for a branch and those that inherit its last scene."""
    connection = transaction.connection
    of = lineage.find_story(connection, scope, story)
    number, _, own, tip = _find_chapter(connection, of, id, branch)
    seen = _see_chapter(connection, own, tip, number)
    last = read_chapters(connection, own, tip)[-1]
    status = move_chapter(seen.status, trigger, is_last=last.id == seen.id)
    write_conclusion(connection, of.number, (number, own.number, tip), status, summary)
    return _see_chapter(connection, own, tip, number)


def write_conclusion(
    connection: sa.Connection, story: int, place: tuple[int, int, int], status: str, summary: str
) -> None:
    """Write the status of a chapter; `place` is the chapter with a branch and its last scene."""
    chapter, branch, seq = place
    packed = write_words(connection, story, summary)
    for number, before in _CONCLUSION.rows(connection, of=chapter, branch=branch):
        _CONCLUDE_AGAIN.rows(connection, of=number, to=status, seq=seq, packed=packed)
        empty_words(connection, before)
        return
    _CONCLUDE.rows(connection, chapter=chapter, branch=branch, seq=seq, status=status, words=packed)


def mark_milestones(
    scope: Scope, story: str, id: str, version: str, marks: Mapping[int, bool], transaction: Transaction
) -> Chapter:
    """Mark milestones, by their numbers, as met in the scene of an active version, or as ahead."""
    connection = transaction.connection
    of = lineage.find_story(connection, scope, story)
    told = lineage.number_of(VERSION, version)
    for branch, seq, status in _PLACE_OF.rows(connection, of=told):
        own = lineage.find_branch(connection, of, id_of(BRANCH, branch))
        if status != "active":
            raise StoryRefused("moved", "The story has gone on elsewhere: open the branch again.")
        number = lineage.number_of(CHAPTER, id)
        seen = _see_chapter(connection, own, seq, number)
        rows = _MILESTONES.rows(connection, chapters=encode_among([number]))
        of_nth = {nth: milestone for milestone, _, nth, _ in rows}
        for each in seen.milestones:
            mark = marks.get(each.number)
            if mark is not None and mark != (each.met_at is not None):
                meet_milestone(connection, of_nth[each.number], told, mark)
        return _see_chapter(connection, own, seq, number)
    raise lineage.unknown()


def meet_milestone(connection: sa.Connection, milestone: int, version: int, is_met: bool) -> None:
    """Write that a milestone was met in a version, or is ahead from then on."""
    _MEET.rows(connection, milestone=milestone, version=version, is_met=int(is_met))
