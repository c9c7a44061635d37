"""Description of the ledger's database, which also holds projects, threads and calls in the same transactions."""

from ..config import RECORD_TIMEOUT
from . import rows, schema, settle
from .contents import DatabaseContents, OwnerFunctions
from .migrations import LEDGER_STEPS

LEDGER = DatabaseContents(
    file="ledger.sqlite",
    name="ledger",
    unusable="actions cannot be kept in {data}: {why}",
    instead=("choose another place with --data DIR, or --data memory to forget them when the server stops"),
    steps=LEDGER_STEPS,
    tables=schema.metadata,
    triggers=schema.TRIGGERS,
    fill=schema.fill,
    patience=RECORD_TIMEOUT,
    server_tables=schema.server_metadata,
    owned=OwnerFunctions(
        at_work=settle.owners_at_work,
        settle=settle.settle_rows,
        move=settle.move_rows,
        prune=rows.prune_rows,
        find_work=settle.find_work,
        folder="owners",
    ),
)
