"""Answers and their ratings as the tests of feedback need them."""

from dataclasses import replace
from typing import Any

from agent.ports.conversation import Scope
from agent.ports.feedback import RatedAnswer, Rating
from agent.ports.projects import HOUSE

from .stored import NOW

ANN = Scope("/docs", "t1", "ann")
CITED = {"file": "kb/prices.md", "lines": [3, 4], "snippet": "Basic costs 49 kr."}


def a_rating(message: str = "k1", **other: Any) -> Rating:
    """A thumb down on the answer to a message."""
    made = Rating(message=message, verdict="down", text="Too old", model="mock", at=NOW)
    return replace(made, **other)


def a_rated_answer(**other: Any) -> RatedAnswer:
    """An answer over a socket, about a price."""
    made = RatedAnswer(
        project=HOUSE,
        scope=ANN,
        question="What does Basic cost?",
        answer="Basic costs 49 kr.",
        citations=(CITED,),
        confidence="high",
    )
    return replace(made, **other)
