"""One speech: the texts of one turn, the task that has an engine make their audio, and that audio on its way.

A speech is made for one turn and never used again, so that an engine that ends late adds to nothing that is heard.
"""

from collections import deque
from collections.abc import Callable

import structlog
import trio

from ..errors import VoiceFailed, describe_error
from ..lang import Lang
from ..ports.utterance import Utterance
from ..ports.voice import Synthesizer
from ..text.words import split_words
from .playback import Playback, PlayedCallback, SentenceAudio

_log = structlog.get_logger("agent.voice")

UtteranceMaker = Callable[[], Utterance]
"""Makes the words of a text; called in the speech's task, where a fault ends the speech and nothing else."""


class LiveSpeech:
    """The speech of the answer to the message `message`. `number`: of its audio in the outbox.

    `grown`: called when there is audio to send, or no more will follow. `failed`: called once when the engine failed.
    Neither is called after `stop`.
    """

    __slots__ = (
        "_failed",
        "_grown",
        "_more",
        "_room",
        "_scope",
        "_texts",
        "is_made",
        "message",
        "number",
        "playback",
        "words",
    )

    def __init__(
        self, message: str, number: int, grown: Callable[[], None], failed: Callable[[], None]
    ) -> None:
        self.message = message
        self.number = number
        self.playback = Playback()
        self.words: set[str] = set()  # that it says, in lower case
        self.is_made = False  # the audio of every text so far, of which the last was added
        self._grown = grown
        self._failed = failed
        self._texts: deque[tuple[UtteranceMaker, PlayedCallback] | None] = deque()  # None follows the last
        self._more = trio.Event()
        self._room = trio.Event()
        self._scope = trio.CancelScope()

    def add_text(self, make: UtteranceMaker, last: bool, played: PlayedCallback) -> None:
        """Say the utterance that `make` returns, after the texts before it. `last`: no further text follows.

        `played`: called when the client has played a sentence of it.
        """
        self.is_made = False
        self._texts.append((make, played))
        if last:
            self._texts.append(None)
        self._more.set()

    def note_sent(self) -> None:
        """Let the engine go on if there is room for its audio."""
        if not self.playback.is_full:
            self._room.set()

    def stop(self) -> None:
        """End the engine; it makes no more audio that is heard. Idempotent."""
        self._grown = self._failed = _ignore
        self._scope.cancel()

    async def run(self, engine: Synthesizer, unwound: trio.Lock) -> None:
        """Have `engine` make the audio of the texts, in order, until `stop`; a fault ends the speech only.

        `unwound`: held while an engine may run, so that one ends before the next of its client begins.
        """
        with self._scope:
            try:
                async with unwound:
                    while True:
                        await self._make_audio(engine)
            except* VoiceFailed as failures:
                _log.warning("speech failed", message=self.message, why=str(failures.exceptions[0]))
                self._failed()
            except* Exception as broken:  # noqa: BLE001 - the edge of one speech
                _log.error("speech broke", message=self.message, **describe_error(broken.exceptions[0]))
                self._failed()

    async def _make_audio(self, engine: Synthesizer) -> None:
        """Wait for the next text, and make its audio."""
        while not self._texts:
            self._more = trio.Event()
            await self._more.wait()
        text = self._texts.popleft()
        if text is None:
            self.is_made = not self._texts
            self._grown()
            return
        make, played = text
        utterance = make()
        if utterance.sentences and utterance.lang not in engine.langs:
            raise VoiceFailed(f"the engine does not speak {utterance.lang}")
        for sentence in utterance.sentences:
            self.words.update(split_words(sentence.words.lower()))
            audio = SentenceAudio(sentence, played)
            self.playback.add_sentence(audio)
            await self._synthesize(engine, audio, utterance.lang)
        await trio.lowlevel.checkpoint()

    async def _synthesize(self, engine: Synthesizer, audio: SentenceAudio, lang: Lang) -> None:
        async with engine.synthesize(audio.sentence.words, lang) as pieces:
            async for pcm in pieces:
                audio.add(pcm)
                self._grown()
                await self._wait_for_room()
        audio.is_whole = True
        self._grown()

    async def _wait_for_room(self) -> None:
        """Wait until not as much audio waits as may."""
        while self.playback.is_full:
            self._room = trio.Event()
            await self._room.wait()


def _ignore() -> None:
    """Do nothing: the speech has ended."""
