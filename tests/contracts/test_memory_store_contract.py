"""What every store of what is remembered must do."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from agent.config import PROPOSAL_LAPSES
from agent.errors import Conflict, NotFound
from agent.memory.states import TABLE, ItemGuard, ItemState
from agent.ports.change_mark import BEGINNING
from agent.ports.conversation import Scope
from agent.ports.memory import ExchangeRecord, Item, MemoryStore, Remark, Source, StoredTurn
from agent.ports.note import ReadStore
from agent.ports.pages import Window
from agent.ports.recall_store import GroupRows, ScopeGroup
from agent.ports.vectors import PackedVector, VectorKind
from agent.storage.memories import item_forgetting, listing
from agent.storage.memories.items import ITEM_SOURCES
from tests.examples import sample
from tests.remembered import (
    ANA,
    DAY,
    HOUR,
    NOW,
    OTHERS,
    a_draft,
    accepted,
    an_exchange,
    budget,
    proposed,
)

LAPSES = round(PROPOSAL_LAPSES * 1000)


async def live(memory: MemoryStore, scope: Scope = ANA, at: int = NOW) -> list[str]:
    return [item.text for item in await memory.live_items(scope, at)]


async def test_an_exchange_is_kept_whole_and_once(memory: MemoryStore) -> None:
    """Both sides, in the order in which they came, as they were said; again, nothing is added or proposed anew."""
    kept = ExchangeRecord(
        ANA,
        (
            Remark(message="m1", role="user", text="My budget is 50 SEK", at=NOW, speaker="Ana"),
            Remark(
                message="m1", role="assistant", text="No.", at=NOW + 1, blocked=True, sitting=2, cites=("i9",)
            ),
        ),
        (budget(50), budget(60)),
    )
    [(first, second)] = await memory.keep_exchanges([kept], NOW)
    assert (first.new, second.new) == (True, True)
    assert await memory.turns(0, 9) == (
        StoredTurn(1, ANA, kept.remarks[0]),
        StoredTurn(2, ANA, replace(kept.remarks[1], cites=())),
    )
    await memory.decide_item(ANA, second.item.id, "reject", NOW)
    [again] = await memory.keep_exchanges([kept], NOW + 5)
    assert [(each.item, each.new) for each in again] == [(first.item, False)]
    assert [turn.id for turn in await memory.turns(1, 9)] == ["t2"]
    await memory.keep_exchanges([an_exchange(scope=replace(ANA, thread="t2")), an_exchange("m2")], NOW + 6)
    more = await memory.turns(2, 3)
    assert [(turn.scope.thread, turn.remark.message) for turn in more] == [
        ("t2", "m1"),
        ("t2", "m1"),
        ("t1", "m2"),
    ]
    assert [turn.n for turn in await memory.turns(more[1].n, 1)] == [more[2].n]


async def test_what_is_proposed_is_kept_and_true_to_nobody(memory: MemoryStore) -> None:
    """It is there as it was proposed, with its source, of its user in every thread; and nobody is told of it."""
    draft = budget(50, confidence=0.5, valid_to=NOW + DAY)
    found = await proposed(memory, draft)
    item = found.item
    assert (found.new, found.conflicts, item.id) == (True, (), "i1")
    assert item == Item(
        id="i1",
        type="fact",
        status="proposed",
        key=draft.key,
        slot=draft.slot,
        text=draft.text,
        numbers=draft.numbers,
        scope=Scope("p1", "", "ana"),
        valid_from=NOW,
        valid_to=NOW + DAY,
        expires_at=None,
        supersedes=None,
        superseded_by=None,
        confidence=0.5,
        sources=draft.sources,
        created_at=NOW,
        decided_at=None,
        decided_by=None,
        revision=1,
    )
    assert await memory.item(ANA, "i1") == await memory.item(replace(ANA, thread="t2"), "i1") == item
    assert await memory.live_items(ANA, NOW) == ()


async def test_who_says_the_same_again_adds_a_source(memory: MemoryStore) -> None:
    """To what is live and to what is proposed, each source once; so many are told of."""
    await accepted(memory, budget(50))
    again = await proposed(memory, budget(50, message="m2"))
    assert (again.new, again.item.id, again.item.status) == (False, "i1", "accepted")
    assert [source.ref for source in again.item.sources] == ["m1", "m2"]
    for message in ("m3", "m3", "m4"):
        waiting = await proposed(memory, budget(60, message=message))
    assert ([source.ref for source in waiting.item.sources], waiting.item.id) == (["m3", "m4"], "i2")
    assert [each.id for each in waiting.conflicts] == ["i1"]
    for number in range(ITEM_SOURCES):
        often = await proposed(memory, budget(50, message=f"n{number}"))
    assert [source.ref for source in often.item.sources][:3] == ["m1", "m2", "n0"]
    assert len(often.item.sources) == ITEM_SOURCES


async def test_a_rule_accepts_what_ends_by_itself_and_contradicts_nothing(memory: MemoryStore) -> None:
    """Events and metrics; a second value of a metric waits for its user."""
    event = await proposed(memory, a_draft("Ana met Bo", "meeting", "event", by_rule=True))
    metric = a_draft("Uptime is 98 %", "uptime", "metric", expires_at=NOW + DAY, by_rule=True)
    other = a_draft("Uptime is at most 97 %", "uptime", "metric", expires_at=NOW + DAY, by_rule=True)
    found = await memory.propose_drafts(ANA, [metric, other], NOW)
    assert [(each.item.status, each.item.decided_by) for each in (event, *found)] == [
        ("accepted", "rule"),
        ("accepted", "rule"),
        ("proposed", None),
    ]
    assert found[1].conflicts == (found[0].item,)


async def test_a_rule_accepts_nothing_that_was_not_reported(memory: MemoryStore) -> None:
    """An event that only a message tells of waits for its user, and a fact does however it was reported."""
    for draft in (a_draft("Ana met Bo", "meeting", "event"), a_draft(by_rule=True, expires_at=NOW + DAY)):
        found = await proposed(memory, draft)
        assert (found.item.status, found.item.decided_by) == ("proposed", None)


async def test_accepted_it_is_live_until_another_takes_its_place(memory: MemoryStore) -> None:
    """The other closes it in the same step; both know each other, and what was said stays as it was."""
    old = await accepted(memory, budget(50), at=NOW)
    assert (old.status, old.decided_by, old.decided_at, old.revision) == ("accepted", "user", NOW, 2)
    found = await proposed(memory, budget(60, valid_from=NOW + HOUR))
    assert found.conflicts == (old,)
    assert found.item.supersedes == "i1"
    new = await memory.accept_item(ANA, "i2", NOW + DAY, 1, ["i1"])
    closed = await memory.item(ANA, "i1")
    assert (new.status, new.supersedes, new.valid_to) == ("accepted", "i1", None)
    assert closed == replace(old, status="superseded", superseded_by="i2", valid_to=NOW + HOUR, revision=3)
    assert await live(memory, at=NOW + DAY) == ["The budget of atlas is 60 SEK"]
    assert await memory.accept_item(ANA, "i2", NOW + 2 * DAY, 1, []) == new
    with pytest.raises(Conflict, match="refused"):
        await memory.accept_item(ANA, "i1", NOW)
    assert [(line.item, line.trigger, line.after, line.by) for line in await memory.history(ANA, "i2")] == [
        ("i1", "propose", "proposed", None),
        ("i1", "approve", "accepted", "user"),
        ("i2", "propose", "proposed", None),
        ("i1", "supersede", "superseded", "user"),
        ("i2", "approve", "accepted", "user"),
    ]


@pytest.mark.parametrize(
    ("told", "goes"), [((), False), (("i1",), True), (("i1", "i7"), False), (None, True)]
)
async def test_nothing_is_replaced_that_its_user_was_not_told_of(
    memory: MemoryStore, told: tuple[str, ...] | None, goes: bool
) -> None:
    """Neither what came meanwhile, nor in place of what is no longer there; then nothing has changed."""
    await accepted(memory, budget(50))
    await proposed(memory, budget(60))
    if goes:
        assert (await memory.accept_item(ANA, "i2", NOW, 1, told)).status == "accepted"
        return
    with pytest.raises(Conflict, match="changed"):
        await memory.accept_item(ANA, "i2", NOW, 1, told)
    assert [item.status for item in (await memory.items(ANA, Window(9))).entries] == ["accepted", "proposed"]
    assert len(await memory.history(ANA, "i2")) == 1


async def test_nothing_is_decided_that_its_user_did_not_see(memory: MemoryStore) -> None:
    """Another revision is refused, by each that decides."""
    await accepted(memory, budget(50))
    await proposed(memory, budget(60))
    for doing in (
        memory.accept_item(ANA, "i2", NOW, 2),
        memory.decide_item(ANA, "i2", "reject", NOW, 2),
        memory.replace_item(ANA, "i1", budget(70), NOW, 1),
    ):
        with pytest.raises(Conflict, match="changed"):
            await doing
    assert len((await memory.items(ANA, Window(9))).entries) == 2


@pytest.mark.parametrize(
    "trigger", sample(["approve", "reject", "start", "block", "unblock", "finish", "reopen", "forget"], 3)
)
async def test_what_its_user_can_do_in_each_status_is_the_tables(memory: MemoryStore, trigger: str) -> None:
    """Of a loop, for which nothing but starting is refused; anything else is `refused`, and changes nothing."""
    ways = {
        "proposed": (),
        "active": ("approve",),
        "blocked": ("approve", "block"),
        "done": ("approve", "finish"),
        "rejected": ("reject",),
        "forgotten": ("forget",),
    }
    targets = {
        row.source.value: row.target.value
        for row in TABLE.rows
        if row.trigger.value == trigger and row.target is not None and row.guard is not ItemGuard.DECISION
    }
    for number, (status, way) in enumerate(ways.items()):
        scope = replace(ANA, user=f"u{number}")
        id = (await proposed(memory, a_draft("Ring the bank", "bank call", "open_loop"), scope)).item.id

        async def take(step: str, scope: Scope = scope, id: str = id) -> Item:
            if step == "approve":
                return await memory.accept_item(scope, id, NOW)
            if step == "forget":
                return (await memory.forget_item(scope, id, NOW)).item
            return await memory.decide_item(scope, id, step, NOW)

        for step in way:
            await take(step)
        before = await memory.item(scope, id)
        assert before.status == status
        if status in targets and trigger != "start":
            target = ItemState.ACTIVE.value if trigger == "approve" else targets[status]
            assert (await take(trigger)).status == target
        elif (trigger, status) in (("approve", "active"), ("approve", "blocked"), ("forget", "forgotten")):
            assert await take(trigger) == before  # as it was
        else:
            with pytest.raises(Conflict, match="refused"):
                await take(trigger)
            assert await memory.item(scope, id) == before


async def test_only_a_users_words_decide(memory: MemoryStore) -> None:
    """What a rule, time or the store itself does to items is nobody's to ask for."""
    await proposed(memory, budget(50))
    for trigger in ("approve", "rule_accepts", "supersede", "expire", "lapse", "forget", "made up"):
        with pytest.raises(ValueError, match=trigger):
            await memory.decide_item(ANA, "i1", trigger, NOW)
    assert (await memory.item(ANA, "i1")).revision == 1


async def test_a_decision_may_be_started(memory: MemoryStore) -> None:
    """It is active then, and live all the time."""
    decision = await accepted(memory, a_draft("We take the red one", "colour", "decision"))
    assert decision.status == "accepted"
    assert (await memory.decide_item(ANA, "i1", "start", NOW)).status == "active"
    assert await live(memory) == ["We take the red one"]


async def test_what_is_opened_again_is_a_proposal_again(memory: MemoryStore) -> None:
    """Nobody has decided it any more; it waits as long as a new one."""
    await proposed(memory, budget(50))
    await memory.decide_item(ANA, "i1", "reject", NOW)
    again = await memory.decide_item(ANA, "i1", "reopen", NOW + DAY)
    assert (again.status, again.decided_by, again.decided_at, again.revision) == ("proposed", None, None, 3)
    assert await memory.expire_items(NOW + DAY + LAPSES - 1) == 0
    assert await memory.expire_items(NOW + DAY + LAPSES) == 1
    assert (await memory.item(ANA, "i1")).status == "expired"


async def test_a_user_puts_another_in_the_place_of_a_live_one(memory: MemoryStore) -> None:
    """Whatever that says; at most one of a key and slot is live, also where a third one was."""
    await accepted(memory, budget(50))
    await accepted(memory, a_draft("The town is Lund", "town"))
    moved = await memory.replace_item(ANA, "i2", budget(70), NOW + 1, 2)
    assert (moved.id, moved.status, moved.supersedes) == ("i3", "accepted", "i2")
    assert [(await memory.item(ANA, id)).superseded_by for id in ("i1", "i2")] == ["i3", "i3"]
    assert await live(memory, at=NOW + 1) == ["The budget of atlas is 70 SEK"]
    again = await memory.replace_item(ANA, "i3", budget(70), NOW + 2)
    assert (again.status, await live(memory, at=NOW + 2)) == ("accepted", ["The budget of atlas is 70 SEK"])
    for id in ("i1", "i3"):
        with pytest.raises(Conflict, match="refused"):
            await memory.replace_item(ANA, id, budget(80), NOW + 3)
    assert len((await memory.items(ANA, Window(9))).entries) == 4


async def test_a_user_says_what_is_proposed_otherwise(memory: MemoryStore) -> None:
    """His words are live and the proposal is rejected, at once; where they say the same it is itself accepted."""
    await proposed(memory, budget(50))
    with pytest.raises(Conflict, match="changed"):
        await memory.replace_item(ANA, "i1", budget(70), NOW, 2)
    said = await memory.replace_item(ANA, "i1", budget(70), NOW, 1)
    assert (said.id, said.status, said.decided_by) == ("i2", "accepted", "user")
    assert (await memory.item(ANA, "i1")).status == "rejected"
    await proposed(memory, budget(80))
    assert (await memory.replace_item(ANA, "i3", budget(80, message="m2"), NOW)).id == "i3"
    assert [(await memory.item(ANA, id)).status for id in ("i2", "i3")] == ["superseded", "accepted"]
    await proposed(memory, budget(90))
    assert (await memory.replace_item(ANA, "i4", budget(80, message="m3"), NOW)).id == "i3"
    assert (await memory.item(ANA, "i4")).status == "rejected"
    assert await live(memory) == ["The budget of atlas is 80 SEK"]


async def test_what_is_forgotten_leaves_no_words(memory: MemoryStore) -> None:
    """Its text, key, numbers and sources go, what was said in their messages, and the answers that cite it or those."""
    other = replace(ANA, thread="t2")
    await memory.keep_exchanges(
        [
            an_exchange("m1", "My budget is 50 SEK", "Noted: 50 SEK", budget(50, message="m1")),
            an_exchange("m1", "Of another thread", "So it is", scope=other),
            an_exchange("m2", "What is it?", "50 SEK", cites=("i1",), scope=other),
            an_exchange("m3", "And before?", "50 SEK as said", cites=("t1", "t4")),
            an_exchange("m4", "Thanks", "You are welcome", cites=("i11", "t111")),
            ExchangeRecord(
                ANA,
                (Remark(message="m5", role="user", text="Yes, 50 SEK", at=NOW),),
                (budget(50, message="m5"),),
            ),
        ],
        NOW,
    )
    item = await memory.accept_item(ANA, "i1", NOW)
    forgotten = await memory.forget_item(other, "i1", NOW + DAY)
    left = forgotten.item
    assert left == replace(
        item, status="forgotten", text="", key=(), slot="", numbers=(), sources=(), revision=item.revision + 1
    )
    assert await memory.item(ANA, "i1") == left
    assert [turn.id for turn in forgotten.turns] == ["t1", "t2", "t6", "t8", "t11"]
    assert [turn.remark.text for turn in await memory.turns(0, 20)] == [
        *("", "", "Of another thread", "So it is", "What is it?", "", "And before?", ""),
        *("Thanks", "You are welcome", ""),
    ]
    assert await memory.live_items(ANA, NOW + DAY) == ()
    assert (await memory.items(ANA, Window(9))).entries == ()
    assert (await memory.items(ANA, Window(9), ["forgotten"])).entries == (left,)
    assert (await memory.history(ANA, "i1"))[-1].trigger == "forget"
    assert await memory.forget_item(ANA, "i1", NOW + 2 * DAY) == forgotten
    said = {f"m{number}": ["i2", "t3"] for number in range(1, 9)}
    assert await memory.forgotten_messages(ANA, said) == {"m1", "m3", "m5"}
    assert await memory.forgotten_messages(ANA, said | {"m4": ["t3", "i1"], "m9": ["t8"]}) == {
        *("m1", "m3", "m4", "m5", "m9"),
    }
    assert await memory.forgotten_messages(other, said) == {"m2"}
    assert await memory.forgotten_messages(ANA, {}) == frozenset()
    for theirs in OTHERS:
        assert await memory.forgotten_messages(theirs, said) == frozenset()


async def test_what_says_again_what_is_forgotten_goes_with_it(
    memory: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In every thread of its user's: messages with their answers, and what cites these; answers; others' quotes."""
    monkeypatch.setattr(item_forgetting, "_LOOKED_AT", 3)
    says = "The budget of Atlas is 50 SEK"
    there = replace(ANA, thread="t2")
    both = replace(
        a_draft("The door is red", "door"), sources=(Source("message", "m1", quote=f"Red. {says}"),)
    )
    await memory.keep_exchanges(
        [
            an_exchange("m1", "Red. It is 50.", "Noted", budget(50, message="m1"), both),
            an_exchange("m2", f"As I said, {says.lower()}!", "I see", scope=there),
            an_exchange("m3", "What is it?", "Well, that budget of atlas is 50 SEK.", scope=there),
            an_exchange("m4", "And?", "See above", cites=("t3",)),
            an_exchange("m5", "The budget of atlas", "It is 50 SEK"),
            *(an_exchange("m6", says, says, scope=scope) for scope in OTHERS),
        ],
        NOW,
    )
    forgotten = await memory.forget_item(ANA, "i1", NOW)
    assert [turn.id for turn in forgotten.turns] == ["t1", "t2", "t3", "t4", "t6", "t8"]
    left = [turn.remark.text for turn in await memory.turns(0, 50)]
    assert left == ["", "", "", "", "What is it?", "", "And?", "", "The budget of atlas", "It is 50 SEK"] + [
        says
    ] * (2 * len(OTHERS))
    other = await memory.item(ANA, "i2")
    assert (other.text, other.status) == ("The door is red", "proposed")
    assert other.sources == (Source("message", "m1"),)
    assert await memory.forget_item(ANA, "i1", NOW) == forgotten


async def test_of_nobody_one_thread_is_looked_through(memory: MemoryStore) -> None:
    """No name says of another thread that it is his."""
    here, there = Scope("p1", "t1", ""), Scope("p1", "t2", "")
    says = "The budget of atlas is 50 SEK"
    await memory.keep_exchanges([an_exchange("m1", says, "Noted", budget(50), scope=here)], NOW)
    await memory.keep_exchanges(
        [an_exchange(f"m{n}", says, "So?", scope=each) for n, each in ((2, here), (3, there))], NOW
    )
    assert [turn.id for turn in (await memory.forget_item(here, "i1", NOW)).turns] == ["t1", "t2", "t3", "t4"]


async def test_an_answer_that_cites_what_was_forgotten_meanwhile_is_kept_without_words(
    memory: MemoryStore,
) -> None:
    """It was said before, and comes to be kept after; so does one that cites what the user said."""
    await memory.keep_exchanges([an_exchange("m1", "Remember 50", "Noted", budget(50))], NOW)
    await memory.accept_item(ANA, "i1", NOW)
    forgotten = await memory.forget_item(ANA, "i1", NOW)
    late = [an_exchange(f"m{number}", "What?", "50", cites=(ref,)) for number, ref in ((2, "i1"), (3, "t1"))]
    await memory.keep_exchanges([*late, an_exchange("m4", "What?", "Something", cites=("i7",))], NOW)
    assert [turn.remark.text for turn in (await memory.turns(2, 9))] == [
        *("What?", ""),
        *("What?", ""),
        *("What?", "Something"),
    ]
    again = await memory.forget_item(ANA, "i1", NOW)
    assert {turn.id for turn in again.turns} == {*(turn.id for turn in forgotten.turns), "t4", "t6"}


async def test_what_was_forgotten_may_be_said_again(memory: MemoryStore) -> None:
    """As another item; the forgotten one stands in nobody's way."""
    await accepted(memory, budget(50))
    await memory.forget_item(ANA, "i1", NOW)
    again = await proposed(memory, budget(50))
    assert (again.new, again.item.id, again.conflicts) == (True, "i2", ())
    assert (await memory.accept_item(ANA, "i2", NOW)).status == "accepted"


DOES: dict[str, Callable[[MemoryStore, Scope, str], Awaitable[object]]] = {
    "item": lambda memory, scope, id: memory.item(scope, id),
    "history": lambda memory, scope, id: memory.history(scope, id),
    "accept": lambda memory, scope, id: memory.accept_item(scope, id, NOW),
    "decide": lambda memory, scope, id: memory.decide_item(scope, id, "reject", NOW),
    "replace": lambda memory, scope, id: memory.replace_item(scope, id, budget(70), NOW),
    "forget": lambda memory, scope, id: memory.forget_item(scope, id, NOW),
}


@pytest.mark.parametrize("does", DOES)
async def test_what_is_anothers_is_not_there(memory: MemoryStore, does: str) -> None:
    """Of another user, project or nobody, it is the same as an id that never was, by whatever is asked for."""
    await proposed(memory, budget(50))
    missing = []
    for scope in (*OTHERS, *(Scope("p1", "t1", f"u{number}") for number in range(2))):
        with pytest.raises(NotFound) as raised:
            await DOES[does](memory, scope, "i1")
        missing.append(str(raised.value))
        assert (await memory.items(scope, Window(9))).entries == ()
    for id in ("i2", "i0", "i01", "i", "t1", "", "i1 ", "i١", f"i{10**30}"):
        with pytest.raises(NotFound) as raised:
            await DOES[does](memory, ANA, id)
        missing.append(str(raised.value))
    assert set(missing) == {"there is no such thing"}
    assert (await memory.item(ANA, "i1")).revision == 1


async def test_nobody_is_told_or_asked_of_anothers_items(memory: MemoryStore) -> None:
    """The same words of two users and of two projects are two items; neither contradicts, or adds to, the other's."""
    await accepted(memory, budget(50))
    for scope in OTHERS:
        found = await proposed(memory, budget(60), scope)
        assert (found.new, found.conflicts) == (True, ())
        assert await live(memory, scope) == []
        await memory.accept_item(scope, found.item.id, NOW)
        assert await live(memory, scope) == ["The budget of atlas is 60 SEK"]
    assert await live(memory) == ["The budget of atlas is 50 SEK"]


async def test_where_nobody_is_known_a_thread_is_on_its_own(memory: MemoryStore) -> None:
    """What was said in one is not remembered in another."""
    nobody, other = Scope("p1", "t1", ""), Scope("p1", "t2", "")
    item = await accepted(memory, budget(50), nobody)
    assert item.scope == nobody
    assert await live(memory, nobody) == ["The budget of atlas is 50 SEK"]
    assert await live(memory, other) == []
    with pytest.raises(NotFound):
        await memory.item(other, item.id)


async def test_of_a_long_history_the_end_is_told(
    memory: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Oldest first, and no more than so much."""
    monkeypatch.setattr(listing, "_HISTORY", listing._HISTORY.limit(3))
    await accepted(memory, budget(50))
    await memory.replace_item(ANA, "i1", budget(60), NOW)
    told = [(line.item, line.trigger) for line in await memory.history(ANA, "i2")]
    assert told == [("i2", "propose"), ("i1", "supersede"), ("i2", "approve")]


async def test_items_are_listed_a_page_at_a_time(memory: MemoryStore) -> None:
    """In the order in which they were made, of the statuses that are asked for."""
    for number in range(5):
        await proposed(memory, a_draft(f"Ana likes colour {number}", TREES[number][1]))
    await memory.accept_item(ANA, "i2", NOW)
    await memory.decide_item(ANA, "i4", "reject", NOW)
    page = await memory.items(ANA, Window(2))
    assert ([item.id for item in page.entries], page.after) == (["i1", "i2"], 2)
    rest = await memory.items(ANA, Window(9, page.after or 0))
    assert ([item.id for item in rest.entries], rest.after) == (["i3", "i4", "i5"], None)
    some = await memory.items(ANA, Window(9), ["accepted", "rejected"])
    assert [item.id for item in some.entries] == ["i2", "i4"]


async def test_an_item_is_told_of_within_its_time(memory: MemoryStore) -> None:
    """From its first instant to the last before its end, which no clock tick has to come first for."""
    await accepted(memory, a_draft("A", "alder", valid_from=NOW + 10, valid_to=NOW + 20))
    await accepted(memory, a_draft("B", "birch", "idea", expires_at=NOW + 15))
    for at, expected in ((9, ["B"]), (10, ["A", "B"]), (14, ["A", "B"]), (15, ["A"]), (19, ["A"]), (20, [])):
        assert await live(memory, at=NOW + at) == expected


TREES = (("fact", "alder"), ("rule", "birch"), ("fact", "cedar"), ("preference", "daisy"), ("fact", "elm"))


async def test_of_what_may_be_told_the_newest_of_some_types_can_be_asked_for(memory: MemoryStore) -> None:
    """Oldest first all the same."""
    for type, name in TREES:
        await accepted(memory, a_draft(f"It is {name}", name, type))  # type: ignore[arg-type]
    assert [item.id for item in await memory.live_items(ANA, NOW, most=2)] == ["i4", "i5"]
    assert [item.id for item in await memory.live_items(ANA, NOW, ["fact"], 2)] == ["i3", "i5"]
    assert [item.id for item in await memory.live_items(ANA, NOW, ["rule", "preference"])] == ["i2", "i4"]


async def test_what_is_over_ends(memory: MemoryStore) -> None:
    """At its instant, whatever ends it; and nothing else, and once."""
    await accepted(memory, a_draft("A", "alder", "idea", expires_at=NOW + 10))
    await accepted(memory, a_draft("B", "birch", valid_to=NOW + 10))
    await proposed(memory, a_draft("C", "cedar", valid_to=NOW + 10))
    await accepted(memory, a_draft("D", "daisy"))
    await proposed(memory, a_draft("E", "elm"))
    await memory.decide_item(
        ANA, (await proposed(memory, a_draft("F", "fern", valid_to=NOW + 10))).item.id, "reject", NOW
    )
    assert await memory.expire_items(NOW + 9) == 0
    assert await memory.expire_items(NOW + 10) == 3
    assert await memory.expire_items(NOW + 10) == 0
    assert await memory.expire_items(NOW + LAPSES - 1) == 0
    assert await memory.expire_items(NOW + LAPSES) == 1
    statuses = [item.status for item in (await memory.items(ANA, Window(9))).entries]
    assert statuses == ["expired", "expired", "expired", "accepted", "expired", "rejected"]
    assert [line.trigger for line in await memory.history(ANA, "i1")] == ["propose", "approve", "expire"]
    assert [line.trigger for line in await memory.history(ANA, "i5")] == ["propose", "lapse"]


async def test_an_index_catches_up_with_what_has_changed(memory: ReadStore) -> None:
    """From the beginning or from where it was, of every scope, each thing once, as it is now."""
    await memory.keep_exchanges([an_exchange("m1", "a", "b", budget(50))], NOW)
    first = await memory.changes_after(BEGINNING, 99)
    assert ([turn.id for turn in first.turns], [item.id for item in first.items]) == (["t1", "t2"], ["i1"])
    assert await memory.changes_after(first.upto, 99) == replace(first, turns=(), items=())
    await memory.accept_item(ANA, "i1", NOW)
    await accepted(memory, budget(60, message="m9"), OTHERS[0])
    second = await memory.changes_after(first.upto, 99)
    assert [(item.id, item.status) for item in second.items] == [("i1", "accepted"), ("i2", "accepted")]
    await memory.forget_item(ANA, "i1", NOW)
    third = await memory.changes_after(second.upto, 99)
    assert [turn.remark.text for turn in third.turns] == ["", ""]
    assert [item.status for item in third.items] == ["forgotten"]
    seen: dict[str, StoredTurn | Item] = {}
    upto, more = BEGINNING, True
    while more:
        page = await memory.changes_after(upto, 2)
        seen |= {turn.id: turn for turn in page.turns} | {item.id: item for item in page.items}
        upto, more = page.upto, page.more
    assert (await memory.changes_after(upto, 99)).turns == ()
    assert {id: seen[id] for id in ("i1", "i2")} == {
        "i1": third.items[0],
        "i2": second.items[1],
    }
    assert {"t1", "t2"} < set(seen)


async def test_what_could_not_be_kept_is_counted(memory: MemoryStore) -> None:
    """Of all scopes."""
    assert await memory.count_gaps() == 0
    await memory.record_gap(ANA, NOW, 3)
    await memory.record_gap(OTHERS[0], NOW, 2)
    assert await memory.count_gaps() == 5


async def test_a_document_is_a_source_by_its_lines(memory: MemoryStore) -> None:
    """Two places of one file are two sources, and no turn's words go with what comes from it."""
    await memory.keep_exchanges([an_exchange("rules.md")], NOW)
    draft = budget(50)
    for first in (1, 5, 1):
        source = Source("document", "rules.md", first, first + 1, "50 SEK")
        found = await proposed(memory, replace(draft, sources=(source,)))
    assert [source.first for source in found.item.sources] == [1, 5]
    assert (await memory.forget_item(ANA, "i1", NOW)).turns == ()


async def test_what_may_be_cited_is_what_stands(memory: MemoryStore) -> None:
    """A live item while it is valid, and what a user said; not the agent's words, nor what was forgotten."""
    await memory.keep_exchanges([an_exchange()], NOW)
    item = await accepted(memory, budget(50))
    other = (await proposed(memory, budget(60))).item
    ids = {item.id, other.id, "t1", "t2", "t99", "i99", "x", ""}
    assert await memory.citable_ids(ids, NOW) == {item.id, "t1"}
    assert await memory.citable_ids(ids, item.valid_from - 1) == {"t1"}
    assert await memory.citable_ids((), NOW) == frozenset()
    await memory.forget_item(ANA, item.id, NOW)
    assert item.id not in await memory.citable_ids(ids, NOW)


@pytest.mark.parametrize("how", ["superseded", "rejected"])
async def test_what_was_said_of_an_item_that_was_closed_may_not_be_cited(
    memory: MemoryStore, how: str
) -> None:
    """The message says what its user has taken back; the same message of another thread says nothing of it."""
    elsewhere = replace(ANA, thread="t2")
    await memory.keep_exchanges(
        [an_exchange("m1", "My budget is 50 SEK", "Noted", budget(50, message="m1"))], NOW
    )
    await memory.keep_exchanges(
        [an_exchange("m1", "Of another thread", scope=elsewhere), an_exchange("m2")], NOW
    )
    assert await memory.citable_ids(["t1", "t3", "t5"], NOW) == {"t1", "t3", "t5"}
    if how == "rejected":
        await memory.decide_item(ANA, "i1", "reject", NOW)
    else:
        await memory.accept_item(ANA, "i1", NOW)
        assert await memory.citable_ids(["i1", "t1"], NOW) == {"i1", "t1"}
        await memory.replace_item(ANA, "i1", budget(60, message="m2"), NOW)
    assert await memory.citable_ids(["i1", "t1", "t3", "t5"], NOW) == {"t3", "t5"}


async def test_a_scope_is_known_once_something_is_kept_of_it(memory: MemoryStore) -> None:
    """Its thread too."""
    assert not await memory.is_known(ANA)
    await memory.keep_exchanges([an_exchange()], NOW)
    assert await memory.is_known(ANA)
    assert not await memory.is_known(replace(ANA, thread="another"))


async def test_what_an_item_would_replace_is_told_before_it_does(memory: MemoryStore) -> None:
    """As it stands then: what it contradicts and is live, and nothing once that was closed, or of another's."""
    first = (await proposed(memory, budget(50))).item
    second = (await proposed(memory, budget(60))).item
    assert await memory.conflicting_items(ANA, second.id) == ()
    old = await memory.accept_item(ANA, first.id, NOW)
    assert await memory.conflicting_items(ANA, second.id) == (old,)
    await memory.accept_item(ANA, second.id, NOW, replaces=[old.id])
    assert await memory.conflicting_items(ANA, second.id) == ()
    for id, scope in (("i99", ANA), (second.id, OTHERS[0])):
        with pytest.raises(NotFound):
            await memory.conflicting_items(scope, id)


async def test_what_is_to_take_an_items_place_closes_it_whatever_it_says(memory: MemoryStore) -> None:
    """A wording beside a wording contradicts nothing; it is told all the same, and not closed untold."""
    old = await accepted(memory, a_draft("The door is blue", "door"))
    draft = replace(a_draft("The door was painted red", "door"), replaces=old.id)
    found = await proposed(memory, draft)
    assert (found.conflicts, found.item.status, found.item.supersedes) == ((old,), "proposed", old.id)
    with pytest.raises(Conflict, match="changed"):
        await memory.accept_item(ANA, found.item.id, NOW, replaces=())
    new = await memory.accept_item(ANA, found.item.id, NOW, replaces=[old.id])
    closed = await memory.item(ANA, old.id)
    assert (new.status, closed.status, closed.superseded_by) == ("accepted", "superseded", new.id)
    assert await live(memory) == ["The door was painted red"]


async def test_what_takes_the_place_of_nothing_live_stands_alone(memory: MemoryStore) -> None:
    """Nor does it reach into another's."""
    old = await accepted(memory, a_draft("The door is blue", "door"))
    for scope, gone in ((replace(ANA, user="bo"), False), (ANA, True)):
        if gone:
            await memory.forget_item(ANA, old.id, NOW)
        found = await proposed(memory, replace(a_draft("The door is red", "door"), replaces=old.id), scope)
        assert found.conflicts == ()
        await memory.accept_item(scope, found.item.id, NOW, replaces=())
        assert (await memory.item(ANA, old.id)).status == ("forgotten" if gone else "accepted")


MINI, OTHER = VectorKind("mini:1", 3), VectorKind("mini:2", 3)


def packed(*ids: str, steps: bytes = b"\x7f\x00\x81") -> list[PackedVector]:
    """A vector of each."""
    return [PackedVector(id, steps, 0.5) for id in ids]


async def vectors(memory: MemoryStore, *ids: str, kind: VectorKind = MINI) -> list[str]:
    """The ids of those that are kept."""
    return sorted([each.id for each in await memory.vectors(kind, ids)])


async def test_the_rows_of_a_group_are_its_own(memory: ReadStore) -> None:
    """All threads of a user, or one thread without a user; as they are now, with the last change that they have."""
    other_thread = replace(ANA, thread="t2")
    last = await memory.find_last_change()
    assert await memory.load_group(ScopeGroup("p1", "ana"), 9) == GroupRows((), (), (), last)
    for scope in (ANA, *OTHERS, other_thread):
        await memory.keep_exchanges([an_exchange(scope=scope)], NOW)
        await accepted(memory, budget(50), scope)
    superseded = await accepted(memory, a_draft("The door is blue", "door"))
    live = await memory.replace_item(ANA, superseded.id, a_draft("The door is red", "door"), NOW)
    await memory.forget_item(ANA, "i1", NOW)
    last = (await memory.changes_after(BEGINNING, 999)).upto
    assert await memory.find_last_change() == last
    turns = {each.n: each for each in await memory.turns(0, 99)}
    hers = [n for n, each in turns.items() if (each.scope.project, each.scope.user) == ("p1", "ana")]
    rows = await memory.load_group(ScopeGroup("p1", "ana"), 3)
    assert [*rows.numbers] == hers
    assert rows.turns == tuple(turns[n] for n in hers[:3])
    assert [each.id for each in rows.items] == [live.id]
    assert (rows.upto, [*rows.taken_back]) == (last, [superseded.id])
    assert await memory.load_turns(hers[2:]) == tuple(turns[n] for n in hers[2:])
    assert rows.turns[0].remark.text == ""
    for scope in OTHERS[2:]:
        rows = await memory.load_group(ScopeGroup(scope.project, "", scope.thread), 9)
        assert [*(each.scope for each in rows.turns), *(each.scope for each in rows.items)] == [scope] * 3
    assert await memory.load_group(ScopeGroup("p1", ""), 9) == await memory.load_group(
        ScopeGroup("p1", "", "t1"), 9
    )
    assert await memory.load_turns(()) == ()


async def test_vectors_are_kept_once_for_each_embedder(memory: MemoryStore) -> None:
    """As they were given first; another name, or as many other numbers, is another kind."""
    await memory.keep_exchanges([an_exchange()], NOW)
    await proposed(memory, budget(50))
    await memory.keep_vectors(MINI, packed("t1", "i1"))
    await memory.keep_vectors(MINI, packed("t1", "t2", steps=b"\x01\x02\x03"))
    assert await memory.vectors(MINI, ["t1"]) == (PackedVector("t1", b"\x7f\x00\x81", 0.5),)
    assert await vectors(memory, "t1", "t2", "i1", "t9", "x") == ["i1", "t1", "t2"]
    assert await vectors(memory, "i1") == ["i1"]
    for kind in (OTHER, replace(MINI, dimension=4)):
        assert await vectors(memory, "t1", "t2", "i1", kind=kind) == []
    await memory.keep_vectors(OTHER, packed("t1"))
    assert await vectors(memory, "t1", "t2", kind=OTHER) == ["t1"]
    await memory.keep_vectors(OTHER, [])


async def test_a_vector_goes_with_the_words_that_it_is_of(memory: MemoryStore) -> None:
    """Of every embedder, of items and of what was said; and none comes after them."""
    await memory.keep_exchanges([an_exchange("m1"), an_exchange("m2")], NOW)
    item = await accepted(memory, budget(50))
    other = await accepted(memory, a_draft("The door is blue", "door", message="m9"))
    every = ("t1", "t2", "t3", "t4", item.id, other.id)
    for kind in (MINI, OTHER):
        await memory.keep_vectors(kind, packed(*every))
    left = await memory.forget_item(ANA, item.id, NOW)
    assert [turn.id for turn in left.turns] == ["t1", "t2"]
    late = replace(MINI, dimension=4)
    for kind in (MINI, OTHER, late):
        await memory.keep_vectors(kind, packed(*every))
        assert await vectors(memory, *every, kind=kind) == [other.id, "t3", "t4"]
    await memory.keep_vectors(MINI, packed("t99", "i99"))
    assert await vectors(memory, "t99", "i99") == []


async def test_what_was_closed_keeps_its_vector(memory: MemoryStore) -> None:
    """Its words are there still."""
    old = await accepted(memory, budget(50))
    await memory.keep_vectors(MINI, packed(old.id))
    new = await memory.replace_item(ANA, old.id, budget(60), NOW)
    await memory.keep_vectors(OTHER, packed(old.id, new.id))
    assert await vectors(memory, old.id, new.id) == [old.id]
    assert await vectors(memory, old.id, new.id, kind=OTHER) == [old.id, new.id]


async def test_all_vectors_can_be_thrown_away(memory: MemoryStore) -> None:
    """And made again; words stay."""
    await memory.keep_exchanges([an_exchange()], NOW)
    assert await memory.drop_vectors() == 0
    await memory.keep_vectors(MINI, packed("t1", "t2"))
    await memory.keep_vectors(OTHER, packed("t1"))
    assert await memory.drop_vectors() == 3
    assert await vectors(memory, "t1", "t2") == []
    await memory.keep_vectors(MINI, packed("t2"))
    assert await vectors(memory, "t1", "t2") == ["t2"]
    assert [turn.remark.text for turn in await memory.turns(0, 9)] == ["What is it?", "It is so."]
