"""The settings of vectors. What they name is looked for when it is opened."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VectorSettings:
    """What finds the same said in other words.

    Args:
        vectors: What finds the same said in other words: static (small, any language), minilm (English), bert:FOLDER,
            openai:MODEL, off; auto is static where it is installed.
        vectors_url: Where an OpenAI-compatible server gives the vectors of openai:MODEL, such as
            http://127.0.0.1:11434/v1. Its key, if it wants one, is AGENT_VECTORS_KEY.
    """

    vectors: str = "auto"
    vectors_url: str | None = None
