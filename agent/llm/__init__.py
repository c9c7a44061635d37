"""Prompts, drafts and decisions: the code between a turn and a language model, and the mocks that need no model.

`prompt_assembly.py` is the one place that turns the knowledge of a turn into a model's messages. `drafter.py`,
`model_decider.py`, `claims.py`, `payloads.py` and `note_reader.py` ask a model. `mock.py` and `script.py` draft without
a model, and `mock_decider.py` decides without one. `story_teller.py` and `mock_storyteller.py` tell the scenes of
stories. `open.py` makes the drafter, the decider and the teller that the settings name.
Start reading in `prompt_assembly.py`. The room imports `agent.ports`, `agent.structured`, `agent.tools`,
`agent.actions` and the rooms of text and numbers below them. The models themselves are adapters of `agent.ports.model`,
in `agent.models`.
"""
