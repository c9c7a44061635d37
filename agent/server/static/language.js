// Which of the two languages the page speaks: the chosen one, or else the browser's.

import { WORDS } from "/static/words.js";

export const language = document.getElementById("language");

export function spoken() {
  return language.value || (navigator.language.startsWith("sv") ? "sv" : "en");
}

export function words() {
  return WORDS[spoken()];
}
