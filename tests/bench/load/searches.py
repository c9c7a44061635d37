"""Whether a server that is measured searched for each question, or had kept what an earlier one found.

A load asks the same questions again and again, so a server that keeps hits (`agent.retrieval.cached_retriever`) looks
quicker than one that is asked what is new. Its own figures tell how many searches it was spared.
"""

from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import NamedTuple

from .client import Target
from .meter import Measured

_METRIC = "agent_searches_total"
_PATIENCE = 5.0  # seconds for the server's figures
_FIGURES_MAX = 1024 * 1024  # bytes of them


class Searches(NamedTuple):
    """How many questions found their hits kept, and how many were searched for, since the server began."""

    kept: float
    searched: float


def told(text: str) -> Searches | None:
    """Return what figures in the Prometheus text format say; None when they say nothing of searches."""
    found = {"kept": 0.0, "searched": 0.0}
    said = False
    for line in text.splitlines():
        said = said or line.startswith((f"# TYPE {_METRIC} ", f"{_METRIC}{{"))
        for hits in found:
            start = f'{_METRIC}{{hits="{hits}"}} '
            if line.startswith(start):
                with suppress(ValueError):
                    found[hits] = float(line[len(start) :])
    return Searches(**found) if said else None


def searches(target: Target) -> Searches | None:
    """Return what a server tells of its searches; None when it does not. Takes five seconds at most."""
    headers = {} if target.token is None else {"Authorization": f"Bearer {target.token}"}
    connection = HTTPConnection(target.host, target.port, timeout=_PATIENCE)
    try:
        connection.request("GET", "/metrics", headers=headers)
        answer = connection.getresponse()
        content = answer.read(_FIGURES_MAX)
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()
    return told(content.decode("utf-8", "replace")) if answer.status == 200 else None


def declared(target: Target, run: Callable[[], Measured]) -> Measured:
    """Run a load; return its figures with the share of its questions whose hits were kept, where the server tells."""
    before = searches(target)
    found = run()
    after = searches(target)
    if before is None or after is None:
        return found
    kept = after.kept - before.kept
    every = kept + after.searched - before.searched
    return found | {"kept_hits_percent": 100 * kept / every if every else 0.0}
