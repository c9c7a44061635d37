"""What every peer sends: the frames of an answer of some words, on this project's wire, and no more of it.

A peer neither looks anything up nor verifies anything; it encodes each delta as it sends it, as a server must.
"""

import argparse
from collections.abc import Iterator

import msgspec

WORDS = ("alpha ", "bravo ", "delta ", "gamma ", "sigma ")
# Deltas of one session before the others have their turn, where a peer yields; ours does the same.
BETWEEN = 8

encode = msgspec.json.encode
decode = msgspec.json.decode


def deltas(count: int, label: str) -> Iterator[bytes]:
    """Return the frames of `count` deltas."""
    for number in range(count):
        yield encode({"type": "stream", "delta": WORDS[number % len(WORDS)], "id": label})


def last(count: int, label: str) -> tuple[bytes, bytes]:
    """Return the two frames that an answer ends with."""
    text = "".join(WORDS[number % len(WORDS)] for number in range(count))
    return (
        encode({"type": "stream_end", "reason": "done", "id": label}),
        encode({"type": "response", "text": text, "citations": [], "id": label}),
    )


def asked(data: bytes | str) -> str | None:
    """Return the id of a message; None of any other frame."""
    frame = decode(data)
    return str(frame["id"]) if frame.get("type") == "message" else None


class Answer(argparse.Namespace):
    """How a peer is told to answer. count: words. pace: seconds between two of them."""

    count: int
    pace: float


def told() -> Answer:
    """Read the command line: the number of words and the milliseconds between two."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int)
    parser.add_argument("pace", type=lambda text: float(text) / 1000)
    return parser.parse_args(namespace=Answer())


def listening(port: int) -> None:
    """Say where the peer listens."""
    print(port, flush=True)  # noqa: T201
