"""Random users of a server, who check every promise from the client's side: the room of `agent soak`.

`command.py` reads the settings. `phases.py` soaks a server of this process (`local_server.py`) with a crowd in another
process (`remote.py`), phase by phase. `users.py` has the users of a socket and their acts over a `user_connection.py`,
`voices.py` those that talk and listen, `crowd.py` the users over HTTP. `account.py` (with `seen_suggestions.py`,
`consults.py` and `speeches.py`) and `http_talk.py` hold the account of one connection and of one thread,
`final_checks.py` compares all accounts with the server's file, and `verdict.py` decides. Start reading in `command.py`.
The room may import everything of `agent` below it.
"""
