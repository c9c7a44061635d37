// The dialog in which a reader writes about a story: its foundation, a chapter, a member of the cast, a scene's words.

import { byId, focusOn, make, texts } from "/static/story-parts.js";

const dialog = byId("form");
let shown = 0; // forms so far
let store = null;
let from = null; // the key of the element that opened the form

function inputOf(name, { value = "", rows, most = 200, options, required = false }) {
  const input = options
    ? make("select", { name }, ...options.map(([each, textContent]) => make("option", { value: each, textContent })))
    : make(rows ? "textarea" : "input", { name, dir: "auto", maxLength: most, autocomplete: "off", required, ...(rows ? { rows } : {}) });
  input.value = value;
  return input;
}

function sayOf(textContent, className = "") {
  Object.assign(byId("form-told"), { textContent, className });
}

// Show a form. `fields`, by name: the `label`, and whatever differs from an empty line of 200 characters. `save` is given
// the values by name; where it throws, the form stays as it is, with the reason.
export function showForm(title, button, fields, save) {
  shown += 1;
  store = save;
  from = document.activeElement?.dataset.key;
  byId("form-title").textContent = title;
  byId("form-save").textContent = button;
  sayOf("");
  byId("inputs").replaceChildren(...Object.entries(fields).map(([name, field]) => make("label", null, make("span", { textContent: field.label }), inputOf(name, field))));
  dialog.showModal();
}

byId("fields").addEventListener("submit", async (event) => {
  event.preventDefault();
  const mine = shown;
  const values = [...new FormData(event.target)].map(([name, value]) => [name, value.trim()]);
  if (!store) return; // it is being stored
  const save = store;
  store = null;
  sayOf(texts().saving);
  try {
    await save(Object.fromEntries(values));
    if (mine === shown) dialog.close();
  } catch (error) {
    if (mine !== shown) return;
    store = save;
    sayOf(error.message, "fault");
  }
});
byId("form-shut").addEventListener("click", () => dialog.close());

// The element that opened the form may have been drawn anew.
dialog.addEventListener("close", () => {
  if (from) focusOn(from);
  else byId("text").focus({ preventScroll: true });
});
