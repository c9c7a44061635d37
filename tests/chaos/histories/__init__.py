"""Run a server under random faults, and check the history of each call and each memory item against a model.

    python -m tests.chaos.histories --seconds 300

Clients over HTTP and over sockets use one server of two workers. Its processes are stopped and killed, its disk is
slow, silent and full. `records` has each operation with its begin, its end and its outcome, and each effect at the
webhook. When the run is over, `verdict` holds every history against the models of `models`.
"""
