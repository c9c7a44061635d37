// Suggestions on their cards: confirmed with what they lack, declined, expired, and asked again.
//
// While its user types into a card, its clock is stopped here, but not in the server. A card that is confirmed after it
// expired there is asked again with the message that had led to it. The new suggestion is confirmed by itself where it is
// the same action with the same payload; else it is shown with what was typed.

import { element } from "/static/answer.js";
import { confirmation, inputs, pairs } from "/static/fields.js";
import { words } from "/static/language.js";
import { follow, isToRemember, settle, show } from "/static/list.js";
import { refresh } from "/static/memory.js";

const MOST_MESSAGES = 100; // whose texts are at hand to be asked again

const cards = new Map(); // suggestion id -> what is shown of it
const messages = new Map(); // message id -> its text
const renewals = new Map(); // message id -> the expired suggestion that it asks for again, and what was filled in
let confirmSeconds = 120;
let send, ask, kept;

// sender(frame); asker(text): asks and returns the message's id, or undefined where nothing can be sent now.
export function beginCards(seconds, sender, asker, keeper) {
  confirmSeconds = seconds;
  [send, ask, kept] = [sender, asker, keeper];
}

export function noteMessage(id, text) {
  messages.set(id, text);
  if (messages.size > MOST_MESSAGES) messages.delete(messages.keys().next().value);
}

// Whether a card is in one of these states: "live", "confirmed", "lapsed" (expired while its user types) or "ended".
export function anyCard(...states) {
  return [...cards.values()].some((card) => states.includes(card.status));
}

export function clearCards() {
  cards.clear();
}

export const cardFrames = {
  action_suggestion(frame) {
    cards.set(frame.suggestionId, makeCard(frame));
  },

  action_executed(frame) {
    const card = cards.get(frame.suggestionId) || (frame.action && ranCard(frame));
    if (!card) return;
    const result = frame.result;
    const kind = ["ignored", "expired", "cancelled", "unknown"].find((key) => result[key]) || (result.success ? "done" : "failed");
    if (kind === "ignored" && card.status !== "live") return; // the first confirm's own result is what counts
    if (kind === "expired" && card.status === "confirmed" && renew(card)) return;
    const noted = kind === "done" && result.data?.recorded === true;
    endCard(card, noted ? words().recorded : words().result[kind], kind === "done" ? "good" : "bad", result);
  },

  action_closed(frame) {
    const card = cards.get(frame.suggestionId);
    if (!card) return;
    if (frame.reason !== "expired") endCard(card, words().closed[frame.reason], "quiet");
    else if (card.status === "confirmed") return; // too late; the answer to the confirm says so
    else if (card.typed && card.text) card.status = "lapsed";
    else endExpired(card);
  },
};

// Show an error about a card; returns whether it was about one.
export function cardFailed(frame, text) {
  const card = cards.get(frame.suggestionId);
  if (!card) return false;
  if (card.status === "confirmed" && frame.code === "bad_message") card.again(words().unfilled);
  else endCard(card, text, "bad");
  return true;
}

export function cardsLost() {
  for (const card of cards.values()) {
    if (card.status === "live" || card.status === "lapsed") endCard(card, words().closed.cancelled, "quiet");
    if (card.status === "confirmed") endCard(card, words().lost, "bad"); // it may have begun, and goes on without us
  }
  cards.clear();
  renewals.clear();
}

export function tickCards() {
  for (const card of cards.values()) if (card.status === "live") tick(card);
}

function makeCard(frame) {
  const entry = kept.add({ kind: "card", action: frame.action, payload: frame.payload });
  const item = show.card(entry);
  const form = element("form");
  const { box, values, fill } = inputs(frame.missing || [], words());
  const problem = element("p", "remark");
  const buttons = element("div", "buttons");
  const confirm = element("button", "confirm", words().confirm);
  const decline = element("button", "", words().decline);
  const left = element("span", "left");
  decline.type = "button"; // the other one submits
  problem.setAttribute("role", "alert");
  buttons.append(confirm, decline, left);
  const asked = frame.missing?.length ? [box, problem, buttons] : [buttons];
  form.append(...asked);
  item.append(form);
  // The two clocks may disagree; what is left can never be more than the whole time, nor already over on arrival.
  const remaining = frame.expiresAt === undefined ? NaN : frame.expiresAt - Date.now();
  const believable = remaining > 0 && remaining <= confirmSeconds * 1000;
  const expiresAt = Date.now() + (believable ? remaining : confirmSeconds * 1000);
  const card = { item, entry, form, left, expiresAt, frame, status: "live", typed: false, text: messages.get(frame.id) };
  const approve = () => {
    const filled = frame.missing?.length ? values() : {};
    if (card.status === "lapsed") {
      renew(card, filled);
      return;
    }
    card.status = "confirmed";
    Object.assign(entry, { confirmed: true, filled });
    kept.save();
    form.replaceChildren(pairs(filled, words()), element("span", "left", words().waiting));
    send(confirmation(frame, filled));
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    approve();
    document.getElementById("question").focus();
  });
  form.addEventListener("input", () => {
    card.typed = true;
    tick(card);
  });
  card.again = (why) => {
    card.status = "live"; // nothing was run, and the suggestion can still be confirmed
    Object.assign(entry, { confirmed: false, filled: undefined });
    kept.save();
    form.replaceChildren(...asked);
    problem.textContent = why;
    form.querySelector("input, textarea")?.focus();
  };
  decline.addEventListener("click", () => {
    if (card.status === "lapsed") endExpired(card);
    else send({ type: "reject_action", suggestionId: frame.suggestionId });
    document.getElementById("question").focus();
  });
  const renewal = renewals.get(frame.id);
  if (renewal?.frame.action === frame.action) {
    renewals.delete(frame.id);
    fill(renewal.filled);
    if (proposal(renewal.frame) === proposal(frame)) approve();
    else card.typed = Object.keys(renewal.filled).length > 0;
  }
  tick(card);
  follow();
  return card;
}

// What an approval is of: nothing else is confirmed by it.
const proposal = ({ action, payload, missing = [] }) => JSON.stringify([action, payload, missing]);

// What an answer called by itself: there is nothing to confirm.
function ranCard(frame) {
  const entry = kept.add({ kind: "card", action: frame.action, payload: frame.payload, confirmed: true });
  const item = show.card(entry);
  const form = element("form");
  item.append(form);
  return { item, entry, form, status: "confirmed" };
}

function tick(card) {
  const seconds = Math.max(0, Math.ceil((card.expiresAt - Date.now()) / 1000));
  card.left.textContent = card.typed ? "" : words().left(seconds);
  if (seconds === 0 && !card.typed) for (const each of card.form.elements) each.disabled = true;
}

// Ask again for what was confirmed too late; returns whether that could be done.
function renew(card, filled = card.entry.filled) {
  const before = card.status;
  card.status = "ended"; // so that it does not count as running while the message is sent
  const id = card.text && ask(card.text);
  if (!id) {
    card.status = before;
    return false;
  }
  renewals.set(id, { frame: card.frame, filled: filled || {} });
  Object.assign(card.entry, { confirmed: false, filled: undefined });
  endCard(card, words().closed.expired, "quiet");
  return true;
}

function endExpired(card) {
  endCard(card, words().closed.expired, "quiet");
  if (!card.text) return;
  const again = element("button", "again", words().askAgain);
  again.type = "button";
  again.addEventListener("click", () => ask(card.text) && again.remove());
  card.item.append(again);
}

function endCard(card, text, look, { error, data } = {}) {
  card.status = "ended";
  if (card.entry.filled) card.form.replaceWith(pairs(card.entry.filled, words()));
  else card.form.remove();
  card.entry.outcome = { text, look, error, data: isToRemember(card.entry) ? undefined : data }; // it is shown already
  if (isToRemember(card.entry)) refresh();
  settle(card.item, card.entry.outcome);
  kept.save();
  follow();
  document.getElementById("said").textContent = text;
}
