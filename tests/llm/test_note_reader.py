"""What a language model is asked about a message's memory, and what is made of its answer."""

import json
from typing import Any

import pytest

from agent.errors import ModelFailed
from agent.llm.note_reader import ModelNoter
from agent.ports.memory import Remark, StoredTurn
from agent.ports.note import MemoryNote, UnreadTurn
from agent.testing.network import inline
from agent.testing.replies import Answer, ScriptedLanguageModel, says
from tests.memory.made import MINE, NOW, item

SAID = "I moved to Lund, and from now on I take the train"
NOTED = {"type": "fact", "about": "home", "text": "The user lives in Lund", "quote": "I moved to Lund"}


def turn(n: int, text: str, role: Any = "user") -> StoredTurn:
    return StoredTurn(n, MINE, Remark(message=f"m{n}", role=role, text=text, at=NOW))


UNREAD = UnreadTurn(turn(3, SAID), (turn(1, "Hej ```"), turn(2, "Hi.", "assistant")))


async def find(
    *answers: Answer, unread: UnreadTurn = UNREAD, known: Any = ()
) -> tuple[Any, ScriptedLanguageModel]:
    model = ScriptedLanguageModel(*answers)
    found = await ModelNoter(model, inline).find_notes(unread, known)
    assert model.opened == model.closed
    return found, model


def listed(*items: dict[str, Any]) -> Answer:
    return says(json.dumps({"items": list(items)}))


async def test_what_it_finds_comes_back() -> None:
    """As it said it, unchecked."""
    rule = {**NOTED, "type": "rule", "about": "travel", "replaces": "i4"}
    found, _ = await find(listed(NOTED, rule))
    assert found == (
        MemoryNote("fact", "home", "The user lives in Lund", "I moved to Lund"),
        MemoryNote("rule", "travel", "The user lives in Lund", "I moved to Lund", "i4"),
    )


async def test_nothing_is_an_answer() -> None:
    """The usual one."""
    found, model = await find(listed())
    assert found == ()
    assert model.opened == 1


async def test_it_is_shown_the_message_what_was_said_and_what_is_known() -> None:
    """All of it between fences that nothing in it closes; the instructions come first, in the message's language."""
    _, model = await find(listed(), known=[item(id="i4", text="The user lives in Malmö")])
    system = "\n".join(each.text for each in model.requests[0].messages if each.role == "system")
    user = next(each.text for each in model.requests[0].messages if each.role == "user")
    assert "worth remembering" in system
    assert all(each not in system for each in (SAID, "Malmö", "Hej"))
    assert "[i4] The user lives in Malmö" in user
    assert "user: Hej ```\nassistant: Hi." in user
    assert user.index("Malmö") < user.index("Hej") < user.index(SAID)
    assert "````" in user
    swedish = UnreadTurn(turn(3, "Jag bor i Lund och vill alltid ha svar på svenska"))
    _, model = await find(listed(), unread=swedish)
    assert "värt att minnas" in "\n".join(each.text for each in model.requests[0].messages)
    assert "Det här är redan" not in model.requests[0].messages[-1].text


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "event"},
        {"type": "metric"},
        {"about": ""},
        {"text": "x" * 501},
        {"quote": 5},
    ],
)
async def test_what_does_not_hold_is_asked_for_once_more(wrong: dict[str, Any]) -> None:
    """And then nothing of it is taken."""
    found, model = await find(listed({**NOTED, **wrong}), listed(NOTED))
    assert len(found) == 1
    assert model.opened == 2
    with pytest.raises(ModelFailed) as failed:
        await find(listed({**NOTED, **wrong}))
    assert failed.value.kind == "request"


async def test_a_service_that_fails_says_how() -> None:
    """So that its caller knows whether the message was at fault."""
    with pytest.raises(ModelFailed) as failed:
        await find([ModelFailed("busy", "rate", 7.0)])
    assert (failed.value.kind, failed.value.retry_after) == ("rate", 7.0)
