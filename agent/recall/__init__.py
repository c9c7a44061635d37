"""The index of texts to recall: past messages and memory items, or the statements of a story, which branches.

Entry points: `index.RecallIndex` holds the rows of one feed, `bounds` says which of them a search may find,
`query.read_query` reads a question, and `rank.rank_rows` ranks the candidates that the index proposes.

The room knows no store, no task and no thread: `agent.memory.recall` and `agent.stories` fill an index each in their
own way. It imports `agent.lexical`, `agent.numbers`, `agent.text`, `agent.lang` and ports. Start reading with `index`,
then `rows`.
"""
