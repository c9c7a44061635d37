// Elements, words, and requests to the server. Whatever comes over the wire is put into the page as text.

import { DEFAULT, LANGUAGES } from "/static/story-languages.js";

export const byId = (id) => document.getElementById(id);

export function make(tag, props, ...children) {
  const made = document.createElement(tag);
  const { data, aria, on, ...rest } = props || {};
  Object.assign(made, rest);
  for (const [name, value] of Object.entries(data || {})) made.dataset[name] = value;
  for (const [name, value] of Object.entries(aria || {})) made.setAttribute(`aria-${name}`, value);
  if (on) made.addEventListener("click", on);
  made.append(...children.filter((each) => each !== null && each !== undefined));
  return made;
}

// Put the focus on the element with a key, if there is one.
export function focusOn(key) {
  [...document.querySelectorAll("[data-key]")].find((each) => each.dataset.key === key)?.focus();
}

// Put children into an element; one with the key of an element that had the focus gets it.
export function redraw(parent, ...children) {
  const key = parent.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  parent.replaceChildren(...children.filter((each) => each));
  if (key) focusOn(key);
}

const language = byId("language");
for (const [code, { name }] of Object.entries(LANGUAGES)) {
  for (const select of [language, byId("new-lang")]) select.append(make("option", { value: code, lang: code, textContent: name }));
}
language.value = localStorage.getItem("language") || "";

export function code() {
  const wanted = language.value || navigator.language.slice(0, 2);
  return Object.hasOwn(LANGUAGES, wanted) ? wanted : DEFAULT;
}

export const texts = () => LANGUAGES[code()].words;

// A text with its places filled in.
export const fill = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

export function speak() {
  document.documentElement.lang = code();
  for (const each of document.querySelectorAll("[data-text]")) each.textContent = texts()[each.dataset.text];
  for (const each of document.querySelectorAll("[data-placeholder]")) each.placeholder = texts()[each.dataset.placeholder];
  for (const each of document.querySelectorAll("[data-aria]")) each.setAttribute("aria-label", texts()[each.dataset.aria]);
}

export function say(text) {
  byId("said").textContent = text;
}

let token = sessionStorage.getItem("story-token");

export const shownToken = () => token;

export function setToken(text) {
  token = text;
  sessionStorage.setItem("story-token", text);
}

// Ask for a token, and return once there is one.
function unlock() {
  const dialog = byId("locked");
  if (!dialog.open) {
    byId("locked-why").textContent = token === null ? "" : texts().wrongToken;
    byId("token").value = "";
    dialog.showModal();
  }
  return new Promise((done) => dialog.addEventListener("close", () => done(), { once: true }));
}

// What a problem is, and what to do, in the page's language.
function explain({ code: kind, detail }, path) {
  const part = kind === "conflict" && Object.keys(texts().conflicts).find((each) => path.includes(`/${each}`));
  return part ? texts().conflicts[part] : texts().errors[kind] || detail;
}

// Return the value of a request's answer; throw an Error with words for the reader where there is none.
export async function call(method, path, body) {
  const headers = { ...(token === null ? {} : { Authorization: `Bearer ${token}` }), ...(body === undefined ? {} : { "Content-Type": "application/json" }) };
  let answer;
  try {
    answer = await fetch(`/stories${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  } catch {
    throw new Error(texts().state.offline);
  }
  if (answer.status === 401) {
    await unlock();
    return call(method, path, body);
  }
  const value = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw new Error(explain(value, path));
  return value;
}
