"""The acts of a user that talks and listens: asks aloud, interrupts, coughs, cancels within a word.

Its audio is sound that the script of the soak's own server knows (`write_script`): frames of 100 ms, whose first two
are the partial words of a question, and whose four are the question. It is sent as fast as it is spoken.
"""

import hashlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import ClassVar

import trio

from .random_acts import RandomActs
from .user_connection import UserConnection
from .users import SUBJECTS

FRAME, SECONDS = 3200, 0.1  # of a frame of audio: bytes, and how long it is
PARTIAL, WHOLE = 2, 4  # frames of sound until its first words are heard, and of a question
SILENCE = bytes(FRAME)
ENDING = 9  # frames of silence that end an utterance
COUGH = 30_000  # a sound that the script does not know
VOICES_MAX = 64  # as many as a server may listen to


def make_sound(number: int) -> bytes:
    """Return a frame of sound that differs from those of other numbers."""
    return (number + 1).to_bytes(2, "little", signed=True) * (FRAME // 2)


def write_script(path: Path) -> None:
    """Write the script file of the ear: the words of each sound. Blocks."""
    words = {}
    for number, question in enumerate(SUBJECTS):
        for frames, text in ((PARTIAL, " ".join(question.split()[:2])), (WHOLE, question)):
            words[hashlib.sha256(make_sound(number) * frames).hexdigest()] = text
    path.write_text(json.dumps(words), encoding="utf-8")


class VoiceActs(RandomActs):
    """The acts of one connection with voice."""

    def __init__(self, connection: UserConnection, rng: Random) -> None:
        self._connection = connection
        super().__init__(rng)

    async def _say(self) -> None:
        """Say a question, and end it by silence or by the end of `listen`."""
        await self._connection.send_listen(True)
        await self._send_audio([make_sound(self._rng.randrange(len(SUBJECTS)))] * WHOLE)
        if self._rng.random() < 0.5:
            await self._connection.send_listen(False)
        else:
            await self._send_audio([SILENCE] * ENDING)
        await self._connection.wait_for_heard()

    async def _send_audio(self, frames: list[bytes]) -> None:
        for pcm in frames:
            await self._connection.send_audio(pcm)
            await trio.sleep(SECONDS)

    async def _type(self) -> None:
        await self._connection.send_message(self._rng.choice(SUBJECTS))

    async def _say_and_listen(self) -> None:
        await self._say()
        await self._connection.wait_for_silence()
        await self._connection.send_played()

    async def _type_and_listen(self) -> None:
        await self._type()
        await self._connection.wait_for_speech()
        await self._connection.wait_for_silence()

    async def _cancel_within_a_word(self) -> None:
        await self._type()
        await self._connection.wait_for_speech()
        await trio.sleep(self._rng.uniform(0, 0.5))
        await self._connection.send_cancel(self._rng.choice((None, self._connection.account.speeches.live)))

    async def _interrupt(self) -> None:
        await self._type()
        await self._connection.wait_for_speech()
        await self._say()

    async def _cough(self) -> None:
        """Make a noise while the answer is said, which goes on after it."""
        await self._type()
        await self._connection.wait_for_speech()
        await self._connection.send_listen(True)
        await self._send_audio([make_sound(COUGH), *[SILENCE] * ENDING])
        await self._connection.wait_for_heard()

    async def _type_over_it(self) -> None:
        await self._type()
        await self._connection.wait_for_speech()
        await self._type()

    async def _fall_silent(self) -> None:
        """Break off in a question without a word of it."""
        await self._connection.send_listen(True)
        await self._send_audio([make_sound(COUGH)])

    _ACTS: ClassVar[dict[Callable[["VoiceActs"], Awaitable[None]], int]] = {
        _say_and_listen: 4,
        _type_and_listen: 2,
        _cancel_within_a_word: 5,
        _interrupt: 5,
        _cough: 3,
        _type_over_it: 3,
        _fall_silent: 1,
    }
