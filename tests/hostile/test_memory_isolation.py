"""What one user has remembered no other user and no other project sees, whichever way: a test of each path."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
import trio
import trio.testing

from tests.e2e.plain import plain
from tests.examples import sample

from ..server.api import TOKEN
from ..server.api.whole import Whole, whole
from .test_isolation import DECISIONS, NEVER

ASKS = "What is the code of the locker?"


@dataclass(frozen=True, slots=True)
class Owner:
    """Who has something remembered: its key, its name, a word of its own and its items."""

    key: str
    user: str
    word: str
    items: tuple[str, ...]


@asynccontextmanager
async def owners() -> AsyncGenerator[tuple[Whole, list[Owner]], None]:
    """Two users of one project, and one of them in another: each has an item accepted, and one proposed."""
    async with whole(memory="on") as server:
        (_, here), (_, there) = await server.project("Here"), await server.project("There")
        made = []
        for key, user, word in (
            (here, "anna", "Zanzibar"),
            (here, "bo", "Quietude"),
            (there, "anna", "Mandarin"),
        ):
            items = [
                await told(server, key, user, text)
                for text in (
                    f"Remember that the code of the locker is {word}.",
                    f"From now on call my locker {word}.",
                )
            ]
            made.append(Owner(key, user, word, tuple(items)))
        yield server, made


async def told(server: Whole, key: str, user: str, text: str) -> str:
    """Say something; return the item that comes of it. No update of anybody else's is ever told."""
    answer = await server.chat(text, key, user_id=user)
    (update,) = answer["response_json"]["memory_updates"]
    assert update["replaces"] == []
    return str(update["id"])


def words(value: Any, owners: list[Owner], but: Owner) -> list[str]:
    """The words of the others in something."""
    return [each.word for each in owners if each is not but and each.word in str(value)]


async def test_a_list_has_its_users_own(autojump_clock: trio.testing.MockClock) -> None:
    """In whatever status, page by page."""
    async with owners() as (server, every):
        for owner in every:
            for more in ("", "&status=accepted", "&status=proposed", "&limit=1"):
                page = await server.good("GET", f"/memory?user_id={owner.user}{more}", key=owner.key)
                assert not words(page, every, owner)
                assert {each["id"] for each in page["items"]} <= {*owner.items}
            page = await server.good("GET", f"/memory?user_id={owner.user}", key=owner.key)
            assert [each["id"] for each in page["items"]] == [*owner.items]
        nobody = await server.good("GET", "/memory?user_id=cy", key=every[0].key)
        assert nobody["items"] == []


@pytest.mark.parametrize("decisions", sample([[*DECISIONS.values()][::3], [*DECISIONS.values()]], 2))
async def test_an_item_is_there_for_its_user_alone(
    decisions: list[dict[str, Any]], autojump_clock: trio.testing.MockClock
) -> None:
    """Looked at or decided, another's is what never was; and it stays as it is."""
    async with owners() as (server, every):

        async def all_of(owner: Owner) -> list[Any]:
            targets = [f"/memory/{item}?user_id={owner.user}" for item in owner.items]
            return [await server.good("GET", target, key=owner.key) for target in targets]

        before = [await all_of(owner) for owner in every]
        for owner in every:
            for item in [each for other in every if other is not owner for each in other.items]:
                answers = []
                for id in (item, NEVER):
                    answers.append(
                        [await server.ask("GET", f"/memory/{id}?user_id={owner.user}", key=owner.key)]
                        + [
                            await server.ask(
                                "POST", f"/memory/{id}", {"user_id": owner.user, **decided}, key=owner.key
                            )
                            for decided in decisions
                        ]
                    )
                assert [told[0] for told in answers[0]] == [404] * (1 + len(decisions))
                assert [told[::2] for told in answers[0]] == [told[::2] for told in answers[1]]
        assert [await all_of(owner) for owner in every] == before


async def test_a_prompt_and_an_answer_tell_of_its_user_alone(autojump_clock: trio.testing.MockClock) -> None:
    """The rules that stand in it, what is recalled and what is cited; a socket's client is nobody of them."""
    async with owners() as (server, every):
        for owner in every:
            await server.good(
                "POST",
                f"/memory/{owner.items[1]}",
                {"user_id": owner.user, "decision": "accept"},
                key=owner.key,
            )
        for owner in every:
            server.model.asked.clear()
            server.model.says = f"The code of the locker is {owner.word}."
            answer = await server.chat(ASKS, owner.key, user_id=owner.user)
            assert owner.word in answer["response_json"]["message"]
            assert answer["citations"]
            assert not words(answer, every, owner)
            assert any(f"call my locker {owner.word}" in prompt for prompt in server.model.asked)
            assert not words(server.model.asked, every, owner)
        server.model.asked.clear()
        server.model.says = "The house opens at 8."
        strange = Owner("", "", "", ())
        for user, key in (("cy", every[0].key), ("anna", TOKEN)):
            answers = [
                await server.chat(text, key, user_id=user) for text in (ASKS, "When does the house open?")
            ]
            assert not words(answers, every, strange)
        async with plain(server.net.open(), [f"bearer.{TOKEN}"]) as client:
            for id, text in enumerate((ASKS, "When does the house open?")):
                await client.ask(text, id=str(id))
                assert not words(await client.until("response"), every, strange)
        assert len(server.model.asked) == 2  # a project has no house
        assert not words(server.model.asked, every, strange)


async def test_two_sockets_share_nothing(autojump_clock: trio.testing.MockClock) -> None:
    """A connection is nobody's but its own: what one client has remembered, no other is told."""
    async with whole(memory="on") as server:
        server.model.says = "The code of the locker is Zanzibar."
        texts = ("Remember that the code of the locker is Zanzibar.", ASKS)
        for client_texts, word in ((texts, "Zanzibar"), ((ASKS, "When does the house open?"), "")):
            server.model.asked.clear()
            async with plain(server.net.open(), [f"bearer.{TOKEN}"]) as client:
                for id, text in enumerate(client_texts):
                    await client.ask(text, id=str(id))
                    await client.until("response")
                    await trio.sleep(1)
                assert ("Zanzibar" in str(server.model.asked)) is bool(word)
                assert server.model.asked
            server.model.says = "The house opens at 8."
