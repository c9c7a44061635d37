"""Values that a language model writes, checked by JSON Schema: requested until they are valid, and repaired by patches.

`extract.py` is the entry point: an `Extractor` asks a model, `check.py` lists all problems of its answer, and
`rounds.py` decides on the next request. `calls.py` and `slots.py` hold the calls of one request, `patch.py` is JSON
Patch, and `instructions.py` words the messages to the model. `arguments.py` checks the arguments of tool calls behind
the port `Arguments`. Start reading in `extract.py`, then `rounds.py`. The room imports `agent.ports`, `agent.protocol`,
`agent.config`, `agent.errors` and `agent.host`.
"""
