"""Conversations over HTTP: a thread is a session over a wire in this process, and each step is stored before it is
told.

A caller's request becomes a client's frame, and the session's frames become the answer to the request. So there is only
one way to answer, to approve and to run: a thread's session has the state tables, the runner and the ledger of a
socket's session. The difference is that its suggestions outlive it: a thread sleeps when nothing has happened for a
while, or when its server ends, and wakes from storage.

`desk.py` is the entry point (`ThreadDesk`, which implements `agent.ports.thread_service.ThreadService`).
`thread_turns.py` begins and cancels turns, `call_approvals.py` approves calls. `thread_registry.py` keeps threads
awake, `awake_thread.py` is one of them, `wire.py` and `journal.py` store its frames, as the rows that `frame_step.py`
makes of them. The room imports `agent.session`, `agent.actions`, `agent.tools` and `agent.protocol`. Start reading in
`desk.py`.
"""
