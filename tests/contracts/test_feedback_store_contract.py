"""What every store of feedback must do: the database's, and the fake of its callers' tests."""

from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest

from agent.errors import NotFound
from agent.memory.repeats import Repeats
from agent.ports.conversation import Scope
from agent.ports.feedback import Feedback, FeedbackStore
from agent.ports.memory import Remark, StoredTurn
from agent.ports.pages import Window
from agent.ports.projects import HOUSE
from agent.storage.store import Store
from agent.testing.fake_feedback import FakeFeedback
from tests.rated import ANN, CITED, a_rated_answer, a_rating
from tests.stored import NOW, an_answer, an_opening, said

ALL = Window(99)
THREAD = Scope(HOUSE, "t1", "u1")


@pytest.fixture(params=["fake", "database"])
async def kept(request: pytest.FixtureRequest, store: Store) -> AsyncGenerator[FeedbackStore, None]:
    """A store of feedback, beside the house's thread t1 with one answer."""
    if request.param == "database":
        await store.threads.begin_turn(an_opening())
        await store.threads.record_step(said(answer=an_answer(confidence="med")))
        yield store.feedback
        return
    answer = an_answer()
    rated = a_rated_answer(
        scope=THREAD,
        question="text of m1",
        answer=answer.content,
        citations=answer.citations,
        confidence="med",
    )
    yield FakeFeedback(answers={"m1": rated})


async def listed(kept: FeedbackStore, project: str = HOUSE) -> tuple[Feedback, ...]:
    """All feedback of a project."""
    return (await kept.feedback(project, ALL)).entries


async def test_feedback_is_found_by_its_message(kept: FeedbackStore) -> None:
    """Of the messages that are asked about and of the project, whatever else is there."""
    made = await kept.put_feedback(a_rating(), a_rated_answer())
    await kept.put_feedback(replace(a_rating(), message="k2"), a_rated_answer())
    assert await kept.find_feedback(HOUSE, ["k1", "k3"]) == {"k1": made}
    assert await kept.find_feedback("p2", ["k1"]) == {}
    assert await kept.find_feedback(HOUSE, []) == {}


async def test_a_rating_is_kept_with_its_answer(kept: FeedbackStore) -> None:
    """Word for word, with all of its evidence."""
    made = await kept.put_feedback(a_rating(), a_rated_answer())
    assert made == Feedback(
        number=made.number,
        message="k1",
        project=HOUSE,
        user="ann",
        thread="t1",
        verdict="down",
        text="Too old",
        question="What does Basic cost?",
        answer="Basic costs 49 kr.",
        citations=(CITED,),
        model="mock",
        confidence="high",
        blocked=None,
        at=NOW,
    )
    assert await listed(kept) == (made,)


async def test_another_mind_takes_the_place_of_the_first(kept: FeedbackStore) -> None:
    """Under a later number, so that a reader who goes on after the first one sees it."""
    first = await kept.put_feedback(a_rating(), a_rated_answer())
    await kept.put_feedback(a_rating("k2"), a_rated_answer())
    second = await kept.put_feedback(a_rating(verdict="up", text=""), a_rated_answer())
    assert second.number > first.number
    assert [(each.message, each.verdict) for each in await listed(kept)] == [("k2", "down"), ("k1", "up")]


async def test_an_answer_that_was_forgotten_meanwhile_is_not_kept(kept: FeedbackStore) -> None:
    """As the caller says at the moment of the write; an earlier rating stays."""
    await kept.put_feedback(a_rating(), a_rated_answer())
    with pytest.raises(NotFound):
        await kept.put_feedback(a_rating(verdict="up"), a_rated_answer(), lambda: False)
    assert [each.verdict for each in await listed(kept)] == ["down"]


async def test_the_answer_of_a_thread_is_read_from_it(kept: FeedbackStore) -> None:
    """With question, evidence and confidence; nothing of it comes from the caller."""
    made = await kept.put_message_feedback(a_rating("m1"), THREAD)
    answer = an_answer()
    assert (made.question, made.answer, made.citations) == ("text of m1", answer.content, answer.citations)
    assert (made.user, made.thread, made.confidence, made.blocked) == ("u1", "t1", "med", None)


@pytest.mark.parametrize(
    ("message", "scope"),
    [
        ("m9", THREAD),
        ("m1", replace(THREAD, user="u2")),
        ("m1", replace(THREAD, thread="t2")),
        ("m1", replace(THREAD, project="p9")),
    ],
)
async def test_another_ones_message_does_not_exist(kept: FeedbackStore, message: str, scope: Scope) -> None:
    """Nor does one that never was; nothing is kept."""
    with pytest.raises(NotFound):
        await kept.put_message_feedback(a_rating(message), scope)
    assert await listed(kept) == ()


async def test_feedback_is_listed_page_by_page(kept: FeedbackStore) -> None:
    """In its order, of one verdict if one is asked for."""
    for number in range(5):
        await kept.put_feedback(
            a_rating(f"k{number}", verdict="up" if number % 2 else "down"), a_rated_answer()
        )
    first = await kept.feedback(HOUSE, Window(2))
    assert first.after is not None
    rest = await kept.feedback(HOUSE, Window(9, first.after))
    assert [each.message for each in (*first.entries, *rest.entries)] == [f"k{each}" for each in range(5)]
    up = await kept.feedback(HOUSE, ALL, "up")
    assert [each.message for each in up.entries] == ["k1", "k3"]


async def test_a_deleted_rating_is_gone(kept: FeedbackStore) -> None:
    """Of its message alone, and twice is as good as once."""
    for message in ("k1", "k2"):
        await kept.put_feedback(a_rating(message), a_rated_answer())
    for _ in range(2):
        await kept.delete_feedback(HOUSE, "k1")
    assert [each.message for each in await listed(kept)] == ["k2"]


@pytest.mark.parametrize(
    "other",
    [
        {"question": "I live in Lund."},
        {"answer": "Noted: you live in Lund."},
        {"citations": ({"file": "memory/i1", "snippet": "I live in Lund"},)},
    ],
)
async def test_feedback_that_repeats_what_is_forgotten_goes(
    kept: FeedbackStore, other: dict[str, object]
) -> None:
    """In question, answer or evidence; that of other users and about other things stays."""
    for message, answer in (
        ("k1", a_rated_answer(**other)),
        ("k2", a_rated_answer()),
        ("k3", a_rated_answer(**other, scope=replace(ANN, user="bob"))),
    ):
        await kept.put_feedback(a_rating(message), answer)
    await kept.forget_repeats(ANN, Repeats(["I live in Lund"]))
    assert [each.message for each in await listed(kept)] == ["k2", "k3"]


async def test_words_beside_a_verdict_are_forgotten_too(kept: FeedbackStore) -> None:
    """Of a user without a name in the one thread only."""
    unnamed = replace(ANN, user="")
    for message, scope in (("k1", unnamed), ("k2", replace(unnamed, thread="t2"))):
        await kept.put_feedback(a_rating(message, text="No: I live in Lund"), a_rated_answer(scope=scope))
    await kept.forget_repeats(unnamed, Repeats(["I live in Lund"]))
    assert [each.message for each in await listed(kept)] == ["k2"]


async def test_feedback_about_forgotten_turns_goes(kept: FeedbackStore) -> None:
    """That of their messages, and that which cites them or the item; also of the user's other threads."""
    cites = {
        message: ({"file": f"memory/{ref}", "snippet": "x"},) for message, ref in (("k2", "t7"), ("k3", "i5"))
    }
    for message in ("k1", "k2", "k3", "k4"):
        answer = a_rated_answer(citations=cites.get(message, (CITED,)), scope=replace(ANN, thread=message))
        await kept.put_feedback(a_rating(message), answer)
    gone = StoredTurn(7, ANN, Remark(message="k1", role="user", text="", at=NOW))
    for _ in range(2):
        await kept.forget_turns([gone], "i5")
    assert [each.message for each in await listed(kept)] == ["k4"]


async def test_the_feedback_of_a_deleted_thread_and_project_goes(store: Store) -> None:
    """With the row that it belongs to, whoever deletes it."""
    await store.projects.create_project("p1", "One", "", NOW)
    await store.threads.begin_turn(an_opening())
    await store.threads.record_step(said(answer=an_answer()))
    await store.feedback.put_message_feedback(a_rating("a1"), THREAD)  # by the id of the answer
    await store.feedback.put_feedback(a_rating("k2"), a_rated_answer(project="p1"))
    await store.threads.delete_thread(HOUSE, "t1")
    assert await listed(store.feedback) == ()
    await store.projects.delete_project("p1")
    with pytest.raises(NotFound):
        await listed(store.feedback, "p1")
    with pytest.raises(NotFound):
        await store.feedback.put_feedback(a_rating("k2"), a_rated_answer(project="p1"))


async def test_an_answer_that_is_empty_cannot_be_rated(store: Store) -> None:
    """One that was forgotten, and a turn that has none."""
    await store.threads.begin_turn(an_opening())
    with pytest.raises(NotFound):
        await store.feedback.put_message_feedback(a_rating("m1"), THREAD)
    await store.threads.record_step(said(answer=an_answer()))
    turn = StoredTurn(1, THREAD, Remark(message="m1", role="user", text="", at=NOW))
    await store.threads.forget_turns([turn])
    with pytest.raises(NotFound):
        await store.feedback.put_message_feedback(a_rating("m1"), THREAD)


async def test_the_two_ids_of_an_answer_are_one_rating(store: Store) -> None:
    """That of the answer and that of its message."""
    await store.threads.begin_turn(an_opening())
    await store.threads.record_step(said(answer=an_answer()))
    await store.feedback.put_message_feedback(a_rating("m1"), THREAD)
    await store.feedback.put_message_feedback(a_rating("a1", verdict="up"), THREAD)
    assert [(each.message, each.verdict) for each in await listed(store.feedback)] == [("m1", "up")]


async def test_the_oldest_feedback_makes_room(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own first, then the project's."""
    monkeypatch.setattr("agent.storage.feedback.FEEDBACK_OF_USER", 2)
    monkeypatch.setattr("agent.storage.feedback.FEEDBACK_OF_PROJECT", 3)
    bob = replace(ANN, user="bob")
    for message, scope in (("k1", bob), ("k2", ANN), ("k3", ANN), ("k4", ANN), ("k5", bob)):
        await store.feedback.put_feedback(a_rating(message), a_rated_answer(scope=scope))
    assert [each.message for each in await listed(store.feedback)] == ["k3", "k4", "k5"]
