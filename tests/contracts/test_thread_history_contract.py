"""What every store of threads must do."""

from dataclasses import replace

import pytest

from agent.errors import NotFound
from agent.ports.conversation import Scope
from agent.ports.note import ReadStore
from agent.ports.pages import Window
from agent.ports.thread_history import ThreadMark
from tests.remembered import ANA, NOW, OTHERS, a_draft, accepted, an_exchange, proposed

OWNER = (ANA.project, ANA.user)
TOLD = '{"citations":[{"file":"kb/a.md","snippet":"It costs 5 kr."}],"confidence":"high"}'
NOBODY = Scope("p1", "t1", "")
WHOLE = Window(9)


def thread(name: str, scope: Scope = ANA) -> Scope:
    return scope.in_thread(name)


async def listed(memory: ReadStore, scope: Scope = ANA, window: Window = WHOLE) -> list[tuple[str, str, int]]:
    page = await memory.list_threads(scope, window)
    return [(each.scope.thread, each.title, each.count) for each in page.entries]


async def texts(memory: ReadStore, scope: Scope = ANA, window: Window = WHOLE) -> list[str]:
    return [each.text for each in (await memory.load_messages(scope, window)).entries]


async def test_threads_are_listed_latest_first(memory: ReadStore) -> None:
    """Each with its first question, the time of its last message and their number; a page goes on where one ended."""
    for number, name in enumerate(("t1", "t2", "t3", "t1")):
        at = NOW + number * 10
        await memory.keep_exchanges(
            [an_exchange(f"m{number}", f"What is {number}?", scope=thread(name), at=at)], at
        )
    assert await listed(memory) == [("t1", "What is 0?", 4), ("t3", "What is 2?", 2), ("t2", "What is 1?", 2)]
    first = await memory.list_threads(ANA, Window(2))
    assert [(each.scope, each.at) for each in first.entries] == [
        (thread("t1"), NOW + 31),
        (thread("t3"), NOW + 21),
    ]
    assert first.after is not None
    assert await listed(memory, window=Window(2, first.after)) == [("t2", "What is 1?", 2)]


async def test_a_long_question_is_cut_behind_a_word(memory: ReadStore) -> None:
    """One line of at most 60 characters."""
    await memory.keep_exchanges([an_exchange(asked="What  does\nit " + "really " * 20 + "cost?")], NOW)
    ((_, title, _),) = await listed(memory)
    assert title == "What does it " + "really " * 5 + "really…"


async def test_messages_come_with_what_they_were_shown_with(memory: ReadStore) -> None:
    """In their order, the latest page first; a refusal is a refusal."""
    await memory.keep_exchanges([an_exchange("m1", "A?", "B.", details=TOLD)], NOW)
    await memory.keep_exchanges([an_exchange("m2", "C?", "No.", blocked=True)], NOW)
    page = await memory.load_messages(ANA, Window(3))
    assert [(each.message, each.role, each.text, each.details, each.blocked) for each in page.entries] == [
        ("m1", "assistant", "B.", TOLD, False),
        ("m2", "user", "C?", "", False),
        ("m2", "assistant", "No.", "", True),
    ]
    assert page.after is not None
    assert await texts(memory, window=Window(3, page.after)) == ["A?"]
    assert (await memory.load_messages(ANA, Window(3, page.after))).after is None


@pytest.mark.parametrize("other", [*OTHERS, thread("t9")])
async def test_anothers_thread_is_as_one_that_never_was(memory: ReadStore, other: Scope) -> None:
    """It is not listed, shown, renamed or deleted, and what comes of trying is the same."""
    await memory.keep_exchanges([an_exchange()], NOW)
    if (other.project, other.user) != OWNER:
        assert await listed(memory, other) == []
    for attempt in (
        memory.load_messages(other, Window(9)),
        memory.rename_thread(other, "Mine", NOW),
        memory.delete_thread(other, NOW),
    ):
        with pytest.raises(NotFound, match=r"^there is no such thing$"):
            await attempt
    assert await listed(memory) == [("t1", "What is it?", 2)]


async def test_without_a_user_only_the_own_thread_is_listed(memory: ReadStore) -> None:
    """Others without a name are other people."""
    await memory.keep_exchanges([an_exchange(scope=NOBODY), an_exchange(scope=thread("t2", NOBODY))], NOW)
    assert await listed(memory, NOBODY) == [("t1", "What is it?", 2)]


async def test_a_thread_is_renamed(memory: ReadStore) -> None:
    """Whatever is asked next; with nothing, it is called by its first question again."""
    await memory.keep_exchanges([an_exchange()], NOW)
    assert (await memory.rename_thread(ANA, "Prices", NOW)).title == "Prices"
    await memory.keep_exchanges([an_exchange("m2", "And then?")], NOW)
    assert await listed(memory) == [("t1", "Prices", 4)]
    await memory.rename_thread(ANA, "", NOW)
    assert await listed(memory) == [("t1", "What is it?", 4)]


async def test_a_deleted_thread_is_gone_and_does_not_come_back(memory: ReadStore) -> None:
    """With what cites it elsewhere; a late exchange of it is not kept, and proposes nothing."""
    await memory.keep_exchanges([an_exchange("m1", "My cat is Tom", details=TOLD), an_exchange("m2")], NOW)
    await memory.keep_exchanges(
        [an_exchange("m3", "My cat?", "Tom.", scope=thread("t2"), cites=("t1",), details=TOLD)], NOW
    )
    await memory.rename_thread(ANA, "Tom", NOW)
    gone = await memory.delete_thread(ANA, NOW)
    assert [(each.id, each.remark.text) for each in gone] == [
        ("t1", ""),
        ("t2", ""),
        ("t3", ""),
        ("t4", ""),
        ("t6", ""),
    ]
    assert await listed(memory) == [("t2", "My cat?", 1)]
    [late] = await memory.keep_exchanges([an_exchange("m4", "My budget", "Yes.", a_draft())], NOW)
    assert late == ()
    assert await listed(memory) == [("t2", "My cat?", 1)]
    with pytest.raises(NotFound):
        await memory.rename_thread(ANA, "Back", NOW)
    again = await memory.delete_thread(ANA, NOW)  # as where the log could not be cut
    assert again == gone
    await memory.keep_exchanges([an_exchange(scope=thread("t1", replace(ANA, user="bo")))], NOW)
    assert len(await listed(memory, replace(ANA, user="bo"))) == 1


async def test_of_a_deleted_thread_only_accepted_items_are_left(memory: ReadStore) -> None:
    """Without the words that were said of them; what is proposed elsewhere, too, waits on."""
    await memory.keep_exchanges([an_exchange(), an_exchange(scope=thread("t2"))], NOW)
    stays = await accepted(memory, a_draft("The cat is Tom", "cat"))
    gone = await proposed(memory, a_draft("The dog is Rex", "dog"))
    await proposed(memory, a_draft("The cow is Eva", "cow"))
    both = await proposed(memory, a_draft("The cow is Eva", "cow", message="m1"), thread("t2"))
    await memory.delete_thread(ANA, NOW)
    kept = await memory.item(ANA, stays.id)
    assert (kept.text, kept.status, [each.quote for each in kept.sources]) == (
        "The cat is Tom",
        "accepted",
        [""],
    )
    assert (await memory.item(ANA, gone.item.id)).status == "forgotten"
    waiting = await memory.item(ANA, both.item.id)
    assert (waiting.status, [each.quote for each in waiting.sources]) == ("proposed", ["", "The cow is Eva"])


async def test_what_is_forgotten_is_in_no_thread(memory: ReadStore) -> None:
    """Neither in its messages nor in what an answer cites, nor in a title."""
    text = "The code of the door is Quetzal"
    cites = f'{{"citations":[{{"file":"kb/a.md","snippet":"{text}"}}]}}'
    await memory.keep_exchanges(
        [an_exchange("m1", text), an_exchange("m2", "Which?", "That one.", details=cites)], NOW
    )
    await memory.rename_thread(ANA, text, NOW)
    item = await accepted(memory, a_draft(text, "code of the door"))
    await memory.forget_item(ANA, item.id, NOW)
    assert await texts(memory) == ["Which?"]
    assert await listed(memory) == [("t1", "Which?", 1)]


async def test_changes_are_followed(memory: ReadStore) -> None:
    """New and forgotten messages and new titles of the followed users, and what anybody has deleted."""
    other = Scope("p1", "t7", "bo")
    await memory.keep_exchanges([an_exchange(details=TOLD), an_exchange(scope=other)], NOW)
    changes = await memory.thread_changes_after(ThreadMark(), [OWNER], 99)
    ((change,), more) = changes.threads, changes.more
    assert (change.scope, more) == (ANA, False)
    assert [(each.role, each.details) for each in change.messages] == [("user", ""), ("assistant", TOLD)]
    for mark in (changes.upto, await memory.find_mark()):
        assert (await memory.thread_changes_after(mark, [OWNER], 99)).threads == ()
    await memory.rename_thread(ANA, "Prices", NOW)
    await memory.rename_thread(other, "Theirs", NOW)
    renamed = await memory.thread_changes_after(changes.upto, [OWNER], 99)
    assert [(each.scope, each.summary and each.summary.title, each.messages) for each in renamed.threads] == [
        (ANA, "Prices", ())
    ]
    await memory.delete_thread(other, NOW)
    deleted = await memory.thread_changes_after(renamed.upto, [OWNER], 99)
    assert [(each.scope, each.summary, each.messages) for each in deleted.threads] == [(other, None, ())]


async def test_changes_come_in_pages(memory: ReadStore) -> None:
    """A page says whether more follows, and no change is missed."""
    await memory.keep_exchanges([an_exchange(f"m{number}") for number in range(5)], NOW)
    mark, seen, more = ThreadMark(), [], True
    while more:
        changes = await memory.thread_changes_after(mark, [OWNER], 3)
        seen += [each.n for change in changes.threads for each in change.messages]
        mark, more = changes.upto, changes.more
    assert seen == [*range(1, 11)]
