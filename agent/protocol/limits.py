"""The limits that several modules of this room share."""

RECALL_TEXT = 500  # characters of a query
RECALL_MOST, RECALL_USUAL = 50, 10  # excerpts
ITEM_REPLACES = 16  # items that one is said to replace
