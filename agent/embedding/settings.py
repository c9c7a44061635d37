"""The settings of vectors. Their packages and files are looked for only when an embedder is opened."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VectorSettings:
    """Settings of the search by meaning.

    Args:
        vectors: Vectors that find the same meaning in other words: static (small, any language), minilm (English),
            bert:FOLDER, openai:MODEL or off. auto is static where its weights are installed.
        vectors_url: URL of the OpenAI-compatible server for openai:MODEL, such as http://127.0.0.1:11434/v1. Set its
            key, if it needs one, as AGENT_VECTORS_KEY.
    """

    vectors: str = "auto"
    vectors_url: str | None = None
