"""A command that loads a server takes the URL of one that runs on this machine, and says what is wrong with another."""

import pytest

from agent.errors import UsageError
from agent.protocol.url import is_web_address, parse_local_url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("ws://127.0.0.1:8787/ws", ("127.0.0.1", 8787, "/ws")),
        ("localhost:9000", ("localhost", 9000, "")),
        ("http://[::1]", ("::1", 80, "")),
    ],
)
def test_host_port_and_path(url: str, expected: tuple[str, int, str]) -> None:
    """The scheme may be left out, and the port."""
    assert parse_local_url(url) == expected


@pytest.mark.parametrize(
    "url", ["", "ws://", "wss://localhost", "ftp://localhost", "localhost:99999", "localhost:x"]
)
def test_what_is_no_url_is_said(url: str) -> None:
    """The message shows one that is right."""
    with pytest.raises(UsageError, match=r"must look like ws://127\.0\.0\.1:8787/ws"):
        parse_local_url(url)


@pytest.mark.parametrize("url", ["ws://192.0.2.1:8787/ws", "example.com", "localhost.example.com:80"])
def test_another_machine_is_left_alone(url: str) -> None:
    """Nobody loads what is not their own by mistake."""
    with pytest.raises(UsageError, match="only a server on this machine"):
        parse_local_url(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.com/hook", True),
        ("http://[::1]:80", True),
        ("ftp://h/", False),
        ("http://h:0/", False),
        ("http://[::1", False),
        ("", False),
    ],
)
def test_a_web_address_can_be_called(url: str, expected: bool) -> None:
    """It has a scheme that we speak, a host, and no port that there is none of."""
    assert is_web_address(url) is expected
