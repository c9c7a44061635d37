"""Opens voice: only where the settings name an engine is anything of it imported."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..ports.observe import Observer
from ..ports.voice import Recognizer, Synthesizer
from .settings import VoiceSettings

if TYPE_CHECKING:
    from .wing import VoiceWing


def open_wing(
    settings: VoiceSettings,
    new_id: Callable[[], str],
    observer: Observer,
    synthesizer: Synthesizer | None = None,
    recognizer: Recognizer | None = None,
) -> "VoiceWing | None":
    """Return the voice of a server, or None where it neither speaks nor hears. Blocks.

    `synthesizer`, `recognizer`: in place of the engines that `settings` name. Raises `agent.errors.UsageError`, one
    sentence, for an engine that cannot be used.
    """
    if settings.mouth is not None and synthesizer is None:
        from .engines.open import open_synthesizer

        synthesizer = open_synthesizer(settings.mouth)
    if settings.ear is not None and recognizer is None:
        from .engines.open import open_recognizer

        recognizer = open_recognizer(settings.ear, settings.voice_streams)
    if synthesizer is None and recognizer is None:
        return None
    from .wing import VoiceWing

    return VoiceWing(settings, synthesizer, recognizer, new_id, observer)
