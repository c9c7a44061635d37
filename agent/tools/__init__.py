"""Tools that turns may call: definitions, what a call needs approval and sources for, and what it returned. Pure.

`definitions.py` reads a tool as its operator wrote it, `file.py` a whole file, and `catalogue.py` has the tools of one
turn. `policy.py` alone decides on approval; `sources.py` says where each argument comes from; `results.py` makes lines
of what came back. Start reading in `policy.py`, then `sources.py`. Calls are carried out in `agent.actions`.
"""
