"""The limits that several modules of this room share."""

WORKER_ANSWER = 1.0  # for the others' figures, when one worker is asked for those of all
