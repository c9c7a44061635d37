"""One talk of a user over HTTP: its requests in one thread, and its account of each call.

Random like a visit over a socket (`users`): it chats (JSON and events), interrupts and cancels, approves (twice at
once), changes, answers with words, declines, takes calls that run here and reports them, and deletes the thread amid
all that. A talk either ends settled, with its account checked against the server's thread, or is left as it is.
"""

from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, ClassVar

import trio

from .book import ANYWHERE, OF_HTTP, Book
from .calls import Calls, View
from .errands import Errands
from .exchange import LEFT, ClientAnswer, ClientRequest
from .notes import EFFECT, digest_of
from .scene import Scene
from .server_file import CALLER
from .tools import BOOKING, EDITS, ORDERS, SAYINGS
from .uncited_numbers import find_uncited
from .user_connection import PATIENCE
from .user_requests import HASTY, UserRequests
from .users import FILLED

DECIDES = 0.7  # the share of requests about a call, where one waits
GOES_ON = 0.3  # the share of reports of a call after which the turn continues
OF_MEMORY = 0.3  # the share of requests about the memory, where the server has one
LOOK_EVERY = 0.2  # seconds between two looks whether a thread is at rest
_NOT_SEEN = "0" * 64
_PAGE = "?limit=200"


class Talk:
    """One thread: its user's requests there, and its account of each call."""

    def __init__(
        self, user: str, name: str, scene: Scene, rng: Random, hasty: bool = True, book: Book | None = None
    ) -> None:
        self.calls = Calls(name, scene.tally, scene.note)
        self._user = user
        self._name = name
        self._scene = scene
        self._tally = scene.tally
        self._rng = rng
        self._asking = UserRequests(name, scene, rng, hasty)
        self._book = book or Book(name, OF_HTTP, scene.run, scene.tally, scene.note)
        self._errands = Errands(user, self._book, self._asking, rng, self.say)
        self._thread: str | None = None

    async def do_something(self) -> None:
        """Do one random request. Cancelled, a request may have been sent."""
        if not self._book.full and self._rng.random() < OF_MEMORY:
            await self._errands.do_something()
            if not self._book.off:
                return
        decides = self._pick_call() is not None and self._rng.random() < DECIDES
        acts, weights = zip(*(self._CALL_ACTS if decides else self._TURN_ACTS).items(), strict=True)
        await self._rng.choices(acts, weights)[0](self)
        await self._begin_calls()

    async def do_everything(self) -> None:
        """Do each request once, after every saying; then settle, and delete the thread."""
        for saying in range(len(SAYINGS)):
            await self._chat(saying=saying)
        for act in (*self._TURN_ACTS, *self._CALL_ACTS):
            await self._chat(saying=BOOKING)
            await act(self)
            await self._begin_calls()
        await self._errands.do_everything()
        await self.settle()
        await self.delete()

    async def settle(self) -> None:
        """Cancel, wait until nothing is in progress, and check the thread's calls and messages."""
        thread = self._thread
        if thread is None or self._scene.drain.is_set():
            return
        await self._asking.ask("cancel", ClientRequest(method="POST", path=f"/threads/{thread}/cancel"))
        with trio.move_on_after(PATIENCE * self._scene.target.slower):
            await self._look()
            while any(view["runs_at"] != CALLER for view in self.calls.of_status("confirmed", "claimed")):
                await trio.sleep(LOOK_EVERY)
                await self._look()
        calls = await self._asking.ask(
            "look", ClientRequest(method="GET", path=f"/threads/{thread}/calls{_PAGE}")
        )
        messages = await self._asking.ask(
            "look", ClientRequest(method="GET", path=f"/threads/{thread}/messages{_PAGE}")
        )
        if calls.good and messages.good:
            self.calls.check_settled(calls.content["items"], messages.content["items"])
            self._tally.count("talks settled")

    async def delete(self) -> None:
        """Delete the thread, also while a turn or a call runs."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._asking.gone.add(thread)
            self.calls.forget(thread)
            await self._asking.ask("delete", ClientRequest(method="DELETE", path=f"/threads/{thread}"))

    # --- requests

    async def _chat(self, interrupt: bool = False, saying: int | None = None) -> None:
        text, tools = SAYINGS[saying] if saying is not None else self._rng.choice(SAYINGS)
        tools = tools if self._scene.target.tools else ()
        await self.say(text.format(self._rng.choice(ORDERS)), tools=tools, interrupt=interrupt)

    async def say(
        self, text: str, told: str = "", tools: tuple[View, ...] = (), interrupt: bool = False
    ) -> None:
        """Send a message and check the reply. `told`: the number that the message asks the server to remember."""
        body: dict[str, Any] = {"user_id": self._user, "message": text, "tools": tools}
        if self._thread is not None:
            body |= {"thread_id": self._thread, "interrupt": interrupt}
        events = self._rng.random() < 0.3
        self._tally.count("chats")
        asked_at = trio.current_time()
        answer = await self._asking.ask("chat", self._asking.make_hasty("POST", "/chat", body, events))
        if answer.good or answer.word == "cancelled":
            self._book.enter_end(told, cancelled=not answer.good)
        await self._check_reply(answer, asked_at)

    async def _chat_and(self, then: Callable[[], Awaitable[None]]) -> None:
        if self._thread is None:
            await self._chat()
        async with trio.open_nursery() as both:
            both.start_soon(self._chat)
            await trio.sleep(self._rng.uniform(0, HASTY))
            await then()

    async def _interrupt(self) -> None:
        await self._chat_and(lambda: self._chat(interrupt=True))

    async def _chat_and_cancel(self) -> None:
        await self._chat_and(self._cancel)

    async def _chat_and_delete(self) -> None:
        await self._chat_and(self.delete)

    async def _approve(self) -> None:
        if (view := self._pick_call()) is not None:
            await self._send_approval("approve", view)

    async def _approve_twice(self) -> None:
        if (view := self._pick_call()) is not None:
            async with trio.open_nursery() as both:
                both.start_soon(self._send_approval, "approve", view)
                both.start_soon(self._send_approval, "approve", view)

    async def _approve_and_cancel(self) -> None:
        if (view := self._pick_call()) is not None:
            async with trio.open_nursery() as both:
                both.start_soon(self._send_approval, "approve", view)
                await trio.sleep(self._rng.uniform(0, HASTY))
                await self._rng.choice((self._cancel, self._cancel_all, self.delete))()

    async def _edit(self) -> None:
        if (view := self._pick_call(edits=True)) is not None:
            name, values = EDITS[view["tool"]]
            await self._send_approval("edit", view, {**view["arguments"], name: self._rng.choice(values)})

    async def _edit_badly(self) -> None:
        if (view := self._pick_call()) is not None:
            wrong = {"nothing": "of this"} if view["parameters"] is None else {}
            await self._send_bad_approval("bad edit", view, "bad_edit", outcome="edit", arguments=wrong)

    async def _approve_unseen(self) -> None:
        view = self._pick_call()
        if view is not None and not view["missing"]:
            await self._send_bad_approval(
                "approve unseen", view, "arguments_changed", arguments_hash=_NOT_SEEN
            )

    async def _answer(self) -> None:
        if (view := self._pick_call()) is not None:
            body = {"user_id": self._user, "outcome": "respond", "text": "No, what does a return cost?"}
            answer = await self._asking.ask(
                "answer", self._asking.make_hasty("POST", f"/calls/{view['id']}/approve", body)
            )
            await self._check_continuation(answer)

    async def _reject(self) -> None:
        if (view := self._pick_call()) is not None:
            self._check_calls(
                await self._asking.ask(
                    "reject", self._asking.make_hasty("POST", f"/calls/{view['id']}/reject", {})
                )
            )

    async def _begin_calls(self) -> None:
        """Take most of the calls that run here, twice at once: exactly one request gets each call."""
        for view in self.calls.of_status("confirmed"):
            if view["runs_at"] == CALLER and self._rng.random() < DECIDES:
                async with trio.open_nursery() as both:
                    both.start_soon(self._begin, view)
                    both.start_soon(self._begin, view)

    async def _look(self) -> None:
        if self._thread is not None:
            answer = await self._asking.ask(
                "look", ClientRequest(method="GET", path=f"/threads/{self._thread}/calls{_PAGE}")
            )
            for view in answer.content["items"] if answer.good else ():
                self.calls.check_view(view)

    async def _cancel(self) -> None:
        if self._thread is not None:
            self._tally.count("turns cancelled")
            await self._asking.ask(
                "cancel turn", ClientRequest(method="DELETE", path=f"/threads/{self._thread}/turn")
            )

    async def _cancel_all(self) -> None:
        if self._thread is not None:
            await self._asking.ask(
                "cancel", self._asking.make_hasty("POST", f"/threads/{self._thread}/cancel")
            )

    # --- calls

    def _pick_call(self, edits: bool = False) -> View | None:
        """Return a random call that waits for approval, or `None`."""
        waiting = [view for view in self.calls.of_status("suggested") if not edits or view["tool"] in EDITS]
        return self._rng.choice(waiting) if waiting else None

    async def _send_approval(self, name: str, view: View, arguments: View | None = None) -> None:
        """Approve a call as it is, with its missing fields filled in, or with other arguments."""
        path, body = f"/calls/{view['id']}/approve", dict[str, Any](user_id=self._user)
        filled = {field: FILLED[field] for field in view["missing"]}
        if filled or arguments is not None:
            body |= {"outcome": "edit", "arguments": filled or arguments}
        if view["runs_at"] != CALLER and self._rng.random() < GOES_ON:
            body |= {"continue": True}
        digest = self.calls.enter_approval(view["id"], arguments or {**view["arguments"], **filled})
        answer = await self._asking.ask(name, self._asking.make_hasty("POST", path, body))
        if answer.status in (400, 409):
            self.calls.withdraw_approval(view["id"], digest)
        elif answer.good:
            self.calls.enter_grant(view["id"], "approval")
            self._check_calls(answer)
            await self._check_continuation(answer)

    async def _send_bad_approval(self, name: str, view: View, code: str, **fields: object) -> None:
        """Send an approval that the server must refuse."""
        path = f"/calls/{view['id']}/approve"
        answer = await self._asking.ask(
            name, ClientRequest(method="POST", path=path, body={"user_id": self._user, **fields}), code
        )
        if answer.good:
            self._tally.violation("T1", f"{self._name}: {name} of {view['id']} was taken")

    async def _begin(self, view: View) -> None:
        answer = await self._asking.ask(
            "begin", self._asking.make_hasty("POST", f"/calls/{view['id']}/begin", {})
        )
        if answer.good:
            self.calls.enter_grant(view["id"], "begin")
            self._check_calls(answer)
            await self._carry_out(answer.content)

    async def _carry_out(self, view: View) -> None:
        """Run a call here, or fail to, and report it; or vanish before the report."""
        works, heard = self._rng.random() < 0.85, self._rng.random() < 0.9
        if works and self._scene.note is not None:
            self._scene.note(EFFECT, view["id"], digest_of(view["arguments"]), view["tool"])
        if not heard:
            return
        report = {"tool_call_id": view["id"], "ok": works, "continue": self._rng.random() < GOES_ON}
        report |= {"data": {"made": True}} if works else {"error": "It is out of order."}
        if self._rng.random() < 0.5:
            report["arguments_hash"] = view["arguments_hash"]
        # A report without an answer is sent again.
        for make_request in (self._asking.make_hasty, ClientRequest):
            answer = await self._asking.ask(
                "report", make_request(method="POST", path="/tools/result", body=report)
            )
            if answer.good:
                self.calls.check_view(answer.content["call"])
                await self._check_continuation(answer)
            if answer is not LEFT:
                return

    def _check_calls(self, answer: ClientAnswer) -> None:
        if answer.good:
            self.calls.check_view({name: value for name, value in answer.content.items() if name != "reply"})

    async def _check_continuation(self, answer: ClientAnswer) -> None:
        """Check the reply of the turn that an answer about a call led to, if there is one."""
        if answer.good and answer.content["reply"] is not None:
            await self._check_reply(ClientAnswer(answer.status, answer.content["reply"]))

    async def _check_reply(self, answer: ClientAnswer, asked_at: float = float("-inf")) -> None:
        if not answer.good:
            return
        reply = answer.content
        if reply["thread_id"] not in self._asking.gone:
            self._thread = reply["thread_id"]
        self._tally.count(f"replied {reply['response_json']['mode']}")
        text = reply["render"]["text_to_send_to_user"]
        for run in find_uncited({"text": text, "citations": reply["citations"]}):
            self._tally.violation("S3", f"{self._name}: {run} stands in no citation")
        shown = "\n".join([text, *(each["snippet"] for each in reply["citations"])])
        self._book.check_text(shown, ANYWHERE, asked_at, "a reply")
        self._errands.check_updates(reply["response_json"]["memory_updates"], asked_at)
        for view in reply["calls"]:
            self.calls.check_view(view)
            if view["runs_at"] == CALLER and view["status"] == "claimed":  # it is handed over with the answer
                await self._carry_out(view)

    _TURN_ACTS: ClassVar[dict[Callable[["Talk"], Awaitable[None]], int]] = {
        _chat: 8,
        _interrupt: 3,
        _chat_and_cancel: 3,
        _chat_and_delete: 1,
        _look: 2,
        _cancel_all: 1,
    }
    _CALL_ACTS: ClassVar[dict[Callable[["Talk"], Awaitable[None]], int]] = {
        _approve: 4,
        _approve_twice: 4,
        _approve_and_cancel: 3,
        _edit: 6,
        _edit_badly: 1,
        _approve_unseen: 1,
        _answer: 1,
        _reject: 1,
    }
