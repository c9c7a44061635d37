"""Measurements, each a module that is run by hand: `python -m tests.bench.NAME`; its docstring says what it prints.

What the server costs: `stream`, `instructions`, `parts`, `core`, `memory`, `nodes`, `tools`, `reconnect`, `reload`,
`start`, `hostile`, `structured`; `load` puts a load on a server that runs already. How good it is: `documents`,
`retrieval`, `recall`, `grounding`, `price_lists`, `methods`, `decisions`, `proposals`, `shop`. `servers.py` starts the
servers that are compared, ours and the minimal ones of `peers/`. Start reading in `stream.py`. `pytest -m bench`
compares instructions with the figures that are kept.
"""
