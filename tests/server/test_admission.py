"""Host, Origin and token: who may speak to the server."""

import hmac

import pytest

from agent.server.admission import Admission
from agent.server.request_head import Head
from agent.server.settings import ServerSettings

RULES = Admission.of(ServerSettings(port=8787))
LOCKED = Admission.of(ServerSettings(port=8787, token="s3cret-x"))


def head(
    *headers: tuple[str, str], method: str = "GET", path: str = "/", host: str | None = "localhost:8787"
) -> Head:
    """Build a request head."""
    named = ((), (("host", host),))[host is not None]
    pairs = tuple(
        (name.lower().encode(), value.encode()) for name, value in (*named, *headers) if value is not None
    )
    return Head(
        method=method.encode(), target=path.encode(), version=b"1.1", headers=pairs, raw=b"", rest=b""
    )


def upgrade(*headers: tuple[str, str]) -> Head:
    """Build a WebSocket upgrade."""
    return head(("Upgrade", "websocket"), ("Connection", "Upgrade"), *headers, path="/ws")


def status(rules: Admission, request: Head, local: str | None = None) -> int:
    """Return the status of the refusal, 200 when there is none."""
    refusal = rules.check(request, local)
    return 200 if refusal is None else refusal.status


@pytest.mark.parametrize(
    "host", ["localhost", "LocalHost:8787", "127.0.0.1", "127.0.0.1:8787", "[::1]", "[::1]:8787"]
)
def test_our_own_names_are_answered(host: str) -> None:
    """With the port or without it, in any case."""
    assert status(RULES, head(host=host)) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8787",
        "localhost:80",
        "localhost.evil.example",
        "",
        "localhost:",
        "10.0.0.7",
    ],
)
def test_a_foreign_host_is_421(host: str) -> None:
    """A name rebound to our address does not get in, nor does another port."""
    expected = 200 if host == "localhost:" else 421
    assert status(RULES, head(host=host)) == expected


def test_a_foreign_host_is_refused_for_an_upgrade_and_a_post_too() -> None:
    """The rule is for every request."""
    assert status(RULES, head(("Upgrade", "websocket"), path="/ws", host="evil.example")) == 421
    assert status(RULES, head(method="POST", host="evil.example")) == 421


def test_none_or_two_hosts_are_400() -> None:
    """There is exactly one Host."""
    assert status(RULES, head(host=None)) == 400
    assert status(RULES, head(("Host", "localhost"))) == 400


def test_the_bound_address_and_allowed_hosts_are_answered() -> None:
    """An allowed host without a port is good for any, one with a port for that."""
    rules = Admission.of(
        ServerSettings(host="::2", insecure=True, allow_host=("Chat.example", "b.example:1")), port=99
    )
    assert status(rules, head(host="[::2]:99")) == 200
    assert status(rules, head(host="chat.example:1234")) == 200
    assert status(rules, head(host="b.example:1")) == 200
    assert status(rules, head(host="b.example:2")) == 421
    assert status(rules, head(host="localhost:8787")) == 421


def test_the_address_that_was_reached_is_answered() -> None:
    """A server on a wildcard address can be called by number."""
    assert status(RULES, head(host="10.0.0.7:8787"), "10.0.0.7") == 200
    assert status(RULES, head(host="[fe80::1]:8787"), "fe80::1") == 200
    assert status(RULES, head(host="10.0.0.8:8787"), "10.0.0.7") == 421


@pytest.mark.parametrize("origin", ["http://localhost:8787", "https://LOCALHOST:8787"])
def test_our_own_origin_passes(origin: str) -> None:
    """The page may talk to the server it came from."""
    assert status(RULES, upgrade(("Origin", origin))) == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://localhost", "http://127.0.0.1:8787", "localhost:8787", ""],
)
def test_another_origin_is_403(origin: str) -> None:
    """Before the upgrade, and for a POST as well."""
    assert status(RULES, upgrade(("Origin", origin))) == 403
    assert status(RULES, head(("Origin", origin), method="POST")) == 403


def test_two_origins_are_403() -> None:
    """Nobody honest sends two."""
    ours = ("Origin", "http://localhost:8787")
    assert status(RULES, upgrade(ours, ours)) == 403


def test_an_allowed_origin_passes() -> None:
    """As the operator spelled it, whatever the case."""
    rules = Admission.of(ServerSettings(port=8787, allow_origin=("https://App.example/",)))
    assert status(rules, upgrade(("Origin", "https://app.example"))) == 200
    assert status(rules, upgrade(("Origin", "http://app.example"))) == 403


def test_the_token_is_looked_for_in_every_authorization() -> None:
    """In each value of the header, and in nothing else."""
    assert LOCKED.shows_token([b"Basic x", b"Bearer  s3cret-x "])
    assert not LOCKED.shows_token([b"s3cret-x", b"Bearer", b"Bearer s3cret-y"])
    assert not LOCKED.shows_token([])
    assert RULES.shows_token([])


def test_a_token_is_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long the answer takes says nothing of how much of a guess was right: every comparison is hmac's."""
    compared: list[tuple[bytes, bytes]] = []

    def compare(shown: bytes, expected: bytes) -> bool:
        compared.append((shown, expected))
        return real(shown, expected)

    real = hmac.compare_digest
    monkeypatch.setattr(hmac, "compare_digest", compare)
    guesses = ("s3cret-x", "s3cret-y", "s")
    assert [LOCKED.shows_operator_token(head(("Authorization", f"Bearer {guess}"))) for guess in guesses] == [
        True,
        False,
        False,
    ]
    assert compared == [(guess.encode(), b"s3cret-x") for guess in guesses]


def test_a_token_as_a_subprotocol_is_for_the_websocket_alone() -> None:
    """A browser cannot set a header on a WebSocket."""
    offer = ("Sec-WebSocket-Protocol", "agent.v1, bearer.s3cret-x")
    assert LOCKED.shows_operator_token(upgrade(offer))
    assert not LOCKED.shows_operator_token(head(offer, path="/metrics"))
    assert not LOCKED.shows_operator_token(upgrade(("Sec-WebSocket-Protocol", "agent.v1, bearer.other")))
    assert not LOCKED.shows_operator_token(upgrade(("Sec-WebSocket-Protocol", "agent.v1")))
    assert LOCKED.shows_operator_token(upgrade(("Authorization", "Bearer s3cret-x")))


def test_without_a_token_everyone_is_authorised() -> None:
    """Nothing is asked of a client on the local machine."""
    assert RULES.shows_operator_token(upgrade())


def test_a_websocket_without_its_token_is_not_refused_before_the_upgrade() -> None:
    """It is closed with 4401 afterwards, which a browser can tell its page."""
    assert status(LOCKED, upgrade()) == 200
