"""Users with tokens of their own: who they are to a session, and what their tokens do not open."""

from pathlib import Path

import pytest
import trio
import trio.testing

from agent.client.client import Client
from agent.config import MEMORY
from agent.errors import UsageError
from agent.retrieval.load import SourceFile
from agent.server.admission import Admission
from agent.server.page_routes import PageContents
from agent.server.settings import TOKEN_MIN, ServerSettings
from agent.server.users import USERS_FILE_BYTES, USERS_MOST, Users, read_users
from agent.settings import Settings
from agent.testing.network import network

from . import exchange, later, page, parted
from .test_admission import head, upgrade

OPERATOR, ANA, BO = "the-operators-own-token", "anas-own-secret-token", "bos-other-secret-token"
GOOD = f'ana = "{ANA}"\n"Bo Ek" = "{BO}"\n'


def written(folder: Path, text: str | bytes = GOOD) -> Path:
    """Return a file of users."""
    path = folder / "users.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.fixture
def rules(tmp_path: Path) -> Admission:
    return Admission.of(ServerSettings(token=OPERATOR, users=written(tmp_path)))


def bearer(token: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {token}")


def test_a_token_says_whose_it_is(rules: Admission) -> None:
    """In a header, or as a browser's subprotocol; the operator's is nobody's."""
    assert rules.find_user(upgrade(bearer(ANA))) == "ana"
    assert rules.find_user(upgrade(("Sec-WebSocket-Protocol", f"agent.v1, bearer.{BO}"))) == "Bo Ek"
    for shown in (OPERATOR, ANA[:-1], ANA + "x", "ana", ""):
        assert rules.find_user(upgrade(bearer(shown))) == ""
    assert rules.find_user(upgrade()) == ""
    assert Users().find_user(b"") == ""


def test_a_browser_is_known_by_a_digest_of_its_secret(rules: Admission) -> None:
    """Where it shows no user's token: the operator's is nobody's. Of another form, or of several, none counts."""
    secret = "a-browsers_own-secret"

    def find(offered: str, *more: tuple[str, str]) -> str:
        return rules.find_user(upgrade(("Sec-WebSocket-Protocol", f"agent.v1, {offered}"), *more))

    known = find(f"visitor.{secret}xx")
    assert known.startswith("visitor:")
    assert secret not in known
    assert find(f"visitor.{secret}xx", bearer(OPERATOR)) == known
    assert find(f"visitor.{secret}xy") != known
    assert find(f"visitor.{secret}xx", bearer(ANA)) == "ana"
    for wrong in (secret, f"{secret}.x", f"{secret}=x", secret * 4, f"{secret}xx, visitor.{secret}xy"):
        assert find(f"visitor.{wrong}") == ""
    plain = head(("Sec-WebSocket-Protocol", f"visitor.{secret}xx"))
    assert rules.find_user(plain) == ""


def test_a_users_token_opens_a_socket_and_nothing_of_the_operators(rules: Admission) -> None:
    """Neither a request that answers, nor the API; and it is no wrong token."""
    for token in (ANA, BO, OPERATOR):
        assert rules.may_open_socket(upgrade(bearer(token)))
        assert not rules.shows_wrong_token(upgrade(bearer(token)))
    assert not rules.may_open_socket(upgrade())
    assert not rules.may_open_socket(upgrade(bearer("wrong-token-of-someone")))
    assert rules.shows_wrong_token(upgrade(bearer("wrong-token-of-someone")))
    assert not rules.shows_operator_token(head(bearer(ANA)))
    assert not rules.is_token(ANA.encode())


async def test_a_users_page_has_its_openers_and_sources_and_no_figures(rules: Admission) -> None:
    """What the page needs comes with a user's token, what the operator reads does not."""
    server = page(
        PageContents(asyncapi=b"", session_diagram="", metrics=later(lambda: b""), unready=later(lambda: "")),
        rules,
    )
    for path, statuses in {"/openers.json": (401, 200, 200), "/metrics": (401, 401, 200)}.items():
        for token, expected in zip(("x", ANA, OPERATOR), statuses, strict=True):
            shown = f"Connection: close\r\nAuthorization: Bearer {token}"
            asked = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{shown}\r\n\r\n"
            assert parted(await exchange(server, asked.encode()))[0] == expected
            asked = asked.replace("GET", "POST")  # the operator's, whatever it is for
            assert parted(await exchange(server, asked.encode()))[0] == (405 if token == OPERATOR else 401)


BAD = [
    ("", "must name 1 to"),
    ("ana", "must hold lines like"),
    (b"\xff\xfe", "must hold lines like"),
    (f'ana = ["{ANA}"]', "must hold lines like"),
    (f'[ana]\ntoken = "{ANA}"', "must hold lines like"),
    (f'"" = "{ANA}"', "a name must be"),
    (f'"a\\nb" = "{ANA}"', "a name must be"),
    (f'"visitor:ana" = "{ANA}"', "must not begin with visitor:"),
    (f'"{"a" * 129}" = "{ANA}"', "a name must be"),
    (f'ana = "{ANA[: TOKEN_MIN - 1]}"', f"at least {TOKEN_MIN}"),
    (f'ana = " {ANA}"', "printable ASCII"),
    (f'ana = "å{ANA}"', "printable ASCII"),
    (f'ana = "{ANA}"\nbo = "{ANA}"', "is another's, too"),
    (f'ana = "{OPERATOR}"', "is another's, too"),
    (f'ana = "{ANA}"\nana = "{BO}"', "must hold lines like"),
    ("".join(f'u{n} = "{n:020}"\n' for n in range(USERS_MOST + 1)), f"1 to {USERS_MOST} users"),
    ("#" * (USERS_FILE_BYTES + 1), f"over {USERS_FILE_BYTES} bytes"),
]


@pytest.mark.parametrize(("text", "why"), BAD, ids=[why for _, why in BAD])
def test_a_file_that_cannot_be_used_says_why(text: str | bytes, why: str, tmp_path: Path) -> None:
    """In one line that names the file, and holds no token."""
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        read_users(path, OPERATOR)
    message = str(caught.value)
    assert message.startswith(f"users {path}: ")
    assert why in message
    assert "\n" not in message
    assert not any(secret in message for secret in (ANA, BO, OPERATOR))


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    """By its name."""
    with pytest.raises(UsageError, match=r"cannot be read \(No such file"):
        read_users(tmp_path / "none.toml", None)


def test_users_need_an_operators_token(tmp_path: Path) -> None:
    """Without one the server is open to everybody, and a name says nothing."""
    with pytest.raises(UsageError, match="users needs a token too"):
        ServerSettings(users=written(tmp_path))


async def listed(client: Client) -> list[tuple[str, str]]:
    """Return what a client is told to be remembered."""
    await client.send({"type": "memory_list"})
    (*_, frame) = await client.frames_until("memory")
    return [(item["id"], item["text"]) for item in frame["items"]]


async def refused(client: Client, **frame: str) -> str:
    """Return the code of the error that answers a frame."""
    await client.send(frame)
    (*_, error) = await client.frames_until("error")
    return str(error["code"])


async def test_a_user_is_remembered_in_every_connection_and_by_nobody_else(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """What one told is there when he connects again, and neither for another, nor for the operator."""
    settings = Settings.of(
        token=OPERATOR, users=written(tmp_path), memory="on", data=MEMORY, pace_ms=0, rate_limit=0
    )
    source = SourceFile.of("kb/a.md", "# Plans\n\nStandard costs 299 kr.\n")
    async with network(settings, documents=(source,)) as net:
        async with net.connect(ANA) as ana:
            await ana.send({"type": "open_thread"})
            (*_, opened) = await ana.frames_until("thread")
            await ana.ask("Remember that my budget is 50 000 kr.")
            await ana.frames_until("response")
            await trio.sleep(1)
            assert [id for id, _ in await listed(ana)] == ["i1"]
        async with net.connect(ANA) as again:
            assert len(await listed(again)) == 1
            await again.send({"type": "open_thread", "thread": opened["thread"]})
            assert (await again.frames_until("thread"))[-1]["thread"] == opened["thread"]
        for other in (BO, OPERATOR):
            async with net.connect(other) as client:
                assert await listed(client) == []
                assert await refused(client, type="memory_forget", item="i1") == "unknown_item"
                assert await refused(client, type="open_thread", thread=opened["thread"]) == "unknown_thread"
        async with net.connect(ANA) as still:
            ((id, text),) = await listed(still)
            assert (id, "50 000 kr" in text) == ("i1", True)
