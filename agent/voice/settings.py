"""The settings of voice: the engines that speak and hear, and how many clients may be heard at once."""

from dataclasses import dataclass

from ..config import check


@dataclass(frozen=True, slots=True)
class VoiceSettings:
    """The engines of voice.

    Raises `agent.errors.UsageError`, one line that names the setting, when a value cannot work.

    Args:
        mouth: The engine that speaks answers: espeak, flite, piper:FILE or tone. None speaks none.
        ear: The engine that hears clients: whisper:DIR, moonshine:DIR, pocketsphinx or script:FILE. None hears none.
        voice_streams: Most clients that are heard, or said a text over /ws/tts, at once in each worker, 1 to 64.
        voice_confirm: Let a spoken yes confirm an action that was read aloud to its end.
        voice_halves: Serve /ws/stt (audio to words) and /ws/tts (text to audio) to the operator, without a session.
    """

    mouth: str | None = None
    ear: str | None = None
    voice_streams: int = 4
    voice_confirm: bool = False
    voice_halves: bool = False

    def __post_init__(self) -> None:
        """Check the ranges that the types cannot express."""
        check(
            (not 1 <= self.voice_streams <= 64, "voice-streams must be 1 to 64"),
            (
                self.voice_halves and self.mouth is None and self.ear is None,
                "voice-halves needs mouth, ear or both: the engines that it serves",
            ),
        )
