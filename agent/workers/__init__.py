"""One server in several processes, to use more than one core: a supervisor, and workers that each are a whole server.

    supervisor   listens alone; gives each connection to the worker with the fewest (`balance.py`,
    `connection_passing.py`)
                 starts a dead worker again, later each time (`revival.py`)
                 keeps the places of all workers, and adds up their figures (`supervisor_desk.py`, `figures.py`)
    worker       serves its connections as a single server would (`worker.py`, in a process: `process.py`)

No process sees the sessions of another one. Only limits are shared, since they are promises about all clients together.
A worker asks for a place over a channel, once for each connection (`channel.py`, `messages.py`, `shared_places.py`). A
rate is asked for with each message and must answer at once, so it is counted in memory that the processes share
(`rates.py`). The ledger, and the parsed documents, are in files that several servers may use at a time anyway.

A worker that dies takes its own connections with it and nothing else. When the supervisor dies, the workers drain. The
room imports `agent.app`, `agent.server` and `agent.compose`; `open.py` is its entry point. Start reading in
`supervisor.py`.
"""
