"""RFC 6455 by a suite of other people's making: the Autobahn cases against the production connection path.

`kosoku` drives them over a real socket of the loopback; an echo stands in place of codec and session.
"""

import asyncio
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs

from tests.server.echo import serve_echo

kosoku = pytest.importorskip("kosoku", reason="install the extra `proof` for the conformance suite")

SECTIONS = (1, 2, 3, 4, 5, 6, 7, 10)
"""Framing, pings, reserved bits, opcodes, fragments, UTF-8, closing, autofragmentation. Left out: 9 is about speed
and messages over 64 KiB, 12 and 13 about a compression that is never negotiated."""
CASES = 247
BOUND = 120.0  # seconds; it takes 3


async def drive(url: str) -> list[Any]:
    """Run the cases and return every result, good or bad."""
    try:
        cases = kosoku.run_fuzzingclient(url, cases=[f"{each}.*" for each in SECTIONS], concurrency=4)
        return list(await asyncio.wait_for(cases, BOUND))
    except kosoku.FailureError as failure:
        return list(failure.results)


@pytest.mark.proof
async def test_every_case_of_the_conformance_suite_passes() -> None:
    """All cases pass, no connection breaks the server, and none is left when its client has gone."""
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    url = f"ws://127.0.0.1:{listeners[0].socket.getsockname()[1]}/ws"
    with capture_logs() as logs:
        async with trio.open_nursery() as nursery:
            edge = await nursery.start(serve_echo, listeners)
            results = await trio.to_thread.run_sync(lambda: asyncio.run(drive(url)))
            with trio.fail_after(60):
                await edge.limits.wait_unused()
            nursery.cancel_scope.cancel()
    bad = [
        f"{each.case_id}: {each.behavior.value}, {each.behavior_close.value}: {each.result} {each.result_close}"
        for each in results
        if not each.passed
    ]
    assert bad == []
    assert len(results) == CASES
    assert [each for each in logs if each["log_level"] == "error"] == []
