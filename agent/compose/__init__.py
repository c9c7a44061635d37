"""Makes a server of its settings. Beside the `open.py` of each room, only this room names concrete adapters.

Each wing is opened by an asynchronous context manager `open_<wing>(...) -> <Wing>`, which takes keyword arguments only.
`composition.open_composition` nests the wings; `sessions` and `edge` make the parts that connections meet; `agent.app`
runs them. Start reading in `composition.py`. An adapter (`adapters.Adapters`) takes the place of any part. The room
may import every room below; only `agent.app` and the commands import it.

The nesting is the order of shutdown: a wing closes after everything that uses it. From the outermost:

    tracer      spans of turns, where the settings ask for them. Closes last, within `TRACE_FLUSH`.
    storage     ledger and store. Closes within `LEDGER_CLOSE_TIMEOUT`: every outcome is recorded.
    memory      the memory model, then the store of items, which closes before the model.
    stories     the store of stories, opened at its first use.
    actions     MCP servers, then the executor over them.
    documents   the process that reads foreign files, killed on exit, and `Knowledge`, which holds nothing open.
    answering   the language model, then the drafter and the decider over it. Closes first.

The operator's tools are read before all of this and hold nothing open. A wing that cannot be opened raises
`agent.errors.UsageError`, and the wings around it close. A cancel closes them in the same order.

Inside all wings, `agent.app` nests three nurseries, which a drain ends from the inside out:

    actions     runs confirmed actions, and the tasks of the memory. A drain waits here for the actions that run, for
                `2 * ACTION_TIMEOUT + 2 * RECORD_TIMEOUT` at most, and then five seconds for the memory to keep
                the waiting exchanges; then the nursery is cancelled.
    timers      threads over HTTP, deadlines, pings and pace of sessions, the reading of documents, the watch of the
                event loop. Cancelled as soon as the server has ended.
    serving     listeners and connections. A drain accepts no connection, waits `DRAIN_TIMEOUT` for the sessions and
                `CLOSE_TIMEOUT + FLUSH_TIMEOUT` for the connections; then the nursery is cancelled.

`App.stop` cancels the three nurseries at once, and also the connections that other tasks serve (`App.serve_stream`). A
running action is still recorded, within `RECORD_TIMEOUT`: the ledger is open until the last wing closes.
"""
