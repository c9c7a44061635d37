"""The file of the ledger, and of projects, threads and calls, which share its transactions."""

from ..config import RECORD_TIMEOUT
from . import rows, schema, settle
from .contents import Contents, Owned
from .trust import FILE

LEDGER = Contents(
    file=FILE,
    name="ledger",
    unusable=(
        "actions cannot be kept in {data}: {why}; choose another folder with --data DIR, "
        "or --data memory to forget them when the server stops"
    ),
    version=schema.SCHEMA,
    prepare=schema.prepare,
    pragmas=("secure_delete=ON",),  # overwrites what users have forgotten
    patience=RECORD_TIMEOUT,
    owned=Owned(settle.anybody_at_work, settle.owners_at_work, settle.settle, settle.move, rows.prune),
)
