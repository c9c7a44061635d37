"""The database of memory items and exchanges: `agent.ports.memory.MemoryStore`.

The entry points are `open_database_memory` (`store.py`) and `open_database_archive` (`archive.py`). The state table of
an item (`agent/memory/states.py`) decides its moves, and the database refuses all others (`memory_contents.py`).

Words, and the vectors of words, stand in tables whose rows are only added at the end and emptied in place. They are
apart from changing columns and from every index: so a page that SQLite moves or splits never holds words, and emptied
words are in no file once the log is truncated. Start reading in `schema.py`.
"""

from typing import Final

FILE: Final = "memory.sqlite"
"""The file's name in the folder; it stands here so that looking for the file does not import SQLAlchemy."""
