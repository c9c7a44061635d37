"""Documents of a few lines answer what they say, however the question is put, and refuse all else."""

from collections.abc import Mapping

import pytest

from agent.lang import Lang
from agent.ports.search import Query
from agent.retrieval.load import SourceFile
from agent.retrieval.search import KnowledgeBase

SAYS: Mapping[str, tuple[Lang, tuple[str, ...], tuple[str, ...]]] = {  # answered, and refused
    "# Features\n\nThe app has a login and a feed.\n": (
        "en",
        (
            "What are the main features we need to build?",
            "What features does the app have?",
            "Does the app have a login?",
            "list the features please",
            "Can you summarise the feature list for me?",
        ),
        (
            "What should we build first?",
            "How much does the app cost?",
            "How much do the features cost?",
            "What are the features of Slack?",
            "What are the main risks we need to consider?",
            "Who is on the team?",
            "What is the capital of Mongolia?",
            "how do I bake sourdough bread",
        ),
    ),
    "# Goals\n\nShip the beta in May and win ten pilot customers.\n": (
        "en",
        (
            "What are the most important goals for this project?",
            "What goals do we have to reach this year?",
            "When do we ship the beta?",
        ),
        ("What are the most important risks for this project?", "What is the budget?", "Who invests in us?"),
    ),
    "# Krav\n\nAppen ska ha inloggning och ett flöde.\n": (
        "sv",
        ("Vilka är de viktigaste kraven som vi måste bygga?", "Vad ska appen ha?"),
        ("Vilka är de viktigaste riskerna som vi måste tänka på?", "Vad kostar appen?", "Vad kostar kraven?"),
    ),
    "# Risks\n\nThe supplier may be late.\n\n# Team\n\nAnna leads design and Bo writes the code.\n": (
        "en",
        ("What are the biggest risks that we should plan for?", "Who is in the team that builds this?"),
        ("What are the biggest markets that we should plan for?", "Who is on the team of Ericsson?"),
    ),
}


@pytest.mark.parametrize("text", SAYS, ids=lambda text: text.split("\n")[0].removeprefix("# "))
async def test_a_few_lines_answer_what_they_say_and_nothing_else(text: str) -> None:
    """Whatever words a question has beside the heading; a name of others, or another kind of answer, is refused."""
    lang, answered, refused = SAYS[text]
    base = KnowledgeBase.build([SourceFile.of("kb/a.md", text)])

    async def finds(question: str) -> bool:
        return bool(await base.search(Query(question, lang, 40)))

    assert [question for question in answered if not await finds(question)] == []
    assert [question for question in refused if await finds(question)] == []
