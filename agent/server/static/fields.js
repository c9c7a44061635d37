// Sources, and the fields of suggestions and results, in words. They depend on no page: the bubble shows them too.

import { element, written } from "/static/answer.js";

const DEEPEST = 4; // levels of a result that are shown
const MOST_FILLED = 2000; // characters of a field, as the server takes them

// The heading of a section and the words of it that are cited, a table's header once.
export function quotation(cited) {
  const [first] = cited;
  const lines = [...new Set(cited.flatMap((each) => each.snippet.split("\n")))].join("\n");
  const heading = first.heading && !isMemory(first) ? [written("p", "heading", first.heading)] : [];
  return [...heading, written("pre", "", lines)];
}

export const isMemory = ({ file }) => file.startsWith("memory/");

// Where a source stands: its file and lines, or of what is remembered the day that it is of, and who said it.
export function placeOf(cited, words) {
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
    list.append(element("dt", "", label(name, words)), written("dd", "", said(value, words)));
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
    Object.assign(input, { name, required: true, maxLength: MOST_FILLED, dir: "auto" });
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
