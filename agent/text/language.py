"""Which language a text is in: English, Swedish, or not told.

Strategy: add up evidence, Swedish positive and English negative. Function words that only one of the languages
has weigh most; then the letters å, ä and ö (less in a capitalised word inside a sentence: names travel);
then word endings and letter pairs that one of the languages uses and the other hardly does, which decide
keyword questions without a single function word. Under a small margin the text does not tell. The weights are
round numbers set by hand and checked on labelled questions (tests/text/test_language.py); a table this small
is faster than a statistical identifier and needs no model file.

To add a language: function words and word endings in `words` and here; number words, units and rates in
`agent.numbers`; stop words (`stop_*.txt`), the stemmer's name (`stems`) and the words that ask for a number
(`asked`) in `agent.retrieval`; refusals in `agent.grounding.refusals`, the frame of a quotation in
`agent.llm.wording`, keywords and negations in `agent.actions.triggers`; then its code in `agent.ports.search`.
The type checker names what lacks it.
"""

import re
from functools import lru_cache

from agent.ports.search import Lang

from .words import FUNCTION_WORDS, fold

_MARGIN = 0.5
_LETTERS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_WEIGHED = 100  # words that are looked at; a longer text has told long before
_LONGEST = 40  # letters of a word that are looked at, its last ones

_WORD = 2.0
_OWN_LETTER = 1.6
_OWN_LETTER_IN_NAME = 0.4
_ENDING = 0.6
_PAIR = 0.3

# Swedish function words as people type them without å, ä and ö, unless that spells an English word, and content
# words that Swedish has and English has not, frequent in questions.
_SWEDISH_OWN = """
ar ocksa pa fran nar gar manga nagon nagot nagra vart sa dar darfor har lange mojligt gor kopa oppet ga
finns gäller kostar går hej tack öppet stänger ring mycket länge paket telefonnummer kundtjänst pris
betyder innebär fungerar heter ligger frakt leverans priser garanti butik kund kundtjanst oppettider
rabatt
"""
_ENGLISH_OWN = """
get got make need want know use work cost price best good way long phone number day year time people
history meaning average weather types type benefits definition difference find take vs cause causes
opening hours hello warranty shipping delivery refund return support customer service
plan plans parcel discount student lost cancel pause
"""
_SWEDISH = FUNCTION_WORDS["sv"].union(_SWEDISH_OWN.split()) - FUNCTION_WORDS["en"]
_ENGLISH = FUNCTION_WORDS["en"].union(_ENGLISH_OWN.split()) - FUNCTION_WORDS["sv"]

_SWEDISH_ENDING = re.compile(
    r"(?:ning|ningar|ningen|het|heten|heter|arna|erna|orna|ande|ades|else|elsen|lig|ligt|liga|isk|iskt|iska|"
    r"are|aren|ade|aste|rabatt|tid|tiden|ets|ens|sion|tionen|tioner|tjänst|skap|dom|ast|are|ar|or|et|en|er|a|j)$"
)
_ENGLISH_ENDING = re.compile(
    r"(?:ing|tion|tions|ies|ied|ly|ment|ments|ness|ity|ous|ful|less|able|ible|ive|ance|ence|ure|age|ine|ate|ize|ers|ed|es|y|th|ck|gh|w)$"
)
_SWEDISH_PAIR = re.compile(
    r"kt|sj|gg|sk|kv|lj|bj|fj|hj|ij|dd|mm|nn|[aeiou]k(?=[aeiou])|sv|nk|tj|bb|tt$|st(?=a)"
)
_ENGLISH_PAIR = re.compile(
    r"th|wh|[aeiou]w|w[aeiou]|ea|ou|oo|ee|ch(?![aeiou]?k)|ck$|sh|qu|x|z|ph|c[eio]|ai|ay|oa"
)


def language(text: str) -> Lang | None:
    """Return the language of `text`, "en" or "sv", or None when the text does not tell (digits, names, noise)."""
    total = 0.0
    for index, match in enumerate(_LETTERS.finditer(text)):
        if index == _WEIGHED:
            break
        raw = match.group()
        total += _evidence(fold(raw[-_LONGEST:]), index > 0 and raw[0].isupper())
    if abs(total) < _MARGIN:
        return None
    return "sv" if total > 0 else "en"


@lru_cache(maxsize=4096)
def _evidence(word: str, name: bool) -> float:
    """Return what one folded word says: above 0 Swedish, below 0 English."""
    if word in _SWEDISH:
        return _WORD
    if word in _ENGLISH:
        return -_WORD
    if any(letter in word for letter in "åäö"):
        return _OWN_LETTER_IN_NAME if name else _OWN_LETTER
    if name or len(word) < 3:
        return 0.0
    total = _PAIR * (len(_SWEDISH_PAIR.findall(word)) - len(_ENGLISH_PAIR.findall(word)))
    if _SWEDISH_ENDING.search(word):
        total += _ENDING
    if _ENGLISH_ENDING.search(word):
        total -= _ENDING
    if "'" in word:
        total -= _ENDING
    return total
