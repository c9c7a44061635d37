"""One server in several processes, for more than one core: a supervisor, and workers that each are a whole server.

    supervisor   listens alone; gives each connection to the worker with the fewest (balance.py, handed.py)
                 starts a dead worker again, later each time (revival.py)
                 keeps the places of all, and adds up their figures (desk.py, figures.py)
    worker       serves what it is given, as the only server would (worker.py, in a process of its own: process.py)

Strategy: what a session does is never seen by another process. Only limits are shared, since they are promises about
all clients together. A place is asked for over a channel, once for a connection (channel.py, messages.py, places.py);
a rate, which is asked for with each message and at once, is counted in memory that the processes share (rates.py). The
ledger, and what was read of the documents, are in files that several servers may use at a time anyway.

A worker that dies takes its own connections with it and nothing else. When the supervisor dies, the workers drain.
"""
