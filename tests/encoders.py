"""The static vectors, shared by all that a run of the tests opens.

A server reads their tokenizer and weights once, which takes it a tenth of a second of CPU. A run of the tests opens
them some twenty times.
"""

from agent.embedding import open as module
from agent.embedding.open import EmbedderChoice
from agent.ports.embed import Encoder

_read: dict[EmbedderChoice, Encoder] = {}
_load = module._load_encoder


def share_encoder() -> None:
    """Let every embedder of the static kind that is opened from now on be the one that another has read."""
    module._load_encoder = _load_shared


def _load_shared(choice: EmbedderChoice) -> Encoder:
    if choice.kind != "static":
        return _load(choice)
    if choice not in _read:
        _read[choice] = _load(choice)
    return _read[choice]
