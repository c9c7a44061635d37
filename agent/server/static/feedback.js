// Thumbs below an answer, with a word about it. The server is told the message and the verdict only: it knows itself
// what it answered. A verdict is shown as given once the server has stored it, and is kept with the entry for a reload;
// an answer from before the reload belongs to another session, so there it is shown and cannot be changed.

import { element } from "/static/answer.js";
import { words } from "/static/language.js";

const MOST = 1000; // characters of the words, as the server takes them
const THUMB = "M7 22V11l5-9c1.7 0 2.6 1.2 2.3 2.8L13.5 9H20c1.3 0 2.2 1.2 1.9 2.5l-2 8.5c-.2 1.2-1.2 2-2.4 2H7zM2 11h3v11H2z";
const VERDICTS = ["up", "down"];

let send = null; // while a connection to a server is open that stores feedback
let save = () => {};
let asked = 0;
const waiting = new Map(); // label -> the rating that waits for its answer

// Begin on a new connection. on: the server stores feedback. sending: sends a frame. saving: saves the entries.
export function beginFeedback(on, sending, saving) {
  send = on ? sending : null;
  save = saving;
}

// The connection is gone: what waits may be stored or not, and can be sent again.
export function feedbackLost() {
  send = null;
  for (const rating of waiting.values()) rating.failed(words().feedback.lost);
  waiting.clear();
}

export const feedbackFrames = {
  feedback_stored(frame) {
    waiting.get(frame.id)?.stored(frame);
    waiting.delete(frame.id);
  },
};

// Whether an error is about a verdict; text: its words.
export function feedbackFailed(frame, text) {
  const rating = waiting.get(frame.id);
  if (!rating) return false;
  waiting.delete(frame.id);
  rating.failed(text);
  return true;
}

// The thumbs of an answer that has ended; nothing where it is none, or nothing is stored. message: its message, where
// the server knows it.
export function thumbs(entry, message) {
  if (!entry.text || !(entry.confidence || entry.blocked)) return null;
  if (message && send) return new Rating(entry, message).box;
  return entry.feedback ? given(entry.feedback) : null;
}

// A verdict that was stored in an earlier session.
function given(feedback) {
  const box = element("div", "rating");
  box.append(element("p", "remark", inWords(feedback)));
  return box;
}

const inWords = ({ verdict, text }) => (text ? `${words().feedback[verdict]}: ${text}` : words().feedback[verdict]);

class Rating {
  constructor(entry, message) {
    this.entry = entry;
    this.message = message;
    this.box = element("div", "rating");
    this.box.setAttribute("role", "group");
    this.box.setAttribute("aria-label", words().feedback.about);
    this.buttons = Object.fromEntries(VERDICTS.map((verdict) => [verdict, this.thumb(verdict)]));
    this.said = element("p", "remark");
    this.said.setAttribute("role", "status");
    this.box.append(...Object.values(this.buttons), this.said);
    this.form = null;
    this.press(entry.feedback?.verdict);
    if (entry.feedback) this.said.textContent = inWords(entry.feedback);
  }

  thumb(verdict) {
    const button = element("button", `thumb ${verdict}`);
    button.type = "button";
    button.title = words().feedback[verdict];
    button.setAttribute("aria-label", words().feedback[verdict]);
    button.append(icon());
    button.addEventListener("click", () => this.give(verdict));
    return button;
  }

  press(verdict) {
    for (const each of VERDICTS) this.buttons[each].setAttribute("aria-pressed", String(each === verdict));
  }

  // Send a verdict, with the words that are typed.
  give(verdict) {
    this.ask(verdict);
    const text = this.input.value.trim();
    if (!send) {
      this.failed(words().feedback.lost);
      return;
    }
    const id = `feedback-${++asked}`;
    waiting.set(id, this);
    const frame = { type: "feedback", message: this.message, verdict, id };
    if (text) frame.text = text;
    this.press(verdict);
    this.said.textContent = words().feedback.sending;
    send(frame);
  }

  // Offer a field for a word, once.
  ask(verdict) {
    if (!this.form) {
      this.form = element("form", "word");
      this.input = Object.assign(element("textarea"), { rows: 2, maxLength: MOST });
      this.label = element("span");
      const row = element("label");
      row.append(this.label, this.input);
      const button = element("button", "", words().feedback.add);
      button.type = "submit";
      this.form.append(row, button);
      this.form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.give(this.verdict);
      });
      this.said.before(this.form);
    }
    this.verdict = verdict;
    this.label.textContent = words().feedback[verdict === "up" ? "good" : "bad"];
  }

  stored({ verdict, text }) {
    this.entry.feedback = text ? { verdict, text } : { verdict };
    save();
    this.press(verdict);
    this.said.textContent = text ? words().feedback.worded : words().feedback.stored;
  }

  // What is typed stays, and so does the verdict that was stored before.
  failed(text) {
    this.press(this.entry.feedback?.verdict);
    this.said.textContent = text;
  }
}

function icon() {
  const made = (name, attributes) => {
    const one = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    return one;
  };
  const svg = made("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" });
  svg.append(made("path", { d: THUMB }));
  return svg;
}
