"""Voice is opened only where the settings name an engine."""

import subprocess
import sys

import pytest

from agent.errors import UsageError
from agent.host import new_id
from agent.testing.fakes import Figures
from agent.voice.open import open_wing
from agent.voice.settings import VoiceSettings


def test_without_an_engine_nothing_of_voice_is_imported() -> None:
    """A server as it was: neither the engines nor the wire around a client."""
    code = (
        "import sys, agent.app, agent.commands.serve\n"
        "from agent.settings import Settings\n"
        "agent.app.App(Settings())\n"
        "loaded = [name for name in sys.modules if name.startswith('agent.voice.')]\n"
        "assert not set(loaded) - {'agent.voice.open', 'agent.voice.settings', 'agent.voice.states'}, loaded"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
    assert open_wing(VoiceSettings(), new_id, Figures()) is None


@pytest.mark.parametrize(
    "settings",
    [VoiceSettings(mouth="trumpet"), VoiceSettings(ear="trumpet"), VoiceSettings(ear="script:/none")],
    ids=["mouth", "ear", "file"],
)
def test_an_engine_that_cannot_be_used_is_an_error_in_one_line(settings: VoiceSettings) -> None:
    """It names the setting."""
    with pytest.raises(UsageError, match=r"^(mouth|ear) .*"):
        open_wing(settings, new_id, Figures())
