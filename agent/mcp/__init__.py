"""Servers of tools that speak the Model Context Protocol: kept running, asked for their tools, called.

`open.py` keeps the servers of the operator's file and imports the SDK only when there are some; `keeper.py` starts a
server again when it has ended; `sdk.py` is a session with one, over the pipes of `stdio.py`. Start reading in
`keeper.py`.
"""
