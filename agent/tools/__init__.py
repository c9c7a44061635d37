"""Tools that turns may call: their definitions, the approval and sources that a call needs, and its results; pure.

`definitions.py` reads a tool as its operator wrote it, `file.py` reads a whole file, `python_module.py` a Python module
whose functions `functions.py` marks, and `catalogue.py` holds the tools of one turn. `policy.py` alone decides on
approval; `sources.py` finds the source of each argument; `results.py` turns results into lines. Start reading in
`policy.py`, then `sources.py`. Calls are carried out in `agent.actions`. The room imports `agent.ports`,
`agent.structured`, `agent.grounding` and the rooms of text and numbers below them.
"""
