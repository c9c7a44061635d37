"""Carries out the actions that users confirm: the table of a suggestion, the runner, and the executors.

Entry points: `suggestions.Suggestion`, which a session's core drives, `runner.Runner`, which runs confirmed actions,
and `open.open_executor`, which makes the executor that the settings name. Intents (`agent.intents`) propose actions;
this package never decides to propose one.

Strategy: an action is claimed in the ledger before it runs and recorded after it, so that it runs at most once, and its
outcome is reported as known: done, failed, cancelled or unknown. May import `agent.fsm`, `agent.ports`,
`agent.protocol`, `agent.intents` and the layers below. Start reading at `suggestions`, then `runner`.
"""
