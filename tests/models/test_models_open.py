"""Which model the settings name, what is said when one cannot be, and what is put around it."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from agent.errors import ModelFailed, UsageError
from agent.models.open import KEY, open_language_model, open_memory_model
from agent.models.settings import KINDS, ModelName, ModelSettings, is_model_name, parse_model_name
from agent.ports.model import Finish, LanguageModel, TextDelta
from agent.testing.fakes import Figures
from agent.testing.models import pieces_of
from agent.testing.network import inline
from tests.strikes.spoken import SHAPES, printed
from tests.strikes.upstream import refused, reply, upstream

SAID = (TextDelta("½"), Finish("stop"))


async def text_of(model: LanguageModel) -> str:
    return "".join([piece.text for piece in await pieces_of(model) if isinstance(piece, TextDelta)])


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("openai:gpt", ModelName("openai", "gpt")),
        ("openai:org/model:8b", ModelName("openai", "org/model:8b")),
        ("anthropic:c", ModelName("anthropic", "c")),
        ("claude-cli", ModelName("claude-cli")),
        ("claude-cli:opus", ModelName("claude-cli", "opus")),
        ("replay:some/dir", ModelName("replay", folder="some/dir")),
        ("record:dir:openai:a:b", ModelName("openai", "a:b", "dir", is_recorded=True)),
        ("record:dir:claude-cli", ModelName("claude-cli", "", "dir", is_recorded=True)),
    ],
)
def test_each_kind_has_its_name(name: str, model: ModelName) -> None:
    """As it is written on the command line."""
    assert parse_model_name(name) == model
    assert is_model_name(name)


@pytest.mark.parametrize(
    "name",
    ["", "gpt", "openai", "openai:", "openai: a", "openai:a\nb", "anthropic:", "claude-cli:", "claude-cli:--flag",
     "replay:", "replay: ", "openai:" + "x" * 201, "mock"],
)  # fmt: skip
def test_what_is_no_name_is_told(name: str) -> None:
    """With what there is."""
    with pytest.raises(UsageError) as wrong:
        parse_model_name(name)
    assert str(wrong.value) == f"model must be {KINDS}"


@pytest.mark.parametrize(
    "name", ["record:", "record:dir", "record::openai:a", "record:dir:mock", "record:a:replay:b"]
)
def test_a_recording_needs_a_folder_and_a_model(name: str) -> None:
    """One that can be recorded."""
    with pytest.raises(UsageError, match="record:DIR:openai:NAME"):
        parse_model_name(name)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": "x"}, "model must be"),
        ({"fallback_model": "x"}, "fallback-model must be"),
        ({"memory_model": "mock"}, "memory-model must be"),
        ({"memory_base_url": "http://h"}, "memory-base-url is for a memory-model"),
        (
            {"memory_model": "claude-cli", "memory_base_url": "http://h"},
            "memory-base-url is for memory-model",
        ),
        ({"memory_model": "openai:b", "memory_base_url": "SECRET"}, "memory-base-url must be a URL like"),
        ({"first_token_timeout": 0.0}, "first-token-timeout must be positive"),
        ({"token_timeout": float("nan")}, "a number of seconds, milliseconds or messages must be finite"),
        ({"token_timeout": float("inf")}, "a number of seconds, milliseconds or messages must be finite"),
        ({"base_url": "SECRET"}, "base-url must be a URL like"),
        ({"base_url": "ftp://SECRET/v1"}, "base-url must be a URL like"),
        ({"base_url": "http://SECRET:x/v1"}, "base-url must be a URL like"),
        ({"base_url": "http://h/v1?key=SECRET"}, "base-url must be a URL like"),
        ({"base_url": "http://h /v1"}, "base-url must be a URL like"),
        ({"model": "claude-cli", "base_url": "http://h"}, "base-url is for model openai:NAME"),
        ({"model": "replay:d", "base_url": "http://h"}, "base-url is for model openai:NAME"),
        ({"fallback_base_url": "http://h"}, "fallback-base-url is for a fallback-model"),
        (
            {"fallback_model": "claude-cli", "fallback_base_url": "http://h"},
            "fallback-base-url is for fallback-model",
        ),
        (
            {"fallback_model": "openai:b", "fallback_base_url": "SECRET"},
            "fallback-base-url must be a URL like",
        ),
    ],
)
def test_settings_that_cannot_work_are_told(settings: dict[str, Any], message: str) -> None:
    """When they are made, by the setting's name, and without an address, which may hold a password."""
    with pytest.raises(UsageError) as wrong:
        ModelSettings(**({"model": "openai:a"} | settings))
    assert str(wrong.value).startswith(message)
    assert "SECRET" not in str(wrong.value)


def exists(folder: str) -> bool:
    return os.path.exists(folder)


async def opened(environment: dict[str, str], model: str, **more: Any) -> None:
    async with open_language_model(ModelSettings(model=model, **more), Figures(), inline, environment):
        pass


@pytest.mark.parametrize(
    ("model", "environment", "message"),
    [
        ("openai:a", {}, "model openai needs OPENAI_API_KEY in the environment, or base-url"),
        ("openai:a", {"OPENAI_API_KEY": "SECRET \n"}, "OPENAI_API_KEY must be printable ASCII"),
        ("openai:a", {KEY: "SECRET"}, "model openai needs OPENAI_API_KEY"),
        ("anthropic:a", {"OPENAI_API_KEY": "SECRET"}, "model anthropic needs ANTHROPIC_API_KEY"),
        ("claude-cli", {"PATH": "/nowhere"}, "model claude-cli needs the claude command in PATH"),
        ("replay:/nowhere", {}, "model replay: there are no recordings in /nowhere"),
        ("record:/proc/x:openai:a", {"OPENAI_API_KEY": "k"}, "model record: /proc/x cannot be written"),
    ],
)
async def test_what_is_missing_is_told(model: str, environment: dict[str, str], message: str) -> None:
    """Before anything is asked, with what to do, and without a key."""
    with pytest.raises(UsageError) as wrong:
        await opened(environment, model)
    assert str(wrong.value).startswith(message)
    assert "SECRET" not in str(wrong.value)


@pytest.mark.proof
async def test_opening_a_recording_imports_no_http(tmp_path: Path) -> None:
    """What is not asked for costs nothing: httpx is imported with the first model that needs it."""
    (tmp_path / "a.jsonl").write_text("{}\n")
    code = (
        "import sys, trio; from agent.models.open import *; from agent.models.settings import *\n"
        "from agent.testing.fakes import Figures\n"
        "async def inline(f): return f()\n"
        "async def main():\n"
        f"    async with open_language_model(ModelSettings(model='replay:{tmp_path}'), Figures(), inline): pass\n"
        "trio.run(main); print('httpx' in sys.modules)"
    )
    done = await trio.run_process([sys.executable, "-c", code], capture_stdout=True)
    assert done.stdout == b"False\n"


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
async def test_a_served_model_answers(kind: str) -> None:
    """With the generic key where it is not the service's own address, and never the service's own."""
    environment = {"OPENAI_API_KEY": "own", "ANTHROPIC_API_KEY": "own", KEY: "generic"}
    async with upstream(reply(SHAPES[kind](SAID))) as service:
        settings = ModelSettings(model=f"{kind}:m", base_url=service.url + "/v1")
        async with open_language_model(settings, Figures(), inline, environment) as model:
            assert await text_of(model) == "½"
        (asked,) = service.requests
    sent = asked.headers.get("authorization") or asked.headers.get("x-api-key")
    assert sent in ("Bearer generic", "generic")
    assert "own" not in " ".join(asked.headers.values())


async def test_the_second_model_answers_and_what_is_said_can_be_kept(tmp_path: Path) -> None:
    """The first refuses, the fallback answers and is recorded, and the recording answers alone."""
    figures, folder = Figures(), str(tmp_path / "kept")
    async with upstream(refused(400)) as first, upstream(reply(SHAPES["anthropic"](SAID))) as second:
        settings = ModelSettings(
            model="openai:a",
            base_url=first.url,
            fallback_model=f"record:{folder}:anthropic:b",
            fallback_base_url=second.url,
        )
        async with open_language_model(settings, figures, inline, {}) as model:
            assert await text_of(model) == "½"
    assert {"request", "done"} <= figures.words
    async with open_language_model(ModelSettings(model=f"replay:{folder}"), figures, inline, {}) as model:
        assert await text_of(model) == "½"


async def test_time_outs_are_those_of_the_settings() -> None:
    """A service that has never answered is left after the longer of the first two."""
    async with upstream(reply([])) as service:
        service.replies[0] = type(service.replies[0])(ending="hang")
        settings = ModelSettings(
            model="openai:a", base_url=service.url, first_call_timeout=0.02, first_token_timeout=0.01
        )
        async with open_language_model(settings, Figures(), inline, {}) as model:
            with pytest.raises(ModelFailed, match=r"0\.02 s") as failed:
                await text_of(model)
    assert failed.value.kind == "timeout"


async def test_the_command_is_found_and_its_folder_goes(tmp_path: Path) -> None:
    """It works in an empty folder, which is removed with the model."""
    (tmp_path / "lines").write_bytes(b"".join(printed(SAID)))
    command = tmp_path / "claude"
    command.write_text(f"#!/bin/sh\ncat > /dev/null; pwd > '{tmp_path}/pwd'; ls -A; cat '{tmp_path}/lines'\n")
    command.chmod(0o700)
    environment = {"PATH": f"{tmp_path}:/bin:/usr/bin"}
    async with open_language_model(
        ModelSettings(model="claude-cli"), Figures(), inline, environment
    ) as model:
        assert await text_of(model) == "½"
        (used,) = (tmp_path / "pwd").read_text().split()
        assert exists(used)
    assert not exists(used)


@pytest.mark.parametrize(
    ("more", "url"),
    [
        ({"memory_model": "openai:b"}, "http://one/v1"),
        ({"memory_model": "openai:b", "memory_base_url": "http://two/v1"}, "http://two/v1"),
        ({"memory_model": "anthropic:b"}, None),
        ({"memory_model": "claude-cli"}, None),
        ({"memory_model": None}, None),
    ],
)
def test_a_memory_model_of_the_same_kind_is_served_where_the_other_is(
    more: dict[str, Any], url: str | None
) -> None:
    """Unless it says otherwise; one of another kind is asked at its own address."""
    assert ModelSettings(model="openai:a", base_url="http://one/v1", **more).memory_url == url


async def test_the_memory_model_is_opened_beside_any_other() -> None:
    """Also where what drafts is none; without one there is none."""
    async with upstream(reply(SHAPES["openai"](SAID))) as service:
        settings = ModelSettings(memory_model="openai:b", memory_base_url=service.url)
        async with open_memory_model(settings, Figures(), inline, {}) as model:
            assert model is not None
            assert await text_of(model) == "½"
        assert service.requests[0].body["model"] == "b"
    async with open_memory_model(ModelSettings(model="openai:a"), Figures(), inline, {}) as model:
        assert model is None


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            {"memory_model": "openai:b"},
            "memory-model openai needs OPENAI_API_KEY in the environment, or memory-base-url",
        ),
        ({"memory_model": "claude-cli"}, "memory-model claude-cli needs the claude command"),
    ],
)
async def test_what_a_memory_model_lacks_is_told_by_its_own_setting(
    more: dict[str, Any], message: str
) -> None:
    """So that nobody changes the other one."""
    with pytest.raises(UsageError) as wrong:
        async with open_memory_model(ModelSettings(**more), Figures(), inline, {"PATH": "/nowhere"}):
            pass
    assert str(wrong.value).startswith(message)
