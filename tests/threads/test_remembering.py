"""What is said in a thread is remembered when the end of its turn is kept, and not before."""

import trio
import trio.testing

from agent.lang import Lang
from agent.memory.exchange_keeper import ExchangeKeeper
from agent.memory.message_items import read_items
from agent.memory.recollection import Recollection
from agent.ports.brain import Question
from agent.ports.change_mark import BEGINNING
from agent.ports.conversation import Scope
from agent.ports.decide import Act
from agent.ports.memory import MemoryStore
from agent.ports.projects import HOUSE
from agent.ports.recall_store import Changes
from agent.ports.remember import EMPTY_MEMORY, TurnMemory
from agent.storage.memories.store import open_database_memory
from agent.structured.arguments import SchemaArguments
from agent.testing.fakes import Figures, Noon
from agent.testing.network import inline
from agent.tools.memory_tools import ADD

from .lab import ANSWER, REFUND, Notebook, lab
from .test_elsewhere import Asking, slow, statuses, the_thread, two


async def test_an_exchange_is_remembered_once_and_its_reply_says_what_it_proposes(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Nobody is asked over a wire: the caller decides about what the reply names."""
    notes = Notebook()
    async with lab(recorder=notes) as r:
        reply = await r.chat("My budget is 50k.")
        assert notes.kept_ == [("My budget is 50k.", reply.text, False)]
        assert notes.scopes == [Scope(HOUSE, reply.thread, "anna")]
        assert [(each.item.text, each.new) for each in reply.remembered] == [("My budget is 50k.", True)]
        again = await r.chat("price?", reply.thread)
        assert [text for text, _, _ in notes.kept_] == ["My budget is 50k.", "price?"]
        assert [each.item.text for each in again.remembered] == ["price?"]
        assert notes.offers == 0


async def test_what_was_cancelled_elsewhere_is_not_remembered(autojump_clock: trio.testing.MockClock) -> None:
    """An answer that was ready, but whose end is not kept, was never said."""
    notes = Notebook()
    async with (
        two(REFUND, ANSWER, think=0.1, recorder=notes) as (ours, other),
        trio.open_nursery() as nursery,
    ):
        asked = Asking(ours)
        ours.stores.threads.record_step = slow(ours.stores.threads.record_step, 0.3)
        nursery.start_soon(asked.run, "price of A-1?")
        await trio.sleep(0.2)
        await other.desk.cancel_turn(HOUSE, await the_thread(ours))
        await trio.sleep(0.5)
        assert (asked.end, await statuses(ours)) == ("cancelled", [("user", "cancelled")])
        assert notes.kept_ == []
        await ours.chat("price?", await the_thread(ours))
        assert [text for text, _, _ in notes.kept_] == ["price?"]
        nursery.cancel_scope.cancel()


async def test_an_order_is_heeded_though_a_call_ended_before_it(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """A call that was approved after its turn has ended is told of with the next answer; its message is a new one."""
    async with open_database_memory(None, inline, Noon()) as memory, trio.open_nursery() as nursery:
        keeper, recollection = remembering(memory)
        nursery.start_soon(keeper.run)
        async with lab(REFUND, recorder=keeper, memory=recollection) as r:
            reply = await r.chat()
            await r.desk.approve_call(HOUSE, reply.calls[0].id, "bo", wait=5.0)
            told = await r.chat("Remember that my wall is 20 metres long.", reply.thread)
            assert [each.call_id for each in r.decider.briefings[-1].results] == [reply.calls[0].id]
            assert [(each.item.text, each.item.status) for each in told.remembered] == [
                ("My wall is 20 metres long", "accepted")
            ]
        nursery.cancel_scope.cancel()


async def test_a_cancelled_turn_is_not_remembered(autojump_clock: trio.testing.MockClock) -> None:
    """Nor is one whose thread is deleted."""
    notes = Notebook()
    async with lab(recorder=notes, think=5.0) as r, trio.open_nursery() as nursery:
        asked = Asking(r)
        nursery.start_soon(asked.run, "price?")
        await trio.sleep(1)
        await r.desk.cancel_turn(HOUSE, await the_thread(r))
        await trio.sleep(10)
        assert (asked.end, notes.kept_) == ("cancelled", [])


def remembering(memory: MemoryStore) -> tuple[ExchangeKeeper, Recollection]:
    """What keeps what is said, and makes proposals sound, over a store."""
    return ExchangeKeeper(memory, Noon(), Figures(), read_items), Recalls(memory, Nowhere(), Noon())  # type: ignore[arg-type]


class Recalls(Recollection):
    """Tells turns nothing."""

    async def load_memory(self, question: Question, text: str, lang: Lang) -> TurnMemory:
        return EMPTY_MEMORY


class Nowhere:
    """Finds nothing."""


async def test_what_a_model_proposes_is_stored_with_the_end_of_its_turn(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """As proposed, of the user whose message it was; the reply names it. A cancelled turn leaves nothing."""
    proposes = Act(ADD, {"type": "fact", "subject": "order", "text": "Order A-1 is urgent."})
    async with open_database_memory(None, inline, Noon()) as memory, trio.open_nursery() as nursery:
        keeper, recollection = remembering(memory)
        nursery.start_soon(keeper.run)
        plays = (proposes, 5.0, proposes, ANSWER)
        async with (
            lab(*plays, recorder=keeper, memory=recollection, arguments=SchemaArguments()) as r,
            trio.open_nursery() as asking,
        ):
            asked = Asking(r)
            asking.start_soon(asked.run, "my order A-1 is urgent, price?")
            await trio.sleep(2)
            assert len(r.decider.briefings[-1].results) == 1  # it is proposed, and the turn goes on
            thread = await the_thread(r)
            await r.desk.cancel_turn(HOUSE, thread)
            await trio.sleep(10)
            assert asked.end == "cancelled"
            assert (await memory.turns(0, 9), await memory.changes_after(BEGINNING, 9)) == (
                (),
                Changes((), (), BEGINNING),
            )
            reply = await r.chat("my order A-1 is urgent, price?", thread)
            (found,) = reply.remembered
            assert (found.item.text, found.item.status, found.new) == (
                "Order A-1 is urgent.",
                "proposed",
                True,
            )
            assert found.item.scope == Scope(HOUSE, "", "anna")
            assert [source.kind for source in found.item.sources] == ["message"]
            assert (r.effects, reply.calls) == ([], ())
            assert [turn.remark.role for turn in await memory.turns(0, 9)] == ["user", "assistant"]
        nursery.cancel_scope.cancel()
