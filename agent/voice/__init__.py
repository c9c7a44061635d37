"""Voice: the engines that speak and hear, and what stands between a connection's wire and its session to use them.

A connection with voice is a conversation: its audio is heard into messages, and the verified texts of its answers are
spoken. The session's own tables do not change.
"""
