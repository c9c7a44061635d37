"""Conversations over HTTP: a thread is a session over a wire in this process; what it says is kept before it is told.

A caller's request becomes a client's frame, and what the session then says becomes the request's answer. There is no
second way to answer, to approve or to run: a thread's session has the tables, the runner and the ledger of a socket's.
What differs is that its suggestions outlive it: it sleeps when nothing has happened for a while, or when its server
goes down, and wakes with what was kept.
"""
