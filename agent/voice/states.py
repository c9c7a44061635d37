"""The state tables of a connection with voice: its listening, the utterance that is heard, and its mouth.

A row reads: on a trigger, in these states, if a guard holds, go to that state (`None` stays) and do the
deeds.
"""

from ..fsm import StateTable, TableWord, make_rows


class ListeningState(TableWord):
    """Whether the audio of a client is heard. `closed` is final."""

    OFF = "off"  # audio is refused with a sentence
    ON = "on"
    DROPPING = "dropping"  # audio was refused; the rest of it is dropped unread until the next `listen`
    CLOSED = "closed"


class ListeningTrigger(TableWord):
    """An occurrence that the table may have rows for."""

    LISTEN = "listen"  # the client has asked to be listened to
    STOP = "stop"  # the client has asked for the opposite
    AUDIO = "audio"  # a frame has come that can be heard
    BAD_AUDIO = "bad audio"  # a frame has come that cannot be heard: its size is wrong, or there is too much
    FAILED = "failed"  # the ear has failed, or cannot keep up
    LEAVE = "leave"  # the client has left


class ListeningGuard(TableWord):
    """A fact that a row depends on."""

    ALL_TAKEN = "all places taken"  # as many clients are listened to as the server can
    IN_UTTERANCE = (
        "in an utterance"  # one that ended before the audio that was refused is still being made out
    )
    LISTENED_SINCE = "listened since"  # `listen` was ended and begun again after the audio that the ear is at


class ListeningDeed(TableWord):
    """A step that a row has done after its transition."""

    OPEN_EAR = "open_ear"
    QUEUE_AUDIO = "queue_audio"
    QUEUE_END = "queue_end"
    DROP_UTTERANCE = "drop_utterance"
    DROP_EARLIER = "drop_earlier"
    REFUSE_AUDIO = "refuse_audio"
    REFUSE_EARLY = "refuse_early"
    TELL_BUSY = "tell_busy"
    TELL_FAILURE = "tell_failure"


_LS, _LT, _LG, _LD = ListeningState, ListeningTrigger, ListeningGuard, ListeningDeed

LISTENING: StateTable[ListeningState, ListeningTrigger, ListeningGuard, ListeningDeed] = StateTable(
    title="Listening",
    states=ListeningState,
    triggers=ListeningTrigger,
    guards=ListeningGuard,
    deeds=ListeningDeed,
    initial=_LS.OFF,
    rows=(
        *make_rows(_LT.LISTEN, (_LS.OFF, _LS.DROPPING), _LG.ALL_TAKEN, _LS.DROPPING, _LD.TELL_BUSY),
        *make_rows(_LT.LISTEN, (_LS.OFF, _LS.DROPPING), None, _LS.ON, _LD.OPEN_EAR),
        *make_rows(_LT.LISTEN, _LS.ON, None, None),
        *make_rows(_LT.STOP, _LS.ON, None, _LS.OFF, _LD.QUEUE_END),
        *make_rows(_LT.STOP, _LS.DROPPING, None, _LS.OFF),
        *make_rows(_LT.AUDIO, _LS.ON, _LG.ALL_TAKEN, _LS.DROPPING, _LD.TELL_BUSY),
        *make_rows(_LT.AUDIO, _LS.ON, None, None, _LD.QUEUE_AUDIO),
        *make_rows(_LT.AUDIO, _LS.OFF, None, _LS.DROPPING, _LD.REFUSE_EARLY),
        *make_rows(_LT.BAD_AUDIO, _LS.ON, None, _LS.DROPPING, _LD.DROP_UTTERANCE, _LD.REFUSE_AUDIO),
        *make_rows(_LT.BAD_AUDIO, _LS.OFF, None, _LS.DROPPING, _LD.REFUSE_AUDIO),
        *make_rows(
            _LT.FAILED, (_LS.OFF, _LS.ON), _LG.LISTENED_SINCE, None, _LD.DROP_EARLIER, _LD.TELL_FAILURE
        ),
        *make_rows(_LT.FAILED, (_LS.OFF, _LS.ON), None, _LS.DROPPING, _LD.DROP_UTTERANCE, _LD.TELL_FAILURE),
        *make_rows(_LT.FAILED, _LS.DROPPING, _LG.IN_UTTERANCE, None, _LD.DROP_UTTERANCE, _LD.TELL_FAILURE),
        *make_rows(_LT.LEAVE, (_LS.OFF, _LS.ON, _LS.DROPPING), None, _LS.CLOSED, _LD.DROP_UTTERANCE),
    ),
)


class UtteranceState(TableWord):
    """The progress of a client's utterance."""

    QUIET = "quiet"  # there is none
    ONSET = "onset"  # there is sound, and no word yet: the mouth pauses
    WORDLESS = (
        "wordless"  # there is sound without a word for longer than a pause may last, or of the mouth itself
    )
    TALKING = "talking"  # a word was heard
    FINISHING = "finishing"  # it has ended, and its words are being made out


class UtteranceTrigger(TableWord):
    """An occurrence that the table may have rows for."""

    SPEECH = "speech"  # the ear has told a frame with speech
    WORD = "word"  # the ear has told words so far
    NO_WORD = "no word"  # the time of a pause is over
    END = "end"  # silence has lasted, `listen` has ended, or the utterance is as long as may be
    FINAL = "final"  # the words of the whole utterance are made out
    DROP = "drop"  # the audio is refused, the ear has failed, or the client has left


class UtteranceGuard(TableWord):
    """A fact that a row depends on."""

    MAY_BE_ECHO = "may be echo"  # the mouth speaks, and the client leaves that in its audio
    NO_OWN_WORD = "no word of its own"  # the words so far may be those that the mouth says
    NOTHING_SAID = "nothing said"  # the utterance has no words, or those that the mouth says


class UtteranceDeed(TableWord):
    """A step that a row has done after its transition."""

    PAUSE_MOUTH = "pause_mouth"
    RESUME_MOUTH = "resume_mouth"
    CANCEL_SPEECH = "cancel_speech"
    SHOW_WORDS = "show_words"
    CLEAR_WORDS = "clear_words"
    SAY_MESSAGE = "say_message"


_US, _UT, _UG, _UD = UtteranceState, UtteranceTrigger, UtteranceGuard, UtteranceDeed

UTTERANCE: StateTable[UtteranceState, UtteranceTrigger, UtteranceGuard, UtteranceDeed] = StateTable(
    title="Utterance",
    states=UtteranceState,
    triggers=UtteranceTrigger,
    guards=UtteranceGuard,
    deeds=UtteranceDeed,
    initial=_US.QUIET,
    rows=(
        *make_rows(_UT.SPEECH, _US.QUIET, _UG.MAY_BE_ECHO, _US.WORDLESS),
        *make_rows(_UT.SPEECH, _US.QUIET, None, _US.ONSET, _UD.PAUSE_MOUTH),
        *make_rows(_UT.WORD, (_US.ONSET, _US.WORDLESS), _UG.NO_OWN_WORD, None),
        *make_rows(_UT.WORD, (_US.ONSET, _US.WORDLESS), None, _US.TALKING, _UD.CANCEL_SPEECH, _UD.SHOW_WORDS),
        *make_rows(_UT.WORD, _US.TALKING, None, None, _UD.SHOW_WORDS),
        *make_rows(_UT.NO_WORD, _US.ONSET, None, _US.WORDLESS, _UD.RESUME_MOUTH),
        *make_rows(_UT.NO_WORD, _US.FINISHING, None, None, _UD.RESUME_MOUTH),
        *make_rows(_UT.END, (_US.ONSET, _US.WORDLESS, _US.TALKING), None, _US.FINISHING),
        *make_rows(_UT.FINAL, _US.FINISHING, _UG.NOTHING_SAID, _US.QUIET, _UD.CLEAR_WORDS, _UD.RESUME_MOUTH),
        *make_rows(_UT.FINAL, _US.FINISHING, None, _US.QUIET, _UD.SAY_MESSAGE),
        *make_rows(
            _UT.DROP,
            (_US.ONSET, _US.WORDLESS, _US.TALKING, _US.FINISHING),
            None,
            _US.QUIET,
            _UD.CLEAR_WORDS,
            _UD.RESUME_MOUTH,
        ),
    ),
)


class MouthState(TableWord):
    """A state of a mouth. `closed` is final.

    `silent`: nothing of the turn is to be said, or there is none. `ready`: a turn is open, and has no text yet.
    `spoken`: the turn's texts were said to their end; a suggestion that follows may be read back.
    """

    SILENT = "silent"
    READY = "ready"
    SPEAKING = "speaking"
    PAUSED = "paused"
    SPOKEN = "spoken"
    CLOSED = "closed"


class MouthTrigger(TableWord):
    """An occurrence that the table may have rows for."""

    OPEN = "open"  # a turn begins
    TEXT = "text"  # a text of the turn is verified
    READ_BACK = "read back"  # a suggestion of the turn is to be said
    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"  # by the client, or by the end of the turn
    DONE = "done"  # the last word was said
    STALL = "stall"  # the client takes no audio
    FAIL = "fail"  # the engine failed
    CLOSE = "close"  # the connection ends


class MouthGuard(TableWord):
    """No guards: every row of this table is taken unconditionally."""


class MouthDeed(TableWord):
    """A step that a row has done after its transition."""

    BEGIN_SPEECH = "begin_speech"
    ADD_TEXT = "add_text"
    TAKE_BACK_AUDIO = "take_back_audio"
    GO_BACK_A_WORD = "go_back_a_word"
    STOP_SPEECH = "stop_speech"
    FORGET_SENTENCES = "forget_sentences"
    TELL_DONE = "tell_done"
    TELL_CANCELLED = "tell_cancelled"
    TELL_SLOW = "tell_slow"
    TELL_FAILED = "tell_failed"


_S, _T, _D = MouthState, MouthTrigger, MouthDeed

_AT_WORK = (_S.SPEAKING, _S.PAUSED)
_AT_REST = (_S.SILENT, _S.READY, _S.SPOKEN)

MOUTH: StateTable[MouthState, MouthTrigger, MouthGuard, MouthDeed] = StateTable(
    title="Mouth",
    states=MouthState,
    triggers=MouthTrigger,
    guards=MouthGuard,
    deeds=MouthDeed,
    initial=_S.SILENT,
    rows=(
        *make_rows(_T.OPEN, _AT_REST, None, _S.READY),
        *make_rows(_T.OPEN, _AT_WORK, None, _S.READY, _D.STOP_SPEECH, _D.TELL_CANCELLED),
        *make_rows(_T.TEXT, _S.READY, None, _S.SPEAKING, _D.BEGIN_SPEECH, _D.ADD_TEXT),
        *make_rows(_T.TEXT, _AT_WORK, None, None, _D.ADD_TEXT),
        *make_rows(_T.READ_BACK, _S.SPOKEN, None, _S.SPEAKING, _D.BEGIN_SPEECH, _D.ADD_TEXT),
        *make_rows(_T.READ_BACK, _AT_WORK, None, None, _D.ADD_TEXT),
        *make_rows(_T.PAUSE, _S.SPEAKING, None, _S.PAUSED, _D.TAKE_BACK_AUDIO),
        *make_rows(_T.RESUME, _S.PAUSED, None, _S.SPEAKING, _D.GO_BACK_A_WORD),
        *make_rows(_T.CANCEL, (_S.READY, _S.SPOKEN), None, _S.SILENT),
        *make_rows(_T.CANCEL, _AT_WORK, None, _S.SILENT, _D.STOP_SPEECH, _D.TELL_CANCELLED),
        *make_rows(_T.DONE, _S.SPEAKING, None, _S.SPOKEN, _D.STOP_SPEECH, _D.TELL_DONE),
        *make_rows(_T.STALL, _S.SPEAKING, None, _S.SILENT, _D.STOP_SPEECH, _D.TELL_SLOW),
        *make_rows(_T.FAIL, _AT_WORK, None, _S.SILENT, _D.STOP_SPEECH, _D.TELL_FAILED),
        *make_rows(_T.CLOSE, _AT_REST, None, _S.CLOSED, _D.FORGET_SENTENCES),
        *make_rows(_T.CLOSE, _AT_WORK, None, _S.CLOSED, _D.STOP_SPEECH, _D.FORGET_SENTENCES),
    ),
)
