"""Text as every room reads it: words, sentences, its language, courtesies, and what a terminal may show. Pure.

`words.py` cuts words and `sentences.py` sentences, for documents, drafts and messages alike; `language.py` tells a
text's language; `terminal.py` makes text of any origin safe to print; `fences.py` wraps text of others for a prompt.
Start reading in `words.py`. It imports `agent.lang` alone.
"""
