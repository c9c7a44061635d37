"""Description of the ledger's file, which also holds projects, threads and calls in the same transactions."""

from ..config import RECORD_TIMEOUT
from . import rows, schema, settle
from .file_contents import FileContents, OwnerFunctions
from .migrations import LEDGER_STEPS
from .trust import FILE

LEDGER = FileContents(
    file=FILE,
    name="ledger",
    unusable=(
        "actions cannot be kept in {data}: {why}; choose another folder with --data DIR, "
        "or --data memory to forget them when the server stops"
    ),
    steps=LEDGER_STEPS,
    prepare=schema.prepare,
    pragmas=("secure_delete=ON",),  # overwrites what users have forgotten
    patience=RECORD_TIMEOUT,
    owned=OwnerFunctions(
        settle.is_owner_at_work, settle.owners_at_work, settle.settle_rows, settle.move_rows, rows.prune_rows
    ),
)
