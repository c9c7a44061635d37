"""Fill a folder whose only table is the ledger: python actions.py FOLDER, with the package of that commit."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import trio

from agent.testing.network import inline

NOW = 1_700_000_000_000
ENDED = ("done", "failed", "cancelled", "unknown")


class Noon:
    """It is always the same moment in the world."""

    def now_ms(self) -> int:
        """Return that moment in Unix milliseconds."""
        return NOW


async def fill(folder: Path) -> None:
    """Claim five actions and record an outcome of each kind; the last stays claimed by a process that has ended."""
    sqlite: Any = import_module("agent.storage.sqlite")
    async with sqlite.SqliteLedger(folder, inline, Noon()) as ledger:
        for number, status in enumerate((*ENDED, "claimed")):
            assert await ledger.claim(f"s-{status}", "refund", NOW + number)
            if status != "claimed":
                await ledger.record(f"s-{status}", status, {"success": status == "done"}, NOW + 9)


if __name__ == "__main__":
    trio.run(fill, Path(sys.argv[1]))
