"""The knowledge base and the projects' documents as indexes that can be searched.

Entry points: `live_knowledge.LiveKnowledge` (the folder of the knowledge base, kept up to date),
`library.ProjectIndexes` (an index for each project), `search.KnowledgeBase` (one immutable snapshot and its search),
`cached_retriever` (searches answered from the snapshot's cache of hits), `foreign.ForeignFiles` (hostile files in a
process of their own), and `check.check_knowledge` (problems of a knowledge base).

From a file to a hit: `load` reads bytes, `agent.documents` parses them, `sections` and `snippets` make sections and
statements, `terms` numbers their words, `index` builds on `agent.lexical`, and `ranking` and `signals` order sections
and statements. `cache`, `packed_sections`, `packed_index` and `index_folders` keep all of it for the next start. The
room imports documents, lexical, numbers, text, lang and ports; of the rooms that answer it imports none. numpy is
imported in `matrix` only, by `agent.embedding`. Start reading with `search`, then `ranking`.
"""
