// The list of messages: how each entry looks, when it is made and when an earlier page has kept it.
//
// An entry is {kind: "mine" | "note", text}, {kind: "answer", text, ended, blocked, confidence, withoutMemory, citations,
// remark, feedback} or
// {kind: "card", action, payload, filled, confirmed, outcome: {text, look, error, data}}.

import { Drawing, element, putMarks, written } from "/static/answer.js";
import { copyButton, mark, sources, withSources } from "/static/details.js";
import { thumbs } from "/static/feedback.js";
import { outcome, pairs } from "/static/fields.js";
import { versus } from "/static/items.js";
import { words } from "/static/language.js";
import { reworded } from "/static/words.js";

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
  note: (entry) => add(written("li", "note problem", entry.text), entry),

  mine: (entry) => add(written("li", "mine", entry.text), entry),

  // On wide screens the sources stand beside the bubble.
  answer(entry) {
    const body = element("div", "text");
    const bubble = element("div", "bubble");
    bubble.append(body);
    const item = element("li", "answer");
    item.append(bubble);
    add(item, entry);
    return { item, bubble, entry, drawing: new Drawing(body, follow) };
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
  return replaces?.length ? versus(text, replaces, words()) : written("p", "text", text);
}

// What stands below an answer's text, and beside it, once it is known how it ended. message: its message in this
// session.
export function finish({ item, bubble, entry, drawing, message }) {
  const cited = entry.citations || [];
  drawing.whole(putMarks(entry.text, cited), mark(cited, words()));
  item.classList.add("ended");
  if (entry.blocked) {
    item.classList.add("blocked");
    bubble.append(element("p", "remark", words().blocked[entry.blocked.code] || entry.blocked.message));
  } else if (entry.confidence && cited.length) {
    // A greeting, a note and an action cite nothing: there is nothing to be sure of.
    bubble.append(element("p", "confidence", words().confidence[entry.confidence]));
  }
  if (entry.withoutMemory) bubble.append(element("p", "remark", words().unread));
  if (entry.remark) bubble.append(element("p", "remark", entry.remark));
  if (cited.length) item.append(sources(cited, words()));
  if (entry.text && !entry.blocked) {
    const copies = element("div", "buttons");
    copies.append(copyButton(entry.text, words()));
    if (cited.length) copies.append(copyButton(withSources(entry.text, cited, words()), words(), words().copyCited));
    bubble.append(copies);
  }
  const rating = thumbs(entry, message);
  if (rating) bubble.append(rating);
}

// What stands on a card once it is known how it ended.
export function settle(item, { text, look, error, data }) {
  item.classList.add("ended");
  item.append(element("p", `outcome ${look}`, text));
  if (error) item.append(written("p", "detail", reworded(error, words().reasons)));
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
