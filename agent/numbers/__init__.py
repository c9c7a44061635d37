"""Typed number tokens: every place in a text that shows a number, read into its value, kind and unit. Pure.

`number_tokens.py` reads the tokens of a text: `plain.py` brings it to a plain form, `scan.py` finds where a number may
begin, and the rows (`digit_rows.py`, `word_rows.py` ...) read it. `source_numbers.py` and `keys.py` look a token up in
a source, for the number rule of `agent.grounding`. Start reading in `number_tokens.py`, then `token.py`. It imports
`agent.text` and `agent.lang`.
"""
