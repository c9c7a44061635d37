"""The voice of one server: makes the wire of each client that talks or listens, and the halves without a session."""

from collections.abc import Callable

from ..ports.observe import Observer
from ..ports.voice import Recognizer, Synthesizer
from ..protocol.kinds import HEARING, SPEAKING, ConnectionKind
from ..protocol.outbound import VoiceAbilities
from ..wire.pulse import Pulse
from .halves import HalfRole, HearingHalf, SpeakingHalf, VoiceHalf
from .hearing import Hearing, HearingParts, VoicePlaces
from .mouth import Mouth
from .settings import VoiceSettings
from .voice_wire import TalkingConnection, VoiceWire


class VoiceWing:
    """The engines of a server, and the places of its clients.

    `synthesizer`, `recognizer`: None where the server does not speak, or hear. `new_id`: returns an unguessable id at
    each call.
    """

    def __init__(
        self,
        settings: VoiceSettings,
        synthesizer: Synthesizer | None,
        recognizer: Recognizer | None,
        new_id: Callable[[], str],
        observer: Observer,
    ) -> None:
        self.abilities = VoiceAbilities(
            speaks=() if synthesizer is None else tuple(synthesizer.langs),
            hears=() if recognizer is None else tuple(recognizer.langs),
        )
        self._synthesizer = synthesizer
        self._confirms = settings.voice_confirm
        self._observer = observer
        self._places = VoicePlaces(settings.voice_streams)
        self._hearing = (
            None if recognizer is None else HearingParts(recognizer, self._places, new_id, observer)
        )
        self._has_halves = settings.voice_halves

    @property
    def half_paths(self) -> tuple[bytes, ...]:
        """The paths of the halves that are served."""
        halves = ((HEARING, self._hearing), (SPEAKING, self._synthesizer)) if self._has_halves else ()
        return tuple(path for kind, engine in halves if engine is not None for path in kind.paths)

    def make_wire(self, connection: TalkingConnection, pulse: Pulse) -> VoiceWire:
        """Return the wire of a session whose client has offered voice. `pulse`: calls the mouth."""
        mouth = None if self._synthesizer is None else Mouth(connection, self._synthesizer, pulse)
        hearing = None if self._hearing is None else Hearing(self._hearing, connection, mouth)
        return VoiceWire(connection, mouth, hearing, self._confirms)

    def make_half(self, kind: ConnectionKind, connection: TalkingConnection, pulse: Pulse) -> VoiceHalf:
        """Return the half of voice that serves a connection to one of `half_paths`."""
        half: HalfRole
        if kind is HEARING:
            assert self._hearing is not None
            half = HearingHalf(connection, self._hearing)
        else:
            assert self._synthesizer is not None
            half = SpeakingHalf(connection, self._synthesizer, pulse, self._places)
        return VoiceHalf(connection, kind, half, self._observer)
