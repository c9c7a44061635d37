"""Reads the user's own words: which actions a message asks for, with which fields, and which memory items it proposes.

An intent is the field's term for a thing that a message wants done; most modules are named by the part that they read.
Entry points: `user_message.UserMessage`, the reading of one message that all share; behind it
`triggers.propose_actions` and `wishes.read_wishes` for actions, `grounded_fields.ground_fields` for the fields that a
model filled in, `item_proposals.propose_items` for memory. `clauses` and `mood_words` are read by both.

Strategy: rules over the word lists of `agent.lang`, no model. In doubt nothing is proposed: a missing suggestion costs
the user one more sentence, an unwanted one costs trust. All of it is pure: no event loop, no clock, no input or output.
May import `agent.lexical`, `agent.numbers`, `agent.text`, `agent.ports`, `agent.protocol` and the layers below.
"""
