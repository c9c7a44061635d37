"""The number rule: a draft may be sent only when each of its numbers stands in a snippet that it cites. Pure.

`verify.py` judges a draft against the snippets, `evidence.py` holds their numbers in a form for look-ups,
`answer_numbers.py` looks up the draft's numbers there, `citations.py` chooses the citations, and `refusals.py` has the
texts in place of an answer. Only this room makes a `VerifiedText`. Start reading in `verify.py`. It imports
`agent.numbers`, `agent.text`, `agent.lang` and `agent.ports`.
"""
