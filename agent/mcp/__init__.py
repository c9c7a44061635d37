"""Tool servers that speak the Model Context Protocol (MCP): started, kept running, asked for their tools, called.

`open.py` runs the servers of the operator's file and imports the SDK only when the file names servers.
`server_keeper.py` (a `ServerKeeper` for each server) restarts a server that has ended; `sdk.py` is a session with a
server, over the pipes of `stdio.py`; `answers.py` reads the result of a call. Start reading in `server_keeper.py`. The
room imports `agent.ports`, `agent.tools`, `agent.process`, `agent.protocol` and `agent.wire`.
"""
