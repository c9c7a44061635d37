"""Tells the scenes of stories: the port `Teller`, and the prompt that it tells from."""

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..lang import Lang


@dataclass(frozen=True, slots=True, kw_only=True)
class TellingPrompt:
    """A prompt for a scene. `stable` is the text before the border, which the next scene's prompt repeats, `fresh` the
    one after it. `facts` are what a teller without a language model tells from: values by name.
    """

    stable: str
    fresh: str
    lang: Lang
    facts: Mapping[str, Any]


class Teller(Protocol):
    """Writes scenes, choices, summaries and asides."""

    @property
    def name(self) -> str:
        """The name of the model."""
        ...

    def tell_scene(self, prompt: TellingPrompt, seed: int) -> AsyncGenerator[str, None]:
        """Yield the pieces of a scene, as they come. Raises `agent.errors.ModelFailed`."""
        ...

    async def write(self, prompt: TellingPrompt, seed: int, max_characters: int) -> str:
        """Return a short text: choices, a milestone check, a summary, an aside. Raises `agent.errors.ModelFailed`."""
        ...
