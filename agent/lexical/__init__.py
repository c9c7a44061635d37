"""Full-text search over numbered documents: stems, 4-grams, BM25 by tantivy, and the likeness of words.

Entry points: `fields.open_index` and `searcher.Searcher` (an index and the searches on it), `queries` (the terms of
a question), `filters` (conditions beside the terms), `lexicon.Lexicon` (the words of one snapshot: how rare each
is, and which words may stand for it), and `subject` (the words of a text that carry its subject).

The room knows nothing of files, sections or messages: `agent.retrieval` and `agent.recall` both build on it. It
imports `agent.text`, `agent.lang` and ports. Only `meanings` needs numpy, and only `agent.embedding` imports that
module.
Start reading with `lexicon`, then `alike`.
"""
