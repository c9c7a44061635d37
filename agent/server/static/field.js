// The question's field: its height, its limit in words, and what was typed, kept for a reload of the page.

import { words } from "/static/language.js";
import { follow } from "/static/list.js";

const TALLEST = 160; // px
const DRAFT = "draft";
const field = document.getElementById("question");
const told = document.getElementById("told");
let most = 8000; // characters; the server says how many

// Say why nothing was done, until the person types again.
export function tell(text) {
  told.textContent = text;
}

export function limitText(characters) {
  most = characters;
  field.maxLength = characters;
}

// The room that is left for `more` characters in place of what is selected; below 0 there is none.
export function roomFor(more) {
  return most - field.value.length + (field.selectionEnd - field.selectionStart) - more;
}

function refuse(event, length) {
  event.preventDefault(); // what stands in the field stays as it is
  tell(words().tooLong(most, most - roomFor(length)));
}

export function grow() {
  field.style.height = "auto";
  field.style.height = `${Math.min(field.scrollHeight, TALLEST)}px`;
  follow();
}

// A browser would cut a longer text without a word.
for (const [kind, data] of [["paste", "clipboardData"], ["drop", "dataTransfer"]]) {
  field.addEventListener(kind, (event) => {
    const { length } = event[data]?.getData("text/plain") ?? "";
    if (length && roomFor(length) < 0) refuse(event, length);
  });
}

field.addEventListener("beforeinput", (event) => {
  const typed = event.data ?? "";
  if (event.inputType.startsWith("insert") && typed && roomFor(typed.length) < 0) refuse(event, typed.length);
});

field.addEventListener("input", () => {
  tell("");
  grow();
});

export function clearField() {
  field.value = "";
  tell("");
  grow();
}

export function keepDraft(text) {
  try {
    sessionStorage.setItem(DRAFT, text);
  } catch {
    // a browser that keeps nothing for us
  }
}

addEventListener("pagehide", () => keepDraft(field.value));

try {
  field.value ||= sessionStorage.getItem(DRAFT) || "";
} catch {
  // as above
}
