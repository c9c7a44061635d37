"""Puts the weights of the static vectors into this project's wheel; only hatchling runs this, when a wheel is built.

Strategy: the weights are two files of WordLlama's wheel. To install that wheel would bring twenty packages that
nothing here imports, among them a client of the Hugging Face hub. So it is a requirement of the build, which ends with
the build, and its files are copied, with their licence, beside the package `agent`.
"""

from importlib.metadata import distribution
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_PACKAGE = "agent_wordllama"
_FILES = ("l2_supercat_256.safetensors", "l2_supercat_tokenizer_config.json", "LICENSE")


class WeightsHook(BuildHookInterface):  # type: ignore[type-arg, misc, unused-ignore]
    """Adds the files to a wheel, and to that of an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files. Raises `ValueError` when WordLlama's wheel does not hold each of them once."""
        files = [file for file in distribution("wordllama").files or () if file.name in _FILES]
        if sorted(file.name for file in files) != sorted(_FILES):
            raise ValueError(f"wordllama holds {files}, not {_FILES}")
        included = {str(file.locate()): f"{_PACKAGE}/{file.name}" for file in files}
        for key in ("force_include", "force_include_editable"):
            build_data.setdefault(key, {}).update(included)
