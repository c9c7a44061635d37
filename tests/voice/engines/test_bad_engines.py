"""Engines that are missing, hang, die, ignore SIGTERM or print garbage: each costs its own speech, no process stays."""

import os
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from agent.errors import VoiceFailed
from agent.voice.engines import process_ear, program
from agent.voice.engines.process_ear import ProcessRecognizer
from agent.voice.engines.program import SpeechProgram

pytestmark = pytest.mark.proof

BAD = str(Path(__file__).with_name("bad_programs.py"))
WORDS = "seven newton metres"
LIMIT = 10.0  # seconds, of a loaded machine, for what has deadlines of one second here
FRAME = bytes(1280)


def find_processes(token: str) -> list[bytes]:
    """The commands of the processes whose command holds `token`; a process that has ended has none."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            command = Path(f"/proc/{entry}/cmdline").read_bytes() if entry.isdigit() else b""
        except OSError:
            continue
        if token.encode() in command:
            found.append(command)
    return found


def is_gone(token: str) -> bool:
    """Whether no process is left: those of a killed group that are not ours to wait for end some milliseconds later."""
    until = time.monotonic() + 2.0
    while find_processes(token) and time.monotonic() < until:
        time.sleep(0.005)
    return not find_processes(token)


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A mark of the processes of a test, of which none and no descriptor is left at its end."""
    for name in ("SPEECH_FIRST", "SPEECH_NEXT"):
        monkeypatch.setattr(program, name, 1.0)
    for name in ("EAR_START", "EAR_FEED", "EAR_FINISH"):
        monkeypatch.setattr(process_ear, name, 1.0)
    mark = uuid.uuid4().hex
    begun = time.monotonic()
    yield mark
    assert time.monotonic() - begun < LIMIT
    assert is_gone(mark)


def make_mouth(mode: str, token: str) -> SpeechProgram:
    return SpeechProgram("fake", {"en": (sys.executable, "-S", BAD, mode, token)}, 16_000)


def make_recognizer(mode: str, token: str, streams: int = 1) -> ProcessRecognizer:
    made = ProcessRecognizer("fake", (), ("en",), streams)
    made._command = (sys.executable, "-S", BAD, mode, token)
    return made


def count_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def speak(mouth: SpeechProgram) -> bytes:
    async with mouth.synthesize(WORDS, "en") as pieces:
        return b"".join([piece async for piece in pieces])


async def test_a_good_program_is_heard_whole(token: str) -> None:
    """The other tests fail for their own reasons: this program is fine."""
    assert len(await speak(make_mouth("good", token))) == 32_000


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("hangs", "takes too long"),
        ("hangs_late", "takes too long"),
        ("deaf", "takes too long"),
        ("child", "takes too long"),
        ("dies", "makes no audio"),
        ("dies_late", "has broken off"),
        ("nothing", "makes no audio"),
        ("headless", "makes no audio"),
        ("silent", "makes no audio"),
        ("garbage", "prints something else"),
        ("too_much", "far too much"),
    ],
)
async def test_a_bad_mouth_fails_in_time(token: str, mode: str, message: str) -> None:
    """It fails with a clause of ours, within its deadline, and its group is gone when the block is left."""
    before = count_descriptors()
    with pytest.raises(VoiceFailed, match=f"^fake .*{message}"):
        await speak(make_mouth(mode, token))
    assert is_gone(token)
    assert count_descriptors() <= before


async def test_a_missing_mouth_fails_when_it_is_asked(token: str) -> None:
    """A program that was removed since the start costs one speech."""
    mouth = SpeechProgram("fake", {"en": ("/nowhere/espeak-ng", token)}, 16_000)
    with pytest.raises(VoiceFailed, match=r"^fake cannot be started \(No such file or directory\)$"):
        await speak(mouth)


@pytest.mark.parametrize("mode", ["deaf", "child", "too_much"])
async def test_a_cancel_leaves_no_process(token: str, mode: str) -> None:
    """The group is killed while its audio is waited for, children and deaf ones too."""
    before = count_descriptors()
    with trio.move_on_after(LIMIT) as scope:
        async with make_mouth(mode, token).synthesize(WORDS, "en") as pieces:
            await anext(pieces)
            assert find_processes(token) != []
            scope.cancel()
            await trio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert is_gone(token)
    assert count_descriptors() <= before


async def test_words_do_not_stand_on_the_command_line(token: str) -> None:
    """Every user of a machine may read the commands of all."""
    async with make_mouth("deaf", token).synthesize(WORDS, "en") as pieces:
        await anext(pieces)
        commands = find_processes(token)
        assert commands
        assert not [command for command in commands if b"newton" in command]


@pytest.mark.parametrize("mode", ["ear_hangs", "ear_dies", "ear_garbage", "ear_nothing"])
async def test_an_ear_that_does_not_start_fails(token: str, mode: str) -> None:
    """Opening it fails in time, and its place is free again."""
    before = count_descriptors()
    recognizer = make_recognizer(mode, token)
    for _ in range(2):
        with pytest.raises(VoiceFailed, match=r"^fake "):
            async with recognizer.open_ear():
                pytest.fail("it must not open")
    assert is_gone(token)
    assert count_descriptors() <= before


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("ear_hangs_late", "takes too long"),
        ("ear_deaf", "takes too long"),
        ("ear_dies_late", "has ended"),
        ("ear_nonsense", "does not answer as it should"),
        ("ear_other", "does not answer as it should"),
        ("ear_endless", "answers too much"),
        ("ear_twice", "does not answer as it should"),
    ],
)
async def test_a_bad_ear_fails_in_time(token: str, mode: str, message: str) -> None:
    """A frame without a proper answer breaks the ear: later requests fail at once."""
    before = count_descriptors()
    async with make_recognizer(mode, token).open_ear() as ear:
        with pytest.raises(VoiceFailed, match=f"^fake .*{message}"):
            await ear.feed(FRAME)
        with pytest.raises(VoiceFailed, match="has failed before"):
            await ear.finish()
        with pytest.raises(VoiceFailed, match="has failed before"):
            await ear.discard()
    assert is_gone(token)
    assert count_descriptors() <= before


async def test_a_missing_ear_fails_when_it_is_opened(token: str) -> None:
    """An interpreter that was removed since the start costs one ear."""
    recognizer = make_recognizer("", token)
    recognizer._command = ("/nowhere/python", token)
    with pytest.raises(VoiceFailed, match="cannot be started"):
        async with recognizer.open_ear():
            pytest.fail("it must not open")


async def test_no_more_ears_are_open_than_streams(token: str) -> None:
    """The next one waits for a place, and fails where none is free in time."""
    recognizer = make_recognizer("ear_deaf", token)
    async with recognizer.open_ear():
        with pytest.raises(VoiceFailed, match="does not start in time"):
            async with recognizer.open_ear():
                pytest.fail("it must not open")
    async with recognizer.open_ear():
        assert len(find_processes(token)) == 1


async def test_a_cancelled_request_leaves_no_process(token: str) -> None:
    """A client that leaves in the middle of a frame's answer ends its ear."""
    with trio.move_on_after(0.3) as scope:
        async with make_recognizer("ear_hangs_late", token).open_ear() as ear:
            await ear.feed(FRAME)
    assert scope.cancelled_caught
    assert is_gone(token)
