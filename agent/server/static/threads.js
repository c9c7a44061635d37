// How the list of conversations looks: a row for each, with what can be done about it, and what a search has found.
// What a person does is told to `act(kind, thread, title)`, where kind is "open", "rename" or "delete".

import { element, written } from "/static/answer.js";
import { copies } from "/static/openers.js";

export const MOST_TITLE = 120; // characters, as the server takes them
const MOST_FOUND = 160; // characters of an excerpt that are shown

function button(word, title, pressed) {
  const made = element("button", "", word);
  made.type = "button";
  if (title) made.setAttribute("aria-label", `${word}: ${title}`); // begins with what is seen
  made.addEventListener("click", pressed);
  return made;
}

// A time as its day, or on the same day as its hour.
function when(at, lang) {
  const then = new Date(at);
  const today = then.toDateString() === new Date().toDateString();
  return today
    ? then.toLocaleTimeString(lang, { hour: "2-digit", minute: "2-digit" })
    : then.toLocaleDateString(lang, { day: "numeric", month: "short", year: "numeric" });
}

// Something in place of a row's buttons, which Escape takes away again without stopping an answer.
function inPlace(tag, className, back) {
  const made = element(tag, className);
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    back();
  });
  return made;
}

function renaming(thread, words, act, back) {
  const form = inPlace("form", "rename", back);
  const row = element("label");
  const input = element("input");
  Object.assign(input, { value: thread.title, maxLength: MOST_TITLE, dir: "auto" });
  row.append(element("span", "unseen", words.threads.title), input);
  const buttons = element("div", "buttons");
  buttons.append(element("button", "confirm", words.threads.save), button(words.threads.leave, "", back));
  form.append(row, buttons);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    act("rename", thread, input.value);
  });
  return { box: form, first: input };
}

// Deleting is for good, so it is asked once more.
function deleting(thread, words, act, back) {
  const box = inPlace("div", "sure", back);
  const asked = element("p", "", copies ? `${words.threads.sure} ${words.memory.copies}` : words.threads.sure);
  asked.setAttribute("role", "alert");
  const buttons = element("div", "buttons");
  const leave = button(words.threads.leave, "", back);
  buttons.append(button(words.threads.remove, thread.title, () => act("delete", thread)), leave);
  box.append(asked, buttons);
  return { box, first: leave };
}

function choosing(thread, words, act, back, put) {
  const box = inPlace("div", "buttons", back);
  const rename = button(words.threads.rename, thread.title, () => put(renaming(thread, words, act, back)));
  box.append(rename, button(words.threads.remove, thread.title, () => put(deleting(thread, words, act, back))));
  return { box, first: rename };
}

export function threadView(thread, words, lang, isOpen, act) {
  const title = thread.title || words.threads.untitled;
  const item = element("li", "thread");
  const open = element("button", "title");
  open.type = "button";
  open.append(written("span", "", title), element("span", "detail", when(thread.at, lang)));
  if (isOpen) open.setAttribute("aria-current", "true");
  open.addEventListener("click", () => act("open", thread));
  const place = element("div", "place");
  const more = button("⋯", "", () => (place.childElementCount ? back() : put(choosing(thread, words, act, back, put))));
  more.setAttribute("aria-label", `${words.threads.choices}: ${title}`);
  more.setAttribute("aria-expanded", "false");
  const put = ({ box, first }) => {
    place.replaceChildren(box);
    more.setAttribute("aria-expanded", "true");
    first.focus();
  };
  const back = () => {
    place.replaceChildren();
    more.setAttribute("aria-expanded", "false");
    more.focus();
  };
  const row = element("div", "row");
  row.append(open, more);
  item.append(row, place);
  return item;
}

export function foundView(excerpt, title, words, lang, act) {
  const item = element("li", "thread");
  const open = element("button", "title");
  const text = excerpt.text.length > MOST_FOUND ? `${excerpt.text.slice(0, MOST_FOUND)}…` : excerpt.text;
  open.type = "button";
  open.append(written("span", "", title || words.threads.untitled), written("span", "detail", text));
  open.append(element("span", "detail", when(excerpt.at, lang)));
  open.addEventListener("click", () => act("open", { thread: excerpt.thread }));
  item.append(open);
  return item;
}
