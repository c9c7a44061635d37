"""The page's own code, run: an answer as blocks, a streamed one as a whole one, results in words, what is kept."""

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

import pytest
import quickjs
from hypothesis import given
from hypothesis import strategies as st

from agent.intents.fields import FILLED_CHARACTERS, REQUIRED
from agent.intents.triggers import propose_actions
from agent.lang import LANGUAGES
from agent.protocol.codec import decode
from agent.protocol.inbound import ConfirmAction
from agent.server.page_bundle import join_modules
from agent.server.page_languages import make_script
from agent.server.page_routes import _ASSETS, read_module

STATIC = files("agent.server").joinpath("static")
SOURCES = {each.name: each.read_text(encoding="utf-8") for each in STATIC.iterdir()}
MODULE = re.compile(r"^import .*;\n|^export ", re.MULTILINE)

DOM = """
Object.hasOwn ??= (of, name) => Object.prototype.hasOwnProperty.call(of, name); // this engine is of 2021
Array.prototype.at ??= function (at) { return this[at < 0 ? this.length + at : at]; };
let made = 0;
let focused = null;
class Node {
  classList = { add() {} };
  addEventListener(kind, act) { (this.heard ??= {})[kind] = act; }
  happens(kind) { this.heard[kind]({ preventDefault() {} }); }
  focus() { focused = this; }
  showModal() { this.open = true; }
  close() { this.open = false; }
  querySelector(selector) {
    for (const each of this.children) {
      if (`.${each.className}` === selector) return each;
      const found = each.querySelector?.(selector);
      if (found) return found;
    }
    return null;
  }
  get firstElementChild() { return this.children[0]; }
  setAttribute(name, value) { (this.named ??= {})[name] = value; }
  constructor(tagName) { this.tagName = tagName.toUpperCase(); this.children = []; this.own = ""; made++; }
  set textContent(text) { this.own = text; }
  append(...nodes) {
    for (const each of nodes) {
      if (each instanceof Node) each.parent = this;
      this.children.push(each instanceof Node ? each : { tree: each, children: [] });
    }
  }
  get childElementCount() { return this.children.length; }
  get lastElementChild() { return this.children[this.children.length - 1]; }
  replaceChildren(...nodes) { this.children = []; this.append(...nodes); }
  before(other) { this.parent.children.splice(this.parent.children.indexOf(this), 0, other); }
  remove() { this.parent.children.splice(this.parent.children.indexOf(this), 1); }
  get tree() { return [this.tagName, this.value ?? "", this.own, ...this.children.map((each) => each.tree)]; }
}
const byIds = {};
const document = {
  querySelector: (selector) => ({ content: selector.includes("agent-name") ? "Almvik" : "" }),
  createElement: (tag) => new Node(tag),
  createElementNS: (_, tag) => new Node(tag),
  getElementById: (id) => (byIds[id] ??= new Node(id)),
  addEventListener() {},
  scrollingElement: {},
};
const navigator = { language: "en" };
const frames = [];
const clearTimeout = () => {};
const requestAnimationFrame = (draw) => frames.push(draw);
"""
HARNESS = """
function streamed(pieces, each) {
  const box = new Node("div");
  const drawing = new Drawing(box, () => {});
  for (const piece of pieces) {
    drawing.add(piece);
    if (each) while (frames.length) frames.shift()();
  }
  drawing.whole(pieces.join(""));
  while (frames.length) frames.shift()();
  return box.tree;
}
function streaming(pieces) {
  const box = new Node("div");
  const drawing = new Drawing(box, () => {});
  const words = (tree) => (Array.isArray(tree) ? tree.flatMap(words) : tree ? [tree] : []);
  return pieces.map((piece) => {
    drawing.add(piece);
    while (frames.length) frames.shift()();
    return box.children.flatMap((each) => words(each.tree)).join(" ");
  });
}
function cost(pieces) { made = 0; streamed(pieces, true); return made; }
"""
FEEDBACK = """
const { thumbs, beginFeedback, feedbackLost, feedbackFrames, feedbackFailed } = (() => {
  SOURCE
  return { thumbs, beginFeedback, feedbackLost, feedbackFrames, feedbackFailed };
})();
"""


@cache
def page(leaves_copies: bool = False) -> quickjs.Context:
    """Every module but the one that connects, in a document of a few lines.

    `leaves_copies`: the page as a server has it whose database keeps copies.
    """
    context = quickjs.Context()
    names = (
        "answer.js",
        "fields.js",
        "preview.js",
        "details.js",
        "kept.js",
        "words.js",
        "language.js",
        "source.js",
        "openers.js",
        "items.js",
        "feedback.js",
        "list.js",
    )
    sources = [make_script().decode(), *(SOURCES[name] for name in names)]
    plain = [MODULE.sub("", source) for source in sources]
    at = names.index("feedback.js") + 1
    plain[at] = FEEDBACK.replace("SOURCE", plain[at])  # it has names of its own that other modules have too
    copies = 'meta("copies") === "yes"'
    context.eval(DOM + "".join(plain).replace(copies, "true" if leaves_copies else copies) + HARNESS)
    return context


def js(call: str, *arguments: Any) -> Any:
    """Call a function of the page with JSON values and return its result as one."""
    given = ", ".join(json.dumps(each) for each in arguments)
    return json.loads(page().eval(f"JSON.stringify({call}({given}))"))


QUOTED = """\
From “Plans and prices › Plans”:
- Basic; Price per month: 149 kr; Users: 2
- Standard; Price per month: 299 kr; Users: 5

Every plan includes the app.
Ask us: we answer.

From “Discounts”:
- Students: 20 % off; seniors: 15 %
- Recommend a friend."""


def test_a_quoting_answer_is_paragraphs_tables_and_lists() -> None:
    """Rows with the same columns are a table; other items stay a list, whatever colons they hold."""
    assert js("blocks", QUOTED) == [
        {
            "kind": "table",
            "head": ["", "Price per month", "Users"],
            "rows": [["Basic", "149 kr", "2"], ["Standard", "299 kr", "5"]],
        },
        {"kind": "origin", "text": "From “Plans and prices › Plans”"},
        {"kind": "paragraph", "text": "Every plan includes the app.\nAsk us: we answer."},
        {"kind": "list", "items": ["Students: 20 % off; seniors: 15 %", "Recommend a friend."]},
        {"kind": "origin", "text": "From “Discounts”"},
    ]


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_first_statement_stands_first(code: str) -> None:
    """Behind it the line that says where it is quoted from in every language; a model may lead in as before."""
    quoting = LANGUAGES[code].quoting
    for line in (quoting.lead.format(section="A (b) › C"), quoting.bare_lead, quoting.remembered):
        assert js("blocks", f"{line}\n- It costs 5 kr.") == [
            {"kind": "paragraph", "text": "It costs 5 kr."},
            {"kind": "origin", "text": line.removesuffix(":")},
        ]
    assert js("blocks", "The prices are:\n- 5 kr")[0] == {"kind": "lead", "text": "The prices are:"}


def test_where_a_quotation_is_from_is_not_shown_before_it() -> None:
    """While an answer comes, its first line waits for the first word of the quotation; alone it is shown at the end."""
    pieces = [*re.split("(?<= )", "From “A b › C”:\n"), "- It"]
    shown = js("streaming", pieces)
    assert [words for words in shown[:-1] if words] == []
    assert shown[-1] == "P It P From “A b › C”"
    assert js("streamed", ["From “A”:"], True)[3] == ["P", "", "From “A”"]


def test_what_a_model_writes_is_drawn_too() -> None:
    """Numbered steps keep their numbers, and a table of pipes is one; pipes without a rule stay as they are."""
    assert js("blocks", "2. Plug it in.\n4) Scan.\n\n| A | B |\n| --- | --- |\n| 1 | 2 |\n\n| a | b |") == [
        {"kind": "numbers", "items": ["Plug it in.", "Scan."], "values": [2, 4]},
        {"kind": "table", "head": ["A", "B"], "rows": [["1", "2"]]},
        {"kind": "paragraph", "text": "| a | b |"},
    ]
    assert js("blocks", "- It costs 5 kr.") == [{"kind": "paragraph", "text": "It costs 5 kr."}]
    assert js("blocks", "It costs:") == [{"kind": "paragraph", "text": "It costs:"}]
    assert js("blocks", "<b>x</b>") == [{"kind": "paragraph", "text": "<b>x</b>"}]


LINES = st.sampled_from(
    [
        "From “A”:",
        "- a; B: 1; C: 2",
        "- b; B: 3; C: 4",
        "- c",
        "1. one",
        "plain 7",
        "",
        " ",
        "| a | b |",
        "|-|-|",
        "-5",
    ]
)
TEXTS = st.lists(LINES, max_size=12).map("\n".join)


def drawn_with_marks(text: str, citations: list[dict[str, Any]]) -> str:
    """Return the words of an answer as the page shows it when it has ended."""
    page().eval(
        f"var shownIn = new Node('div'); var cited = {json.dumps(citations)};"
        "new Drawing(shownIn, () => {})"
        f".whole(putMarks({json.dumps(text)}, cited), mark(cited, WORDS.en));"
    )
    return " ".join(flat(json.loads(page().eval("JSON.stringify(shownIn.tree)"))))


def cite(source: int, *spans: tuple[int, int], file: str = "kb/a.md") -> dict[str, Any]:
    """Return a citation that holds some parts of an answer."""
    return {"file": file, "snippet": f"| {source} |", "lines": [3, 3], "source": source, "spans": spans}


def test_a_part_of_an_answer_has_the_mark_of_its_source() -> None:
    """Behind it, in every kind of block, and before the last bar of a table; places are counted in code points."""
    text = "🙂 Yes:\n- a 🙂\n- b\n\n| n | m |\n|---|---|\n| 1 | 2 |"
    ends = [text.index(each) + len(each) for each in ("Yes:", "a 🙂", "b", "| 2 |")]
    cited = [
        cite(2, (0, ends[1]), (0, ends[2])),
        cite(1, (0, ends[0])),
        cite(3, (0, ends[3])),
        cite(1, (0, ends[3])),
    ]
    assert drawn_with_marks(text, cited) == (
        "DIV P 🙂 Yes: BUTTON [1] UL LI a 🙂 BUTTON [2] LI b BUTTON [2]"
        " DIV TABLE TR TH n TH m TR TH 1 TD 2  BUTTON [1] BUTTON [3]"
    )
    assert drawn_with_marks(text, [cite(1)]) == drawn_with_marks(text, [])
    page().eval("shownIn = new Node('div'); new Drawing(shownIn, () => {}).whole('a')")


def test_a_mark_opens_the_section_of_its_source() -> None:
    """It says where that is; what is remembered stands in no file, and its mark opens nothing."""
    drawn_with_marks("It is.", [cite(1, (0, 6))])
    page().eval("var pressed = shownIn.children[0].children[1]; pressed.happens('click');")
    assert page().eval("pressed.named['aria-label']") == "[1] More from this page: kb/a.md, line 3"
    assert page().eval("shown.file") == "kb/a.md"
    drawn_with_marks("It is.", [cite(1, (0, 6), file="memory/i1")])
    shows = "var revealed = 0; reveal = () => { revealed++; }; shown = null;"
    page().eval(f"{shows} shownIn.children[0].children[1].happens('click');")
    assert page().eval("JSON.stringify([shown, revealed])") == "[null,1]"


def test_a_text_that_is_written_like_a_mark_has_none() -> None:
    """The characters around a mark may stand in a document; then nothing of the text is a mark."""
    text = "It is \ue0001\ue001."
    assert js("putMarks", text, [cite(1, (0, len(text)))]) == text


def test_three_sources_are_shown_and_the_others_counted() -> None:
    """A section is one source with its lines, each once, in the order of the numbers; a table's header once."""
    cited = [
        cite(2),
        cite(1) | {"lines": [9, 9], "snippet": "| h |\n| b |"},
        cite(1) | {"snippet": "| h |\n| a |"},
    ]
    cited += [cite(5), cite(4), cite(3)]
    page().eval(f"var shownIn = sources({json.dumps(cited)}, WORDS.en)")
    heading, *shown, _, rest = [
        " ".join(flat(each)) for each in json.loads(page().eval("JSON.stringify(shownIn.tree)"))[3:]
    ]
    assert heading == "H2 Sources"
    assert [each.partition(" PRE ")[0].removeprefix("DIV DETAILS SUMMARY [") for each in shown] == [
        "1]  BDI kb/a.md, line 3, line 9",
        "2]  BDI kb/a.md, line 3",
        "3]  BDI kb/a.md, line 3",
    ]
    assert "PRE | h |\n| b |\n| a | BUTTON More from this page" in shown[0]
    assert rest.startswith("DIV DIV DETAILS SUMMARY [4]  BDI kb/a.md, line 3 PRE")
    assert "[5]" in rest


def test_the_other_sources_are_folded_under_a_button() -> None:
    """It says how many there are, and folds them again; a reader of the screen hears which of both."""
    cited = [cite(number) for number in range(1, 6)]
    page().eval(
        f"var shownIn = sources({json.dumps(cited)}, WORDS.sv); var [more, rest] = shownIn.children.slice(-2);"
    )
    state = "JSON.stringify([more.own, more.named['aria-expanded'], rest.hidden])"
    assert json.loads(page().eval(state)) == ["2 till", "false", True]
    page().eval("more.happens('click')")
    assert json.loads(page().eval(state)) == ["Färre", "true", False]
    page().eval("more.happens('click')")
    assert json.loads(page().eval(state)) == ["2 till", "false", True]


def test_an_answer_is_copied_with_its_sources() -> None:
    """As plain text: the numbers stand behind the parts, in a table too, and the list says where each is."""
    text = "It costs 5 kr. You said so."
    cited = [
        cite(1, (0, 14)) | {"heading": "Prices › Returns"},
        cite(2, (15, 27), file="memory/i1") | {"when": "2026-05-03", "by": "user"},
    ]
    copied = page().eval(f"withSources({json.dumps(text)}, {json.dumps(cited)}, WORDS.en)")
    assert copied == (
        "It costs 5 kr. [1] You said so. [2]\n\nSources:\n"
        "[1] kb/a.md, line 3 (Prices › Returns)\n[2] Said on 2026-05-03 by you\n"
    )
    table = "| n | m |\n|---|---|\n| 1 | 2 |"
    assert js("numbered", table, [cite(1, (0, len(table)))]).endswith("| 1 | 2  [1]|")


def leaves(value: Any) -> list[str]:
    """Return every word and number in what `blocks` returns, in any order."""
    if isinstance(value, dict):
        return [word for key, each in value.items() if key != "kind" for word in leaves(each)]
    if isinstance(value, list):
        return [word for each in value for word in leaves(each)]
    return re.findall(r"\w+", str(value))


@given(TEXTS)
def test_no_word_of_an_answer_is_lost_and_none_is_added(text: str) -> None:
    """Only marks go; the column that rows share is said once, in the table's head."""
    assert set(leaves(js("blocks", text))) == set(re.findall(r"\w+", text))


@given(TEXTS, st.integers(1, 9), st.booleans())
def test_a_streamed_answer_ends_as_the_whole_one(text: str, size: int, each: bool) -> None:
    """Wherever its pieces are cut, and whether it was drawn after each of them or not at all until its end."""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert js("streamed", pieces, each) == js("streamed", [text], False)


def test_streaming_a_long_answer_costs_about_what_its_parts_cost() -> None:
    """What stands before the last blank line is not drawn again with each word."""
    short, long = (js("cost", ["A few words. ", "And more.\n\n"] * many) for many in (20, 200))
    assert long < 12 * short


def test_a_result_is_words_in_both_languages() -> None:
    """No braces, no quotes, no names as programs write them; what is nested says its own, down to a bound."""
    data = {
        "ticket_id": 7,
        "orderRef": "A1",
        "ok": True,
        "phone": "070",
        "at": None,
        "to": [{"status": "new"}, "b"],
    }
    for name, expected in {
        "en": "Ticket id: 7; Order ref: A1; Ok: yes; Phone: 070; At: nothing; To: Status: new, b",
        "sv": "Ticket id: 7; Order ref: A1; Ok: ja; Telefon: 070; At: inget; To: Status: new, b",
    }.items():
        assert page().eval(f"said({json.dumps(data)}, WORDS.{name})") == expected
    deep: Any = "x"
    for _ in range(50):
        deep = {"a": deep}
    assert page().eval(f"said({json.dumps(deep)}, WORDS.en)") == "A: A: A: …"
    assert page().eval('label("constructor", WORDS.en)') == "Constructor"
    assert page().eval('outcome({recorded: true, action: "a", payload: {}}, WORDS.en).length') == 0


def test_every_field_of_a_suggestion_has_its_name() -> None:
    """In both languages; another kind of action falls back to the field's own name in words."""
    asked = propose_actions(
        "Call me on 070-174 06 05, send an SMS to 070-174 06 05: hello and open a ticket."
    )
    fields = {name for each in asked for name in each.payload}
    assert fields == {"phone", "text", "subject"}
    for name in ("en", "sv"):
        assert fields <= set(json.loads(page().eval(f"JSON.stringify(Object.keys(WORDS.{name}.field))")))


def test_a_card_asks_for_what_its_suggestion_lacks() -> None:
    """Each missing field is an input with its name as its label, as the server takes it; the confirm carries them."""
    page().eval('var lacks = inputs(["phone", "text"], WORDS.sv);')
    assert json.loads(page().eval("JSON.stringify(lacks.box.tree)"))[3:] == [
        ["LABEL", "", "", ["SPAN", "", "Telefon"], ["INPUT", "", ""]],
        ["LABEL", "", "", ["SPAN", "", "Text"], ["TEXTAREA", "", ""]],
    ]
    page().eval("var [lacksPhone, lacksText] = lacks.box.children.map((each) => each.children[1]);")
    made = json.loads(
        page().eval(
            "JSON.stringify([lacksPhone.type, lacksPhone.required, lacksPhone.maxLength, lacksText.required])"
        )
    )
    assert made == ["tel", True, FILLED_CHARACTERS, True]
    page().eval('lacksPhone.value = " 070-123 45 67"; lacksText.value = "hej";')
    frame = {"suggestionId": "s", "missing": ["phone", "text"]}
    call = f"JSON.stringify(confirmation({json.dumps(frame)}, lacks.values()))"
    assert decode(page().eval(call)) == ConfirmAction("s", {"phone": "070-123 45 67", "text": "hej"})
    call = 'JSON.stringify(confirmation({suggestionId: "s"}, inputs([], WORDS.en).values()))'
    assert decode(page().eval(call)) == ConfirmAction("s")


def test_every_field_that_can_be_missing_has_its_name() -> None:
    """In every language, so that no card asks for something by the name that programs have for it."""
    names = {name for needed in REQUIRED.values() for name in needed}
    for language in ("en", "sv"):
        assert names <= set(json.loads(page().eval(f"JSON.stringify(Object.keys(WORDS.{language}.field))")))


PART = {
    "heading": "Prices › Plans",
    "lines": [
        {"line": None, "kind": "row", "cited": True, "text": ["| Plan | Price |"]},
        {"line": 17, "kind": "row", "cited": True, "text": ["| Standard | ", "299 kr", " |"]},
        {"line": 19, "kind": "paragraph", "cited": True, "text": ["It costs ", "5 kr", "."]},
        {"line": 19, "kind": "paragraph", "cited": True, "text": ["And ", "<b>7</b>", "."]},
        {"line": 21, "kind": "paragraph", "cited": False, "text": ["<script>"]},
    ],
}


def opened(snippet: str) -> tuple[str, list[str]]:
    """Return what an opened source shows, and of it what is marked as cited."""
    page().eval(f"var shownIn = sections({{parts: [{json.dumps(PART)}]}}, {json.dumps(snippet)})[0];")
    page().eval(
        "var marked = []; (function walk(node) { if (node.named?.['aria-current']) marked.push(node.tree);"
        " node.children.forEach((each) => each.tree && walk(each)); })(shownIn)"
    )
    shown = json.loads(page().eval("JSON.stringify(shownIn.tree)"))
    return " ".join(flat(shown)), [
        " ".join(flat(each)) for each in json.loads(page().eval("JSON.stringify(marked)"))
    ]


def test_an_opened_source_marks_what_its_citation_shows() -> None:
    """Of a long line only the cited part; the numbers in it are marks; a tag stays text."""
    shown, marked = opened("| Plan | Price |\n| Standard | 299 kr |")
    assert marked == ["SPAN SPAN | Plan | Price |", "SPAN SPAN | Standard |  MARK 299 kr SPAN  |"]
    assert "H3 Prices › Plans" in shown
    assert "SPAN 19 SPAN SPAN SPAN It costs  SPAN 5 kr SPAN .   SPAN SPAN And  SPAN <b>7</b> SPAN ." in shown
    assert shown.endswith("SPAN 21 SPAN SPAN SPAN <script>")
    assert opened("And <b>7</b>.")[1] == ["SPAN SPAN And  MARK <b>7</b> SPAN ."]


def test_a_source_that_has_changed_since_marks_the_lines_all_the_same() -> None:
    """Nothing of the citation is found there, so all that was asked for is marked."""
    assert len(opened("It was 4 kr.")[1]) == 4


def test_a_source_is_asked_for_by_an_address_of_its_own() -> None:
    """Without the token, and with every character that could be read as something else escaped."""
    assert js("address", "kb/åä?#/a b%.md", [3, 5]) == "/source/kb/%C3%A5%C3%A4%3F%23/a%20b%25.md?lines=3-5"
    assert js("address", "kb/a.md", [3, 3]) == "/source/kb/a.md?lines=3"
    assert js("address", "kb/a.md", None) == "/source/kb/a.md"


def test_the_operators_name_stands_in_the_page() -> None:
    """As it was told in its head; without one the page says its own."""
    assert (page().eval("name"), page().eval("greeting")) == ("Almvik", "")


def test_what_is_kept_has_bounds() -> None:
    """The newest entries stay; a storage that refuses, or holds something else, is none."""
    page().eval(
        "var kept = {}, storage = {getItem: (k) => kept[k] ?? null, setItem: (k, v) => { kept[k] = v; },"
        " removeItem: (k) => { delete kept[k]; }};"
        "var first = new Kept(storage);"
        "for (let at = 0; at < 150; at++) first.add({kind: 'mine', text: String(at)});"
    )
    found = json.loads(page().eval("JSON.stringify(new Kept(storage).earlier())"))
    assert [each["text"] for each in found] == [str(number) for number in range(50, 150)]
    assert page().eval("first.entries.length") == 100
    page().eval("for (let at = 0; at < 30; at++) first.add({kind: 'mine', text: 'x'.repeat(10000)});")
    assert page().eval("kept.conversation.length") <= 201_000
    assert page().eval("new Kept(storage).earlier().length") == 19
    page().eval("first.clear()")
    assert page().eval("new Kept(storage).earlier().length") == 0
    for broken in ("{", "5", '{"a": 1}'):
        assert (
            page().eval(f"kept.conversation = {json.dumps(broken)}; new Kept(storage).earlier().length") == 0
        )
    page().eval("storage.setItem = () => { throw new Error('full'); }; first.add({kind: 'mine', text: 'a'});")


def test_a_reloaded_page_shows_what_was_kept() -> None:
    """What was open then went with its connection, and says so; what cannot be read is left out whole."""
    citation = {"file": "kb/a.md", "lines": [3, 3], "snippet": "It costs 5 kr."}
    entries: list[Any] = [
        {"kind": "mine", "text": "cost?"},
        {"kind": "answer", "text": "5 kr.", "ended": True, "confidence": "high", "citations": [citation]},
        {"kind": "answer", "text": "6 kr.", "ended": True, "confidence": "low", "withoutMemory": True},
        {"kind": "answer", "text": "It"},
        {"kind": "card", "action": "send_sms", "payload": {"phone": "070"}},
        {"kind": "card", "action": "send_sms", "payload": {}, "filled": {"phone": "071"}, "confirmed": True},
        {
            "kind": "card",
            "action": "a",
            "payload": {},
            "outcome": {"text": "Done.", "look": "good", "data": {"n": 1}},
        },
        {"kind": "note", "text": "The server is restarting."},
        {"kind": "of a later page"},
        None,
        {"kind": "answer"},
    ]
    page().eval(
        f"var held = {json.dumps(json.dumps(entries))};"
        "var again = new Kept({getItem: () => held, setItem() {}}); clear(); restore(again);"
    )
    items = [
        " ".join(map(str, flat(each))) for each in json.loads(page().eval("JSON.stringify(log.tree)"))[3:]
    ]
    assert items[0].endswith("cost?")
    for part in (
        "5 kr.",
        "High confidence",
        "kb/a.md, line 3",
        "It costs 5 kr.",
        "More from this page",
        "Copy",
    ):
        assert part in items[1]
    assert "P Some of what is remembered could not be read" in items[2]
    assert "confidence" not in items[2]  # it cites nothing, like a greeting
    assert "lost before this was answered" in items[3]
    assert "Send an SMS DL DT Phone DD 070 P Cancelled; nothing was done." in items[4]
    assert "DT Phone DD 071 P The connection was lost; whether this was carried out is not known" in items[5]
    assert "P Done. DL DT N DD 1" in items[6]
    assert items[7].endswith("The server is restarting.")
    assert len(items) == page().eval("again.entries.length") == 8
    page().eval("held = again.entries[1] && JSON.stringify(again.entries); clear(); restore(again);")
    assert page().eval("JSON.stringify(log.tree)").count("lost before this was answered") == 1


def flat(tree: Any) -> list[str]:
    """Return what stands in a tree of elements, without what is empty."""
    return (
        [word for each in tree for word in flat(each)] if isinstance(tree, list) else [tree] if tree else []
    )


def test_the_page_offers_every_language() -> None:
    """By what each calls itself, after the one that the browser's language chooses."""
    offered = js("(() => language.children.map((each) => [each.value, each.lang, each.own]))")
    assert offered == [["en", "en", "English"], ["sv", "sv", "Svenska"]]


@pytest.mark.parametrize(
    ("chosen", "browser", "spoken"),
    [("", "sv-SE", "sv"), ("", "en", "en"), ("", "fi", "en"), ("sv", "en", "sv"), ("xx", "sv", "en")],
)
def test_the_page_speaks_the_chosen_language_or_the_browsers(chosen: str, browser: str, spoken: str) -> None:
    """And the default where it is spoken in neither."""
    call = "((chosen, browser) => { language.value = chosen; navigator.language = browser; return code(); })"
    assert js(call, chosen, browser) == spoken
    js("(() => { language.value = ''; navigator.language = 'en'; return 0; })")


def test_nothing_of_an_answer_is_read_as_html() -> None:
    """There is no way into the page but text nodes, and nothing that was written in it runs."""
    way = re.compile(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|\beval\b|new Function|srcdoc"
    )
    assert [name for name, source in SOURCES.items() if way.search(source)] == []


def test_every_module_belongs_to_a_script_that_is_served() -> None:
    """Each script is whole for an engine, and imports nothing that a browser would have to load."""
    read: list[str] = []

    def noting(address: str) -> str:
        read.append(address.rpartition("/")[2])
        return read_module(address)

    for name in _ASSETS:
        if name.endswith(".js"):
            script = join_modules(f"/static/{name}", noting)
            assert re.findall(r"^(?:import|export)\b", script, re.MULTILINE) == []
            quickjs.Context().eval(f"function unused() {{ {script} }}")
    assert {each.name for each in STATIC.iterdir()} - {*_ASSETS} <= {*read}


MODULES = {
    "/a.js": """\
import { twice as double, Base } from "/b.js";
import { ONE } from "/c.js";
result = [double(ONE), new Base().x];
""",
    "/b.js": """\
import { ONE } from "/c.js";
export class Base { x = ONE; }
export function twice(n) { return 2 * n; }
""",
    "/c.js": """\
const hidden = 4;
export const ONE = hidden - 3; // no line follows""",
}


def test_joined_modules_run_as_one_script() -> None:
    """Each once, after those that it imports, under the names that it gives them; its own names stay its own."""
    context = quickjs.Context()
    context.eval("var result, hidden = 'outer';" + join_modules("/a.js", MODULES.__getitem__))
    assert json.loads(context.eval("JSON.stringify([result, hidden])")) == [[2, 1], "outer"]


@pytest.mark.parametrize(
    ("modules", "why"),
    [
        ({"/a.js": 'import { a } from "/a.js";\n'}, "import each other: /a.js -> /a.js"),
        ({"/a.js": 'import all from "/c.js";\n'}, "/a.js: a page's module may not have the line 'import all"),
        ({"/a.js": "let a = 1;\nexport { a };\n"}, "may not have the line 'export { a };'"),
        ({"/a.js": "export let a = 1;\n"}, "may not have the line 'export let a = 1;'"),
    ],
)
def test_a_module_of_another_form_is_refused(modules: dict[str, str], why: str) -> None:
    """When the server starts, with its name, and never joined into a script that means something else."""
    with pytest.raises(ValueError, match=re.escape(why)):
        join_modules("/a.js", (MODULES | modules).__getitem__)


@pytest.mark.parametrize(
    "part", ['<section role="log"', '<ol id="log" role="list"></ol>', '<form id="ask" data-label']
)
def test_a_screen_reader_finds_a_list_in_a_log(part: str) -> None:
    """A list that is itself the log would leave its items without one."""
    assert part in SOURCES["index.html"]
