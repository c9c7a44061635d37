"""The opening questions of documents, shared by all the servers of a run.

A server that has read its documents looks for questions that they answer well, beside the turns of its users: with
`kb/` that was half the work of a server that lives for one short test. What the same documents answer, with the same
settings, another server has found out.
"""

import weakref
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import partial
from hashlib import sha256
from typing import Any

import trio

from agent import app
from agent.answering import openers as module
from agent.answering.openers import Openers, SearchedDocuments
from agent.answering.settings import AnswerSettings
from agent.compose.answering import make_openers
from agent.lang import Lang

_make, _rest = make_openers, module._rest
_hurries = ContextVar("_hurries", default=False)  # whether the search of this task is to be shared
_found: dict[object, Mapping[Lang, Sequence[str]]] = {}


def share_openers() -> None:
    """Let every server that starts from now on find the questions that another has found."""
    vars(app)["make_openers"] = _make_sharing
    vars(module)["_rest"] = _rest_or_hurry


def _make_sharing(*, settings: AnswerSettings, **parts: Any) -> Openers:
    openers = _make(settings=settings, **parts)
    vars(openers)["_search"] = partial(_search, openers, settings)
    return openers


async def _search(openers: Openers, settings: AnswerSettings, snapshot: SearchedDocuments | None) -> None:
    if snapshot is None:
        return
    key = settings, _hash_texts(snapshot)
    if key in _found:
        openers._questions, openers._searched = _found[key], weakref.ref(snapshot)
        return
    _hurries.set(True)  # a test that ends before has found nothing for the next one
    await Openers._search(openers, snapshot)
    if openers._questions is not None:
        _found[key] = openers._questions


async def _rest_or_hurry(began: float) -> None:
    if _hurries.get():
        await trio.lowlevel.checkpoint()
    else:
        await _rest(began)


def _hash_texts(snapshot: SearchedDocuments) -> str:
    """Return a hash of what the answers rest on, which keeps no part of the documents alive."""
    texts = [(each.file, each.headings, [own.text for own in each.snippets]) for each in snapshot.passages]
    has_vectors = getattr(snapshot, "_vectors", None) is not None
    return sha256(repr((has_vectors, texts)).encode()).hexdigest()
