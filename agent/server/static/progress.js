// What a slow answer is doing, in its place while it has no words, with a button that stops it.

import { element } from "/static/answer.js";
import { words } from "/static/language.js";

// step: one of the server's. stop(): ends this answer.
export function showProgress({ bubble }, step, stop) {
  let line = bubble.querySelector(".progress");
  if (!line) {
    line = element("p", "progress");
    const button = element("button", "again", words().stop);
    button.type = "button";
    button.addEventListener("click", stop);
    line.append(element("span"), button);
    bubble.append(line);
  }
  line.firstElementChild.textContent = words().step[step] || words().state.buffering;
  document.getElementById("said").textContent = line.firstElementChild.textContent;
}

export function endProgress({ bubble }) {
  bubble.querySelector(".progress")?.remove();
}
