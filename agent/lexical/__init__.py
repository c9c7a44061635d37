"""Full-text search by terms, for documents and conversations alike: stems, unknown words, fields, queries, BM25.

`stems.py` and `subject.py` reduce words to the form in which they are compared; `lexicon.py`, `vocabulary.py`,
`alike.py` and `misspelt.py` know which words a word may stand for; `queries.py` makes the terms of a query, and
`searcher.py` ranks documents by them. `agent.retrieval` and `agent.recall` stand on this room. Start reading in
`queries.py`. It imports `agent.text`, `agent.lang` and `agent.ports`.
"""
