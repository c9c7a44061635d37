"""The weights of the signals that rank sections and statements, and how they were fitted.

There is a set of weights for each source of vectors: `WITHOUT` vectors, `WITH_WORDS` for means of word vectors,
`WITH_SENTENCES` for a sentence model's vectors of sections, and `WITH_STATEMENTS` where statements have vectors too.

Each set was fitted by maximum likelihood to labelled questions on several public sets of documents at once (four
English and two Swedish; `WITH_SENTENCES` on the English ones only). The likelihood is that of the right section among
the candidates, of the right statement among those of the best sections, and of a right answer, including questions that
the documents do not answer. `python -m tests.bench.documents` prints the results on each set. The weight of an
operator's synonyms was set by hand: with it, 6 % of 268 off-topic questions find something in `kb/`, and 9 % without
vectors.

`general`: in a small knowledge base hardly any word occurs twice, so the weight of a word in general text counts beside
its rarity. This was tried with word vectors only, on seven public sets, small parts of these sets, and `kb/`. Of all
pairs of an answerable and an unanswerable question, the confidence of the answerable one is higher in 91.4 % (91.3 %
before), and any `general` from 200 to 500 sections gives the same. Most of the effect is on the few dozen sections of
`kb/`: of 30 everyday questions in English 4 find nothing instead of 7.

`single_near`: a statement's vector, taken with its headings and the line above, is also compared with the question's.
Fitted with the present kinds of questions on three English sets and a Swedish one, each left out in turn, this puts a
right statement first for 45 % of the questions instead of 41 %. The place, neighbours and form (item, row) of a
statement gained nothing. Without vectors the earlier weights are as good as any.

`single_length`: a long statement holds more words without saying more. Fitted on six public sets with 376 questions,
each left out in turn, the logarithm of its length has a negative weight, which puts a right statement first, among two
and among three for 43, 54 and 58 % instead of 41, 52 and 57 %, and makes room for more statements in an answer.

`look_*`: a second look at the confidence, fitted in the same way, takes the score of the best statement and the number
of others that are as likely. It separates right answers from all others better than the first look alone (area under
the curve 0.82 instead of 0.76).

`look_names`: a question that names something (a name or a number, `find_names`) which the best statement does not hold
is mostly about another thing. In a fit of all signals to the same six sets with 376 answerable and 90 other questions,
each set left out in turn, this separates right answers from questions near the subject that the documents do not answer
better (area 0.86 instead of 0.84). Of some sixty other signals none gained as much for sets that were left out: whether
the rarest word or any other word of the question is missing, margins between sections and between statements, the share
of one section or file, agreement of words and vectors, kinds of answer, lengths. The floor also follows the questions
about `kb/` in `tests/retrieval`. Nothing was fitted to the two sets of `tests/data/questions`.
"""

from typing import NamedTuple


class SignalWeights(NamedTuple):
    """The weight of each signal.

    `floor`: the least confidence (0..1) of the best statement after both looks; below it the search returns nothing.
    `first_floor`: the same after the first look alone. `general`: the number of sections as which the weight of a word
    in general text counts (`Lexicon.word_weight`), 0 where this was not tried. `grams` to `kind`: signals of a section.
    `single_*`: signals of a statement. `sure_*`: signals of the first look's confidence, on the scale of a logistic
    function. `look_*`: those of the second look.
    """

    floor: float
    first_floor: float
    general: int
    grams: float
    near: float
    file_grams: float
    file_near: float
    coverage: float
    best: float
    kind: float
    single_section: float
    single_own: float
    single_all: float
    single_kind: float
    single_leads: float
    single_asks: float
    single_code: float
    single_near: float
    single_length: float
    sure_all: float
    sure_coverage: float
    sure_cosine: float
    sure_unknown: float
    sure_meant: float
    sure_grams: float
    sure_words: float
    sure_bias: float
    look_sure: float
    look_best: float
    look_share: float
    look_names: float
    look_bias: float


# fmt: off
WITH_WORDS = SignalWeights(
    floor=0.25, first_floor=0.18, general=300,
    grams=1.98, near=2.68, file_grams=1.30, file_near=1.45,
    coverage=1.87, best=1.72, kind=2.03,
    single_section=0.80, single_own=1.50, single_all=2.45, single_kind=4.30,
    single_leads=-1.50, single_asks=-0.50, single_code=0.50, single_near=5.20, single_length=-0.40,
    sure_all=1.02, sure_coverage=2.35, sure_cosine=2.55, sure_unknown=-0.46,
    sure_meant=1.0, sure_grams=2.80, sure_words=3.94, sure_bias=-6.09,
    look_sure=0.67, look_best=0.20, look_share=2.40, look_names=-4.20, look_bias=-1.72,
)
WITH_SENTENCES = SignalWeights(
    floor=0.18, first_floor=0.18, general=0,
    grams=1.36, near=4.73, file_grams=0.62, file_near=2.13,
    coverage=1.47, best=1.17, kind=1.70,
    single_section=1.24, single_own=1.62, single_all=1.22, single_kind=2.33,
    single_leads=-0.83, single_asks=-0.11, single_code=0.08, single_near=0.0, single_length=0.0,
    sure_all=-0.89, sure_coverage=3.70, sure_cosine=8.92, sure_unknown=-0.17,
    sure_meant=0.5, sure_grams=0.32, sure_words=2.83, sure_bias=-7.11,
    look_sure=1.0, look_best=0.0, look_share=0.0, look_names=0.0, look_bias=0.0,
)
WITH_STATEMENTS = WITH_SENTENCES._replace(
    floor=0.30, first_floor=0.13,
    single_section=1.15, single_own=1.20, single_all=1.10, single_kind=2.40,
    single_leads=-1.20, single_asks=-0.35, single_code=0.80, single_near=4.30,
    look_sure=0.37, look_best=0.25, look_share=1.46, look_bias=-1.45,
)
WITHOUT = SignalWeights(
    floor=0.20, first_floor=0.13, general=0,
    grams=2.93, near=0.0, file_grams=1.74, file_near=0.0,
    coverage=1.81, best=1.75, kind=2.16,
    single_section=0.79, single_own=2.07, single_all=2.34, single_kind=2.38,
    single_leads=-0.70, single_asks=-0.26, single_code=-0.20, single_near=0.0, single_length=0.0,
    sure_all=1.33, sure_coverage=1.07, sure_cosine=0.0, sure_unknown=-1.03,
    sure_meant=0.5, sure_grams=4.38, sure_words=4.43, sure_bias=-5.33,
    look_sure=0.72, look_best=0.27, look_share=1.33, look_names=0.0, look_bias=-1.07,
)
# fmt: on
