"""Tokens that a website's backend signs: who they name, until when, and what each is refused for."""

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs
from trio_websocket import ConnectionClosed

from agent.client.client import Client
from agent.compose.adapters import Adapters
from agent.config import MEMORY
from agent.errors import UsageError, WireClosed
from agent.retrieval.load import SourceFile
from agent.server.admission import Admission
from agent.server.serve import TOKEN_OVER
from agent.server.settings import WRONG_TOKENS, ServerSettings
from agent.server.signed_users import TOKEN_MOST, SignedUsers, TokenRefused, sign_user
from agent.settings import Settings
from agent.testing.fakes import Noon
from agent.testing.network import Network, network

from .test_admission import head, upgrade

KEY, OLD, OTHER = "the-key-that-signs-tokens-now-0000", "the-key-before-that-signed-so-0000", "x" * 40
OPERATOR = "the-operators-own-token"
NOW = 1_700_000_000
READER = SignedUsers((KEY, OLD), Noon())


def encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def made(claims: Any, header: Any = None, key: str = KEY) -> str:
    """Return a token with any header and claims, rightly signed. Bytes stand as they are."""
    header = {"alg": "HS256", "typ": "JWT"} if header is None else header
    parts = [each if isinstance(each, bytes) else json.dumps(each).encode() for each in (header, claims)]
    text = ".".join(map(encoded, parts))
    return f"{text}.{encoded(hmac.digest(key.encode(), text.encode(), 'sha256'))}"


GOOD = sign_user(KEY, "ana", NOW + 60)


def test_a_token_names_its_user_until_its_end() -> None:
    """With any name that a user may have, and with the claims that libraries write."""
    found = READER.read_user(GOOD.encode())
    assert (found.name, found.seconds) == ("ana", 60)
    assert READER.read_user(sign_user(KEY, "Åsa Ek 😀", NOW + 1).encode()).name == "Åsa Ek 😀"
    longest = sign_user(KEY, "😀" * 128, NOW + 1)
    assert READER.read_user(longest.encode()).name == "😀" * 128
    assert len(longest) < TOKEN_MOST
    for claims, header in (
        ({"exp": NOW + 0.5, "sub": "ana", "iat": NOW}, {"typ": "JWT", "alg": "HS256", "kid": "1"}),
        ({"sub": "ana", "exp": NOW + 9}, {"alg": "HS256"}),
    ):
        assert READER.read_user(made(claims, header).encode()).name == "ana"


def test_two_keys_are_good_at_once() -> None:
    """Tokens of the key before stay good until they are over; those of another server never are."""
    assert READER.find_user(made({"sub": "ana", "exp": NOW + 1}, key=OLD).encode()) is not None
    assert READER.find_user(made({"sub": "ana", "exp": NOW + 1}, key=OTHER).encode()) is None
    assert SignedUsers((), Noon()).find_user(GOOD.encode()) is None


HEAD, BODY, SIGNATURE = GOOD.split(".")
NO_ALGORITHM = encoded(b'{"alg":"none"}')
SIGNED = "no key of this server has signed it"
FORM = "it is not a signed token"
CLAIMS = "its header or its claims"
NAME = "its sub is no name"
BAD = [
    ("", FORM),
    ("ana", FORM),
    (OPERATOR, FORM),
    (f"{HEAD}.{BODY}", FORM),
    (f"{HEAD}.{BODY}.", FORM),
    (f"{GOOD}.x", FORM),
    (f"{GOOD}\n", FORM),
    (f"{GOOD}=", FORM),
    (GOOD + "A" * TOKEN_MOST, FORM),
    (f"{GOOD}A", SIGNED),
    (GOOD[:-1], SIGNED),
    (GOOD[:-1] + ("A" if GOOD[-1] != "A" else "E"), SIGNED),
    (f"{HEAD}.{encoded(json.dumps({'sub': 'bo', 'exp': NOW + 60}).encode())}.{SIGNATURE}", SIGNED),
    (f"{NO_ALGORITHM}.{BODY}.{SIGNATURE}", SIGNED),
    (sign_user(OTHER, "ana", NOW + 60), SIGNED),
    (sign_user(OTHER, "ana", NOW - 60), SIGNED),
    (made({"sub": "ana", "exp": NOW + 60}, {"alg": "none"}), CLAIMS),
    (made({"sub": "ana", "exp": NOW + 60}, {"alg": "HS512", "typ": "JWT"}), CLAIMS),
    (made({"sub": "ana", "exp": NOW + 60}, {"typ": "JWT", "alg": "HS256", "crit": ["x"]}), CLAIMS),
    (made({"sub": "ana", "exp": NOW + 60, "aud": "another server"}), CLAIMS),
    (made({"sub": "ana", "exp": NOW + 60, "nbf": NOW + 30}), CLAIMS),
    (made({"sub": "ana"}), CLAIMS),
    (made({"exp": NOW + 60}), CLAIMS),
    (made({"sub": 7, "exp": NOW + 60}), CLAIMS),
    (made({"sub": "ana", "exp": str(NOW + 60)}), CLAIMS),
    (made({"sub": "ana", "exp": -1}), CLAIMS),
    (made({"sub": "ana", "exp": 10**12}), CLAIMS),
    (made(b'{"sub":"ana","exp":1e999}'), CLAIMS),
    (made(b'{"sub":"ana","exp":NaN}'), CLAIMS),
    (made(b'{"sub":"a\xff","exp":1700000060}'), CLAIMS),
    (made(b'{"sub":"\\ud800","exp":1700000060}'), CLAIMS),
    (made(b"[" * 1000), CLAIMS),
    (made(b'{"x":' * 200), CLAIMS),
    (made([]), CLAIMS),
    (made(b""), FORM),
    (made({"sub": "", "exp": NOW + 60}), NAME),
    (made({"sub": "a" * 129, "exp": NOW + 60}), NAME),
    (made({"sub": "a\nb", "exp": NOW + 60}), NAME),
    (made({"sub": "visitor:1", "exp": NOW + 60}), NAME),
    (sign_user(KEY, "ana", NOW), "its time is over"),
    (sign_user(KEY, "ana", NOW - 1), "its time is over"),
]


@pytest.mark.parametrize(("token", "why"), BAD, ids=map(str, range(len(BAD))))
def test_any_other_token_names_nobody(token: str, why: str) -> None:
    """And the reason holds nothing of it."""
    with pytest.raises(TokenRefused) as caught:
        READER.read_user(token.encode())
    assert str(caught.value).startswith(why)
    assert READER.find_user(token.encode()) is None
    assert not any(part in str(caught.value) for part in token.split(".") if len(part) > 3)


def test_every_key_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is shown, and whichever key is right."""
    compared: list[bytes] = []
    compare_digest = hmac.compare_digest

    def compare(shown: bytes, right: bytes) -> bool:
        compared.append(shown)
        return compare_digest(shown, right)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    for token in (GOOD, made({"sub": "ana", "exp": 1}, key=OLD), sign_user(OTHER, "ana", NOW)):
        compared.clear()
        READER.find_user(token.encode())
        assert compared == [token.rpartition(".")[2].encode()] * 2


def rules(**settings: Any) -> Admission:
    return Admission.of(ServerSettings(sign_key=KEY, **settings), clock=Noon())


def bearer(token: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {token}")


@pytest.mark.parametrize(
    "show", [bearer, lambda token: ("Sec-WebSocket-Protocol", f"agent.v1, bearer.{token}")]
)
def test_a_signed_token_is_taken_where_a_users_own_is(show: Any) -> None:
    """As a header or a subprotocol; it opens nothing of the operator's."""
    locked = rules(token=OPERATOR)
    good, over = upgrade(show(GOOD)), upgrade(show(sign_user(KEY, "ana", NOW - 1)))
    assert locked.may_open_socket(good)
    assert (locked.find_user(good), locked.find_time_left(good)) == ("ana", 60)
    assert not locked.shows_wrong_token(good)
    assert not locked.shows_operator_token(good)
    assert not locked.may_open_socket(over)
    assert locked.find_user(over) == ""
    assert locked.shows_wrong_token(over)


def test_the_log_says_why_a_token_is_refused() -> None:
    """Only of servers that sign, and of requests that show one."""
    locked = rules(token=OPERATOR)
    assert locked.explain_refusal(upgrade(bearer(sign_user(KEY, "ana", NOW - 1)))) == "its time is over"
    assert locked.explain_refusal(upgrade(bearer("x" * 20))) == FORM
    assert locked.explain_refusal(upgrade()) == ""
    plain = Admission.of(ServerSettings(token=OPERATOR))
    assert plain.explain_refusal(upgrade(bearer(GOOD))) == ""


def test_a_wrong_token_makes_no_guest() -> None:
    """Nor on an open server: the page of a user whose token is over asks for a new one, and is not nobody."""
    for open_server in (rules(), rules(token=OPERATOR, guests=True)):
        assert open_server.may_open_socket(upgrade())
        assert open_server.may_open_socket(upgrade(bearer(GOOD)))
        assert not open_server.may_open_socket(upgrade(bearer(sign_user(KEY, "ana", NOW - 1))))
        assert not open_server.may_open_socket(upgrade(bearer("x" * 20)))
    assert not rules().shows_wrong_token(head(bearer("sk-of-another-service")))
    assert rules(token=OPERATOR, guests=True).shows_wrong_token(head(bearer("x" * 20)))


def test_a_guest_may_chat_and_nothing_else() -> None:
    """The operator's routes still need the operator's token."""
    assert not rules(token=OPERATOR).may_open_socket(upgrade())
    guests = rules(token=OPERATOR, guests=True)
    assert guests.may_open_socket(upgrade())
    assert guests.find_user(upgrade()) == ""
    assert not guests.shows_operator_token(head())


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"sign_key": "x" * 31}, "sign-key must have at least 32 characters"),
        ({"sign_key": "å" * 32}, "sign-key must be printable ASCII"),
        ({"sign_key": " " + "x" * 32}, "sign-key must be printable ASCII"),
        ({"sign_key": ""}, "sign-key must be printable ASCII"),
        ({"old_sign_key": OLD}, "old-sign-key needs sign-key"),
        ({"sign_key": KEY, "old_sign_key": "short"}, "old-sign-key must have at least 32"),
        ({"sign_key": KEY, "old_sign_key": KEY}, "old-sign-key must be another key"),
        ({"sign_key": KEY, "token": KEY}, "sign-key must not be token"),
        ({"sign_key": KEY, "old_sign_key": OLD, "token": OLD}, "old-sign-key must not be token"),
        ({"guests": True}, "guests needs a token"),
    ],
)
def test_a_key_that_cannot_work_is_said(settings: dict[str, Any], why: str) -> None:
    """By its setting's name, without the key."""
    with pytest.raises(UsageError) as caught:
        ServerSettings(**settings)
    assert str(caught.value).startswith(why)
    assert not any(each in str(caught.value) for each in settings.values() if isinstance(each, str) and each)


class _Wall:
    """A clock that goes with the loop's."""

    def now_ms(self) -> int:
        return NOW * 1000 + round(trio.current_time() * 1000)


@asynccontextmanager
async def serving(**settings: Any) -> AsyncGenerator[Network, None]:
    """Run a server that takes signed tokens."""
    chosen = Settings.of(sign_key=KEY, data=MEMORY, pace_ms=0, rate_limit=0, **settings)
    source = SourceFile.of("kb/a.md", "# Plans\n\nStandard costs 299 kr.\n")
    async with network(chosen, Adapters(clock=_Wall()), documents=(source,)) as net:
        yield net


async def closed(client: Client) -> tuple[int, str]:
    """Wait until the server closes; return the code and the reason."""
    with pytest.raises(WireClosed) as caught:
        await client.frames_until("none comes")
    closing = caught.value.__context__
    assert isinstance(closing, ConnectionClosed)
    assert closing.reason is not None
    return caught.value.code, closing.reason.reason or ""


async def test_a_session_is_its_tokens_user(autojump_clock: trio.testing.MockClock) -> None:
    """What one is remembered by one token is there by the next, and by nobody else's."""
    start = round(trio.current_time())
    async with serving(token=OPERATOR, memory="on") as net:
        async with net.connect(sign_user(KEY, "ana", NOW + start + 600)) as ana:
            await ana.send({"type": "open_thread"})
            await ana.frames_until("thread")
            await ana.ask("Remember that my budget is 50 000 kr.")
            await ana.frames_until("response")
            await trio.sleep(1)
        for name, expected in (("ana", 1), ("bo", 0)):
            async with net.connect(sign_user(KEY, name, NOW + start + 900)) as again:
                await again.send({"type": "memory_list"})
                (*_, frame) = await again.frames_until("memory")
                assert len(frame["items"]) == expected


async def test_a_session_ends_with_its_token(autojump_clock: trio.testing.MockClock) -> None:
    """Not a second before; the close says so, and the next token opens another."""
    async with serving(token=OPERATOR) as net:
        start = round(trio.current_time())
        async with net.connect(sign_user(KEY, "ana", NOW + start + 30)) as client:
            await trio.sleep(28)
            await client.ask("What does Standard cost?")
            await client.frames_until("response")
            with trio.move_on_after(10):
                assert await closed(client) == (4401, TOKEN_OVER)
            assert 29 <= trio.current_time() - start <= 32
        assert len(net.app.registry) == 0
        async with net.connect(sign_user(KEY, "ana", NOW + start + 90)) as client:
            await client.ask("What does Standard cost?")
            await client.frames_until("response")


async def test_the_operators_session_has_no_end(autojump_clock: trio.testing.MockClock) -> None:
    """Neither has a guest's: both are answered after more than an hour."""
    async with serving(token=OPERATOR, guests=True, idle_timeout=0.0) as net:
        for token in (OPERATOR, None):
            async with net.connect(token) as client:
                await trio.sleep(4_000)
                await client.ask("What does Standard cost?")
                await client.frames_until("response")


@pytest.mark.parametrize("kept", [{"token": OPERATOR}, {}])
async def test_a_refused_token_closes_as_a_wrong_one(
    kept: dict[str, Any], autojump_clock: trio.testing.MockClock
) -> None:
    """With the same words, and one line in the log that holds nothing of it."""
    async with serving(**kept) as net:
        now = NOW + round(trio.current_time())
        tokens = {
            sign_user(KEY, "ana", now - 1): "its time is over",
            sign_user(OTHER, "ana", now + 60): SIGNED,
            "wrong-token-of-somebody": FORM,
            made({"sub": "visitor:7", "exp": now + 60}): None,
        }
        for token, why in tokens.items():
            with capture_logs() as lines:
                async with net.connect(token) as client:
                    assert await closed(client) == (4401, "not authorised")
            (line,) = [each for each in lines if each["event"] == "token refused"]
            assert why is None or line["why"] == why
            assert token not in str(lines)


async def test_wrong_signed_tokens_are_guesses(autojump_clock: trio.testing.MockClock) -> None:
    """Of one address so many are answered in a minute; a right one always is."""
    async with serving(token=OPERATOR) as net:
        now = NOW + round(trio.current_time())
        statuses = []
        for end in [now - 1] * (WRONG_TOKENS + 2) + [now + 60]:
            stream = net.open(peer="203.0.113.9")
            shown = f"Authorization: Bearer {sign_user(KEY, 'ana', end)}"
            await stream.send_all(
                f"GET /openers.json HTTP/1.1\r\nHost: localhost\r\n{shown}\r\n\r\n".encode()
            )
            statuses.append(int((await stream.receive_some(64)).split()[1]))
            await trio.aclose_forcefully(stream)
        assert statuses[:-1] == [401] * WRONG_TOKENS + [429] * 2
        assert statuses[-1] in (200, 202)
