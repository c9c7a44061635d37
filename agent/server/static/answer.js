// An answer's text as elements: paragraphs, lists and tables. Text nodes only: nothing of it is ever read as HTML.
//
// A blank line ends every block, so what stands before the last one is drawn once and stays; only the rest is drawn
// again while the answer streams in, at most once a frame.

import { LANGUAGES } from "/static/languages.js";

const ITEM = /^\s*[-*•]\s+(.*)$/;
const NUMBERED = /^\s*(\d{1,3})[.)]\s+(.*)$/;
const PIPED = /^\s*\|(.*)\|\s*$/;
const RULE = /^[\s|:-]*-[\s|:-]*$/; // the line under a table's header
const PAIR = /^([^:]+): (.*)$/;
const MARK = /\uE000(\d+)\uE001/; // the number of a source, between characters that no text is written with
const RESERVED = /[\uE000\uE001]/;
const LINES = Object.values(LANGUAGES).flatMap(({ origins }) => origins); // that say where what follows is quoted from
const ORIGINS = LINES.map(pattern);
const STARTS = LINES.map((line) => line.split("{section}")[0]);
const MOST_ORIGIN = 200; // characters of such a line that is waited for

// The pattern of a line with {section} in it.
function pattern(line) {
  return new RegExp(`^${line.replace(/[\\^$.*+?()[\]|]/g, "\\$&").replace("{section}", ".+")}$`);
}

export function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// An element with words that a person, a model or a document wrote, in the direction of their script.
export function written(tag, className, text) {
  const made = element(tag, className, text);
  made.dir = "auto";
  return made;
}

// Returns the citations of each section, the sections in the order of their numbers. A citation without a number, kept
// by an earlier page, is a section of its own.
export function grouped(citations) {
  const found = new Map();
  citations.forEach((each, at) => {
    const number = each.source ?? citations.length + at;
    found.set(number, [...(found.get(number) || []), each]);
  });
  return [...found].sort(([one], [other]) => one - other).map(([, each]) => each);
}

// Returns a text with a MARK behind each part that a source holds; in a table's line before its last bar. Places on the
// wire count code points, and those of a string here UTF-16 units.
export function putMarks(text, citations) {
  if (RESERVED.test(text)) return text;
  const behind = new Map(); // place -> numbers
  grouped(citations).forEach((cited, at) => {
    for (const [, end] of cited.flatMap((each) => each.spans || [])) {
      behind.set(end, (behind.get(end) || new Set()).add(at + 1));
    }
  });
  if (!behind.size) return text;
  const points = [...text];
  const parts = [];
  let from = 0;
  for (const end of [...behind.keys()].sort((one, other) => one - other)) {
    const at = points[end - 1] === "|" ? end - 1 : end;
    parts.push(...points.slice(from, at), ...[...behind.get(end)].map((number) => `\uE000${number}\uE001`));
    from = at;
  }
  return parts.join("") + points.slice(from).join("");
}

const unmarked = (text) => text.replace(new RegExp(MARK, "g"), "");

// Returns a text with the numbers of its sources behind its parts, as plain text: "It costs 5 kr. [1]".
export function numbered(text, citations) {
  return putMarks(text, citations).replace(new RegExp(MARK, "g"), " [$1]");
}

// Returns the blocks of a text, in order: {kind: "lead" | "origin" | "paragraph", text}, {kind: "list", items},
// {kind: "numbers", items, values} or {kind: "table", head, rows}. A list of one item is a paragraph. The first statement comes first: the line that names
// the section of what is quoted, the origin, stands behind it.
export function blocks(text) {
  return text.split(/\n[ \t]*\n/).flatMap((part) => {
    const [first = "", ...rest] = part.split("\n").filter((line) => line.trim());
    if (!ORIGINS.some((each) => each.test(first))) return runs(first ? [first, ...rest] : rest);
    const [quoted, ...others] = runs(rest);
    const origin = { kind: "origin", text: first.replace(/:$/, "") };
    return quoted ? [quoted, origin, ...others] : [origin];
  });
}

// Whether what has come of a part may be an origin alone, which is not shown before a word of the quotation.
function mayBeOrigin(line) {
  return line.length < MOST_ORIGIN && !line.includes("\n") && STARTS.some((start) => start.startsWith(line) || line.startsWith(start));
}

// Lines of one kind that follow each other, as blocks. The first line of several that ends in a colon leads them in.
function runs(lines) {
  const found = [];
  for (const line of lines) {
    const kind = kindOf(line);
    const last = found.at(-1);
    if (last && last.kind === kind && !last.leads) last.lines.push(line);
    else found.push({ kind, lines: [line], leads: !last && kind === "paragraph" && unmarked(line).trim().endsWith(":") });
  }
  return found.map((run) => block(run, found.length > 1));
}

function kindOf(line) {
  if (ITEM.test(line)) return "list";
  if (NUMBERED.test(line)) return "numbers";
  return PIPED.test(line) ? "table" : "paragraph";
}

function block({ kind, lines, leads }, others) {
  if (kind === "list" && lines.length === 1) return { kind: "paragraph", text: ITEM.exec(lines[0])[1] };
  if (kind === "list") return table(lines.map((line) => ITEM.exec(line)[1]));
  if (kind === "table") return piped(lines);
  if (kind === "paragraph") return { kind: leads && others ? "lead" : kind, text: lines.join("\n") };
  const found = lines.map((line) => NUMBERED.exec(line));
  return { kind, items: found.map((each) => each[2]), values: found.map((each) => Number(each[1])) };
}

// Items that are rows with the same columns ("Basic; Price: 149 kr; Users: 2") are a table; others stay a list.
function table(items) {
  const rows = items.map((item) => {
    const [name, ...rest] = item.split("; ");
    return { name, cells: rest.map((each) => PAIR.exec(each)) };
  });
  const columns = ({ cells }) => (cells.length && cells.every(Boolean) ? cells.map((cell) => cell[1]).join("\n") : "");
  const alike = items.length > 1 && columns(rows[0]) && rows.every((row) => columns(row) === columns(rows[0]));
  if (!alike) return { kind: "list", items };
  const head = ["", ...rows[0].cells.map((cell) => cell[1])];
  return { kind: "table", head, rows: rows.map(({ name, cells }) => [name, ...cells.map((cell) => cell[2])]) };
}

function piped(lines) {
  const rows = lines.map((line) => PIPED.exec(line)[1].split("|").map((cell) => cell.trim()));
  if (lines.length < 3 || !RULE.test(lines[1])) return { kind: "paragraph", text: lines.join("\n") };
  return { kind: "table", head: rows[0], rows: rows.slice(2) };
}

// An element with a text in it, whose marks become what mark(number) makes of them.
function withMarks(tag, className, text, mark) {
  if (!MARK.test(text)) return written(tag, className, text);
  const made = written(tag, className);
  text.split(MARK).forEach((part, at) => {
    if (at % 2) made.append(mark(Number(part)));
    else if (part) made.append(part);
  });
  return made;
}

const draw = {
  lead: ({ text }, mark) => withMarks("p", "lead", text, mark),
  origin: ({ text }) => written("p", "origin", text),
  paragraph: ({ text }, mark) => withMarks("p", "", text, mark),
  list({ items }, mark) {
    const list = element("ul");
    list.append(...items.map((item) => withMarks("li", "", item, mark)));
    return list;
  },
  numbers({ items, values }, mark) {
    const list = element("ol");
    list.append(...items.map((item) => withMarks("li", "", item, mark)));
    [...list.children].forEach((each, at) => (each.value = values[at])); // as the answer counts, never anew
    return list;
  },
  table({ head, rows }, mark) {
    const box = element("div", "wide");
    const made = element("table");
    const body = rows.map((row) => line(row, (at) => (at ? "td" : "th"), "row", mark));
    made.append(line(head, () => "th", "col", mark), ...body);
    box.tabIndex = 0; // a table wider than the page is scrolled with the keys
    box.append(made);
    return box;
  },
};

function line(cells, tag, scope, mark) {
  const row = element("tr");
  cells.forEach((cell, at) => {
    const made = withMarks(cell ? tag(at) : "td", "", cell, mark);
    if (made.tagName === "TH") made.scope = scope;
    row.append(made);
  });
  return row;
}

// The text of one answer in its box, while it comes and afterwards. drawn: called after each time that it was drawn.
export class Drawing {
  constructor(box, drawn) {
    this.box = box;
    this.drawn = drawn;
    this.restart("");
  }

  restart(text) {
    this.text = text;
    this.fixed = 0; // characters whose elements stay
    this.tail = []; // the elements of the others
    this.box.replaceChildren();
  }

  add(delta) {
    this.text += delta;
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.redraw();
    });
  }

  // mark: makes the element of a source's number, where the text has any.
  whole(text, mark) {
    this.mark = mark;
    this.ended = true;
    if (text !== this.text) this.restart(text);
    this.redraw();
  }

  redraw() {
    for (const each of this.tail) each.remove();
    const end = this.text.lastIndexOf("\n\n");
    if (end > this.fixed) {
      this.put(this.text.slice(this.fixed, end));
      this.fixed = end;
    }
    const rest = this.text.slice(this.fixed);
    this.tail = this.ended || !mayBeOrigin(rest.trim()) ? this.put(rest) : [];
    this.drawn();
  }

  put(text) {
    const made = blocks(text).map((each) => draw[each.kind](each, this.mark));
    this.box.append(...made);
    return made;
  }
}
