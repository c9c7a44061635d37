"""Interactive stories: prompts, the rules that find states and contradictions, the Brain that tells, and recall.

Start with `brain.py`, which tells a scene, and `keeper.py`, which stores it once it was told. `prompts.py` makes a
`TellingPrompt` of a `StoryContext`, and packs it as a snapshot; `answers.py` reads the answers to the shorter ones.
`sentences.py` cuts a teller's stream. `readings.py` reads a scene for the rules, `states.py` and `contradictions.py`
compare it with the states that hold. `versions.py` has the state tables of versions and chapters, and `exchange.py`
checks an import. The room imports `agent.ports`, `agent.protocol`, `agent.text`, `agent.lang` and `agent.recall`; the
store is in `agent.storage.stories`, and tellers are in `agent.llm`.
"""
