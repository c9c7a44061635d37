"""The pipes of engines on virtual time: bounds and deadlines of what a program writes."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import cast

import pytest
import trio
from trio.testing import MockClock, memory_stream_one_way_pair

from agent.errors import VoiceFailed
from agent.ports.voice import EarUpdate, VoiceTranscript
from agent.voice.engines import process_ear, program
from agent.voice.engines.ear_requests import ANSWER_MOST, REQUEST_HEAD
from agent.voice.engines.pcm import make_wav_head
from agent.voice.engines.process_ear import ProcessRecognizer
from agent.voice.engines.program import SPEECH_NEXT, SpeechProgram

HEAD = make_wav_head(16_000)
SECOND = b"\x01\x00" * 16_000
WORDS = "seven newton metres"

Deed = Callable[["FakeProcess"], Awaitable[None]]


class FakeProcess:
    """A program without a process: its pipes, and its exit status."""

    def __init__(self) -> None:
        self.stdin, self.input = memory_stream_one_way_pair()
        self.output, self.stdout = memory_stream_one_way_pair()
        self.returncode = 0

    async def wait(self) -> int:
        await trio.lowlevel.checkpoint()
        return self.returncode


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch, nursery: trio.Nursery) -> Callable[[Deed], None]:
    """Let a function of a test be the program that engines start."""

    def play_deed(deed: Deed) -> None:
        @asynccontextmanager
        async def run(*arguments: object, grace: float) -> AsyncGenerator[trio.Process, None]:
            assert grace == 0, "an engine has nothing to clean up"
            process = FakeProcess()
            nursery.start_soon(deed, process)
            yield cast("trio.Process", process)

        for module in (program, process_ear):
            monkeypatch.setattr(module, "run_in_group", run)

    return play_deed


async def speak(pause: float = 0.0) -> bytes:
    mouth, audio = SpeechProgram("fake", {"en": ("fake",)}, 16_000), b""
    async with mouth.synthesize(WORDS, "en") as pieces:
        async for piece in pieces:
            audio += piece
            await trio.sleep(pause)
    return audio


async def expect_failure(message: str, act: Callable[[], Awaitable[object]]) -> None:
    with pytest.raises(VoiceFailed, match=message):
        await act()


async def test_audio_has_a_bound(play: Callable[[Deed], None]) -> None:
    """Ten times the audio of the words is refused, and what they can take is not."""

    async def write(process: FakeProcess, seconds: int) -> None:
        await process.output.send_all(HEAD + SECOND * seconds)
        await process.output.aclose()

    play(lambda process: write(process, 4))
    assert await speak() == SECOND * 4
    play(lambda process: write(process, 12))
    await expect_failure("^fake makes far too much audio$", speak)


async def test_a_program_that_prints_is_not_played(play: Callable[[Deed], None]) -> None:
    """The head of its output must be that of its audio."""

    async def write(process: FakeProcess) -> None:
        await process.output.send_all(b"Segmentation fault" * 1000)

    play(write)
    await expect_failure("^fake prints something else than its audio$", speak)


async def test_only_the_wait_for_a_piece_is_bounded(
    play: Callable[[Deed], None], autojump_clock: MockClock
) -> None:
    """A listener may take its time for each piece; the program may not."""

    async def write(process: FakeProcess, pause: float) -> None:
        await process.output.send_all(HEAD + SECOND)
        await trio.sleep(pause)
        await process.output.send_all(SECOND)
        await process.output.aclose()

    play(lambda process: write(process, 0.9 * SPEECH_NEXT))
    assert await speak(pause=60) == SECOND * 2
    play(lambda process: write(process, 1.1 * SPEECH_NEXT))
    await expect_failure("^fake takes too long$", speak)


async def test_words_are_one_line_on_the_input(play: Callable[[Deed], None]) -> None:
    """Line ends in words would be the ends of what a program speaks; then the input ends."""
    given = bytearray()

    async def read(process: FakeProcess) -> None:
        async for piece in process.input:
            given.extend(piece)
        await process.output.send_all(HEAD + SECOND)
        await process.output.aclose()

    play(read)
    mouth = SpeechProgram("fake", {"en": ("fake",)}, 16_000)
    async with mouth.synthesize("sju\n newton\tmeter", "en") as pieces:
        assert [piece async for piece in pieces]
    assert bytes(given) == b"sju newton meter\n"


async def answer(process: FakeProcess, *lines: bytes) -> None:
    """Be an ear that answers a line to each request."""
    await process.output.send_all(b"{}\n")
    for line in lines:
        head = await process.input.receive_some(REQUEST_HEAD.size)
        _, length = REQUEST_HEAD.unpack(head)
        while length:
            length -= len(await process.input.receive_some(length))
        await process.output.send_all(line)
    await trio.sleep_forever()


async def test_an_ear_answers_requests_in_order(play: Callable[[Deed], None]) -> None:
    """Updates to frames, then the words."""
    update, words = b'{"is_speech":true,"partial":"seven"}\n', b'{"text":"seven","is_sure":true}\n'
    play(lambda process: answer(process, update, words, b'{"text":""}\n', update))
    async with ProcessRecognizer("fake", (), ("en",), 1).open_ear() as ear:
        assert await ear.feed(SECOND) == EarUpdate(is_speech=True, partial="seven")
        assert await ear.finish() == VoiceTranscript("seven", is_sure=True)
        await ear.discard()
        assert (await ear.feed(SECOND)).is_speech


async def test_an_ear_that_failed_is_not_asked_again(
    play: Callable[[Deed], None], autojump_clock: MockClock
) -> None:
    """A late answer would be taken for that of the next frame."""
    play(lambda process: answer(process))
    async with ProcessRecognizer("fake", (), ("en",), 1).open_ear() as ear:
        with pytest.raises(VoiceFailed, match=r"^fake takes too long$"):
            await ear.feed(SECOND)
        with pytest.raises(VoiceFailed, match=r"^fake has failed before$"):
            await ear.feed(SECOND)


async def test_a_line_of_an_ear_has_a_bound(play: Callable[[Deed], None]) -> None:
    """A process that writes without end is not kept in memory."""
    play(lambda process: answer(process, b"a" * (3 * ANSWER_MOST)))
    async with ProcessRecognizer("fake", (), ("en",), 1).open_ear() as ear:
        with pytest.raises(VoiceFailed, match=r"^fake answers too much$"):
            await ear.feed(SECOND)
