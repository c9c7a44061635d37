"""What is remembered, in a database of its own: `agent.ports.memory.MemoryStore` over SQLite.

Strategy: what may become of an item its table decides (agent/memory/states.py), and the database refuses the rest
(schema.py). All words, and the vectors of words, stand in tables whose rows are only ever added at the end and emptied
in place, apart from what changes and from every index: so a page that SQLite moves or splits never holds them, and what
was emptied is in no file once the log is cut off.
"""

from typing import Final

FILE: Final = "memory.sqlite"
"""Its name in the folder; here, so that who only looks for it does not import SQLAlchemy."""
