"""Values that a language model writes, checked by JSON Schema: asked for until they hold, and mended by patches.

`extract.py` is the entry point: an `Extractor` asks a model, `check.py` says all that is wrong with its answer, and
`rounds.py` decides what is asked next. `arguments.py` checks calls of tools behind their port. Start reading in
`extract.py`. It imports `agent.ports`, `agent.protocol`, `agent.config`, `agent.errors` and `agent.host`.
"""
