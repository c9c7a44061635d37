// What stands below an answer or on a card: sources, fields in words, and the copy button.

import { element } from "/static/answer.js";
import { openSource } from "/static/source.js";

const DEEPEST = 4; // levels of a result that are shown
const MOST_FILLED = 2000; // characters of a field, as the server takes them
const COPIED = 2000; // ms that a button says so

export function sources(citations, words) {
  const box = element("div", "sources");
  box.append(element("h2", "", words.sources));
  for (const each of citations) {
    if (each.file.startsWith("memory/")) {
      box.append(fromMemory(each, words));
      continue;
    }
    const one = element("details");
    const place = each.lines ? `${each.file}, ${words.lines(...each.lines)}` : each.file;
    const shown = each.heading ? `${each.heading}\n\n${each.snippet}` : each.snippet;
    one.append(element("summary", "", place), element("pre", "", shown));
    const open = element("button", "open", words.open);
    open.type = "button";
    open.setAttribute("aria-label", words.openIt(place)); // begins with what is seen
    open.addEventListener("click", () => openSource(each));
    const row = element("div", "cite");
    row.append(one, open);
    box.append(row);
  }
  return box;
}

// What is remembered stands in no file: its text, the day that it is of, and who said it.
function fromMemory({ snippet, when = "", by }, words) {
  const who = { user: words.memory.you, assistant: words.memory.agent }[by] || by;
  const one = element("details");
  one.append(element("summary", "", by ? words.memory.said(when, who) : words.memory.cited(when)), element("pre", "", snippet));
  return one;
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
