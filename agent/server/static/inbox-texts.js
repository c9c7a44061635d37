// The words of the approvers' page in the chosen language, or else the browser's, or else the default one.

import { DEFAULT, LANGUAGES } from "/static/inbox-languages.js";

const chosen = document.getElementById("language");

for (const [code, { name }] of Object.entries(LANGUAGES)) {
  const option = document.createElement("option");
  Object.assign(option, { value: code, lang: code, textContent: name });
  chosen.append(option);
}
chosen.value = localStorage.getItem("language") || "";

export function code() {
  const wanted = chosen.value || navigator.language.slice(0, 2);
  return Object.hasOwn(LANGUAGES, wanted) ? wanted : DEFAULT;
}

export function texts() {
  return LANGUAGES[code()].words;
}

// A text with its places filled in.
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// The word for a name of the wire, or else the name itself.
export function named(group, name) {
  return Object.hasOwn(group, name) ? group[name] : name;
}

export function showTime(time) {
  return new Date(time).toLocaleString(code(), { dateStyle: "short", timeStyle: "medium" });
}

export function showLeft(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds <= 0) return texts().over;
  const steps = [["days", 86400], ["hours", 3600], ["minutes", 60], ["seconds", 1]];
  const [unit, size] = steps.find(([, most]) => seconds >= most);
  return fill(texts()[unit], { count: Math.floor(seconds / size) });
}

export function decidedBy(decision) {
  return decision.approver || decision.user_id || texts().aProgram;
}
