"""Finds the address that a connection counts for: limits are per address.

An IPv6 client commonly has a whole /64 to choose its addresses from, so a /64 is one address here. This machine is one
address, `THIS_MACHINE`, however it is reached. Behind a proxy that the operator trusts, the client is the rightmost
address of `X-Forwarded-For` that is no trusted proxy's: each proxy appends its peer on the right, and further left
stands only the client's own claim. The header is not read from any other peer.

An entry of a trusted proxy that is not an address is refused. To count it for the proxy would be a way past every
limit, or would make all of its clients one.

This machine has no limit of its own, so a proxy on it that is not trusted switches the limits of all its clients off.
Only the header that it adds tells such a proxy from a client, so the first such request from this machine is logged.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import structlog

from ..config import ADDRESSES_REMEMBERED
from .request_head import Head, Refusal
from .settings import Network, ServerSettings, proxies

IPV6_PREFIX = 64  # bits of an IPv6 address that tell two clients apart

THIS_MACHINE = "this machine"
_FORWARDED, _STANDARD = b"x-forwarded-for", b"forwarded"
_log = structlog.get_logger("agent.server")
_UNREADABLE = Refusal(400, "A proxy sent an X-Forwarded-For that holds something else than addresses.")


@dataclass(slots=True)
class Addresses:
    """Finds the addresses of one server's clients. `proxies`: the networks whose `X-Forwarded-For` is trusted."""

    proxies: tuple[Network, ...] = ()
    _warned: bool = field(default=False, init=False)

    @classmethod
    def of(cls, settings: ServerSettings) -> "Addresses":
        """Return the rules that `settings` ask for."""
        return cls(proxies(settings.trust_proxy))

    def of_peer(self, peer: str | None) -> str | None:
        """Return the address that a connection counts for before it has sent a request.

        `peer` is the IP address at the other end. A stream in memory has None, which counts as `THIS_MACHINE`.
        Returns None for a trusted proxy, which speaks for many clients.
        """
        address = None if peer is None else _parse_address(peer)
        if address is None:
            return THIS_MACHINE
        return None if self._trusts(address) else _address_key(address)

    def of_client(self, peer: str | None, head: Head) -> str | Refusal | None:
        """Return the address that a request counts for, as `of_peer` does, or its `Refusal`.

        Logs the first request that an untrusted proxy on this machine has forwarded.
        """
        counted = self.of_peer(peer)
        if counted is not None:
            if counted == THIS_MACHINE and not self._warned and _is_forwarded(head):
                self._warned = True
                _log.warning(
                    "limits per address do not count for the clients of a proxy on this machine",
                    then=f"trust it: --trust-proxy {peer or '127.0.0.1'}",
                )
            return counted
        hops = b",".join(head.values(_FORWARDED))
        while hops:
            hops, _, last = hops.rpartition(b",")
            address = _parse_address(_without_port(last.decode("latin-1").strip()))
            if address is None:
                return _UNREADABLE
            if not self._trusts(address):
                return _address_key(address)
        return None

    def _trusts(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self.proxies)


def _is_forwarded(head: Head) -> bool:
    """Return whether the headers of a request say that a proxy has forwarded it."""
    return bool(head.values(_FORWARDED) or head.values(_STANDARD))


@lru_cache(ADDRESSES_REMEMBERED)
def _address_key(address: IPv4Address | IPv6Address) -> str:
    """Return the key under which an address is counted: `THIS_MACHINE`, an IPv4 address or an IPv6 /64."""
    if address.is_loopback:
        return THIS_MACHINE
    if address.version == 4:
        return str(address)
    return str(ip_network((int(address), IPV6_PREFIX), strict=False))


@lru_cache(ADDRESSES_REMEMBERED)
def _parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an IP address, or return None. An IPv4-mapped IPv6 address becomes IPv4; an interface's name is dropped."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _without_port(hop: str) -> str:
    """Remove the port that some proxies add: `192.0.2.1:80`, `[2001:db8::1]:80`."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
