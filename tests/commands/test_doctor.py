"""`agent doctor`: each part that a server needs is tried, and a part that fails is one line with its remedy."""

import os
import resource
import shutil
import socket
from pathlib import Path

import pytest

from agent.commands.doctor import CHECKS, Diagnosis, check_files, diagnose, doctor
from agent.commands.settings import Flags, read_settings
from agent.errors import UsageError
from agent.host import new_id
from agent.ports.model import Finish, TextDelta
from agent.settings import Settings
from agent.testing.fakes import Figures
from agent.voice.open import open_wing
from tests.logs import logged
from tests.strikes.spoken import SHAPES
from tests.strikes.upstream import Reply, refused, reply, upstream
from tests.voice.ears import BreakableRecognizer
from tests.voice.talking import BrokenEngine

GOOD = reply(SHAPES["openai"]((TextDelta("ready"), Finish("stop"))))
PROPS = Reply((b'{"default_generation_settings": {"n_ctx": 4096}}',))
SILENT = [part for part in CHECKS if part not in ("mouth", "ear")]  # of a server without voice
WRONG_MODEL = refused(404, body=b'{"error": {"message": "The model `m` does not exist"}}')


def folder_of(tmp_path: Path, **files: str) -> Path:
    for name, text in files.items():
        (tmp_path / f"{name}.md").write_text(text)
    return tmp_path


async def check(part: str, settings: Settings) -> Diagnosis:
    diagnosis = await CHECKS[part](settings)
    assert diagnosis is not None
    return diagnosis


async def diagnoses(settings: Settings) -> dict[str, Diagnosis]:
    return {part: found async for part, found in diagnose(settings)}


async def test_a_server_that_would_work(tmp_path: Path) -> None:
    """Each part is tried as the server would use it, and nothing is left behind."""
    kb = folder_of(tmp_path, a="# Prices\n\nA return costs 59 kr.\n\n# Hours\n\nWe open at 9.\n")
    data = tmp_path / "data"
    async with upstream(GOOD, PROPS) as service:
        settings = Settings.of(
            kb=kb, data=str(data), port=0, model="openai:m", base_url=f"{service.url}/v1", vectors="off"
        )
        found = await diagnoses(settings)
        assert service.requests[0].body["max_tokens"] == 1
    assert list(found) == SILENT
    assert {part: each.grade for part, each in found.items()} == dict.fromkeys(SILENT, "ok") | {
        "vectors": "note"
    }
    assert found["documents"].words == f"1 files, 2 sections in {kb}"
    assert found["model"].words.endswith(" s; its context is 4,096 tokens")
    assert os.listdir(tmp_path) == ["a.md"]


async def test_each_part_that_fails_says_what_to_do(tmp_path: Path) -> None:
    """A failing part does not hide the next one."""
    (tmp_path / "file").write_text("")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        async with upstream(WRONG_MODEL) as service:
            found = await diagnoses(
                Settings.of(
                    kb=tmp_path / "none",
                    data=str(tmp_path / "file" / "data"),
                    port=taken.getsockname()[1],
                    model="openai:m",
                    base_url=f"{service.url}/v1",
                    vectors="bert:nowhere",
                )
            )
    failed = {part: each.words for part, each in found.items() if each.grade == "fail"}
    assert set(failed) == {"documents", "model", "data", "port", "vectors"}
    assert "name your documents with --kb DIR" in failed["documents"]
    assert "check the model's name and base-url" in failed["model"]
    assert 'It says: "The model `m` does not exist"' in failed["model"]
    assert "--data DIR" in failed["data"]
    assert "choose another with --host or --port" in failed["port"]
    assert "no config.json in it" in failed["vectors"]


async def test_documents_that_are_left_out_are_named(tmp_path: Path) -> None:
    """The first few with the reason; a folder without a section is no knowledge base."""
    kb = folder_of(tmp_path, a="# A\n\nB.\n")
    (kb / "b.md").write_bytes(b"\xff\xfe\xff")
    found = await check("documents", Settings.of(kb=kb))
    assert (found.grade, "b.md" in found.words) == ("note", True)
    (kb / "a.md").unlink()
    assert (await check("documents", Settings.of(kb=kb))).grade == "fail"


async def test_a_low_limit_of_files_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server works with it, for fewer clients."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))
    found = await check_files(Settings.of())
    assert (found.grade, "lower --max-connections" in found.words) == ("note", True)


@pytest.mark.parametrize(("there", "status"), [(True, 0), (False, 1)])
async def test_the_command_prints_a_line_a_part(
    there: bool, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its exit status says whether a server would work."""
    kb = folder_of(tmp_path, a="# A\n\nB.\n") if there else tmp_path / "none"
    settings = read_settings(["--kb", str(kb), "--port", "0", "--data", "memory", "--vectors", "off"])
    assert isinstance(settings, Flags)
    with logged():
        assert await doctor(settings=settings) == status
    lines = capsys.readouterr().out.splitlines()
    assert [line[:5].strip() for line in lines] == [
        "ok" if there else "fail",
        "note",
        "note",
        "ok",
        "note",
        "ok",
    ]
    assert [line.split()[1] for line in lines] == SILENT


async def test_voice_is_tried_where_it_is_set(tmp_path: Path) -> None:
    """A line for each engine, with its origin and its languages."""
    script = tmp_path / "script.json"
    script.write_text("{}")
    settings = Settings.of(mouth="tone", ear=f"script:{script}")
    mouth, ear = await check("mouth", settings), await check("ear", settings)
    assert (mouth.grade, ear.grade) == ("ok", "ok")
    assert mouth.words.startswith("tone (beeps, for tests) speaks en, sv; ")
    assert ear.words.startswith(f"script:{script} (known audio, for tests) hears en, sv; ")


@pytest.mark.parametrize("part", ["mouth", "ear"])
@pytest.mark.parametrize(
    "setting", ["espeak", "flite", "piper:v", "whisper:d", "moonshine:d", "pocketsphinx"]
)
async def test_an_engine_that_is_missing_is_told_as_at_the_start(
    part: str, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line that installs it, or the engines that there are."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    for module in ("espeak", "piper", "recognizers"):
        monkeypatch.setattr(f"agent.voice.engines.{module}.find_spec", lambda _: None)
    settings = Settings.of(**{part: setting})
    with pytest.raises(UsageError) as told:
        open_wing(settings.voice, new_id, Figures())
    (found,) = [each async for name, each in diagnose(settings) if name == part]
    assert found == Diagnosis("fail", str(told.value))
    assert "install " in found.words or f"{part} must be" in found.words


async def test_an_engine_that_is_there_and_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was tried as a server would use it."""
    mouth, ear = BrokenEngine(fails=0), BreakableRecognizer(fails=["finish"])
    monkeypatch.setattr(f"{doctor.__module__}.open_synthesizer", lambda _: mouth)
    monkeypatch.setattr(f"{doctor.__module__}.open_recognizer", lambda *_: ear)
    settings = Settings.of(mouth="espeak", ear="pocketsphinx")
    found = [await check(part, settings) for part in ("mouth", "ear")]
    assert found == [
        Diagnosis(
            "fail",
            "espeak (a file) speaks en, sv, but the engine broke: install it again, or choose another with --mouth",
        ),
        Diagnosis(
            "fail",
            "pocketsphinx (a file) hears en, sv, but the process ended: "
            "install it again, or choose another with --ear",
        ),
    ]
    assert (mouth.alive, ear.open) == (0, 0)
