// The chat page: one connection (/agent.js), one list of messages (list.js). The session's state is derived from the
// frames that pass, never asked for. Whatever comes over the wire is put into the page as text.

import { Connection, UNAUTHORISED, UNSPOKEN, retryDelay } from "/agent.js";
import { anyCard, beginCards, cardFailed, cardFrames, cardsLost, clearCards, noteMessage, tickCards } from "/static/cards.js";
import { Kept } from "/static/kept.js";
import { code, language, words } from "/static/language.js";
import { clear, finish, follow, followAgain, restore, show, takeAway } from "/static/list.js";
import { begin, keepThread, memoryFailed, memoryFrames, memoryLost, refresh } from "/static/memory.js";
import { greeting, name, offer, quotes } from "/static/openers.js";

const byId = (id) => document.getElementById(id);
const question = byId("question");

const connection = new Connection(location.origin, { opened: showState, received, ended: disconnected });
let attempts = 0;
let retryAt = 0;
let asleep = false; // closed because nothing was asked; the person's next move connects again
let token = sessionStorage.getItem("token");
let counter = 0;
const turns = new Map(); // message id -> what is shown of it, until it has ended
const kept = new Kept(sessionStorage);

// --- words

function speak() {
  document.documentElement.lang = code();
  for (const each of document.querySelectorAll("[data-word]")) each.textContent = words()[each.dataset.word];
  for (const each of document.querySelectorAll("[data-label]")) each.setAttribute("aria-label", words()[each.dataset.label]);
  for (const each of document.querySelectorAll("[data-memory]")) each.textContent = words().memory[each.dataset.memory];
  refresh();
  question.placeholder = words().question;
  if (name) document.querySelector("h1").textContent = name;
  document.title = name || words().title;
  byId("greeting").textContent = greeting;
  byId("greeting").hidden = !greeting;
  byId("quotes").hidden = !quotes;
  showState();
}

// --- the state of the session, from what was sent and what came

function state() {
  if (asleep) return "asleep";
  if (!connection.isOpen) return retryAt ? "disconnected" : "connecting";
  const open = [...turns.values()];
  if (open.some((turn) => turn.entry.text)) return "streaming";
  if (open.some((turn) => !turn.queued)) return "buffering";
  if (anyCard("confirmed")) return "executing";
  if (open.length) return "buffering";
  if (anyCard("live")) return "awaiting_confirmation";
  return "idle";
}

function showState() {
  const now = state();
  const shown = byId("state");
  const seconds = Math.ceil((retryAt - Date.now()) / 1000);
  const text = now === "disconnected" && seconds > 0 ? words().retry(seconds) : words().state[now];
  if (shown.textContent !== text) shown.textContent = text; // a status region speaks when it changes
  shown.dataset.state = now;
  byId("stop").disabled = !["buffering", "streaming", "awaiting_confirmation", "executing"].includes(now);
  byId("send").disabled = ["disconnected", "connecting", "asleep"].includes(now);
  const open = turns.size > 0 || anyCard("live", "confirmed", "lapsed");
  byId("clear").disabled = open || !kept.entries.length;
}

// --- the list

function note(text) {
  show.note(kept.add({ kind: "note", text }));
  byId("said").textContent = text;
}

function ask(text) {
  const id = `m${++counter}`;
  followAgain();
  noteMessage(id, text);
  const message = { type: "message", id, text };
  if (language.value) message.lang = language.value;
  show.mine(kept.add({ kind: "mine", text }));
  const queued = state() === "executing";
  turns.set(id, { ...show.answer(kept.add({ kind: "answer", text: "" })), queued });
  send(message);
  return id;
}

// Ask, and return the message's id; nothing where nothing can be sent now.
function pick(text) {
  if (byId("send").disabled) return undefined;
  question.focus();
  return ask(text);
}

function send(frame) {
  connection.send(frame);
  showState();
}

// What says an item that is forgotten is neither shown nor kept here any more.
function forget(item) {
  for (const entry of kept.forget(item)) takeAway(entry);
  byId("said").textContent = "";
  showState();
}

function stop() {
  if (!byId("stop").disabled) send({ type: "cancel" });
}

function endTurn(id, text) {
  const turn = turns.get(id);
  if (!turn) return;
  turns.delete(id);
  turn.entry.ended = true;
  if (text) {
    turn.entry.remark = text;
    byId("said").textContent = text;
  }
  finish(turn);
  kept.save();
  follow();
}

// --- frames

const frames = {
  welcome(frame) {
    attempts = 0;
    beginCards(frame.limits.confirmSeconds, send, pick, kept);
    offer(pick);
    begin(frame.memory === true, send, forget);
  },

  ...memoryFrames,

  stream(frame) {
    const turn = turns.get(frame.id);
    if (!turn) return;
    turn.entry.text += frame.delta;
    turn.drawing.add(frame.delta);
  },

  stream_end(frame) {
    if (frame.reason === "cancelled") endTurn(frame.id, words().stopped);
  },

  response(frame) {
    const turn = turns.get(frame.id);
    if (!turn) return;
    const { text, blocked, confidence, citations, withoutMemory } = frame;
    Object.assign(turn.entry, { text, blocked, confidence, citations, withoutMemory });
    endTurn(frame.id);
    keepThread();
    byId("said").textContent = frame.text;
    follow();
  },

  ...cardFrames,

  error(frame) {
    if (memoryFailed(frame)) return;
    const known = words().error[frame.code];
    const text = frame.code === "internal" || !known ? `${known || ""} ${frame.message}`.trim() : known;
    if (cardFailed(frame, text)) return;
    if (turns.has(frame.id) && frame.code !== "internal") endTurn(frame.id, text); // a broken turn still answers
    else note(text);
  },
};

// --- the connection

function connect() {
  retryAt = 0;
  asleep = false;
  try {
    connection.open(token);
  } catch {
    lock(words().unusableToken);
    return;
  }
  showState();
}

function received(frame) {
  if (Object.hasOwn(frames, frame.type)) frames[frame.type](frame);
  showState();
}

function disconnected(event) {
  for (const id of [...turns.keys()]) endTurn(id, words().interrupted);
  cardsLost();
  memoryLost();
  if (event.code === UNAUTHORISED) {
    lock(token ? words().wrongToken : "");
    return;
  }
  if (UNSPOKEN.includes(event.code)) {
    asleep = true;
    showState();
    return;
  }
  if (words().close[event.code]) note(words().close[event.code]);
  const wait = retryDelay(event, attempts++);
  retryAt = Date.now() + wait;
  setTimeout(connect, wait);
  showState();
}

function lock(why) {
  token = null;
  sessionStorage.removeItem("token");
  retryAt = 1; // disconnected, with nothing to wait for
  byId("locked-why").textContent = why;
  byId("token").value = "";
  if (!byId("locked").open) byId("locked").showModal();
  showState();
}

// --- the person

byId("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = question.value.trim();
  if (!text || byId("send").disabled) return;
  question.value = "";
  grow();
  ask(text);
});

question.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    byId("ask").requestSubmit();
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) stop();
});

byId("stop").addEventListener("click", () => {
  stop();
  question.focus();
});

byId("clear").addEventListener("click", () => {
  kept.clear();
  clearCards();
  clear();
  showState();
  question.focus();
});

addEventListener("pagehide", () => kept.save()); // with what has come of an answer so far

byId("locked").addEventListener("cancel", (event) => event.preventDefault());

byId("unlock").addEventListener("submit", (event) => {
  event.preventDefault(); // connecting may open the dialog again at once
  byId("locked").close();
  token = byId("token").value;
  sessionStorage.setItem("token", token);
  connect();
  question.focus();
});

language.addEventListener("change", () => {
  localStorage.setItem("language", language.value);
  speak();
  offer(pick);
});

for (const kind of ["focus", "input"]) question.addEventListener(kind, () => asleep && connect());

function grow() {
  question.style.height = "auto";
  question.style.height = `${Math.min(question.scrollHeight, 160)}px`;
}
question.addEventListener("input", grow);

setInterval(() => {
  tickCards();
  if (retryAt) showState();
}, 250);

language.value = localStorage.getItem("language") || "";
speak();
restore(kept);
connect();
