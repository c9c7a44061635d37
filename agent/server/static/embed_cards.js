// A suggestion in the bubble: confirmed with what it lacks, declined, or expired; and its outcome.

import { element, written } from "/static/answer.js";
import { confirmation, inputs, outcome, pairs } from "/static/fields.js";

export class Card {
  // words: of the language. chat: takes the decision (embed_chat.js). again(): asks for it anew; undefined where its
  // question is not known. left(): is called when the focus in the card has nowhere to stay.
  constructor(frame, words, chat, { again, left, seconds }) {
    Object.assign(this, { frame, words, chat, again, left });
    this.item = element("li", "card");
    this.item.append(...head(frame, words));
    this.form = element("form");
    this.problem = element("p", "remark");
    this.problem.setAttribute("role", "alert");
    this.clock = element("span", "left");
    this.fields = inputs(frame.missing || [], words);
    const buttons = element("div", "buttons");
    this.yes = element("button", "confirm", words.confirm);
    this.no = element("button", "", words.decline);
    this.no.type = "button"; // the other one submits
    buttons.append(this.yes, this.no, this.clock);
    this.asked = frame.missing?.length ? [this.fields.box, this.problem, buttons] : [this.problem, buttons];
    this.form.append(...this.asked);
    this.item.append(this.form);
    // The two clocks may disagree; what is left can never be more than the whole time, nor already over on arrival.
    const remaining = frame.expiresAt === undefined ? NaN : frame.expiresAt - Date.now();
    this.expiresAt = Date.now() + (remaining > 0 && remaining <= seconds * 1000 ? remaining : seconds * 1000);
    this.filled = {};
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.confirm();
    });
    this.no.addEventListener("click", () => {
      for (const each of [this.yes, this.no]) each.disabled = true;
      chat.reject(frame.suggestionId);
      left();
    });
    this.tick();
  }

  confirm() {
    this.filled = this.frame.missing?.length ? this.fields.values() : {};
    this.form.replaceChildren(pairs(this.filled, this.words), element("span", "left", this.words.waiting));
    this.chat.confirm(this.frame.suggestionId, confirmation(this.frame, this.filled));
    this.left();
  }

  // Nothing was run, and it can still be confirmed: show what was filled in, and why that does not do.
  retry(why) {
    this.form.replaceChildren(...this.asked);
    this.problem.textContent = why;
    this.form.querySelector("input, textarea, button").focus();
  }

  tick() {
    const seconds = Math.max(0, Math.ceil((this.expiresAt - Date.now()) / 1000));
    this.clock.textContent = this.words.left(seconds);
  }

  // A frame `action_executed`: a result, or that it was too late.
  executed({ result }) {
    const { words } = this;
    const kind = ["expired", "cancelled", "unknown"].find((key) => result[key]) || (result.success ? "done" : "failed");
    const noted = kind === "done" && result.data?.recorded === true;
    this.end(noted ? words.recorded : words.result[kind], kind === "done" ? "good" : "bad", result);
    if (kind === "expired") this.offer();
  }

  // A frame `action_closed`: nothing was done.
  closed({ reason }) {
    this.end(this.words.closed[reason] || reason, "quiet");
    if (reason === "expired") this.offer();
  }

  end(text, look, { error, data } = {}) {
    const typed = this.fields.values();
    const filled = Object.values(this.filled).some(Boolean) ? this.filled : typed;
    this.form.replaceWith(...(Object.values(filled).some(Boolean) ? [pairs(filled, this.words)] : []));
    this.item.classList.add("ended");
    this.item.append(element("p", `outcome ${look}`, text));
    if (error) this.item.append(element("p", "detail", error));
    if (data && !isToRemember(this.frame)) this.item.append(...outcome(data, this.words));
  }

  offer() {
    if (!this.again) return;
    const button = element("button", "again", this.words.askAgain);
    button.type = "button";
    button.addEventListener("click", () => {
      button.remove();
      this.left();
      this.again();
    });
    this.item.append(button);
  }
}

// The card of a call that an answer has made by itself: there is nothing to confirm.
export function ranCard(frame, words) {
  const card = Object.assign(Object.create(Card.prototype), { frame, words, filled: {}, fields: inputs([], words) });
  card.item = element("li", "card");
  card.form = element("form");
  card.item.append(...head(frame, words), card.form);
  card.executed(frame);
  return card;
}

const isToRemember = ({ action, payload }) => action === "remember" && typeof payload?.text === "string";

function head(frame, words) {
  const { action, payload = {} } = frame;
  if (isToRemember(frame)) return [element("h3", "", words.memory.ask), written("p", "text", payload.text)];
  return [element("h3", "", words.action[action] || action), pairs(payload, words)];
}
