"""Keep data across restarts: the ledger, projects, threads, calls, requests and memory items.

Entry points are `open_store`, `open_memory_store`, `open_archive` and `open_ledger` in `open.py`; they import
SQLAlchemy only when something is kept. `database.py` serves many callers with one thread over one database, in which
`committer.py` works through the port of `backend.py`; `sqlite/` implements it with files, and `postgres/` with a
server. `stores.py` opens all stores over one database, `schema.py` declares its tables, and `memories/` is the database
of memory items. Without a place for data `memory_ledger.py` is the ledger of one process.

The room implements ports of `agent.ports`. It imports the state tables of `agent.actions` and `agent.memory`,
`agent.config` and `agent.errors`, and no room above these. Start reading in `database.py`.
"""
