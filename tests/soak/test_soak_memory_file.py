"""What was told and what is kept: each way in which they can disagree is found."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent.memory.exchange_keeper import ExchangeKeeper
from agent.memory.message_items import read_items
from agent.ports.brain import Question
from agent.ports.conversation import Scope
from agent.ports.remember import FinishedAnswer
from agent.soak.memory_file import (
    StoredItem,
    StoredMemory,
    count_rows,
    find_file_numbers,
    find_memory_faults,
    read_memory,
    read_numbers,
    summarize_memory,
)
from agent.soak.server_file import ActionRow
from agent.storage.memories.store import open_database_memory
from agent.testing.fakes import Figures, Noon
from agent.testing.network import inline
from agent.testing.return_paths import NotedReturnPath

N = "912300070000"
SAID = [f"memory:approved {N} - -", f"memory:said {N} - -"]
TURN = {(1, "m1"): {"user": f"It is {N}.", "assistant": "Noted."}}


def kept(
    status: str = "accepted", text: str = f"It is {N}", by: str | None = "user", **moves: int
) -> StoredItem:
    return StoredItem(
        scope=1,
        place="p",
        type="fact",
        status=status,
        decided_by=by,
        text=text,
        moves=Counter({"approve": 1} | moves),
    )


def broken(lines: list[str], memory: StoredMemory, rows: dict[str, ActionRow] | None = None) -> list[str]:
    found = find_memory_faults(memory, read_numbers(lines), rows or {})
    return [f"{promise}: {what}" for promise, what in found]


def test_what_agrees_is_not_noted() -> None:
    """What was approved is live, what was forgotten has no words, and what was lost is noted."""
    assert broken(SAID, StoredMemory({"i1": kept()}, TURN)) == []
    gone = [*SAID, f"memory:forgetting {N} - -", f"memory:forgot {N} - -"]
    empty = {(1, "m1"): {"user": "", "assistant": ""}}
    assert broken(gone, StoredMemory({"i1": kept("forgotten", "")}, empty)) == []
    assert broken(SAID, StoredMemory({}, {}, gaps=1)) == []
    assert broken(["confirmed a", *SAID[:1]], StoredMemory()) == []
    reopened = kept(approve=2, reopen=1)
    assert (
        broken(
            [*SAID, "memory:offered s1 i1 -"], StoredMemory({"i1": reopened}, TURN), {"s1": ActionRow("done")}
        )
        == []
    )


@pytest.mark.parametrize(
    ("lines", "memory", "why"),
    [
        ([], StoredMemory({"i1": kept()}), "M1: i1 is accepted, and no user has approved it"),
        (SAID, StoredMemory({"i1": kept(approve=2)}, TURN), "M1: i1 was accepted 2 times"),
        (SAID, StoredMemory({"i1": kept(), "i2": kept()}, TURN), "M6: 2 live items"),
        (
            [SAID[0], f"memory:cancelled {N} - -"],
            StoredMemory({"i1": kept()}),
            "M5: i1 is of a turn that was cancelled",
        ),
        (
            [f"memory:cancelled {N} - -"],
            StoredMemory({}, TURN),
            f"M5: {N} was told in a turn that was cancelled",
        ),
        (SAID, StoredMemory({"i1": kept("forgotten")}, TURN), "M2: i1 is forgotten, and has words"),
        (
            [*SAID, f"memory:forgot {N} - -"],
            StoredMemory(found=frozenset([N])),
            f"M2: {N} was forgotten, and is in a file",
        ),
        (SAID, StoredMemory(), "M5: 1 exchanges are not kept"),
        ([], StoredMemory({}, {(1, "m1"): {"user": "Hi."}}), "M4: m1 is half kept"),
    ],
)
def test_what_disagrees_is_found(lines: list[str], memory: StoredMemory, why: str) -> None:
    """Each way of it."""
    (what,) = broken(lines, memory)
    assert what.startswith(why)


def test_what_a_ledger_tells_of_an_item_is_held_against_it() -> None:
    """A suggestion that is done has made its item live."""
    lines, rows = ["memory:offered s1 i1 -"], {"s1": ActionRow("done")}
    proposed = StoredMemory({"i1": kept("proposed", "", None, approve=0)})
    assert broken(lines, proposed, rows) == ["M1: s1 is done, and i1 was never accepted"]
    assert broken(lines, StoredMemory(), rows) == ["M1: s1 is done, and i1 was never accepted"]
    assert broken(lines, proposed, {"s1": ActionRow("failed")}) == []


async def test_what_is_kept_is_read(tmp_path: Path) -> None:
    """As a server has left it."""
    async with open_database_memory(tmp_path, inline, Noon()) as memory:
        keeper = ExchangeKeeper(memory, Noon(), Figures(), read_items)
        question = Question(
            id="m1",
            text=f"Remember that my locker number is {N}.",
            lang="en",
            at=0.0,
            scope=Scope("p", "t", ""),
        )
        keeper.record_exchange(question, FinishedAnswer("Noted."), NotedReturnPath())
        await keeper._write_next()
        await memory.record_gap(Scope("p", "t", ""), Noon().now_ms(), 2)
    found = read_memory(tmp_path, 0)
    (item,) = found.items.values()
    assert (item.status, item.text, dict(item.moves)) == (
        *("accepted", f"My locker number is {N}"),
        {"propose": 1, "approve": 1},
    )
    ((_, sides),) = found.turns.items()
    assert dict(sides) == {"user": question.text, "assistant": "Noted."}
    assert (found.gaps, found.found) == (2, frozenset([N]))
    assert count_rows(tmp_path) == 3
    assert read_memory(tmp_path, Noon().now_ms() + 1) == StoredMemory({}, {}, 0, frozenset([N]))
    figure: dict[str, Any] = summarize_memory(found, read_numbers(SAID))
    assert (figure["items"], figure["told"], figure["gaps"]) == ({"accepted": 1}, 1, 2)


def test_a_number_that_two_pieces_of_a_file_share_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a folder of the folder."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").write_bytes(b"\xff" * 25 + N.encode() + b"\x00 9123000700001")
    for size in (1, 7, 30, 4096):
        monkeypatch.setattr("agent.soak.memory_file._READ_AT_ONCE", size)
        assert N in find_file_numbers(tmp_path)
