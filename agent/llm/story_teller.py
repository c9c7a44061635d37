"""Tells scenes with a language model, or by a script.

Strategy: the text of a prompt before its border is the `system` message, which a service can keep its work on, and the
rest is the `user` message. A scene is given on sentence by sentence, as `SentenceCutter` finds them: the first one at
once. So an answer whose tokens are spent ends with a whole sentence, and one that goes on with the reader's next words,
or without an end, is left there: the model's stream is closed.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from ..errors import ModelFailed
from ..ports.model import Finish, LanguageModel, ModelMessage, ModelRequest, TextDelta
from ..ports.teller import TellingPrompt
from ..stories.answers import clean_short_text
from ..stories.sentences import SentenceCutter
from .drafter import check_end
from .script import ScriptEntry, find_entry

SCENE_TOKENS = 1_200
"""Tokens of a scene, unless the operator's setting for drafts is higher."""
SHORT_TOKENS = 500  # of choices, a milestone check, a summary, or an aside


class ModelTeller:
    """Tells with a language model (implements `agent.ports.teller.Teller`).

    `name`: of the model. `max_tokens`: of a scene.
    """

    def __init__(self, model: LanguageModel, name: str, max_tokens: int = SCENE_TOKENS) -> None:
        self._model = model
        self._name = name
        self._max_tokens = max_tokens

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._name

    async def tell_scene(self, prompt: TellingPrompt, seed: int) -> AsyncGenerator[str, None]:
        """Yield the sentences of a scene; joined they are the scene.

        A language model takes no `seed`: it tells otherwise each time. Raises `ModelFailed` as the model does, and for
        a scene without a word. When this generator is closed or cancelled, the model's stream is closed first.
        """
        cutter = SentenceCutter()
        is_cut = False
        async with aclosing(self._model.stream(make_request(prompt, self._max_tokens))) as pieces:
            async for piece in pieces:
                if isinstance(piece, TextDelta):
                    for sentence in cutter.feed(piece.text):
                        yield sentence
                    if cutter.is_ended:
                        break
                elif isinstance(piece, Finish):
                    check_end(piece, bool(cutter.text))
                    is_cut = piece.reason == "length"
        if not is_cut and (rest := cutter.finish()):
            yield rest

    async def write(self, prompt: TellingPrompt, seed: int, max_characters: int) -> str:
        """Return a short text, of `max_characters` at most. Raises `ModelFailed` as the model does."""
        text = ""
        async with aclosing(self._model.stream(make_request(prompt, SHORT_TOKENS))) as pieces:
            async for piece in pieces:
                if isinstance(piece, TextDelta):
                    text += piece.text
                    if len(text) > max_characters:
                        break
                elif isinstance(piece, Finish):
                    check_end(piece, bool(text))
        return _require_text(text, max_characters)


class ScriptTeller:
    """Tells the texts of a script (implements `agent.ports.teller.Teller`).

    A scene plays the first entry that matches its directive. What else is asked for plays the entry that matches its
    task, which is `choices`, `milestones` or `summary`, or for an aside the reader's words.
    """

    def __init__(self, entries: Sequence[ScriptEntry]) -> None:
        self._entries = tuple(entry for entry in entries if entry.round is None)

    @property
    def name(self) -> str:
        """The name of the model."""
        return "script"

    async def tell_scene(self, prompt: TellingPrompt, seed: int) -> AsyncGenerator[str, None]:
        """Yield the sentences of an entry.

        Raises `ModelFailed` with the entry's `error`, when no entry matches, and for a scene without a word.
        """
        cutter = SentenceCutter()
        async with aclosing(find_entry(self._entries, prompt.facts["directive"]).play()) as pieces:
            async for piece in pieces:
                for sentence in cutter.feed(piece):
                    yield sentence
                if cutter.is_ended:
                    break
        if rest := cutter.finish():
            yield rest

    async def write(self, prompt: TellingPrompt, seed: int, max_characters: int) -> str:
        """Return the text of an entry, of `max_characters` at most. Raises `ModelFailed` as `tell_scene` does."""
        text = ""
        async with aclosing(find_entry(self._entries, prompt.facts["directive"]).play()) as pieces:
            async for piece in pieces:
                text += piece
        return _require_text(text, max_characters)


def make_request(prompt: TellingPrompt, max_tokens: int) -> ModelRequest:
    """Return the request of a prompt; its first message is the one that the next request repeats."""
    messages = (ModelMessage("system", prompt.stable), ModelMessage("user", prompt.fresh))
    return ModelRequest(messages=messages, max_tokens=max_tokens, stable=1)


def _require_text(text: str, most: int) -> str:
    text = clean_short_text(text, most)
    if not text:
        raise ModelFailed("the model wrote nothing")
    return text
