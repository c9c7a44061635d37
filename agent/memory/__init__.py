"""Remembers for a user: memory items with a state table of their own, and the recall of past messages.

Entry points: `recollection.Recollection` loads the memory of a turn, `exchange_keeper.ExchangeKeeper` records finished
exchanges, `own_memory.OwnMemory` applies a user's decisions, `recall.recall.IndexRecaller` searches,
`consultant.MemoryConsultant` answers the requests of clients over a socket. `agent.intents` reads proposals from a
user's words; `message_items` checks them.

Strategy: every decision is a pure function over values of `agent.ports.memory`, and the stores
(`agent.storage.memories`) call these functions. An item becomes true only by its user's decision. The exception are
events and metrics, which expire: a rule accepts those that a program reports, and those that a model proposes in the
very words of the user's message. Nothing is overwritten: a change is a new item that closes the item it contradicts,
after the user has been told of the conflict. Start reading at `items` and `states`.
"""
