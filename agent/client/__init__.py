"""The other end of the wire: a client for programs, and the terminal of `agent chat` and `agent ask`.

`client.py` is the client that commands, demo and tests use; `chat.py` is a conversation at a terminal, with the line
editor of `editor.py` and `tty.py`; `descriptions.py` puts the server's frames into words. Start reading in `client.py`.
It imports `agent.protocol`, `agent.ports`, `agent.text`, `agent.config` and `agent.errors`: nothing of the server.
"""
