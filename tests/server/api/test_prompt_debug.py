"""The prompt that is shown is the one that a model is asked with: made of the same thread, user, memory and results."""

from urllib.parse import quote

import trio.testing

from .whole import Whole, whole

ASKED = "What does the house say of my parcel?"
HERE = {"project_id": "default"}
SHIP = {
    "name": "ship",
    "description": "Ships.",
    "parameters": {"order": {"type": "string", "required": True}},
}


async def shown(server: Whole, message: str, **query: str) -> dict[str, str]:
    named = "".join(f"&{name}={quote(value)}" for name, value in query.items())
    target = f"/projects/default/prompt-debug?message={quote(message)}{named}"
    return {each["name"]: each["text"] for each in (await server.good("GET", target))["sections"]}


def sent(server: Whole) -> str:
    """Everything that the model was asked first."""
    (first, *_) = server.model.sent
    return "\n".join(message.text for message in first.messages)


async def told_of_anna(server: Whole) -> str:
    """Have anna say what she prefers and what is due, and report what a call of hers came to; return its thread."""
    await server.chat("Remember that I prefer short answers.")
    await server.chat("Remember that I have to pay the rent on 2030-05-08.")
    call = await server.act("ship", {"order": "A-1"}, tools=[SHIP], **HERE)
    await server.good("POST", f"/calls/{call['id']}/approve", {"user_id": "anna", **HERE})
    await server.good("POST", f"/calls/{call['id']}/begin", HERE)
    report = {"tool_call_id": call["id"], "ok": True, "data": {"parcel": "P-7"}, **HERE}
    await server.good("POST", "/tools/result", report)
    return str(call["thread_id"])


async def test_the_prompt_that_is_shown_is_the_one_that_is_asked(
    autojump_clock: trio.testing.MockClock,
) -> None:
    """Memory, situation, conversation, evidence and results, each part as it stands in what the model is sent."""
    async with whole(memory="on") as server:
        thread = await told_of_anna(server)
        server.model.sent.clear()
        parts = await shown(server, ASKED, thread_id=thread)
        assert server.model.sent == []
        assert "prefer short answers" in parts["memory"]
        assert "pay the rent" in parts["situation"]
        assert "P-7" in parts["results"]
        assert "Please A-1" in parts["thread"]
        await server.chat(ASKED, thread_id=thread)
        for name, text in parts.items():
            assert name == "thread" or text in sent(server), name
        server.model.sent.clear()
        assert "P-7" not in (await shown(server, ASKED, thread_id=thread))["results"]  # it was told
        page = await server.good("GET", f"/threads/{thread}/messages")
        assert [each["role"] for each in page["items"]][-3:] == ["tool", "user", "assistant"]


async def test_a_prompt_of_a_new_thread_is_shown_for_its_user(autojump_clock: trio.testing.MockClock) -> None:
    """For nobody without what anyone wants remembered; and no other user is shown a thread's."""
    async with whole(memory="on") as server:
        thread = await told_of_anna(server)
        assert "prefer short answers" in (await shown(server, ASKED, user_id="anna"))["memory"]
        for query in ({}, {"user_id": "eve"}):
            parts = await shown(server, ASKED, **query)
            assert (parts["memory"], parts["situation"], parts["thread"]) == ("", "", "")
        here = f"/projects/default/prompt-debug?message=Hello&thread_id={thread}"
        assert await server.code("GET", f"{here}&user_id=eve") == "not_found"
