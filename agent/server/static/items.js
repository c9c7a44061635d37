// How something looks that is, was or may be remembered: its text, until when it counts, where it comes from, and what
// can be done about it. What a person does is told to `act(frame, item)`, where frame is what is sent of it.

import { element, written } from "/static/answer.js";
import { copies } from "/static/openers.js";

export const MOST_TEXT = 500; // characters of an item, as the server takes them
const LIVE = ["accepted", "active", "blocked"];

export const isLive = (item) => LIVE.includes(item.status);

// A time as the day that it is on, as citations tell theirs.
export function day(at) {
  return new Date(at).toISOString().slice(0, 10);
}

function button(word, item, pressed) {
  const made = element("button", "", word);
  made.type = "button";
  if (item) made.setAttribute("aria-label", `${word}: ${item.text}`); // begins with what is seen
  made.addEventListener("click", pressed);
  return made;
}

// What is remembered now and what would stand in its place, side by side.
export function versus(text, replaces, words) {
  const box = element("div", "versus");
  const now = element("div");
  now.append(element("h4", "", words.memory.now), ...replaces.map((each) => written("p", "", each.text)));
  const instead = element("div");
  instead.append(element("h4", "", words.memory.instead), written("p", "", text));
  box.append(now, instead);
  return box;
}

// What kind of thing it is, from when and until when it counts, and how it stands where that is no matter of course.
export function standing(item, words) {
  const ends = [item.validTo, item.expiresAt].filter((each) => each !== undefined);
  const parts = [words.memory.type[item.type]];
  if (item.status !== "accepted" && item.status !== "proposed") parts.push(words.memory.status[item.status]);
  parts.push(words.memory.since(day(item.validFrom)));
  if (ends.length) parts.push(words.memory.until(day(Math.min(...ends))));
  return parts.join(" · ");
}

function origin(source, words) {
  const place = source.lines ? `${source.ref}, ${words.lines(...source.lines)}` : source.ref;
  const told = source.kind === "message" ? words.memory.message : `${words.memory[source.kind]} ${place}`;
  return source.quote ? `${told}: ${source.quote}` : told;
}

export function happened(change, words) {
  const by = change.by ? ` (${change.by === "user" ? words.memory.you : words.memory.rule})` : "";
  return `${day(change.at)}: ${words.memory.status[change.after]}${by}`;
}

function listed(texts) {
  const list = element("ul");
  list.append(...texts.map((text) => written("li", "", text)));
  return list;
}

function unfolded(title, ...within) {
  const box = element("details");
  box.append(element("summary", "", title), ...within);
  return box;
}

// The history is asked for when somebody opens it; `told(changes)` shows it.
function history(item, words, act) {
  const box = element("div");
  const made = unfolded(words.memory.history, box);
  made.addEventListener("toggle", () => {
    if (!made.open || box.childElementCount) return;
    act({ type: "memory_list", item: item.id }, item, (found) => {
      box.replaceChildren();
      box.append(listed(found.map((each) => happened(each, words))));
    });
  });
  return made;
}

// A form in place of the buttons, with the text to be put right.
function correcting(item, words, act, back) {
  const form = element("form", "correct");
  const row = element("label");
  const text = written("textarea");
  Object.assign(text, { value: item.text, maxLength: MOST_TEXT, required: true, rows: 3 });
  row.append(element("span", "", words.memory.correct), text);
  const buttons = element("div", "buttons");
  buttons.append(element("button", "confirm", words.memory.save), button(words.memory.leave, null, back));
  form.append(row, buttons);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const changed = text.value.trim();
    if (!changed || changed === item.text) back();
    else act({ type: "memory_edit", item: item.id, text: changed, revision: item.revision }, item);
  });
  return { box: form, first: text };
}

// Forgetting is for good, so it is asked once more.
function forgetting(item, words, act, back) {
  const box = element("div", "sure");
  const asked = element("p", "", copies ? `${words.memory.sure} ${words.memory.copies}` : words.memory.sure);
  asked.setAttribute("role", "alert");
  const buttons = element("div", "buttons");
  const leave = button(words.memory.leave, null, back);
  const forget = button(words.memory.forget, item, () => act({ type: "memory_forget", item: item.id }, item));
  buttons.append(forget, leave);
  box.append(asked, buttons);
  return { box, first: leave };
}

function decided(item, decision) {
  const frame = { type: "memory_decide", item: item.id, decision, revision: item.revision };
  return decision === "accept" ? { ...frame, replaces: (item.replaces || []).map((each) => each.item) } : frame;
}

// What can be done about an item, as buttons: what the server says may be decided as it stands. A form or a question takes their place while it is open.
function choices(item, words, act) {
  const place = element("div");
  const buttons = element("div", "buttons");
  const decide = (word, decision) => button(word, item, () => act(decided(item, decision), item));
  const opens = (word, make) => {
    const opener = button(word, item, () => {
      const made = make(item, words, act, () => {
        place.replaceChildren(buttons);
        opener.focus();
      });
      place.replaceChildren(made.box);
      made.first.focus();
    });
    return opener;
  };
  for (const decision of item.decisions || []) buttons.append(decide(words.memory.decide[decision], decision));
  if (item.status === "proposed") buttons.firstElementChild?.classList.add("confirm");
  if (isLive(item) || item.status === "proposed") buttons.append(opens(words.memory.correct, correcting));
  buttons.append(opens(words.memory.forget, forgetting));
  place.append(buttons);
  return place;
}

export function itemView(item, words, act) {
  const made = element("li", "item");
  made.tabIndex = -1; // takes the focus when what was pressed in it is gone
  made.append(item.replaces?.length ? versus(item.text, item.replaces, words) : written("p", "text", item.text));
  made.append(element("p", "detail", standing(item, words)));
  if (item.sources?.length) made.append(unfolded(words.sources, listed(item.sources.map((each) => origin(each, words)))));
  made.append(history(item, words, act), choices(item, words, act));
  return made;
}
