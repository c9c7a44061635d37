// Which of the server's languages the page speaks: the chosen one, or else the browser's, or else the default.

import { element } from "/static/answer.js";
import { DEFAULT, LANGUAGES } from "/static/languages.js";
import { WORDS } from "/static/words.js";

export const language = document.getElementById("language");

for (const [code, { name }] of Object.entries(LANGUAGES)) {
  language.append(Object.assign(element("option", "", name), { value: code, lang: code }));
}

export function code() {
  const wanted = language.value || navigator.language.slice(0, 2);
  return Object.hasOwn(WORDS, wanted) ? wanted : DEFAULT;
}

export function words() {
  return WORDS[code()];
}
