"""The figures of recall: how talks are read, and how they are counted."""

import json
from pathlib import Path

import pytest

from tests.bench.recall import KINDS, Asked, auroc, chats, dialogues, made_up, recall_at


def test_dialogues_and_chats_are_read(tmp_path: Path) -> None:
    """Evidence that names no turn is left out, and so are the marks behind a user's message."""
    turn = {
        "id": "D1:1",
        "session": 1,
        "at": "2023-05-08T13:56:00",
        "speaker": "Ann",
        "text": "A grey kitten.",
    }
    asked = {"question": "Which kitten?", "category": 1, "evidence": ["D1:1", "D9:9"]}
    (tmp_path / "a.jsonl").write_text(json.dumps({"dialogue": "one", "turns": [turn], "questions": [asked]}))
    talk = dialogues(tmp_path)[0]
    assert talk.questions[0].evidence == ("D1:1",)
    folder = tmp_path / "1" / "probing_questions"
    folder.mkdir(parents=True)
    said = [
        {"role": "user", "id": 0, "time_anchor": "March-15-2024", "content": "My cat is grey. ->-> 1,1"},
        {"role": "assistant", "id": 1, "content": "I see."},
    ]
    (tmp_path / "1" / "chat.json").write_text(json.dumps([{"batch_number": 1, "turns": [said]}]))
    probe = {"question": "What is my cat?", "source_chat_ids": {"first": [0], "second": [0, 1]}}
    (folder / "probing_questions.json").write_text(json.dumps({"knowledge_update": [probe]}))
    chat = chats(tmp_path)[0]
    assert [each.remark.text for each in chat.turns] == ["My cat is grey.", "I see."]
    assert (chat.questions[0].evidence, chat.questions[0].kind in KINDS) == (("0", "1"), True)


async def test_what_is_found_is_counted(tmp_path: Path) -> None:
    """By the share of the evidence among the first ten."""
    assert recall_at(["a", "b"], ["b", "c"]) == 0.5
    assert recall_at([str(each) for each in range(20)], ["11"]) == 0
    assert auroc([0.9, 0.5], [0.5, 0.1]) == pytest.approx(0.875)
    turns = list(made_up(20, 2))
    assert len({each.scope for each in turns}) == 2
    test_dialogues_and_chats_are_read(tmp_path)
    assert await Asked(chats(tmp_path)[0]).ranking("What is my cat?") == ["0", "1"]
