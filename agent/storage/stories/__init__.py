"""The database of interactive stories: `agent.ports.story_store.StoryStore`.

The entry point is `open_database_stories` (`store.py`). A story is a tree of branches; `lineage.py` says which scenes a
branch has. Nothing is copied: a fork is one row, and every other row counts for a branch when its scene does.

Words stand in tables of their own, whose rows are only added at the end and emptied in place (`schema.py`). So a
deleted story's words are in no file once the log is truncated.
"""

from typing import Final

FILE: Final = "stories.sqlite"
"""The file's name in the folder; it stands here so that looking for the file does not import SQLAlchemy."""
SCHEMA: Final = 1
"""The schema that this code reads and writes; likewise."""
