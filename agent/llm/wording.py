"""Writes an answer without a language model, by quoting.

Strategy: quote the statement that answers, and at most two more, each whole and after a short lead that names its
section: short ones that may answer too, and longer ones that are more likely to. The best statement comes first. A line
to which it refers back is quoted before it, and lines that it introduces after it. No other statement that begins with
"she" or "this" is quoted but behind the one that it speaks of. Of a table's row the columns that are asked for are
quoted (`table_rows`). A row that the question names comes before a statement that says nothing of it, and no other row
is quoted then. Lines with only links, and the notes of a version that the question does not name, are quoted only
without any other statement.

Memory is quoted as the user's own words. A search finds more memory than fits, since it also finds items by their
neighbours. So only the items that hold most of the question's words are quoted, before the documents when the items
hold as many of these words as the documents do.

Nothing is rewritten or repeated, and no added text holds a number: a heading with a number is left out of the lead,
and statements are joined so that each number reads as it does alone. Every sentence of such an answer was written by a
person.
"""

import re
from collections.abc import Sequence
from functools import lru_cache, partial

from ..lang import LANGUAGES, Lang
from ..numbers.number_tokens import tokens
from ..ports.remember import MEMORY_FILES
from ..ports.search import Hit, Passage, Snippet
from ..text.sentences import find_sentences
from ..text.words import fold, split_words
from .named_tools import EMPTY_WORDS, Stems, stems
from .table_rows import is_named_in, names_row, read_table_question, word_row

STATEMENTS = 3
"""Statements of documents that are quoted."""

WORDS = 130
"""Words of an answer from documents, with its leads; the best statement is quoted however long it is."""

SHORT = 50
"""Words up to which an answer is short. On six public sets the median answer has 58 words, and 49 % of the questions
are answered rightly."""

LIKELY_SHORT, LIKELY = 0.05, 0.2
"""How likely a further statement must be, relative to the best, to be quoted in a short answer, and beyond one."""

QUOTE_CHARS = 700
"""Characters of memory that are quoted where nothing else is."""

MEMORY_ITEMS = 3
"""Items of memory that are quoted, unless all of it is asked for."""

MEMORY_CHARS = 350
"""Characters of memory that are quoted beside documents, or for a question with words of its own."""

_CLAUSE = 40  # characters of a clause before a comma that may refer back: "When you exceed that, ..."
_HEADINGS = 2  # of a section, the innermost ones, that the lead names
_KEPT = 4096  # headings whose check for a number is cached
_ITEMS = ("row", "item")  # statements that stand on a line of their own
_HALF = 0.5  # of a question's words; a text with fewer is beside the question when another has more
_READ = 4096  # characters that are searched for these
_REQUESTS = re.compile(rf"\b(?:{'|'.join(each.recalling.requests for each in LANGUAGES.values())})\b")
_WORD = re.compile(r"\w+")
_LINKS = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s*)?(?:\[[^\]]*\]\([^)\s]*\)[\s,|·•]*)+")
_VERSION_HEADING = re.compile(r"\[?(?:v\d+(?:\.\d+)+|\d+(?:\.\d+){2,})\]?(?!\S)", re.IGNORECASE)


def choose_quotes(evidence: Sequence[Hit], question: str = "") -> list[Hit]:
    """Return the statements to quote, in the order in which an answer quotes them.

    Documents: at most `STATEMENTS`, in `WORDS` words. Memory: at most `MEMORY_ITEMS`, in `MEMORY_CHARS`, of the items
    that hold more than half as many of the question's words as the best item. `question`: when it has no words of its
    own, documents come first; without documents all memory may be quoted.
    """
    memory_hits = [hit for hit in evidence if hit.snippet.file.startswith(MEMORY_FILES)]
    if not memory_hits:
        return _choose_statements(evidence, question)
    documents = [hit for hit in evidence if not hit.snippet.file.startswith(MEMORY_FILES)]
    document_hits = _choose_statements(documents, question)
    subject = _subject_stems(question)
    shares = [_measure_share(subject, statement_text(hit)) for hit in memory_hits]
    most = max(shares)
    best_share = max(
        (_measure_share(subject, _text_with_headings(hit)) for hit in document_hits), default=0.0
    )
    memory_hits = [
        hit for hit, share in zip(memory_hits, shares, strict=True) if not subject or share > most / 2
    ]
    memory_quotes = (
        _select_fitting(memory_hits, MEMORY_CHARS, MEMORY_ITEMS)
        if subject or document_hits
        else _select_fitting(memory_hits, QUOTE_CHARS, len(memory_hits))
    )
    if most == 1 and best_share < _HALF:
        return memory_quotes
    if most < best_share or not subject:
        return document_hits + (memory_quotes if most >= _HALF or not subject else [])
    return memory_quotes + document_hits


def _choose_statements(evidence: Sequence[Hit], question: str) -> list[Hit]:
    """Return the statements of documents to quote: the best, the lines that it hangs together with, then the others.

    Of statements with the same words only the best is returned.
    """
    ranked = sorted(evidence, key=lambda hit: _is_aside(hit, question))  # stable: best first
    if not ranked:
        return []
    top = ranked[0]
    ranked = _put_named_row_first(ranked, question)
    best = ranked[0]
    before, after = _find_neighbours(best, ranked)
    quotes = [best]
    words = _count_words(best, ())
    for hit in [*before, *after, *ranked[1:]]:
        if len(quotes) == STATEMENTS:
            break
        size = _count_words(hit, quotes)
        least = LIKELY_SHORT if words + size <= SHORT else LIKELY
        if words + size > WORDS or (hit.score < least * top.score and hit not in after):
            continue
        at, added = 0 if hit in before else len(quotes), [hit]
        if hit not in before and hit not in after:
            at, added = _place_further(hit, quotes, ranked)
            size += sum([_count_words(each, quotes) for each in added[:-1]])
        if not added or len(quotes) + len(added) > STATEMENTS or words + size > WORDS:
            continue
        if any(_same_words(each, other) for each in added for other in quotes):
            continue
        quotes[at:at] = added
        words += size
    return quotes


def _put_named_row_first(ranked: list[Hit], question: str) -> list[Hit]:
    """Return the hits with the row of a table that a question names first, and without other rows.

    They are returned as they are where it names none, or the best one speaks of the row's thing or says more.
    """
    rows = [hit for hit in ranked if hit.snippet.kind == "row"]
    if not rows:
        return ranked
    subject = _subject_stems(question)
    asked = Stems().union(*subject)
    named = [hit for hit in rows if names_row(asked, hit)]
    if not named or (ranked[0] is not named[0] and not _is_missed(named[0], ranked[0], subject)):
        return ranked
    others = [hit for hit in ranked if hit.snippet.kind != "row" or hit in named]
    return [named[0], *(hit for hit in others if hit is not named[0])]


def _place_further(hit: Hit, quotes: Sequence[Hit], evidence: Sequence[Hit]) -> tuple[int, list[Hit]]:
    """Return where a further statement is quoted, and what: the one to which it refers back comes before it.

    Nothing where that one is neither quoted nor found.
    """
    end, subject = len(quotes), _find_subject(hit)
    if subject is None:
        return end, [hit]
    for at, each in enumerate(quotes, 1):
        if each.snippet == subject:
            return at, [hit]
    found = _find_hits([subject], evidence)
    return end, [*found, hit] if found else []


def _is_missed(row: Hit, best: Hit, subject: Sequence[Stems]) -> bool:
    """Tell whether the best statement does not name what a row is about, and holds no more of the question's words."""
    text = _text_with_headings(best)
    more = _measure_share(subject, text) > _measure_share(subject, _text_with_headings(row))
    return not more and not is_named_in(text, row)


def _find_subject(hit: Hit) -> Snippet | None:
    """Return the statement before one that begins by referring back: "she", "if it", "when you exceed that,".

    Quoted behind any other, such a one would speak of something else.
    """
    clause, comma, _ = statement_text(hit)[:_CLAUSE].partition(",")
    beginning = split_words(clause) if comma else split_words(clause)[:2]
    if LANGUAGES[hit.passage.lang].searching.referring.isdisjoint(beginning):
        return None
    passage = hit.passage.snippets
    place = passage.index(hit.snippet)
    return passage[place - 1] if place else None


def _find_hits(snippets: Sequence[Snippet], evidence: Sequence[Hit]) -> list[Hit]:
    """Return the hits for those of `snippets` that were found."""
    return [hit for each in snippets if (hit := next((hit for hit in evidence if hit.snippet == each), None))]


def _find_neighbours(best: Hit, evidence: Sequence[Hit]) -> tuple[list[Hit], list[Hit]]:
    """Return the hits for the statement to which `best` refers back, and for the statements that `best` introduces."""
    subject, passage = _find_subject(best), best.passage.snippets
    place = passage.index(best.snippet)
    after = passage[place + 1 : place + STATEMENTS] if statement_text(best).endswith(":") else ()
    return _find_hits([subject] if subject is not None else (), evidence), _find_hits(after, evidence)


def _is_aside(hit: Hit, question: str) -> bool:
    """Tell whether a statement holds only links, or stands under the number of a version that is not asked for."""
    versions = _find_versions(hit.snippet.headings)
    if versions and any(version not in question for version in versions):
        return True
    text = hit.snippet.text
    return "](" in text and _LINKS.fullmatch(text) is not None


@lru_cache(maxsize=_KEPT)
def _find_versions(headings: tuple[str, ...]) -> tuple[str, ...]:
    """Return the versions whose numbers headings begin with."""
    matches = [match for each in headings if (match := _VERSION_HEADING.match(each))]
    return tuple([match.group().strip("[]v") for match in matches])


def _count_words(hit: Hit, chosen: Sequence[Hit]) -> int:
    """Return the words that a statement adds to an answer, with the lead of its section if that is new there."""
    lead = [] if any(each.passage is hit.passage for each in chosen) else hit.passage.headings[-_HEADINGS:]
    return len(statement_text(hit).split()) + sum(1 + len(name.split()) for name in lead)


def _same_words(hit: Hit, other: Hit) -> bool:
    return _WORD.findall(statement_text(hit).casefold()) == _WORD.findall(statement_text(other).casefold())


def _subject_stems(question: str) -> list[Stems]:
    """Return the words that carry the subject of a question, without words that only request an answer."""
    word_list = dict.fromkeys(split_words(_REQUESTS.sub(" ", fold(question[:_READ]))))
    return [
        stems(word) for word in word_list if word not in EMPTY_WORDS and (len(word) > 1 or word.isdigit())
    ]


def _measure_share(subject: Sequence[Stems], text: str) -> float:
    """Return the share of the words `subject` that a text holds, 0..1."""
    if not subject:
        return 0.0
    text_stems = frozenset().union(*(stems(word) for word in split_words(text[:_READ])))
    return sum(not each.isdisjoint(text_stems) for each in subject) / len(subject)


def _text_with_headings(hit: Hit) -> str:
    """Return a statement of a document after its headings and lead."""
    return " ".join([*hit.snippet.headings, hit.snippet.lead, statement_text(hit)])


def _select_fitting(memory_hits: Sequence[Hit], characters: int, items: int) -> list[Hit]:
    """Return the best items of memory within `characters`, at most `items`; the best however long it is."""
    fitting: list[Hit] = []
    size = 0
    for hit in memory_hits:
        statement = statement_text(hit)
        if fitting and size + len(statement) > characters:
            continue
        if any(_same_words(hit, each) for each in fitting):
            continue
        if len(fitting) == items:
            break
        fitting.append(hit)
        size += len(statement)
    return fitting


def statement_text(hit: Hit) -> str:
    """Return the text of a hit, in plain words where these are known."""
    return hit.snippet.plain_text or hit.snippet.text


def compose_answer(quoted: Sequence[Hit], lang: Lang, question: str = "") -> str:
    """Return a text that quotes statements, the section of the best one first, in a frame in `lang`.

    `question`: decides which columns of rows are quoted; "" quotes all.
    """
    if not quoted:
        return LANGUAGES[lang].quoting.nothing
    passages = list(dict.fromkeys(hit.passage for hit in quoted))
    memory_passages = [each for each in passages if each.file.startswith(MEMORY_FILES)]
    documents = [each for each in passages if each not in memory_passages]
    join = partial(_join_statements, quoted=quoted, question=question, lang=lang)
    parts = [f"{_format_lead(each, lang)}\n{join(each)}" for each in documents]
    if documents and all(each.lang != lang for each in passages):
        parts.insert(0, _other_language_note(lang, documents[0].lang))
    if memory_passages:
        lead = LANGUAGES[lang].quoting.remembered
        lines = "\n".join([lead, *(f"- {join(each)}" for each in memory_passages)])
        parts.insert(0 if passages[0] in memory_passages else len(parts), lines)
    return "\n\n".join(parts)


def _format_lead(passage: Passage, lang: Lang) -> str:
    names = [name for name in passage.headings if name and not _holds_number(name)][-_HEADINGS:]
    quoting = LANGUAGES[lang].quoting
    return quoting.lead.format(section=" › ".join(names)) if names else quoting.bare_lead


@lru_cache(maxsize=_KEPT)
def _holds_number(heading: str) -> bool:
    """Return whether a heading holds a number."""
    return bool(tokens(heading))


def _other_language_note(lang: Lang, other: Lang) -> str:
    """Return the sentence that the quotation stands on pages in another language only."""
    quoting = LANGUAGES[lang].quoting
    return quoting.other_language.format(language=quoting.names.get(other, LANGUAGES[other].name))


def _join_statements(passage: Passage, quoted: Sequence[Hit], question: str, lang: Lang) -> str:
    """Return the statements of one section as they are quoted.

    Sentences that follow each other on the page run on, other sentences are paragraphs, and items and rows have lines
    of their own. Rows are worded for `question`, in the language `lang`.
    """
    text = before = ""
    last = -1
    for hit in [hit for hit in quoted if hit.passage is passage]:
        kind, statement = hit.snippet.kind, statement_text(hit)
        if kind == "row":
            statement = word_row(hit, read_table_question(question, lang))
        place = passage.snippets.index(hit.snippet)
        if kind in _ITEMS:
            text = f"{text}\n- {statement}" if text else f"- {statement}"
        else:
            prose = place == last + 1 and before not in _ITEMS and "code" not in (kind, before)
            text += (
                f" {statement}"
                if text and prose and _is_own_sentence(text, statement)
                else f"\n\n{statement}"
                if text
                else statement
            )
        before, last = kind, place
    return text


def _is_own_sentence(text: str, statement: str) -> bool:
    """Return whether a statement that runs on after a text is a sentence of its own, so that one citation holds it."""
    line = text[text.rfind("\n") + 1 :]
    return any(start == len(line) + 1 for start, _ in find_sentences(f"{line} {statement}"))
