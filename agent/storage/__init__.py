"""What outlives a restart, in SQLite files: the ledger, projects, threads, calls, requests, and what is remembered.

`open.py` names what is kept where the settings say, and imports SQLAlchemy only then. `database.py` serves many
callers by one thread over a file (`file.py`); `stores.py` has all stores over one database; `schema.py` has the
tables. Without a data folder `memory.py` is the ledger of one process. Start reading in `database.py`.
"""
