"""Databases on a PostgreSQL server, over psycopg 3: connecting, declaring tables, writing and reading; and the hints
between the processes that use one.

`postgres_database.py` is the entry point. Only `agent/storage/open.py` imports this package, when `--data` is a URL.
"""
