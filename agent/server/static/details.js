// What stands below an answer or on a card: sources, fields in words, and the copy button.

import { element, grouped } from "/static/answer.js";
import { openSource } from "/static/source.js";

const SHOWN = 3; // sources of an answer that are shown at once
const DEEPEST = 4; // levels of a result that are shown
const MOST_FILLED = 2000; // characters of a field, as the server takes them
const COPIED = 2000; // ms that a button says so

// The sources of an answer, one for each section: the first SHOWN, and the others behind a line that counts them.
export function sources(citations, words) {
  const box = element("div", "sources");
  box.append(element("h2", "", words.sources));
  const rows = grouped(citations).map((cited, at) => sourceRow(cited, at + 1, words));
  box.append(...rows.slice(0, SHOWN));
  if (rows.length > SHOWN) {
    const rest = element("details", "rest");
    rest.append(element("summary", "", words.moreSources(rows.length - SHOWN)), ...rows.slice(SHOWN));
    box.append(rest);
  }
  return box;
}

function sourceRow(cited, number, words) {
  const [first] = cited;
  const one = element("details");
  const place = placeOf(cited, words);
  const lines = [...new Set(cited.flatMap((each) => each.snippet.split("\n")))].join("\n"); // a table's header once
  const shown = first.heading && !isMemory(first) ? `${first.heading}\n\n${lines}` : lines;
  one.append(element("summary", "", `[${number}] ${place}`), element("pre", "", shown));
  if (isMemory(first)) return one;
  const open = element("button", "open", words.open);
  open.type = "button";
  open.setAttribute("aria-label", words.openIt(place)); // begins with what is seen
  open.addEventListener("click", () => openSource(first));
  const row = element("div", "cite");
  row.append(one, open);
  return row;
}

// The mark of a source behind a part of an answer: a button that opens the section of the part.
export function mark(citations, words) {
  const found = grouped(citations);
  return (number) => {
    const cited = found[number - 1];
    if (isMemory(cited[0])) return element("span", "mark", `[${number}]`);
    const made = element("button", "mark", `[${number}]`);
    made.type = "button";
    made.setAttribute("aria-label", `[${number}] ${words.openIt(placeOf(cited, words))}`);
    made.addEventListener("click", () => openSource(cited[0]));
    return made;
  };
}

const isMemory = ({ file }) => file.startsWith("memory/");

// Where a source stands: its file and lines, or of what is remembered the day that it is of, and who said it.
function placeOf(cited, words) {
  const { file, when = "", by } = cited[0];
  if (isMemory(cited[0])) {
    const who = { user: words.memory.you, assistant: words.memory.agent }[by] || by;
    return by ? words.memory.said(when, who) : words.memory.cited(when);
  }
  const lines = cited.flatMap((each) => (each.lines ? [each.lines] : [])).sort(([one], [other]) => one - other);
  return [file, ...new Set(lines.map((each) => words.lines(...each)))].join(", ");
}

// A field's name in words: the language's own, or else the name as words ("order_id", "orderId": "Order id").
export function label(name, words) {
  if (Object.hasOwn(words.field, name)) return words.field[name];
  const spaced = name.replace(/[_-]+/g, " ").replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2").trim().toLowerCase();
  return spaced ? spaced[0].toUpperCase() + spaced.slice(1) : name;
}

// A value in words; a list or an object within it says its own, down to DEEPEST.
export function said(value, words, depth = 1) {
  if (value === null || value === undefined || value === "") return words.none;
  if (typeof value === "boolean") return value ? words.yes : words.no;
  if (typeof value !== "object") return String(value);
  if (depth >= DEEPEST) return "…";
  const parts = Array.isArray(value)
    ? value.map((each) => said(each, words, depth + 1))
    : Object.entries(value).map(([name, each]) => `${label(name, words)}: ${said(each, words, depth + 1)}`);
  return parts.length ? parts.join(Array.isArray(value) ? ", " : "; ") : words.none;
}

export function pairs(data, words) {
  const list = element("dl");
  for (const [name, value] of Object.entries(data)) {
    list.append(element("dt", "", label(name, words)), element("dd", "", said(value, words)));
  }
  return list;
}

// A labelled input for each field that a suggestion lacks; values() is what they hold, by the names of fields, and fill() sets them.
export function inputs(missing, words) {
  const box = element("div", "missing");
  const made = missing.map((name) => {
    const input = element(name === "phone" ? "input" : "textarea");
    if (name === "phone") Object.assign(input, { type: "tel", autocomplete: "tel" });
    else input.rows = 2;
    Object.assign(input, { name, required: true, maxLength: MOST_FILLED });
    const row = element("label");
    row.append(element("span", "", label(name, words)), input);
    box.append(row);
    return input;
  });
  return {
    box,
    values: () => Object.fromEntries(made.map((input) => [input.name, input.value.trim()])),
    fill: (given) => made.forEach((input) => (input.value = given[input.name] || "")),
  };
}

// The frame that confirms a suggestion, with what was filled in where it lacks something.
export function confirmation({ suggestionId, missing = [] }, values) {
  const frame = { type: "confirm_action", suggestionId };
  return missing.length ? { ...frame, payload: values } : frame;
}

// What an action returned. One that was only recorded returns its own payload, which the card shows already.
export function outcome(data, words) {
  return data.recorded === true || !Object.keys(data).length ? [] : [pairs(data, words)];
}

export function copyButton(text, words) {
  const button = element("button", "copy", words.copy);
  button.type = "button";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text); // absent where the page is not from this machine or https
      button.textContent = words.copied;
    } catch {
      button.textContent = words.notCopied;
    }
    setTimeout(() => (button.textContent = words.copy), COPIED);
  });
  return button;
}
