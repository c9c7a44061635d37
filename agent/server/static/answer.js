// An answer's text as elements: paragraphs, lists and tables. Text nodes only: nothing of it is ever read as HTML.
//
// A blank line ends every block, so what stands before the last one is drawn once and stays; only the rest is drawn
// again while the answer streams in, at most once a frame.

const ITEM = /^\s*[-*•]\s+(.*)$/;
const NUMBERED = /^\s*(\d{1,3})[.)]\s+(.*)$/;
const PIPED = /^\s*\|(.*)\|\s*$/;
const RULE = /^[\s|:-]*-[\s|:-]*$/; // the line under a table's header
const PAIR = /^([^:]+): (.*)$/;

export function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// Returns the blocks of a text, in order: {kind: "lead" | "paragraph", text}, {kind: "list", items},
// {kind: "numbers", items, values} or {kind: "table", head, rows}.
export function blocks(text) {
  return text.split(/\n[ \t]*\n/).flatMap((part) => runs(part.split("\n").filter((line) => line.trim())));
}

// Lines of one kind that follow each other, as blocks. The first line of several that ends in a colon leads them in.
function runs(lines) {
  const found = [];
  for (const line of lines) {
    const kind = kindOf(line);
    const last = found.at(-1);
    if (last && last.kind === kind && !last.leads) last.lines.push(line);
    else found.push({ kind, lines: [line], leads: !last && kind === "paragraph" && line.trim().endsWith(":") });
  }
  return found.map((run) => block(run, found.length > 1));
}

function kindOf(line) {
  if (ITEM.test(line)) return "list";
  if (NUMBERED.test(line)) return "numbers";
  return PIPED.test(line) ? "table" : "paragraph";
}

function block({ kind, lines, leads }, others) {
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

const draw = {
  lead: ({ text }) => element("p", "lead", text),
  paragraph: ({ text }) => element("p", "", text),
  list({ items }) {
    const list = element("ul");
    list.append(...items.map((item) => element("li", "", item)));
    return list;
  },
  numbers({ items, values }) {
    const list = element("ol");
    list.append(...items.map((item) => element("li", "", item)));
    [...list.children].forEach((each, at) => (each.value = values[at])); // as the answer counts, never anew
    return list;
  },
  table({ head, rows }) {
    const box = element("div", "wide");
    const made = element("table");
    made.append(line(head, () => "th", "col"), ...rows.map((row) => line(row, (at) => (at ? "td" : "th"), "row")));
    box.tabIndex = 0; // a table wider than the page is scrolled with the keys
    box.append(made);
    return box;
  },
};

function line(cells, tag, scope) {
  const row = element("tr");
  cells.forEach((cell, at) => {
    const made = element(cell ? tag(at) : "td", "", cell);
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

  whole(text) {
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
    this.tail = this.put(this.text.slice(this.fixed));
    this.drawn();
  }

  put(text) {
    const made = blocks(text).map((each) => draw[each.kind](each));
    this.box.append(...made);
    return made;
  }
}
