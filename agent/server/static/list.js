// The list of messages: how each entry looks, when it is made and when an earlier page has kept it.
//
// An entry is {kind: "mine" | "note", text}, {kind: "answer", text, ended, blocked, confidence, withoutMemory, citations,
// remark} or
// {kind: "card", action, payload, filled, confirmed, outcome: {text, look, error, data}}.

import { Drawing, element, putMarks } from "/static/answer.js";
import { copyButton, mark, outcome, pairs, sources } from "/static/details.js";
import { versus } from "/static/items.js";
import { words } from "/static/language.js";

const log = document.getElementById("log");
const hint = document.getElementById("hint");
let following = true; // until the person scrolls up

const drawn = new WeakMap(); // entry -> its element

function add(item, entry) {
  drawn.set(entry, item);
  hint.hidden = true;
  log.append(item);
  follow();
  return item;
}

export function follow() {
  const scroller = document.scrollingElement;
  if (following) scroller.scrollTop = scroller.scrollHeight;
}

document.addEventListener("scroll", () => {
  const scroller = document.scrollingElement;
  following = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
});

export function followAgain() {
  following = true;
}

export function clear() {
  log.replaceChildren();
  hint.hidden = false;
}

// Take an entry off the list, for good.
export function takeAway(entry) {
  drawn.get(entry)?.remove();
  hint.hidden = log.childElementCount > 0;
}

export const show = {
  note: (entry) => add(element("li", "note problem", entry.text), entry),

  mine: (entry) => add(element("li", "mine", entry.text), entry),

  answer(entry) {
    const body = element("div", "text");
    const item = element("li", "answer");
    item.append(body);
    add(item, entry);
    return { item, entry, drawing: new Drawing(body, follow) };
  },

  card(entry) {
    const item = element("li", "card");
    if (isToRemember(entry)) item.append(element("h2", "", words().memory.ask), toRemember(entry.payload));
    else item.append(element("h2", "", words().action[entry.action] || entry.action), pairs({ ...entry.payload, ...entry.filled }, words()));
    return add(item, entry);
  },
};

// Whether a card asks for something to be remembered, which needs neither the names of its fields nor ids.
export function isToRemember({ action, payload }) {
  return action === "remember" && typeof payload.text === "string";
}

function toRemember({ text, replaces }) {
  return replaces?.length ? versus(text, replaces, words()) : element("p", "text", text);
}

// What stands below an answer's text, once it is known how it ended.
export function finish({ item, entry, drawing }) {
  const cited = entry.citations || [];
  drawing.whole(putMarks(entry.text, cited), mark(cited, words()));
  item.classList.add("ended");
  if (entry.blocked) {
    item.classList.add("blocked");
    item.append(element("p", "remark", words().blocked[entry.blocked.code] || entry.blocked.message));
  } else if (entry.confidence && entry.citations?.length) {
    // A greeting, a note and an action cite nothing: there is nothing to be sure of.
    item.append(element("p", "confidence", words().confidence[entry.confidence]));
  }
  if (entry.withoutMemory) item.append(element("p", "remark", words().unread));
  if (entry.citations?.length) item.append(sources(entry.citations, words()));
  if (entry.remark) item.append(element("p", "remark", entry.remark));
  if (entry.text && !entry.blocked) item.append(copyButton(entry.text, words()));
}

// What stands on a card once it is known how it ended.
export function settle(item, { text, look, error, data }) {
  item.classList.add("ended");
  item.append(element("p", `outcome ${look}`, text));
  if (error) item.append(element("p", "detail", error));
  if (data) item.append(...outcome(data, words()));
}

// Show what an earlier page has kept; what was open there went with its connection.
export function restore(kept) {
  for (const entry of kept.earlier()) {
    const before = log.childElementCount;
    try {
      const shown = show[entry.kind](entry);
      if (entry.kind === "answer" && !entry.ended) Object.assign(entry, { ended: true, remark: words().interrupted });
      if (entry.kind === "answer") finish(shown);
      if (entry.kind === "card") settle(shown, (entry.outcome ||= gone(entry.confirmed)));
      kept.entries.push(entry);
    } catch {
      if (log.childElementCount > before) log.lastElementChild.remove(); // kept by another page, in a form of its own
    }
  }
}

function gone(confirmed) {
  return confirmed ? { text: words().lost, look: "bad" } : { text: words().closed.cancelled, look: "quiet" };
}
