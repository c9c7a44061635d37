"""Whom a connection counts for: addresses, their networks, and what a trusted proxy says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from agent.server.addresses import THIS_MACHINE, Addresses
from agent.server.request_head import Head, Refusal
from agent.server.settings import ServerSettings

PLAIN = Addresses()
PROXIED = Addresses.of(
    ServerSettings(trust_proxy=("10.0.0.1,10.1.0.0/16", "2001:db8:ffff::/48", "127.0.0.1"))
)


def head(*forwarded: str) -> Head:
    """Build a request whose proxies said this, one header each."""
    named = tuple((b"x-forwarded-for", value.encode("latin-1")) for value in forwarded)
    return Head(
        method=b"GET",
        target=b"/ws",
        version=b"1.1",
        headers=((b"host", b"localhost"), *named),
        raw=b"",
        rest=b"",
    )


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        (None, THIS_MACHINE),
        ("127.0.0.1", THIS_MACHINE),
        ("127.8.8.8", THIS_MACHINE),
        ("::1", THIS_MACHINE),
        ("::ffff:127.0.0.1", THIS_MACHINE),
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
    ],
)
def test_an_address_counts_as_what_one_client_has(peer: str | None, expected: str) -> None:
    """IPv6 by /64; IPv4 written as IPv6 as IPv4; this machine as one. A header from nobody we trust changes nothing."""
    assert PLAIN.of_peer(peer) == expected
    assert PLAIN.of_client(peer, head("198.51.100.9", "nonsense")) == expected


@pytest.mark.parametrize("name", [b"X-Forwarded-For", b"forwarded"])
@pytest.mark.parametrize("peer", ["127.0.0.1", "::1"])
def test_a_proxy_on_this_machine_that_is_not_trusted_is_told_of_once(peer: str, name: bytes) -> None:
    """With what to do; neither for a client without the header, nor for one elsewhere, nor where it is trusted."""
    forwarded = Head(
        method=b"GET",
        target=b"/",
        version=b"1.1",
        headers=((name.lower(), b"for=198.51.100.9"),),
        raw=b"",
        rest=b"",
    )
    rules = Addresses()
    with capture_logs() as lines:
        assert rules.of_client(peer, head()) == THIS_MACHINE
        assert rules.of_client("192.0.2.7", forwarded) == "192.0.2.7"
        Addresses.of(ServerSettings(trust_proxy=(peer,))).of_client(peer, forwarded)
        assert lines == []
        for _ in range(3):
            assert rules.of_client(peer, forwarded) == THIS_MACHINE
    (line,) = lines
    assert (line["log_level"], line["then"]) == ("warning", f"trust it: --trust-proxy {peer}")
    assert "198.51.100.9" not in str(line)


@pytest.mark.parametrize(
    ("forwarded", "expected"),
    [
        (("198.51.100.9",), "198.51.100.9"),
        (("203.0.113.1, 198.51.100.9",), "198.51.100.9"),
        (("203.0.113.1", "198.51.100.9"), "198.51.100.9"),
        (("203.0.113.1,198.51.100.9,10.1.2.3",), "198.51.100.9"),
        (("203.0.113.1,198.51.100.9 , 10.0.0.1,\t10.1.2.3",), "198.51.100.9"),
        (("nonsense, 198.51.100.9",), "198.51.100.9"),
        (("127.0.0.1, 198.51.100.9",), "198.51.100.9"),
        (("198.51.100.9:4711",), "198.51.100.9"),
        (("[2001:db8:1:2::5]:4711",), "2001:db8:1:2::/64"),
        (("[2001:db8:1:2::5]",), "2001:db8:1:2::/64"),
        (("2001:db8:1:2::5",), "2001:db8:1:2::/64"),
        (("198.51.100.9, 2001:db8:ffff::1",), "198.51.100.9"),
        (("::ffff:198.51.100.9",), "198.51.100.9"),
        ((), None),
        (("10.1.2.3, 10.0.0.1",), None),
    ],
)
def test_the_client_is_the_rightmost_that_is_no_proxy(
    forwarded: tuple[str, ...], expected: str | None
) -> None:
    """What stands left of it the client may have made up. Without one it is the proxy itself, nobody in particular."""
    for peer in ("10.0.0.1", "10.1.255.255", "2001:db8:ffff:1::2", "127.0.0.1"):
        assert PROXIED.of_peer(peer) is None
        assert PROXIED.of_client(peer, head(*forwarded)) == expected
    for stranger in ("10.0.0.2", "192.0.2.7"):
        assert PROXIED.of_client(stranger, head(*forwarded)) == stranger


@pytest.mark.parametrize(
    "last",
    [
        "unknown",
        "_hidden",
        "198.51.100",
        "198.51.100.9.9",
        "198.51.100.9:80:80",
        "",
        " ",
        "[::1",
        "1",
        "\xe5",
    ],
)
def test_what_a_proxy_wrote_and_nobody_can_read_is_refused(last: str) -> None:
    """Neither counted for the proxy nor passed over, which would be a way past the limits."""
    if last == "[::1":  # read as far as it goes: an address all the same
        assert PROXIED.of_client("10.0.0.1", head(f"198.51.100.9, {last}")) == THIS_MACHINE
        return
    refusal = PROXIED.of_client("10.0.0.1", head(f"198.51.100.9,{last},10.0.0.1"))
    assert isinstance(refusal, Refusal)
    assert refusal.status == 400


@given(st.lists(st.text(st.characters(max_codepoint=255), max_size=30), max_size=5))
def test_nothing_in_the_header_raises(forwarded: list[str]) -> None:
    """Whatever a client made up."""
    found = PROXIED.of_client("10.0.0.1", head(*forwarded))
    assert found is None or isinstance(found, str | Refusal)
