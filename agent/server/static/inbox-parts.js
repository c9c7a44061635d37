// Elements, and requests to the server. Whatever comes over the wire is put into the page as text.

import { readJson, writeJson } from "/static/inbox-json.js";

export const byId = (id) => document.getElementById(id);

export function make(tag, props, ...children) {
  const made = document.createElement(tag);
  const { data, aria, ...rest } = props || {};
  Object.assign(made, rest);
  for (const [name, value] of Object.entries(data || {})) made.dataset[name] = value;
  for (const [name, value] of Object.entries(aria || {})) made.setAttribute(name, value);
  made.append(...children.filter((each) => each !== null && each !== undefined));
  return made;
}

// Change a text only where it is another one: a list of hundreds of rows is drawn again with each event.
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function say(text) {
  byId("said").textContent = text;
}

let token = sessionStorage.getItem("inbox-token");

export function setToken(text) {
  token = text;
  if (text === null) sessionStorage.removeItem("inbox-token");
  else sessionStorage.setItem("inbox-token", text);
}

export function hasToken() {
  return token !== null;
}

// Whether a key can be sent in a header at all.
export function isSendable(text) {
  return /^[\x21-\x7e]+$/.test(text);
}

export function headers(more) {
  return { ...(token === null ? {} : { "X-AGENT-KEY": token }), ...more };
}

export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

// Returns { status, value } of a request; status 0 where no answer came.
export async function request(method, path, body, more) {
  const json = body === undefined ? {} : { "Content-Type": "application/json" };
  try {
    const answer = await fetch(path, { method, headers: headers({ ...json, ...more }), body: body && writeJson(body), cache: "no-store" });
    const text = await answer.text();
    return { status: answer.status, value: text ? readJson(text) : null, text };
  } catch {
    return { status: 0, value: null, text: "" };
  }
}
