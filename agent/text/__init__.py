"""Text as characters and words: cutting, folding, language detection, courtesies, and safe display.

Entry points: `words` (folded words, normalised texts, the function words of all languages), `sentences` (where
sentences begin and end), `language` (which language a text is in), `courtesy` (greetings and thanks), `terminal`
(text that is safe to print), and `fences` (quoting a text to a model).

The room imports `agent.lang` for the word lists of each language and nothing else of the package, so that every other
room can import it. It holds no state beyond caches, and its functions are linear in the length of their text.
Start reading with `words`: all search and grounding begins with `words.fold`.
"""
