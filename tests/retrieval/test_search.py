"""The search over kb/: the right file first, nothing for what is not there, and how long it may take to be ready."""

from pathlib import Path

import pytest

from agent.ports.search import Lang
from agent.ports.work import RunSync
from agent.retrieval.search import KnowledgeBase, load_knowledge_base


@pytest.mark.parametrize(
    ("question", "lang", "file"),
    [
        ("what does the standard plan cost", "en", "kb/pricing.md"),
        ("vad kostar paketen?", "sv", "kb/sv/pricing.md"),
        ("how long is the return period", "en", "kb/policies.md"),
        ("telefonnummer till kundtjänst", "sv", "kb/sv/contact.md"),
        ("standrd prise", "en", "kb/pricing.md"),
    ],
)
async def test_the_right_file_comes_first(kb: KnowledgeBase, question: str, lang: Lang, file: str) -> None:
    """The best hit of a question, rewritten or raw, is in the file that answers it."""
    raw = await kb.search(question, lang, 5)
    rewritten = await kb.search(kb.rewrite(question, lang), lang, 5)
    assert [hits[0].snippet.file for hits in (raw, rewritten)] == [file, file]


@pytest.mark.parametrize("lang", ["en", "sv"])
@pytest.mark.parametrize(
    "question",
    [
        "what is the capital of Mongolia",
        "xyz completely unrelated topic",
        "asdfghjkl qwertyuiop",
        "",
        "what is it and how do I",
        "vad är det och hur gör man",
        "?!\"'()[]{}^~*:\\/ AND OR NOT",
    ],
)
async def test_nothing_is_found_for_nothing_asked(kb: KnowledgeBase, question: str, lang: Lang) -> None:
    """A question about nothing in the knowledge base, or of common words or marks alone, has no hit."""
    assert await kb.search(question, lang, 5) == ()


async def test_a_knowledge_base_is_loaded_from_its_folder(folder: Path, inline: RunSync) -> None:
    """A folder is read, cut and indexed through the given worker."""
    loaded = await load_knowledge_base(folder, inline)
    assert len({passage.file for passage in loaded.passages}) == 12
