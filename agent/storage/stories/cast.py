"""The cast of a story: persons, places and things, each with a name of its own."""

from typing import Any, Final

import sqlalchemy as sa

from ...errors import StoryRefused
from ...ports.conversation import Scope
from ...ports.stories import STORY_CAST, CastMember
from ..dialect import NUMBER
from ..prepared import PreparedStatement
from ..transaction import Transaction
from . import lineage
from .lineage import MEMBER, id_of
from .schema import make_digest, members, words
from .words import decode_words, empty_words, write_words

_OF: sa.BindParameter[Any] = sa.bindparam("of", type_=NUMBER)
_STORY: sa.BindParameter[Any] = sa.bindparam("story", type_=NUMBER)
_NEW: Final = ("story", "kind", "called", "words", "revision")
_LIST = PreparedStatement(
    sa.select(members.c.number, members.c.kind, words.c.text)
    .join(words, words.c.number == members.c.words)
    .where(members.c.story == _STORY)
    .order_by(members.c.number)
)
_CALLED = PreparedStatement(
    sa.select(members.c.number).where(members.c.story == _STORY, members.c.called == sa.bindparam("called"))
)
_COUNT = PreparedStatement(sa.select(sa.func.count()).select_from(members).where(members.c.story == _STORY))
_MAKE = PreparedStatement(sa.insert(members).returning(members.c.number), *_NEW)
_FIND = PreparedStatement(
    sa.select(members.c.words).where(members.c.number == _OF, members.c.story == _STORY)
)
_CHANGE = PreparedStatement(
    sa.update(members)
    .where(members.c.number == _OF)
    .values(
        kind=sa.bindparam("kind", type_=sa.Text),
        called=sa.bindparam("called", type_=sa.Text),
        words=sa.bindparam("words", type_=NUMBER),
        revision=members.c.revision + 1,
    )
)


def list_cast(scope: Scope, story: str, connection: sa.Connection) -> tuple[CastMember, ...]:
    """Return the cast, in the order of its making."""
    return read_cast(connection, lineage.find_story(connection, scope, story).number)


def read_cast(connection: sa.Connection, story: int) -> tuple[CastMember, ...]:
    """Return the cast of a story, in the order of its making."""
    made = []
    for number, kind, packed in _LIST.rows(connection, story=story):
        name, look, voice = decode_words(packed)
        made.append(CastMember(id=id_of(MEMBER, number), name=name, kind=kind, look=look, voice=voice))
    return tuple(made)


def put_member(scope: Scope, story: str, member: CastMember, transaction: Transaction) -> CastMember:
    """Write a member; with an empty `id` a new one. Raises `conflict` for a name that another one has."""
    return write_member(
        transaction.connection, lineage.find_story(transaction.connection, scope, story).number, member
    )


def write_member(connection: sa.Connection, story: int, member: CastMember) -> CastMember:
    """Write a member of a story; with an empty `id` a new one."""
    called = make_digest(member.name)
    number = lineage.number_of(MEMBER, member.id) if member.id else 0
    before = _FIND.rows(connection, of=number, story=story) if number else []
    if number and not before:
        raise lineage.unknown()
    if any(each != number for (each,) in _CALLED.rows(connection, story=story, called=called)):
        raise StoryRefused(
            "conflict", "The cast has one of this name: choose another name, or change that one."
        )
    ((count,),) = _COUNT.rows(connection, story=story)
    if not number and count >= STORY_CAST:
        raise StoryRefused("story_full", f"A story has a cast of {STORY_CAST} at most: change one of them.")
    packed = write_words(connection, story, member.name, member.look, member.voice)
    if number:
        _CHANGE.rows(connection, of=number, kind=member.kind, called=called, words=packed)
        empty_words(connection, before[0][0])
    else:
        row = (story, member.kind, called, packed, 1)
        ((number,),) = _MAKE.rows(connection, **dict(zip(_NEW, row, strict=True)))
    return CastMember(
        id=id_of(MEMBER, number), name=member.name, kind=member.kind, look=member.look, voice=member.voice
    )
