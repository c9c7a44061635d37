"""Recalling what was said: the whole way from a question to excerpts."""

import pytest
import trio
import trio.testing

from agent.errors import EmbeddingFailed
from agent.memory.recall.change_follower import PAGE
from agent.memory.recall.dense import RowVectors
from agent.memory.recall.recall import AGAIN, IndexRecaller
from agent.memory.recall.search import RECALLED_SHOWN
from agent.ports.change_mark import ChangeMark
from agent.ports.conversation import Scope
from agent.ports.recall import RecallResult
from agent.ports.recall_store import Changes
from agent.recall.index import BATCH
from agent.recall.sureness import FLOOR
from agent.testing.vectors import WordsEmbedder
from tests.memory.made import DAY, MINE, NOW, item

from .made import TALK, Feed, best, index_of, inline, recall_of, search, turn


@pytest.mark.parametrize("commit", [False, True])
async def test_what_answers_is_recalled(commit: bool) -> None:
    """By whom it was said, with its date, its thread and its message's id, oldest first."""
    recall = recall_of(*TALK)
    if commit:
        (await recall.load_index(MINE)).commit()
    found = await recall.recall(search("Which kitten did Ben adopt?"))
    assert best(found)[0] == "t2"
    top = max(found.excerpts, key=lambda each: each.score)
    assert (top.by, top.message, top.thread, top.citable, top.kind) == ("Ben", "m2", "t", True, "turn")
    assert top.score == pytest.approx(found.score)
    assert [each.at for each in found.excerpts] == sorted(each.at for each in found.excerpts)


async def test_who_is_named_decides_between_two_that_say_the_same() -> None:
    """Whatever came later."""
    recall = recall_of(turn(1, "I love pottery.", "Ann", at=9), turn(2, "I love pottery.", "Ben", at=1))
    assert best(await recall.recall(search("Does Ann love pottery?")))[0] == "t1"
    assert best(await recall.recall(search("Does Ben love pottery?")))[0] == "t2"


async def test_the_user_and_the_agent_are_told_apart() -> None:
    """What the agent said is no source of a number."""
    recall = recall_of(
        turn(1, "The sprint ends on 4 May.", "assistant", at=9), turn(2, "My sprint ends on 5 May.")
    )
    mine = await recall.recall(search("When does my sprint end?"))
    yours = await recall.recall(search("When did you say the sprint ends?"))
    assert (best(mine)[0], best(yours)[0]) == ("t2", "t1")
    assert [each.citable for each in mine.excerpts] == [False, True]


async def test_a_time_is_found_where_one_is_asked_for() -> None:
    """And a date that is named makes what was said then likelier."""
    recall = recall_of(
        turn(
            1, "We had dinner with the Hansens near the harbour once, which was lovely for all of us.", at=60
        ),
        turn(2, "We had dinner with the Hansens yesterday near the harbour, lovely for all of us.", at=1),
    )
    assert best(await recall.recall(search("When was dinner with the Hansens?")))[0] == "t2"
    days = [
        turn(n, "We had dinner with the Hansens at home.", at=n * 24 * 60 * 40, sitting=n) for n in (1, 2, 3)
    ]
    recall = recall_of(*days)
    assert best(await recall.recall(search("Who had dinner last month?")))[0] == "t1"


async def test_nothing_that_fits_is_nothing() -> None:
    """Below the floor; its score tells how far."""
    recall = recall_of(*TALK)
    unknown = await recall.recall(search("What did Ben say about submarines?", floor=None))
    known = await recall.recall(search("Which kitten did Ben adopt?", floor=None))
    assert unknown.excerpts == ()
    assert unknown.score < FLOOR < known.score
    assert (await recall.recall(search("??"))).score == 0
    assert (await recall_of().recall(search("kitten"))).excerpts == ()


async def test_what_the_reader_has_before_him_is_left_out() -> None:
    """In his own thread; the same id elsewhere is another message."""
    here, there = Scope("p", "one", "ana"), Scope("p", "two", "ana")
    recall = recall_of(turn(1, "kitten", scope=here), turn(2, "kitten kitten", scope=there))
    shown = frozenset(("m1", "m2"))
    assert best(await recall.recall(search("kitten", here, visible_messages=shown))) == ["t2"]
    assert best(await recall.recall(search("kitten", there, visible_messages=shown))) == ["t1"]


async def test_what_fits_of_what_the_reader_has_before_him_is_told_apart() -> None:
    """Of what may be cited: what a user said, and not what the agent did; and no more of it than is of use."""
    here = Scope("p", "one", "ana")
    recall = recall_of(
        turn(1, "My kitten weighs 3 kg.", scope=here),
        turn(2, "A kitten of 3 kg is healthy.", "assistant", scope=here),
        turn(3, "The car is red.", scope=here),
        turn(4, "My kitten came in May.", scope=here),
    )
    found = await recall.recall(
        search("How heavy is my kitten?", here, visible_messages=frozenset({"m1", "m2", "m3"}))
    )
    assert best(found) == ["t4"]
    assert [each.id for each in found.visible_excerpts] == ["t1"]
    many = [turn(n, f"Kitten {n} is mine.", scope=here) for n in range(1, 20)]
    all_of_it = frozenset(f"m{n}" for n in range(1, 20))
    told = await recall_of(*many).recall(search("kitten", here, visible_messages=all_of_it))
    assert (told.excerpts, len(told.visible_excerpts)) == ((), RECALLED_SHOWN)


async def test_what_was_forgotten_is_not_told_of_the_conversation_either() -> None:
    """Also where another process has forgotten it since."""
    here = Scope("p", "one", "ana")
    feed = Feed(*[turn(n, f"Kitten {n}.", scope=here) for n in range(1, 4)])
    recall = IndexRecaller(feed, inline)
    await recall.recall(search("kitten", here))
    feed.changes += [turn(1, "", scope=here), turn(2, "", scope=here)]
    found = await recall.recall(search("kitten", here, visible_messages=frozenset({"m1", "m2", "m3"})))
    assert [each.id for each in found.visible_excerpts] == ["t3"]


async def test_excerpts_are_within_the_budget() -> None:
    """And at most as many as are wanted."""
    recall = recall_of(*[turn(n, f"The kitten has {n} toys in the house.") for n in range(1, 30)])
    found = await recall.recall(search("kitten toys", limit=5))
    assert len(found.excerpts) == 5
    assert len((await recall.recall(search("kitten toys", tokens=30))).excerpts) == 2


async def test_both_sides_of_a_contradiction_are_named() -> None:
    """What a user said, and the item that says otherwise."""
    recall = recall_of(turn(1, "The budget of Atlas is 60 000 kr.", at=1), items=[item()])
    found = await recall.recall(search("What is the budget of Atlas?"))
    assert found.disagreements == (("i1", "t1"),)
    assert {each.kind for each in found.excerpts} == {"turn", "item"}


async def test_an_item_takes_nothing_from_what_was_said() -> None:
    """Nobody said it; a question about nobody is about everybody all the same."""
    recall = recall_of(*TALK, items=[item()])
    assert best(await recall.recall(search("Where was the kitten adopted?", floor=None)))[0] == "t2"
    assert best(await recall.recall(search("What did we decide about Atlas?", floor=None)))[0] == "i1"


@pytest.mark.parametrize("status", ["proposed", "done", "rejected", "expired", "superseded", "forgotten"])
async def test_only_live_items_are_recalled(status: str) -> None:
    """Whatever its status becomes, it is gone at once."""
    feed = Feed(items=[item()])
    recall = IndexRecaller(feed, inline)
    assert best(await recall.recall(search("budget of Atlas"))) == ["i1"]
    feed.changes.append(item(status=status))
    assert best(await recall.recall(search("budget of Atlas"))) == []


async def test_the_index_follows_what_is_kept() -> None:
    """From what is there at the first question; what was forgotten goes."""
    feed = Feed(*TALK, items=[item()])
    recall = IndexRecaller(feed, inline)
    assert best(await recall.recall(search("Which kitten did Ben adopt?")))[0] == "t2"
    feed.changes += [turn(2, ""), item(status="superseded"), turn(6, "A new hat.")]
    assert best(await recall.recall(search("kitten"))) == []
    assert best(await recall.recall(search("budget Atlas"))) == []
    assert best(await recall.recall(search("hat", limit=1))) == ["t6"]


async def test_what_another_process_has_changed_is_seen_by_the_next_search() -> None:
    """All of it, however much, also while somebody else takes it in; what is kept was read before."""
    feed = Feed(*TALK)
    recall = IndexRecaller(feed, inline)
    await recall.load_index(MINE)
    feed.changes += [turn(n, f"Nothing much {n}.", sitting=n) for n in range(10, 10 + 2 * PAGE)]
    feed.changes += [turn(2, ""), turn(900, "A black kitten.", sitting=900)]
    real, waiting = feed.changes_after, trio.Event()

    async def changed(after: ChangeMark, limit: int) -> Changes:
        before = await real(after, limit)
        await waiting.wait()
        return before

    vars(feed)["changes_after"] = changed
    found: list[RecallResult] = []

    async def look() -> None:
        found.append(await recall.recall(search("Which kitten?")))

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(look)
        await trio.testing.wait_all_tasks_blocked()
        waiting.set()
    assert [best(each) for each in found] == [["t900"]] * 3


async def test_who_waits_together_looks_once() -> None:
    """A look that began after somebody came, and left nothing, is his too."""
    feed = Feed(*TALK)
    recall = IndexRecaller(feed, inline)
    await recall.load_index(MINE)
    real, before = feed.changes_after, feed.asked
    feed.changes.append(turn(10, "Nothing much.", sitting=10))

    async def changed(after: ChangeMark, limit: int) -> Changes:
        await trio.testing.wait_all_tasks_blocked()
        return await real(after, limit)

    vars(feed)["changes_after"] = changed
    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(recall.recall, search("Which kitten?"))
    assert 1 <= feed.asked - before <= 2


async def test_many_rows_are_written_behind_the_turns(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """In batches; few are not written at all."""
    feed = Feed(*TALK)
    recall = IndexRecaller(feed, inline)
    nursery.start_soon(recall.keep_up)
    index = await recall.load_index(MINE)
    feed.changes += [turn(n, "Some words.", sitting=n) for n in range(10, 3 + BATCH)]
    await recall.load_index(MINE)
    await trio.sleep(60)
    assert index.waiting_count == len(index.rows) < BATCH
    feed.changes += [turn(n, "Some words.", sitting=n) for n in range(BATCH, 10 + BATCH)]
    await recall.load_index(MINE)
    await trio.testing.wait_all_tasks_blocked()
    assert index.waiting_count == 0
    nursery.cancel_scope.cancel()


async def test_what_is_forgotten_leaves_the_written_index(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """At once, behind the turns, however little is waiting."""
    feed = Feed(*[turn(n, f"Kitten {n}.", sitting=n) for n in range(1, BATCH + 2)])
    recall = IndexRecaller(feed, inline)
    nursery.start_soon(recall.keep_up)
    index = await recall.load_index(MINE)
    assert "t7" in {*index.indexed_ids()}
    feed.changes.append(turn(7, ""))
    await recall.load_index(MINE)
    assert index.waiting_count == 1
    await trio.testing.wait_all_tasks_blocked()
    assert index.waiting_count == 0
    assert len({*index.indexed_ids()}) == BATCH
    nursery.cancel_scope.cancel()


async def test_the_live_items_come_with_what_was_found() -> None:
    """Those that are valid, and of who asks."""
    there = item(valid_from=NOW, valid_to=NOW + DAY)
    others = [item(id="i2", scope=Scope("p", "", "eve")), item(id="i3", status="done")]
    feed = Feed(turn(1, "Hi."), items=[there, *others])
    recall = IndexRecaller(feed, inline)
    assert (await recall.recall(search("nothing"))).items == (there,)
    assert (await recall.recall(search("nothing", at=NOW - 1))).items == ()
    assert (await recall.recall(search("nothing", at=NOW + DAY))).items == ()
    assert (await recall.recall(search("nothing", Scope("p", "", "bo")))).items == ()
    feed.changes.append(item(status="superseded", valid_to=NOW + DAY))
    assert (await recall.recall(search("nothing"))).items == ()
    feed.changes += [turn(n, "Hi.", sitting=n) for n in range(10, 10 + PAGE)]
    feed.changes.append(there)
    assert (await recall.recall(search("nothing"))).items == (there,)


async def test_vectors_find_what_shares_no_stem() -> None:
    """And what words find is not lost; a turn without a vector yet is found by its words."""
    embedder = WordsEmbedder()
    feed = Feed(turn(1, "the an of"), *[turn(n, f"Nothing much {n}.", sitting=n) for n in range(2, 40)])
    recall = IndexRecaller(feed, inline, lambda index: RowVectors(index.rows, embedder, inline))
    await recall.load_index(MINE)
    await recall.embed_rows()
    found = await recall.recall(search("of the kitten an"))
    assert best(found) == ["t1"] or best(found)[0] == "t1"
    feed.changes.append(turn(50, "A kitten!", sitting=50))
    assert "t50" in best(await recall.recall(search("kitten")))
    feed.changes.append(turn(1, ""))
    assert "t1" not in best(await recall.recall(search("of the kitten an")))


async def test_vectors_see_one_scope() -> None:
    """Another's nearest is nobody's."""
    embedder = WordsEmbedder()
    feed = Feed(turn(1, "blue moon", scope=Scope("p", "t", "eve")), turn(2, "red sun"))
    recall = IndexRecaller(feed, inline, lambda index: RowVectors(index.rows, embedder, inline))
    await recall.load_index(MINE)
    await recall.embed_rows()
    assert best(await recall.recall(search("blue moon kitten"))) == ["t2"]


async def test_without_vectors_words_recall() -> None:
    """A served model that fails is said once, and asked again."""
    embedder = WordsEmbedder()
    recall = IndexRecaller(Feed(*TALK), inline, lambda index: RowVectors(index.rows, embedder, inline))
    embedder.fails = EmbeddingFailed("unreachable", "no answer")
    await recall.load_index(MINE)
    await recall.embed_rows()
    assert best(await recall.recall(search("Which kitten did Ben adopt?")))[0] == "t2"
    embedder.fails = None
    await recall.embed_rows()
    assert best(await recall.recall(search("Which kitten did Ben adopt?")))[0] == "t2"


async def test_what_comes_is_embedded_behind_the_conversation(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """Words alone recall while much of it has no vector yet; one that failed is tried again."""
    embedder = WordsEmbedder(delay=5.0)
    feed = Feed(*[turn(n, "the an of", sitting=n) for n in range(1, BATCH + 2)])
    recall = IndexRecaller(feed, inline, lambda index: RowVectors(index.rows, embedder, inline))
    nursery.start_soon(recall.keep_up)
    await recall.load_index(MINE)
    asked = len(embedder.asked)
    assert best(await recall.recall(search("of the kitten"))) == []
    assert len(embedder.asked) == asked
    await trio.sleep(30)
    assert best(await recall.recall(search("of the kitten"))) != []
    embedder.fails = EmbeddingFailed("unreachable", "no answer")
    feed.changes.extend([turn(500, "of the kitten", sitting=500)])
    await trio.sleep(30)
    embedder.fails = None
    await trio.sleep(AGAIN)
    assert "of the kitten" in embedder.asked[-2:]
    nursery.cancel_scope.cancel()


async def test_what_is_forgotten_while_it_is_embedded_has_no_vector(
    autojump_clock: trio.testing.MockClock, nursery: trio.Nursery
) -> None:
    """Its row is zeros, and so is that of what is forgotten later."""
    embedder = WordsEmbedder(delay=1.0)
    index = index_of(turn(1, "blue moon"), turn(2, "blue sun", sitting=1))
    dense = RowVectors(index.rows, embedder, inline)
    nursery.start_soon(dense.catch_up)
    await trio.testing.wait_all_tasks_blocked()
    index.forget_turn(1)
    dense.drop_vector(0)
    await trio.sleep(2)
    assert dense.missing_count == 0
    own, _ = dense.measure_cosines(
        await dense.find_nearest("blue moon", frozenset({0})), lambda row: True, {0, 1}
    )
    assert own[0] == 0 < own[1]
    index.forget_turn(2)
    dense.drop_vector(1)
    own, around = dense.measure_cosines(
        await dense.find_nearest("blue moon", frozenset({0})), lambda row: True, {0, 1}
    )
    assert own == around == {0: 0.0, 1: 0.0}
