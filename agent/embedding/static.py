"""Static vectors: a text is the mean of its tokens' vectors, and a token has the same vector in every text.

The weights are those of WordLlama (https://github.com/dleemiller/WordLlama): the token embeddings of large language
models, trained down to 256 numbers so that their plain mean shows the subject of a text. Mostly English; other
languages of the tokenizer's alphabet are split into smaller pieces, which helps less and, on the Swedish sets tried,
did no harm.

Strategy: in this vocabulary no token reaches from one word into the next (only runs of spaces are tokens too), so the
tokens of a text are the tokens of its words, in order. Each word is tokenized once and cached, and a text costs a
look-up for each word and one mean: a third of the cost of tokenizing the text. White space of any kind and length is
one space, and characters that look like a special token (`<s>`) are text.
"""

from array import array
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise

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
        table = next(iter(tensors(weights, WEIGHTS, given_up).values()), None)
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
        # The words that were held last, their number then, and their tokens.
        self._packed: tuple[Sequence[str], int, bytes] = ((), 0, b"")

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
                np.add.reduce(self._table.take(tokens, 0), 0, out=row)
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
        row = np.add.reduce(self._table.take(tokens, 0), 0, dtype=np.float32)
        return min(1.0, float(row @ row) / _LONG**2)

    def hold_words(self, words: Sequence[str]) -> HeldWords:
        """Return `words` ready to compare with; more than `_FEW` are held as tokens, since vectors would be large."""
        if len(words) <= _FEW:
            return WordRows(self.embed_words(words))
        tokens_of = self._tokens_of
        tokens = [tokens_of[each] if each else b"" for each in map(readable, words)]
        self._tokens_of = _WordTokens(self._splitter)  # those of a large knowledge base take 20 MB
        self._packed = words, len(words), _pack_tokens(tokens)
        return _TokenizedWords(self._table, tokens)

    def pack_words(self, words: Sequence[str]) -> bytes:
        """Return the tokens of `words` for `adopt_words`; b"" unless the last call of `hold_words` held this list."""
        held, count, content = self._packed
        return content if held is words and count == len(words) else b""

    def adopt_words(self, words: Sequence[str], content: bytes) -> None:
        """Take over the tokens that `pack_words` returned: splitting words is the largest cost of `hold_words`."""
        if not content or len(words) > EMBED_WORDS_KEPT:
            return
        size = len(words) * _COUNT.itemsize
        tokens = content[size:]
        if len(content) < size or len(tokens) % _TOKEN.itemsize:
            return
        counts = np.frombuffer(content[:size], _COUNT)
        if int(counts.sum()) * _TOKEN.itemsize != len(tokens):
            return
        if tokens and np.frombuffer(tokens, _TOKEN).max() >= len(self._table):
            return
        ends = (np.cumsum(counts, dtype=np.intp) * _TOKEN.itemsize).tolist()
        of_words = [tokens[start:end] for start, end in pairwise([0, *ends])]
        self._tokens_of.update(zip(map(readable, words), of_words, strict=True))

    def _find_tokens(self, words: Sequence[str]) -> npt.NDArray[np.uint32]:
        """Return the tokens of some words, one word after the other."""
        return np.frombuffer(b"".join(map(self._tokens_of.__getitem__, words)), np.uint32)


def _pack_tokens(tokens: Sequence[bytes]) -> bytes:
    """Return how many tokens each word has, and then all tokens."""
    counts = np.fromiter(map(len, tokens), np.intp, len(tokens)) // _TOKEN.itemsize
    return counts.astype(_COUNT).tobytes() + b"".join(tokens)


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


class _TokenizedWords:
    """Words held as their tokens, a twentieth of their vectors (implements `agent.ports.embed.HeldWords`).

    The cosine of a word's vector with another is the sum of the products of its tokens' vectors, over its length. Only
    the tokens of these words are multiplied, a third of the table, which fits a processor's cache. The words are
    ordered by their number of tokens, so that the first tokens of all words are added at once, then the second ones.
    """

    def __init__(self, table: Vectors, words: Sequence[bytes]) -> None:
        self._words = len(words)
        counts = np.fromiter(map(len, words), np.intp, len(words)) // np.dtype(np.uint32).itemsize
        self._order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
        counts = counts[self._order]
        all_tokens = b"".join([words[at] for at in self._order])
        used, tokens = np.unique(np.frombuffer(all_tokens, np.uint32), return_inverse=True)
        self._table = table.take(used, 0)
        starts = np.cumsum(counts) - counts
        self._layers = [
            tokens[starts[: np.count_nonzero(counts > at)] + at]
            for at in range(min(_LAYERS, counts.max(initial=0)))
        ]
        self._rest = tokens[np.arange(len(tokens)) - np.repeat(starts, counts) >= _LAYERS]
        counts_of_rest = counts[counts > _LAYERS] - _LAYERS
        self._rest_starts = np.cumsum(counts_of_rest) - counts_of_rest
        self._per_length = np.zeros(len(counts), np.float32)
        ends = np.append(starts, len(tokens))
        for at in range(0, len(starts), _TOGETHER):
            first, last = ends[at], ends[min(at + _TOGETHER, len(starts))]
            rows = np.add.reduceat(
                self._table.take(tokens[first:last], 0), starts[at : at + _TOGETHER] - first, 0
            )
            lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
            per_length = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
            self._per_length[at : at + _TOGETHER] = per_length

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
