// The chat page: one WebSocket, one list of messages. The session's state is derived from the frames that pass, never
// asked for. Whatever comes over the wire is put into the page as text.

import { WORDS } from "/static/words.js";

const BACKOFF = [500, 1000, 2000, 4000, 8000, 15000]; // ms before the next attempt; then always the last
const UNAUTHORISED = 4401;
const UNSPOKEN = [4408, 1013]; // nothing was asked in time, or while others waited for the place
const COME_BACK = /come back in (\d{1,3}) s$/; // in the reason of a close frame that sends its clients away

const byId = (id) => document.getElementById(id);
const log = byId("log");
const question = byId("question");
const language = byId("language");

let socket = null;
let attempts = 0;
let retryAt = 0;
let asleep = false; // closed because nothing was asked; the person's next move connects again
let token = sessionStorage.getItem("token");
let confirmSeconds = 30;
let counter = 0;
const turns = new Map(); // message id -> what is shown of it, until it has ended
const cards = new Map(); // suggestion id -> what is shown of it

// --- words

function words() {
  const wanted = language.value || (navigator.language.startsWith("sv") ? "sv" : "en");
  return WORDS[wanted];
}

function speak() {
  document.documentElement.lang = words() === WORDS.sv ? "sv" : "en";
  for (const each of document.querySelectorAll("[data-word]")) each.textContent = words()[each.dataset.word];
  for (const each of document.querySelectorAll("[data-label]")) each.setAttribute("aria-label", words()[each.dataset.label]);
  question.placeholder = words().question;
  document.title = words().title;
  showState();
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// --- the state of the session, from what was sent and what came

function state() {
  if (asleep) return "asleep";
  if (!socket || socket.readyState !== WebSocket.OPEN) return retryAt ? "disconnected" : "connecting";
  const open = [...turns.values()];
  const running = [...cards.values()].filter((card) => card.status === "confirmed");
  if (open.some((turn) => turn.text)) return "streaming";
  if (open.some((turn) => !turn.queued)) return "buffering";
  if (running.length) return "executing";
  if (open.length) return "buffering";
  if ([...cards.values()].some((card) => card.status === "live")) return "awaiting_confirmation";
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
}

// --- the list

let following = true; // until the person scrolls up

function add(item) {
  byId("hint").hidden = true;
  log.append(item);
  follow();
  return item;
}

function follow() {
  const scroller = document.scrollingElement;
  if (following) scroller.scrollTop = scroller.scrollHeight;
}

document.addEventListener("scroll", () => {
  const scroller = document.scrollingElement;
  following = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 80;
});

function note(text, kind) {
  add(element("li", `note ${kind}`, text));
  byId("said").textContent = text;
}

function ask(text) {
  const id = `m${++counter}`;
  following = true;
  const message = { type: "message", id, text };
  if (language.value) message.lang = language.value;
  add(element("li", "mine", text));
  const item = element("li", "answer");
  const body = element("p", "text");
  item.append(body);
  add(item);
  const queued = state() === "executing";
  turns.set(id, { item, body, text: "", queued });
  send(message);
}

function send(frame) {
  if (socket && socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
  showState();
}

function stop() {
  if (!byId("stop").disabled) send({ type: "cancel" });
}

function endTurn(id, text) {
  const turn = turns.get(id);
  if (!turn) return;
  turns.delete(id);
  turn.item.classList.add("ended");
  if (text) {
    turn.item.append(element("p", "remark", text));
    byId("said").textContent = text;
  }
  follow();
}

// --- frames

const frames = {
  welcome(frame) {
    attempts = 0;
    confirmSeconds = frame.limits.confirmSeconds;
  },

  stream(frame) {
    const turn = turns.get(frame.id);
    if (!turn) return;
    turn.text += frame.delta;
    turn.body.textContent = turn.text;
    follow();
  },

  stream_end(frame) {
    if (frame.reason === "cancelled") endTurn(frame.id, words().stopped);
  },

  response(frame) {
    const turn = turns.get(frame.id);
    if (!turn) return;
    turn.body.textContent = frame.text;
    if (frame.blocked) {
      turn.item.classList.add("blocked");
      turn.item.append(element("p", "remark", words().blocked[frame.blocked.code] || frame.blocked.message));
    } else if (frame.confidence) {
      turn.item.append(element("p", "confidence", words().confidence[frame.confidence]));
    }
    if (frame.citations.length) turn.item.append(sources(frame.citations));
    endTurn(frame.id);
    byId("said").textContent = frame.text;
    follow();
  },

  action_suggestion(frame) {
    const card = makeCard(frame);
    cards.set(frame.suggestionId, card);
    add(card.item);
  },

  action_executed(frame) {
    const card = cards.get(frame.suggestionId);
    if (!card) return;
    const result = frame.result;
    const kind = ["ignored", "expired", "cancelled", "unknown"].find((key) => result[key]) || (result.success ? "done" : "failed");
    if (kind === "ignored" && card.status !== "live") return; // the first confirm's own result is what counts
    endCard(card, words().result[kind], kind === "done" ? "good" : "bad");
    if (result.error) card.item.append(element("p", "detail", result.error));
    if (result.data && Object.keys(result.data).length) card.item.append(pairs(result.data));
    follow();
  },

  action_closed(frame) {
    const card = cards.get(frame.suggestionId);
    if (card) endCard(card, words().closed[frame.reason], "quiet");
  },

  error(frame) {
    const known = words().error[frame.code];
    const text = frame.code === "internal" || !known ? `${known || ""} ${frame.message}`.trim() : known;
    const card = cards.get(frame.suggestionId);
    if (card) endCard(card, text, "bad");
    else if (turns.has(frame.id) && frame.code !== "internal") endTurn(frame.id, text); // a broken turn still answers
    else note(text, "problem");
  },
};

function sources(citations) {
  const box = element("div", "sources");
  box.append(element("h3", "", words().sources));
  for (const each of citations) {
    const one = element("details");
    const place = each.lines ? `${each.file}, ${words().lines(...each.lines)}` : each.file;
    const shown = each.heading ? `${each.heading}\n\n${each.snippet}` : each.snippet;
    one.append(element("summary", "", place), element("pre", "", shown));
    box.append(one);
  }
  return box;
}

function pairs(data) {
  const list = element("dl");
  for (const [name, value] of Object.entries(data)) {
    list.append(element("dt", "", name), element("dd", "", typeof value === "string" ? value : JSON.stringify(value)));
  }
  return list;
}

// --- suggestions

function makeCard(frame) {
  const item = element("li", "card");
  item.append(element("h3", "", words().action[frame.action] || frame.action), pairs(frame.payload));
  const buttons = element("div", "buttons");
  const confirm = element("button", "confirm", words().confirm);
  const decline = element("button", "", words().decline);
  const left = element("span", "left");
  for (const each of [confirm, decline]) each.type = "button";
  buttons.append(confirm, decline, left);
  item.append(buttons);
  // The two clocks may disagree; what is left can never be more than the whole time, nor already over on arrival.
  const remaining = frame.expiresAt === undefined ? NaN : frame.expiresAt - Date.now();
  const believable = remaining > 0 && remaining <= confirmSeconds * 1000;
  const expiresAt = Date.now() + (believable ? remaining : confirmSeconds * 1000);
  const card = { item, buttons, left, expiresAt, status: "live" };
  confirm.addEventListener("click", () => {
    card.status = "confirmed";
    buttons.replaceChildren(element("span", "left", words().waiting));
    send({ type: "confirm_action", suggestionId: frame.suggestionId });
    question.focus();
  });
  decline.addEventListener("click", () => {
    send({ type: "reject_action", suggestionId: frame.suggestionId });
    question.focus();
  });
  tick(card);
  return card;
}

function tick(card) {
  const seconds = Math.max(0, Math.ceil((card.expiresAt - Date.now()) / 1000));
  card.left.textContent = words().left(seconds);
  if (seconds === 0) for (const each of card.buttons.querySelectorAll("button")) each.disabled = true;
}

function endCard(card, text, kind) {
  card.status = "ended";
  card.buttons.remove();
  card.item.classList.add("ended");
  card.item.append(element("p", `outcome ${kind}`, text));
  follow();
  byId("said").textContent = text;
}

// --- the connection

function connect() {
  retryAt = 0;
  asleep = false;
  const scheme = location.protocol === "https:" ? "wss:" : "ws:";
  try {
    socket = new WebSocket(`${scheme}//${location.host}/ws`, token ? ["agent.v1", `bearer.${token}`] : ["agent.v1"]);
  } catch {
    lock(words().unusableToken);
    return;
  }
  socket.addEventListener("open", showState);
  socket.addEventListener("message", (event) => {
    const frame = JSON.parse(event.data);
    if (Object.hasOwn(frames, frame.type)) frames[frame.type](frame);
    showState();
  });
  socket.addEventListener("close", disconnected);
  showState();
}

function disconnected(event) {
  for (const id of [...turns.keys()]) endTurn(id, words().interrupted);
  for (const card of cards.values()) {
    if (card.status === "live") endCard(card, words().closed.cancelled, "quiet");
    if (card.status === "confirmed") endCard(card, words().lost, "bad"); // it may have begun, and goes on without us
  }
  cards.clear();
  if (event.code === UNAUTHORISED) {
    lock(token ? words().wrongToken : "");
    return;
  }
  if (UNSPOKEN.includes(event.code)) {
    asleep = true;
    showState();
    return;
  }
  if (words().close[event.code]) note(words().close[event.code], "problem");
  const told = COME_BACK.exec(event.reason);
  const usual = BACKOFF[Math.min(attempts++, BACKOFF.length - 1)] * (0.75 + Math.random() / 2);
  const wait = told ? (Number(told[1]) + Math.random()) * 1000 : usual;
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
  if (event.key === "Escape" && !byId("locked").open) stop();
});

byId("stop").addEventListener("click", () => {
  stop();
  question.focus();
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
});

for (const kind of ["focus", "input"]) question.addEventListener(kind, () => asleep && connect());

function grow() {
  question.style.height = "auto";
  question.style.height = `${Math.min(question.scrollHeight, 160)}px`;
}
question.addEventListener("input", grow);

setInterval(() => {
  for (const card of cards.values()) if (card.status === "live") tick(card);
  if (retryAt) showState();
}, 250);

language.value = localStorage.getItem("language") || "";
speak();
connect();
