"""Static vectors: a text is the mean of its tokens' vectors, and a token has the same vector in every text.

The weights are those of WordLlama (https://github.com/dleemiller/WordLlama): the token embeddings of large language
models, trained down to 256 numbers so that their plain mean shows the subject of a text. Mostly English; other
languages of the tokenizer's alphabet are split into smaller pieces, which helps less and, on the Swedish sets tried,
did no harm.

Strategy: in this vocabulary no token reaches from one word into the next (only runs of spaces are tokens too), so the
tokens of a text are the tokens of its words, in order. Each word is tokenized once and cached, and a text costs a
look-up for each word and one mean: a third of the cost of tokenizing the text. White space of any kind and length is
one space, and characters that look like a special token (`<s>`) are text. The table of vectors stays in the mapped
file, as halves that are widened when they are used: as floats it took 31 MB of each process, and now 16 that
processes share.
"""

from array import array
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..errors import GivenUp, UsageError
from ..ports.embed import HeldWords, TextRole, Vectors
from ..ports.search import Lang
from .kept_rows import KeptRows
from .rows import WordRows, readable, unit
from .tokens import TokenSplitter
from .weights import Files, digest, tensors

EMBED_WORDS_KEPT = 100_000  # words whose tokens are remembered, some 200 bytes each

EMBED_TEXTS_KEPT = 4096  # statements whose vectors are kept when they were compared, 1 KiB each

WEIGHTS = "l2_supercat_256.safetensors"
TOKENIZER = "l2_supercat_tokenizer_config.json"
_TOGETHER = 512  # words whose vectors are in memory at once, to compute their lengths
_FEW = 4_000  # words; their vectors take 4 MB
_LAYERS = 8  # tokens of a word that are added for all words at once; few words have more
_LONG = 18.0
"""Length of a word's vector, before it is scaled to 1, from which the word has the weight 1.

Training for plain means gave common words short vectors, so that they count little in a mean. This was tried on the
1,210 English words of a set of questions: words used a hundred times or more in a million words (as `wordfreq` counts)
are 10 to 12 long, and words used less than ten times 17 to 20. Most Swedish words, being in pieces, are longer.
"""
_COUNT = np.dtype(np.uint16)  # of the tokens of a word, which are fewer than its bytes
_TOKEN = np.dtype(np.uint32)
_WORDS = 64  # between two calls of `given_up`


class Static:
    """Means of token vectors (a `QuickEncoder`, and `WordVectors`).

    `files`: the package of the weights. Reads them, some 0.1 s of CPU. Raises `agent.errors.UsageError` when a file is
    missing or invalid, and `agent.errors.GivenUp` when `given_up` returns true.
    """

    langs: frozenset[Lang] | None = None

    def __init__(self, files: Files, given_up: Callable[[], bool] = lambda: False) -> None:
        weights = files.view(WEIGHTS, given_up)
        spelling = files.read_bytes(TOKENIZER)
        if spelling is None:
            raise UsageError(f"{TOKENIZER} is missing in {files.place}")
        table = next(iter(tensors(weights, WEIGHTS, given_up, keep_halves=True).values()), None)
        if table is None or table.ndim != 2:
            raise UsageError(f"{WEIGHTS} in {files.place} is no table of token vectors")
        self._table = table
        self._splitter = TokenSplitter(spelling, f"{TOKENIZER} in {files.place}")
        if self._splitter.size > len(table):
            raise UsageError(f"{TOKENIZER} in {files.place} has more tokens than there are vectors")
        self.dimension = table.shape[1]
        self.name = "static:" + digest({"weights": weights, "tokenizer": spelling}, given_up)
        self._tokens_of = _WordTokens(self._splitter)
        self._compared = KeptRows(EMBED_TEXTS_KEPT, self.dimension)
        self._held = _HeldTokens(())

    def encode(
        self, texts: Sequence[str], role: TextRole = "passage", given_up: Callable[[], bool] = lambda: False
    ) -> Vectors:
        """Return one row for each text: the sum of its tokens' vectors, scaled to length 1, as a mean would be."""
        rows = np.zeros((len(texts), self.dimension), np.float32)
        since = 0
        for row, text in zip(rows, texts, strict=True):
            words = readable(text).split()
            since += max(1, len(words))
            if since >= _WORDS:
                since = 0
                if given_up():
                    raise GivenUp
            tokens = self._find_tokens(words)
            if len(tokens):
                np.add.reduce(self._take_rows(tokens), 0, out=row)
        return unit(rows)

    def compare_texts(
        self, row: Vectors, keys: Sequence[Hashable], text_of: Callable[[int], str]
    ) -> Sequence[float]:
        """Return the cosine of each text with `row`; see `agent.ports.embed.QuickEncoder`."""
        rows = self._compared.take(keys, lambda new: self.encode(list(map(text_of, new))))
        cosines: list[float] = (rows @ row).tolist()
        return cosines

    def embed_words(self, words: Sequence[str], given_up: Callable[[], bool] = lambda: False) -> Vectors:
        """Return one row for each word, as for a text of this word alone."""
        return self.encode(words, given_up=given_up)

    def weigh_word(self, word: str) -> float:
        """Return the weight of a word in any text, 0..1: the square of its vector's length, relative to `_LONG`."""
        tokens = self._find_tokens(readable(word).split())
        row = np.add.reduce(self._take_rows(tokens), 0)
        return min(1.0, float(row @ row) / _LONG**2)

    def hold_words(self, words: Sequence[str]) -> HeldWords:
        """Return `words` ready to compare with; more than `_FEW` are held as tokens, since vectors would be large.

        Words that the last call held at the beginning of the same list are not split again.
        """
        if len(words) <= _FEW:
            return WordRows(self.embed_words(words))
        known = self._held if self._held.words is words else _HeldTokens(words)
        new = words[len(known.counts) :]
        tokens = [self._tokens_of[each] if each else b"" for each in map(readable, new)]
        self._tokens_of = _WordTokens(self._splitter)  # those of a large knowledge base take 20 MB
        counts = np.fromiter(map(len, tokens), np.intp, len(tokens)) // _TOKEN.itemsize
        self._held = _HeldTokens(
            words,
            np.concatenate((known.counts, counts.astype(_COUNT))),
            np.concatenate((known.tokens, np.frombuffer(b"".join(tokens), _TOKEN))),
        )
        return TokenizedWords(self._table, self._held.counts, self._held.tokens)

    def pack_words(self, words: Sequence[str]) -> bytes:
        """Return the tokens of `words` for `adopt_words`; b"" unless the last call of `hold_words` held this list."""
        held = self._held
        if held.words is not words or len(held.counts) != len(words):
            return b""
        return held.counts.tobytes() + held.tokens.tobytes()

    def adopt_words(self, words: Sequence[str], content: bytes) -> None:
        """Take over the tokens that `pack_words` returned: splitting words is the largest cost of `hold_words`."""
        size = len(words) * _COUNT.itemsize
        if not content or len(content) < size or (len(content) - size) % _TOKEN.itemsize:
            return
        counts, tokens = np.frombuffer(content[:size], _COUNT), np.frombuffer(content[size:], _TOKEN)
        if counts.sum(dtype=np.intp) == len(tokens) and tokens.max(initial=0) < len(self._table):
            self._held = _HeldTokens(words, counts, tokens)

    def _take_rows(self, tokens: npt.NDArray[np.uint32]) -> Vectors:
        """Return the vectors of some tokens."""
        return self._table.take(tokens, 0).astype(np.float32, copy=False)

    def _find_tokens(self, words: Sequence[str]) -> npt.NDArray[np.uint32]:
        """Return the tokens of some words, one word after the other."""
        return np.frombuffer(b"".join(map(self._tokens_of.__getitem__, words)), np.uint32)


@dataclass(frozen=True, slots=True)
class _HeldTokens:
    """The tokens of the first words of a list that only grows.

    `counts`: how many tokens each of these words has. `tokens`: all of them, one word after the other.
    """

    words: Sequence[str]
    counts: npt.NDArray[np.uint16] = field(default_factory=lambda: np.empty(0, np.uint16))
    tokens: npt.NDArray[np.uint32] = field(default_factory=lambda: np.empty(0, np.uint32))


class _WordTokens(dict[str, bytes]):
    """The tokens of words, split when they are looked up, and cached: as uint32 in bytes, a quarter of a list's memory.

    `splitter`: splits the words.
    """

    def __init__(self, splitter: TokenSplitter) -> None:
        self._splitter = splitter

    def __missing__(self, word: str) -> bytes:
        tokens = array("I", self._splitter.split(word)).tobytes()
        if len(self) >= EMBED_WORDS_KEPT:
            self.clear()
        self[word] = tokens
        return tokens


class TokenizedWords:
    """Words held as their tokens, a twentieth of their vectors (implements `agent.ports.embed.HeldWords`).

    The cosine of a word's vector with another is the sum of the products of its tokens' vectors, over its length. Only
    the tokens of these words are multiplied, a third of the table, which fits a processor's cache. The words are
    ordered by their number of tokens, so that the first tokens of all words are added at once, then the second ones.

    `table`: the vectors of all tokens. `counts`: how many tokens each word has. `tokens`: those of all words, one word
    after the other.
    """

    def __init__(
        self, table: Vectors, counts: npt.NDArray[np.uint16], tokens: npt.NDArray[np.uint32]
    ) -> None:
        self._words = len(counts)
        is_used = np.zeros(len(table), np.bool_)
        is_used[tokens] = True
        self._table = table[is_used].astype(np.float32, copy=False)
        places = (np.cumsum(is_used) - 1).take(tokens)  # of each token in the smaller table
        sizes = counts.astype(np.intp)
        starts = np.cumsum(sizes) - sizes
        self._order = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]
        sizes, starts = sizes.take(self._order), starts.take(self._order)
        self._layers = [
            places.take(starts[: np.count_nonzero(sizes > at)] + at)
            for at in range(min(_LAYERS, sizes.max(initial=0)))
        ]
        rests = [
            places[start + _LAYERS : start + size]
            for start, size in zip(starts[sizes > _LAYERS], sizes[sizes > _LAYERS], strict=True)
        ]
        self._rest = np.concatenate(rests) if rests else np.empty(0, np.intp)
        self._rest_starts = np.cumsum([0, *map(len, rests)])[:-1]
        lengths = [
            self._measure(places, starts[at : at + _TOGETHER], sizes[at : at + _TOGETHER])
            for at in range(0, len(starts), _TOGETHER)
        ]
        all_lengths = np.concatenate(lengths) if lengths else np.empty(0, np.float32)
        self._per_length = np.divide(1, all_lengths, out=np.zeros_like(all_lengths), where=all_lengths > 0)

    def _measure(
        self, places: npt.NDArray[np.intp], starts: npt.NDArray[np.intp], sizes: npt.NDArray[np.intp]
    ) -> Vectors:
        """Return the lengths of words' vectors. `starts`: of each word in `places`. `sizes`: its tokens, falling."""
        rows = self._table.take(places.take(starts), 0)
        for at in range(1, sizes[0]):
            longer = starts[: np.count_nonzero(sizes > at)]
            rows[: len(longer)] += self._table.take(places.take(longer + at), 0)
        lengths: Vectors = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        return lengths

    def cosines(self, row: Vectors) -> Vectors:
        """Return the cosine of each word with `row`."""
        products = self._table @ row
        sums = np.zeros_like(self._per_length)
        for tokens in self._layers:
            sums[: len(tokens)] += products.take(tokens)
        if len(self._rest):
            sums[: len(self._rest_starts)] += np.add.reduceat(products.take(self._rest), self._rest_starts)
        cosines = np.zeros(self._words, np.float32)
        cosines[self._order] = sums * self._per_length
        return cosines
