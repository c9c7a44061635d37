"""The budgets of the sections of a `TellingPrompt`, and other limits of this room. Sizes are characters."""

# Before the border.
PROMPT_FOUNDATION = 8_000
PROMPT_CAST = 12_000
PROMPT_SUMMARIES = 12_000  # of earlier chapters; the oldest go first
PROMPT_CHAPTER = 4_000
PROMPT_STATES = 8_000  # as of the window's beginning; the oldest go first
# Behind it.
PROMPT_WINDOW = 64_000  # the last scenes; the oldest go first
PROMPT_CHANGES = 6_000
PROMPT_CONTRADICTIONS = 2_000
PROMPT_RECALLED = 8_000  # statements of earlier scenes; the last ones go first
PROMPT_PACING = 500
PROMPT_DIRECTIVE = 8_000
PROMPT_MILESTONES = 4_000  # in the prompt of choices and of the check, never of a scene

RECALLED_STATEMENT = 500  # of one statement
FACT_STATES = 60  # states that a teller without a language model is given
FACT_RECALLED = 12  # recalled statements that it is given

CHOICES_MOST, CHOICES_LEAST = 4, 2
CHOICE_TEXT = 300
ANSWER_TEXT = 4_000  # of a teller's text that is read for choices, or for milestones
SUMMARY_TEXT = 4_000
ASIDE_TEXT = 4_000
CONTRADICTIONS_MOST = 20
