"""The limits that several modules of this room share."""

FILLED_CHARACTERS = 2000  # of one field that a confirm fills in
