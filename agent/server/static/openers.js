// What stands on the page before anything was asked: the operator's logo, name and greeting, that there is no language
// model, and questions to begin with.

import { element } from "/static/answer.js";
import { code } from "/static/language.js";

const AGAIN = 3000; // ms until questions that are not known yet are asked about again
const list = document.getElementById("openers");
const meta = (name) => document.querySelector(`meta[name="agent-${name}"]`)?.content || "";

let asked = 0;

export const name = meta("name");
export const greeting = meta("greeting");
export const quotes = meta("quotes") === "yes";
export const stories = meta("stories") === "yes";
export const remembers = meta("memory") === "yes";
export const copies = meta("copies") === "yes"; // what is forgotten stays in others' copies for a while

const logo = meta("logo");
if (logo) {
  const image = element("img");
  image.id = "logo";
  image.alt = ""; // the name stands beside it
  image.src = logo;
  document.querySelector("h1").before(image);
}

// Offer questions; `ask` is called with the one that the person picks. A page without them works as well.
export async function offer(ask) {
  const number = ++asked;
  const token = sessionStorage.getItem("token");
  let found = [];
  try {
    const answer = await fetch(`/openers.json?lang=${code()}`, { headers: token ? { authorization: `Bearer ${token}` } : {} });
    if (answer.headers.get("retry-after")) setTimeout(() => number === asked && offer(ask), AGAIN);
    if (answer.ok) found = await answer.json();
  } catch {
    // the connection says so, where it is lost
  }
  if (number !== asked) return;
  list.replaceChildren();
  for (const text of found) {
    const item = element("li");
    const button = element("button", "", text);
    button.type = "button";
    button.addEventListener("click", () => ask(text));
    item.append(button);
    list.append(item);
  }
}
