"""Measures answers on labelled questions: cases, the judgement of an answer to one, and the figures of many; pure.

`agent eval` asks the questions of an operator's own documents. The benchmark of this project judges by the same rules.
"""
