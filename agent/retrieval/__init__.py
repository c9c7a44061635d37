"""The knowledge base: files become sections and statements, which are indexed, ranked and followed as they change.

`load.py` reads a folder and `sections.py` cuts its documents; `index.py` holds one snapshot, `search.py` searches it,
and `ranking.py` orders the results; `live.py` replaces a snapshot when files change; `library.py` holds the documents
of projects. Files of others are read in a process that can be killed (`foreign.py`). Start reading in `search.py`. It
imports `agent.documents`, `agent.lexical`, `agent.numbers`, `agent.sandbox` and the rooms below these.
"""
