"""Whom a connection counts for: limits are per address, and this says which.

An IPv6 client commonly has a whole /64 to choose its addresses from, so that is one address here; this machine is one
however it is reached. Behind a proxy that the operator trusts, the client is the rightmost address of X-Forwarded-For
that is no trusted proxy's: each proxy adds on the right whom it saw, and what stands further left is only what the
client says of itself. From anybody else the header says nothing and is not read.

What a trusted proxy wrote and nobody can read as an address is refused. To count it for the proxy would be a way past
every limit, or would make all of its clients one.

This machine has no limit of its own, so a proxy on it that is not trusted switches the limits of all its clients off.
Nothing tells it from a client but the header that it adds, so the first one of this machine's is logged.
"""

from dataclasses import dataclass, field
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import structlog

from ..config import ADDRESSES_REMEMBERED, IPV6_PREFIX
from .settings import Network, ServerSettings, proxies
from .sniff import Head, Refusal

THIS_MACHINE = "this machine"
_FORWARDED, _STANDARD = b"x-forwarded-for", b"forwarded"
_log = structlog.get_logger("agent.server")
_UNREADABLE = Refusal(400, "A proxy sent an X-Forwarded-For that holds something else than addresses.")


@dataclass(slots=True)
class Addresses:
    """The rules of one server. proxies: networks whose X-Forwarded-For counts."""

    proxies: tuple[Network, ...] = ()
    _warned: bool = field(default=False, init=False)

    @classmethod
    def of(cls, settings: ServerSettings) -> "Addresses":
        """Return the rules that `settings` ask for."""
        return cls(proxies(settings.trust_proxy))

    def of_peer(self, peer: str | None) -> str | None:
        """Return whom a connection counts for before it has said anything.

        peer: the IP address at the other end, or None where there is none (a stream in memory), which is this machine.
        None is nobody in particular: a trusted proxy, which speaks for many.
        """
        address = None if peer is None else _parsed(peer)
        if address is None:
            return THIS_MACHINE
        return None if self._trusts(address) else _counted(address)

    def of_client(self, peer: str | None, head: Head) -> str | Refusal | None:
        """Return whom a request counts for, as `of_peer` does, or why it is refused.

        The first request that a proxy on this machine has forwarded is logged where that proxy is not trusted.
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
            address = _parsed(_without_port(last.decode("latin-1").strip()))
            if address is None:
                return _UNREADABLE
            if not self._trusts(address):
                return _counted(address)
        return None

    def _trusts(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self.proxies)


def _is_forwarded(head: Head) -> bool:
    """Return whether a request says that a proxy has forwarded it."""
    return bool(head.values(_FORWARDED) or head.values(_STANDARD))


@lru_cache(ADDRESSES_REMEMBERED)
def _counted(address: IPv4Address | IPv6Address) -> str:
    """Return what an address is counted as."""
    if address.is_loopback:
        return THIS_MACHINE
    if address.version == 4:
        return str(address)
    return str(ip_network((int(address), IPV6_PREFIX), strict=False))


@lru_cache(ADDRESSES_REMEMBERED)
def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    """Read an address; one of IPv4 written as IPv6 is one of IPv4, and an interface's name does not count."""
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _without_port(hop: str) -> str:
    """Some proxies add the port: `192.0.2.1:80`, `[2001:db8::1]:80`."""
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
