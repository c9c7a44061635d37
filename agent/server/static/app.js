// The chat page: one connection (/agent.js), one list of messages (list.js). The session's state is derived from the
// frames that pass, never asked for. Whatever comes over the wire is put into the page as text.

import { Connection, UNAUTHORISED, UNSPOKEN, retryDelay } from "/agent.js";
import { anyCard, beginCards, cardFailed, cardFrames, cardsLost, clearCards, noteMessage, tickCards } from "/static/cards.js";
import { beginConversations, conversationsLost, entered, speakThreads, threadFailed, threadFrames, turnEnded } from "/static/conversations.js";
import { beginFeedback, feedbackFailed, feedbackFrames, feedbackLost } from "/static/feedback.js";
import { clearField, grow, keepDraft, limitText, tell } from "/static/field.js";
import { Kept, NOWHERE } from "/static/kept.js";
import { code, language, words } from "/static/language.js";
import { clear, finish, follow, followAgain, restore, show, takeAway } from "/static/list.js";
import { begin, keepThread, memoryFailed, memoryFrames, memoryLost, refresh } from "/static/memory.js";
import { greeting, name, offer, quotes, remembers, stories } from "/static/openers.js";
import { endProgress, showProgress } from "/static/progress.js";
import { beginStates, light, refreshReadiness } from "/static/states.js";
import { beginUploads, speakUploads } from "/static/uploads.js";
import { visitor } from "/static/visitor.js";
import { beginVoice, silence, sounded, speakVoice, voiceFrames, voiceLost, voiceWelcome, wantsVoice } from "/static/voice.js";

const byId = (id) => document.getElementById(id);
const question = byId("question");

const connection = new Connection(location.origin, { opened: showState, received, ended: disconnected, sounded });
let attempts = 0;
let retryAt = 0; // when the next attempt to connect begins
let retry = 0; // its timer
const FAULT = /report fault ([\w-]{1,64})\./; // in an error: the id of a line of the server's log
let wantsAnew = false; // the connection is to be replaced, once nothing is in progress
let asleep = false; // closed because nothing was asked; the person's next move connects again
let token = sessionStorage.getItem("token");
let counter = 0;
const turns = new Map(); // message id -> what is shown of it, until it has ended
const kept = new Kept(remembers ? NOWHERE : sessionStorage); // the server's conversation has no second copy here
const app = { isBusy, leave, note, keep: (entry) => kept.add(entry), entries: () => kept.entries };

// --- words

function speak() {
  document.documentElement.lang = code();
  for (const each of document.querySelectorAll("[data-word]")) each.textContent = words()[each.dataset.word];
  for (const each of document.querySelectorAll("[data-label]")) each.setAttribute("aria-label", words()[each.dataset.label]);
  for (const each of document.querySelectorAll("[data-memory]")) each.textContent = words().memory[each.dataset.memory];
  speakThreads();
  refresh();
  speakUploads();
  speakVoice();
  question.placeholder = words().question;
  if (name) document.querySelector("h1").textContent = name;
  document.title = name || words().title;
  document.body.classList.add("spoken");
  byId("greeting").textContent = greeting;
  byId("greeting").hidden = !greeting;
  byId("quotes").hidden = !quotes;
  byId("stories").hidden = !stories;
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
  light(tableState(now));
  byId("stop").disabled = !["buffering", "streaming", "awaiting_confirmation", "executing"].includes(now);
  byId("send").disabled = ["disconnected", "connecting", "asleep"].includes(now);
  byId("clear").disabled = isBusy() || !kept.entries.length;
}

// Whether something goes on that a person waits for, or that waits for him.
function isBusy() {
  return turns.size > 0 || anyCard("live", "confirmed", "lapsed");
}

// The state of the server's table, as far as the frames tell it.
function tableState(now) {
  const step = [...turns.values()].at(-1)?.step;
  if (now === "buffering") return { checking: "verifying", calling: "executing" }[step] || now;
  return ["connecting", "disconnected", "asleep"].includes(now) ? "closed" : now;
}

// --- the list

function note(text) {
  show.note(kept.add({ kind: "note", text }));
  byId("said").textContent = text;
}

function ask(text) {
  const id = `m${++counter}`;
  showTurn(id, text);
  const message = { type: "message", id, text, progress: true };
  if (language.value) message.lang = language.value;
  send(message);
  return id;
}

// Show a message, and the place of its answer.
function showTurn(id, text) {
  followAgain();
  noteMessage(id, text);
  show.mine(kept.add({ kind: "mine", text }));
  const queued = state() === "executing";
  turns.set(id, { ...show.answer(kept.add({ kind: "answer", text: "" })), queued, message: id, asked: text });
  showState();
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

// Let go of all that is shown. A question that was not answered goes back to where it was typed.
function leave() {
  for (const turn of turns.values()) {
    question.value ||= turn.asked;
    endProgress(turn);
  }
  turns.clear();
  kept.clear();
  clearCards();
  grow();
}

function stop() {
  if (!byId("stop").disabled) send({ type: "cancel" });
}

function endTurn(id, text) {
  const turn = turns.get(id);
  if (!turn) return;
  turns.delete(id);
  endProgress(turn);
  turn.entry.ended = true;
  if (text) {
    turn.entry.remark = text;
    byId("said").textContent = text;
  }
  finish(turn);
  kept.save();
  follow();
  turnEnded();
}

// --- frames

const frames = {
  welcome(frame) {
    attempts = 0;
    beginConversations(send, app);
    limitText(frame.limits.maxText);
    tell("");
    beginCards(frame.limits.confirmSeconds, send, pick, kept);
    offer(pick);
    beginUploads(token);
    begin(frame.memory === true, send, forget, remembers ? entered : undefined);
    beginFeedback(frame.feedback === true, send, () => kept.save());
    voiceWelcome(frame);
  },

  ...memoryFrames,
  ...threadFrames,

  progress(frame) {
    const turn = turns.get(frame.id);
    if (!turn) return;
    turn.step = frame.step;
    showProgress(turn, frame.step, () => send({ type: "cancel", id: frame.id }));
    follow();
  },

  stream(frame) {
    const turn = turns.get(frame.id);
    if (!turn) return;
    turn.step = "";
    endProgress(turn);
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
    refreshReadiness();
    byId("said").textContent = frame.text;
    follow();
  },

  ...cardFrames,
  ...feedbackFrames,
  ...voiceFrames,

  error(frame) {
    if (memoryFailed(frame) || threadFailed(frame)) return;
    const known = words().error[frame.code];
    const fault = FAULT.exec(frame.message)?.[1];
    const text = known ? `${known} ${fault ? words().fault(fault) : ""}`.trim() : frame.message;
    if (cardFailed(frame, text) || feedbackFailed(frame, text)) return;
    if (turns.has(frame.id) && frame.code !== "internal") endTurn(frame.id, text); // a broken turn still answers
    else note(text);
  },
};

// --- the connection

function connect() {
  retryAt = 0;
  asleep = false;
  try {
    connection.open(token, remembers ? visitor() : null, wantsVoice());
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
  conversationsLost();
  feedbackLost();
  voiceLost();
  if (wantsAnew) {
    wantsAnew = false;
    connect();
    return;
  }
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
  retry = setTimeout(connect, wait);
  showState();
}

// Replace the connection by one with voice, or without, as the person has chosen.
function reconnect() {
  wantsAnew = true;
  if (!isBusy()) connection.close();
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
  if (!text) return;
  if (byId("send").disabled) {
    tell(words().unsent);
    return;
  }
  clearField();
  ask(text);
});

question.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    byId("ask").requestSubmit();
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !document.querySelector("dialog[open]") && !silence()) stop();
});

byId("stop").addEventListener("click", () => {
  silence();
  stop();
  question.focus();
});

byId("clear").hidden = remembers; // another conversation takes its place
byId("clear").addEventListener("click", () => {
  leave();
  clear();
  showState();
  question.focus();
});

addEventListener("pagehide", () => {
  kept.save(); // with what has come of an answer so far
  if (remembers && !question.value && turns.size) keepDraft([...turns.values()].at(-1).asked); // the server keeps it once it is answered
});

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

// A network that is back, or a page that is looked at again, does not wait for the next attempt.
for (const [target, kind] of [[window, "online"], [document, "visibilitychange"]]) {
  target.addEventListener(kind, () => {
    if (document.hidden || retryAt <= Date.now()) return;
    clearTimeout(retry);
    connect();
  });
}

setInterval(() => {
  tickCards();
  if (wantsAnew) reconnect();
  if (retryAt) showState();
}, 250);

language.value = localStorage.getItem("language") || "";
speak();
grow();
question.focus();
beginStates();
beginVoice({ connection, reconnect, hear: showTurn });
restore(kept);
connect();
