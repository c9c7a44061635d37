"""What is said in a thread is remembered when the end of its turn is kept, and not before."""

import trio
import trio.testing

from agent.ports.conversation import Scope
from agent.ports.projects import HOUSE

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
        ours.stores.threads.say = slow(ours.stores.threads.say, 0.3)
        nursery.start_soon(asked.run, "price of A-1?")
        await trio.sleep(0.2)
        await other.desk.cancel_turn(HOUSE, await the_thread(ours))
        await trio.sleep(0.5)
        assert (asked.end, await statuses(ours)) == ("cancelled", [("user", "cancelled")])
        assert notes.kept_ == []
        await ours.chat("price?", await the_thread(ours))
        assert [text for text, _, _ in notes.kept_] == ["price?"]
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
