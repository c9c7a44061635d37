"""Databases in SQLite files: opening, trusting, upgrading and writing them, and the locks of their owners.

`database_file.py` is the entry point. Only `agent/storage/places.py` imports this package, and
`agent/storage/open.py` its `header.py`.
"""
