// What stands below an answer: its sources, and the copy button.

import { element, grouped, numbered, written } from "/static/answer.js";
import { isMemory, placeOf, quotation } from "/static/fields.js";
import { preview } from "/static/preview.js";
import { openSource } from "/static/source.js";

const SHOWN = 3; // sources of an answer that are shown at once
const BESIDE = "(min-width: 1100px)"; // where they stand beside the answer, with their words; as in style.css
const COPIED = 2000; // ms that a button says so

// The sources of an answer, one for each section: the first SHOWN, and the others behind a button that counts them.
export function sources(citations, words) {
  const box = element("div", "sources");
  box.append(element("h2", "", words.sources));
  const unfolded = globalThis.matchMedia?.(BESIDE).matches === true;
  const rows = grouped(citations).map((cited, at) => sourceRow(cited, at + 1, words, unfolded));
  box.append(...rows.slice(0, SHOWN));
  if (rows.length > SHOWN) {
    const rest = element("div", "rest");
    rest.hidden = true;
    rest.append(...rows.slice(SHOWN));
    const button = element("button", "more");
    button.type = "button";
    const turn = () => {
      button.textContent = rest.hidden ? words.moreSources(rows.length - SHOWN) : words.fewerSources;
      button.setAttribute("aria-expanded", String(!rest.hidden));
    };
    button.addEventListener("click", () => {
      rest.hidden = !rest.hidden;
      turn();
    });
    turn();
    box.append(button, rest);
  }
  return box;
}

function sourceRow(cited, number, words, unfolded) {
  const [first] = cited;
  const one = element("details");
  one.open = unfolded;
  const place = placeOf(cited, words);
  const title = element("summary", "", `[${number}] `);
  title.append(written("bdi", "", place));
  one.append(title, ...quotation(cited));
  const row = element("div", "cite");
  row.append(one);
  if (isMemory(first)) return row;
  const open = element("button", "open", words.open);
  open.type = "button";
  open.setAttribute("aria-label", words.openIt(place)); // begins with what is seen
  open.addEventListener("click", () => openSource(first));
  row.append(open);
  return row;
}

// The mark of a source behind a part of an answer: a button that opens the section of the part. Its source shows while
// the mark is pointed at or has the focus.
export function mark(citations, words) {
  const found = grouped(citations);
  return (number) => {
    const cited = found[number - 1];
    const place = placeOf(cited, words);
    const made = element("button", "mark", `[${number}]`);
    made.type = "button";
    const opens = !isMemory(cited[0]);
    made.setAttribute("aria-label", `[${number}] ${opens ? words.openIt(place) : place}`);
    preview(made, () => [written("p", "place", place), ...quotation(cited)], opens ? () => openSource(cited[0]) : undefined);
    return made;
  };
}

// An answer as plain text: with the numbers of its sources, and the list of these.
export function withSources(text, citations, words) {
  const list = grouped(citations).map((cited, at) => {
    const { heading } = cited[0];
    return `[${at + 1}] ${placeOf(cited, words)}${heading && !isMemory(cited[0]) ? ` (${heading})` : ""}`;
  });
  return `${numbered(text, citations)}\n\n${words.sources}:\n${list.join("\n")}\n`;
}

// A button that copies a text. word: what stands on it.
export function copyButton(text, words, word = words.copy) {
  const button = element("button", "copy", word);
  button.type = "button";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text); // absent where the page is not from this machine or https
      button.textContent = words.copied;
    } catch {
      button.textContent = words.notCopied;
    }
    setTimeout(() => (button.textContent = word), COPIED);
  });
  return button;
}
