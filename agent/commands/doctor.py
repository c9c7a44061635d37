"""`agent doctor`: checks each part that a server here would need, and names the remedy for each that fails.

Strategy: a check uses the part as the server would, and leaves nothing behind: the model is asked for one token, the
port is opened and closed, a file is written into the data folder and removed, and an engine of voice says a word, or
hears a moment of silence. Each check is one line.
"""

import os
import resource
import shutil
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

import trio
from cyclopts import Parameter

from .. import log
from ..config import MEMORY
from ..embedding.open import choose
from ..errors import ModelFailed, UsageError, VoiceFailed
from ..host import WallClock, WorkerThreads
from ..models.health import ask_for_one_token
from ..models.open import ask_context, open_language_model
from ..retrieval.foreign import open_foreign_files
from ..retrieval.load import Skipped, read_folder
from ..server.accept import SPARE_FILES, open_listeners
from ..server.metrics import Metrics
from ..server.settings import VISITORS
from ..settings import Settings
from ..storage.open import check_server, data_label, ledger_folder
from ..storage.settings import is_server
from ..text.terminal import printable_line
from ..voice.engines.open import open_recognizer, open_synthesizer
from .output import FAILED, OK, write
from .settings import DEFAULTS, Flags, settings_app

_LEFT_OUT_SHOWN = 3
# Free bytes of the data folder's disk below which the disk counts as nearly full.
_FREE_BYTES = 200 * 1024 * 1024
_WORD = "radio"  # in every language
_SILENCE = bytes(3200)  # 100 ms of it

Grade: TypeAlias = Literal["ok", "note", "fail"]

command = settings_app("doctor")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of a check. `grade`: "note" for a part that works and could do better. `words`: with the remedy."""

    grade: Grade
    words: str


@command.default
async def doctor(*, settings: Annotated[Flags, Parameter(name="*")] = DEFAULTS) -> int:
    """Check documents, model, data, port, vectors, file limit and voice, and print a remedy for each fault.

    Takes the settings of `agent serve` and reads the same variables and `agent.toml`. Exit status: 0 when a server
    would work, 1 when a part fails.

    Example: agent doctor --kb docs --model openai:llama3.2 --base-url http://127.0.0.1:11434/v1
    """
    log.configure("console", "error")  # a check prints its own line
    has_failed = False
    async with aclosing(diagnose(settings)) as diagnoses:
        async for part, diagnosis in diagnoses:
            write(f"{diagnosis.grade:5} {part:10} {printable_line(diagnosis.words)}\n")
            has_failed = has_failed or diagnosis.grade == "fail"
    return FAILED if has_failed else OK


async def diagnose(settings: Settings) -> AsyncGenerator[tuple[str, Diagnosis], None]:
    """Yield each part that the settings have and its diagnosis, in the order of `CHECKS`.

    Cancelled, a check leaves nothing behind.
    """
    for part, check in CHECKS.items():
        try:
            diagnosis = await check(settings)
        except UsageError as error:
            diagnosis = Diagnosis("fail", str(error))
        if diagnosis is not None:
            yield part, diagnosis


async def check_documents(settings: Settings) -> Diagnosis:
    """Read the documents as a server does."""
    folder = settings.documents.kb
    if not folder.is_dir():
        return Diagnosis("fail", f"there is no folder {folder.absolute()}: name your documents with --kb DIR")
    return await WorkerThreads(1)(partial(_read_documents, folder))


def _read_documents(folder: Path) -> Diagnosis:
    loaded = read_folder(folder)
    left_out, sections = list(loaded.skipped), 0
    with open_foreign_files() as foreign:
        for source in loaded.sources:
            section_or_skipped = foreign.read_whole(source)
            if isinstance(section_or_skipped, Skipped):
                left_out.append(section_or_skipped)
            else:
                sections += len(section_or_skipped[1])
    words = f"{len(loaded.sources) + len(loaded.skipped) - len(left_out):,} files, {sections:,} sections in {folder}"
    if left_out:
        examples = "; ".join(f"{each.file}: {each.reason}" for each in left_out[:_LEFT_OUT_SHOWN])
        words += f"; {len(left_out):,} left out ({examples}): agent kb check lists all"
    if not sections:
        return Diagnosis("fail", f"{words}: put Markdown, HTML, text, PDF or DOCX files there")
    return Diagnosis("note" if left_out else "ok", words)


async def check_model(settings: Settings) -> Diagnosis:
    """Ask the language model for one token, and its server for the size of its context."""
    models = settings.model
    if models.quotes:
        return Diagnosis(
            "note", "no language model is set, so answers are quotations: see agent guide models"
        )
    if models.uses_no_model:
        return Diagnosis("ok", "drafts come from a script")
    try:
        async with open_language_model(models, Metrics(), WorkerThreads(1)) as model:
            seconds = await ask_for_one_token(model)
    except ModelFailed as failure:
        reply = f' It says: "{failure.detail}"' if failure.detail else ""
        return Diagnosis("fail", f"{failure}.{reply}")
    words = f"{models.model} answers, its first token in {seconds:.1f} s"
    size = await ask_context(models)
    return Diagnosis("ok", words if size is None else f"{words}; its context is {size:,} tokens")


async def check_data(settings: Settings) -> Diagnosis:
    """Write a file into the data folder, or into the folder in which a server would make it."""
    if settings.storage.data == MEMORY:
        return Diagnosis("note", "data is in memory and ends with the server: keep it with --data DIR")
    if is_server(settings.storage.data):
        try:
            danger = await WorkerThreads(1)(partial(check_server, settings.storage, WallClock()))
        except UsageError as error:
            return Diagnosis("fail", str(error))
        words = f"{data_label(settings.storage.data)} answers"
        return Diagnosis("note", f"{words}, but {danger}") if danger else Diagnosis("ok", words)
    return await WorkerThreads(1)(partial(_write_data, ledger_folder(settings.storage.data)))


def _write_data(folder: Path) -> Diagnosis:
    existing = next(each for each in (folder, *folder.parents) if each.exists())
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"agent")
            file.flush()
            os.fsync(file.fileno())
        free = shutil.disk_usage(existing).free
    except OSError as error:
        why = error.strerror or type(error).__name__
        return Diagnosis(
            "fail", f"{existing} cannot be written ({why}): choose another folder with --data DIR"
        )
    words = f"{folder} can be written, {free // 1024**2:,} MiB are free"
    return Diagnosis("ok", words) if free > _FREE_BYTES else Diagnosis("note", f"{words}: make room soon")


async def check_port(settings: Settings) -> Diagnosis:
    """Open the port and close it again."""
    for listener in await open_listeners(settings.server):
        await listener.aclose()
    return Diagnosis("ok", f"{settings.server.host} port {settings.server.port} is free")


async def check_vectors(settings: Settings) -> Diagnosis:
    """Look for the packages and files of the vectors."""
    choice = choose(settings.vectors.vectors, settings.vectors.vectors_url)
    if choice is None:
        return Diagnosis("note", "off, so answers are found by words alone: set --vectors static")
    return Diagnosis("ok", f"{choice.kind}, from {choice.place}")


async def check_files(settings: Settings) -> Diagnosis:
    """Compare the limit of open files with the connections that the settings allow."""
    needed = settings.server.max_connections + VISITORS + SPARE_FILES
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        words = f"{hard:,} open files are allowed, and {settings.server.max_connections:,} connections need {needed:,}"
        return Diagnosis("note", f"{words}: raise `ulimit -Hn`, or lower --max-connections")
    return Diagnosis("ok", f"enough for {settings.server.max_connections:,} connections")


async def check_mouth(settings: Settings) -> Diagnosis | None:
    """Have the engine that speaks say a word in each of its languages. None without one."""
    setting = settings.voice.mouth
    if setting is None:
        return None
    engine = await WorkerThreads(1)(partial(open_synthesizer, setting))

    async def say_words() -> None:
        for lang in engine.langs:
            async with engine.synthesize(_WORD, lang) as pieces:
                async for _ in pieces:
                    pass

    words = f"{setting} ({engine.origin}) speaks {', '.join(engine.langs)}"
    return await _try_engine("mouth", words, say_words, "a word in each took")


async def check_ear(settings: Settings) -> Diagnosis | None:
    """Have the engine that hears make out a moment of silence. None without one."""
    setting = settings.voice.ear
    if setting is None:
        return None
    engine = await WorkerThreads(1)(partial(open_recognizer, setting, settings.voice.voice_streams))

    async def hear_silence() -> None:
        async with engine.open_ear() as ear:
            await ear.feed(_SILENCE)
            await ear.finish()

    words = f"{setting} ({engine.origin}) hears {', '.join(engine.langs)}"
    return await _try_engine("ear", words, hear_silence, "it started in")


async def _try_engine(option: str, words: str, use: Callable[[], Awaitable[None]], took: str) -> Diagnosis:
    """Use the engine of a setting once. `words` name the engine, and `took` the seconds of `use`."""
    began = trio.current_time()
    try:
        await use()
    except VoiceFailed as failure:
        remedy = f"install it again, or choose another with --{option}"
        return Diagnosis("fail", f"{words}, but {failure}: {remedy}")
    return Diagnosis("ok", f"{words}; {took} {trio.current_time() - began:.1f} s")


CHECKS: Final[Mapping[str, Callable[[Settings], Awaitable[Diagnosis | None]]]] = {
    "documents": check_documents,
    "model": check_model,
    "data": check_data,
    "port": check_port,
    "vectors": check_vectors,
    "files": check_files,
    "mouth": check_mouth,
    "ear": check_ear,
}
