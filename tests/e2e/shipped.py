"""The repository's own knowledge base, indexed once for all end-to-end tests."""

from functools import cache
from pathlib import Path

from agent.retrieval.load import load_documents
from agent.retrieval.search import KnowledgeBase

KB = Path(__file__).parents[2] / "kb"


@cache
def knowledge() -> KnowledgeBase:
    """Return the knowledge base in `kb/`."""
    return KnowledgeBase.build(load_documents(KB).sources)
