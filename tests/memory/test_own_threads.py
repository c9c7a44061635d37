"""A user's own threads: what of them may be shown, and where else their words are erased."""

from collections.abc import Sequence

import pytest

from agent.memory.own_threads import OwnThreads, withhold_uncited
from agent.memory.thread_titles import TITLE_MOST, shorten_title, tidy_title
from agent.ports.conversation import Scope
from agent.ports.memory import StoredTurn
from agent.ports.pages import Window
from agent.ports.remember import RepeatMatcher
from agent.ports.thread_history import ThreadMessage
from agent.storage.memories.store import open_database_memory
from agent.testing.fakes import Noon
from agent.testing.network import inline
from tests.remembered import ANA, NOW, an_exchange

DETAILS = '{"citations":[{"file":"kb/a.md","snippet":"It costs 5 kr."}]}'


class Erased:
    """A transcript that notes what is erased (implements `Transcript`)."""

    def __init__(self) -> None:
        self.turns: list[str] = []

    async def forget_turns(self, turns: Sequence[StoredTurn], item: str = "") -> None:
        self.turns += [turn.id for turn in turns]

    async def forget_repeats(self, scope: Scope, repeats: RepeatMatcher) -> None:
        raise AssertionError("a thread's words are the user's to say again")


@pytest.mark.parametrize(
    ("text", "details", "blocked", "is_shown"),
    [
        ("It costs 5 kr.", "", False, False),
        ("It costs five kronor.", "", False, False),
        ("It costs 5 kr.", DETAILS, False, True),
        ("It is blue.", "", False, True),
        ("The 5 kr are in no source.", "", True, True),
    ],
)
def test_no_number_is_shown_without_its_source(
    text: str, details: str, blocked: bool, is_shown: bool
) -> None:
    """An answer of an earlier version has none; a refusal has no numbers of a model."""
    answer = ThreadMessage(
        n=2, message="m", role="assistant", text=text, at=NOW, details=details, blocked=blocked
    )
    shown = withhold_uncited(answer)
    assert (shown.text, shown.unsourced) == ((text, False) if is_shown else ("", True))
    question = ThreadMessage(n=1, message="m", role="user", text=text, at=NOW)
    assert withhold_uncited(question) == question


async def test_what_is_kept_of_a_thread_is_renamed_and_erased() -> None:
    """From whatever holds its words beside the store."""
    async with open_database_memory(None, inline, Noon()) as memory:
        erased = Erased()
        own = OwnThreads(memory, Noon(), [erased])
        await memory.keep_exchanges([an_exchange("m1", "What?", "It costs 5 kr.")], NOW)
        (_, answer) = (await own.load_messages(ANA, Window(9))).entries
        assert answer.unsourced
        assert (await own.rename_thread(ANA, " My\n\u2028prices\u0007 ")).title == "My prices"
        await own.delete_thread(ANA)
        assert erased.turns == ["t1", "t2"]
        assert (await own.list_threads(ANA, Window(9))).entries == ()


def test_a_title_is_one_short_line() -> None:
    """Cut behind a word where there is one."""
    assert tidy_title(" a\t\nb\u200b\u202ec ") == "a b c"
    assert shorten_title("What does it cost?") == "What does it cost?"
    for question in ("word " * 40, "w" * 200, "å" * 60 + " x"):
        title = shorten_title(question)
        assert len(title) <= TITLE_MOST + 1
        assert title.endswith("…")
