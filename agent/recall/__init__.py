"""Search in what was said: turns of conversations and live items, by words, amounts, dates, speakers and vectors.

`recall.py` implements `agent.ports.recall.Recaller`: `query.py` reads a question, `index.py` and `tail.py` find
candidates, `rank.py` orders them, `abstain.py` says how sure they are, and `present.py` cuts them to a budget.
`following.py` keeps the index up to its store. Start reading in `recall.py`. It imports `agent.lexical`,
`agent.numbers` and the rooms below these.
"""
