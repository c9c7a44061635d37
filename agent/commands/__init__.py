"""The commands of `agent`, a module each: they read settings, call the rooms below, and print; they hold no logic.

`agent.cli` lists the commands and imports each only when it is run. `output.py` is the one place that prints and has
the exit statuses. `settings.py` reads a server's settings from flags, environment and `agent.toml`; `lines.py` and
`paging.py` read JSON lines and long lists. `memory_access.py` opens the memory for the commands of `agent memory`. The
room may import everything of `agent` below it; only `agent.cli` imports this room. Start reading in `serve.py`.
"""
