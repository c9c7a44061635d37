// The conversations that the server keeps, in the side column: which there are, and the messages of the one that is
// open. The server is asked over the same connection, under labels of this module's own, and tells what other tabs do;
// the page keeps no copy. Where a thread is opened is memory.js, since what is remembered belongs to threads too.

import { written } from "/static/answer.js";
import { code, words } from "/static/language.js";
import { clear, finish, follow, show } from "/static/list.js";
import { enter, keepThread } from "/static/memory.js";
import { remembers } from "/static/openers.js";
import { foundView, threadView } from "/static/threads.js";

const SEARCH_AFTER = 300; // ms without a key

const byId = (id) => document.getElementById(id);
const [side, opener, told, list, found, query] = ["side", "side-open", "thread-told", "thread-list", "thread-found", "thread-query"].map(byId);
const log = byId("log");

let send = () => {};
let page = null; // { isBusy(), leave(), note(text), keep(entry), entries() } of app.js
let thread = null; // the id of the one that is open
let isMoving = false; // its person has asked for another one
let notice = ""; // is said once the conversation that is left is no longer shown
let isStale = false; // something that is shown was forgotten: it is loaded again once nothing goes on
let last = 0; // the time of the last message that is known of it
let earlier; // the number with which to ask for the messages before those that are shown
let more; // the number with which to ask for further conversations
let asked = 0;
const waiting = new Map(); // label -> what is done with the answer, and what with an error
const threads = new Map(); // id -> what the server says of it
const seen = new Set(); // messages and answers that are shown
let excerpts = [];

if (remembers) {
  document.body.classList.add("with-side");
  opener.hidden = false;
}

function ask(frame, answered, failed = () => {}) {
  const id = `thread-${++asked}`;
  waiting.set(id, { answered, failed });
  send({ ...frame, id });
}

// app: what of app.js is needed here.
export function beginConversations(sending, app) {
  send = sending;
  page = app;
  waiting.clear();
}

export function conversationsLost() {
  waiting.clear();
}

// --- the conversation that is open

// The server says in which thread this connection is: the one that was asked for, the same again after a lost
// connection, or another one where the earlier one is gone.
export function entered(id) {
  const before = thread;
  thread = id;
  if (isMoving || before === null || (id !== before && seen.size)) {
    if (before !== null && !isMoving) notice = words().threads.gone;
    reload();
  } else if (id === before) catchUp();
  if (isMoving) keepThread();
  isMoving = false;
  refreshThreads();
}

function reload() {
  if (page.isBusy()) {
    isStale = true;
    return;
  }
  isStale = false;
  page.leave();
  clear();
  seen.clear();
  last = 0;
  earlier = undefined;
  byId("thread-earlier").hidden = true;
  if (notice) page.note(notice);
  notice = "";
  ask({ type: "thread_messages", thread }, (frame) => {
    const own = page.entries().filter((each) => ["mine", "answer"].includes(each.kind)); // was asked meanwhile
    const others = leaveOut(own.slice(), frame.messages);
    if (own.length) drawAbove(others);
    else draw(others);
    setEarlier(frame.after);
  });
}

// Return messages without the newest, as far as they are the last of the page's own entries.
function leaveOut(own, messages) {
  let count = messages.length;
  for (; count && own.length; count -= 1) {
    const { role, message, text, at } = messages[count - 1];
    const entry = own.pop();
    if (entry.text !== text || entry.kind !== (role === "user" ? "mine" : "answer")) break;
    seen.add(`${role}/${message}`);
    last = Math.max(last, at);
  }
  return messages.slice(0, count);
}

// Show what was said elsewhere while this page had no connection.
function catchUp() {
  ask({ type: "thread_messages", thread }, (frame) => {
    const [answer, question] = page.entries().slice(-2).reverse();
    const own = (each) => each.text === (each.role === "user" ? question : answer)?.text; // answered just before the end
    draw(frame.messages.filter((each) => each.at > last && !own(each)));
  });
}

function setEarlier(after) {
  earlier = after;
  byId("thread-earlier").hidden = after === undefined;
}

byId("thread-earlier").addEventListener("click", () => {
  ask({ type: "thread_messages", thread, after: earlier }, (frame) => {
    const first = log.firstElementChild;
    const top = first?.getBoundingClientRect().top || 0;
    drawAbove(frame.messages);
    document.scrollingElement.scrollTop += (first?.getBoundingClientRect().top || 0) - top; // what was read stays where it was
    setEarlier(frame.after);
  });
});

function drawAbove(messages) {
  const count = log.childElementCount;
  draw(messages);
  log.prepend(...[...log.children].slice(count));
}

function draw(messages) {
  for (const message of messages) {
    const key = `${message.role}/${message.message}`;
    if (seen.has(key)) continue;
    seen.add(key);
    last = Math.max(last, message.at);
    const { text, blocked, confidence, citations, withoutMemory, feedback } = message;
    if (message.role === "user") show.mine(page.keep({ kind: "mine", text }));
    else {
      const remark = message.unsourced ? words().threads.unsourced : undefined;
      const entry = { kind: "answer", text, ended: true, blocked, confidence, citations, withoutMemory, remark, feedback };
      finish({ ...show.answer(page.keep(entry)), message: message.message });
    }
  }
  follow();
}

// A turn of this page has ended: what had to wait for it is done.
export function turnEnded() {
  if (isStale && !page.isBusy()) reload();
}

// --- frames

function answered(frame) {
  const known = waiting.get(frame.id);
  waiting.delete(frame.id);
  known?.answered(frame);
}

export const threadFrames = {
  threads: answered,
  messages: answered,
  recalled: answered,

  thread_changed(frame) {
    const { thread: id, count, at } = frame.thread;
    if (count) threads.set(id, frame.thread);
    else threads.delete(id);
    if (id === thread && !frame.id) last = Math.max(last, at || 0);
    render();
    answered(frame);
  },

  thread_deleted(frame) {
    threads.delete(frame.thread);
    render();
    if (frame.thread === thread) {
      if (!frame.id) notice = words().threads.gone;
      page.leave();
      isMoving = true;
      enter({});
    }
    answered(frame);
  },

  exchange(frame) {
    if (frame.thread !== thread) return;
    if (frame.messages.some((each) => !each.text && !each.unsourced)) reload();
    else draw(frame.messages);
  },
};

// Whether an error is about something that was asked here; then it is dealt with.
export function threadFailed(frame) {
  const known = waiting.get(frame.id);
  if (!known) return false;
  waiting.delete(frame.id);
  known.failed(frame);
  return true;
}

function tell(frame) {
  told.textContent = words().error[frame.code] || frame.message;
}

// --- the list

export function refreshThreads() {
  ask(
    { type: "thread_list", follow: true },
    (frame) => {
      threads.clear();
      take(frame);
    },
    tell,
  );
}

function take(frame) {
  for (const each of frame.threads) threads.set(each.thread, each);
  more = frame.after;
  render();
}

function render() {
  const w = words();
  byId("thread-more").hidden = more === undefined || !found.hidden;
  if (list.querySelector(".rename") || list.querySelector(".sure")) return; // which is not to be taken from somebody
  const rows = [...threads.values()].sort((one, other) => other.at - one.at);
  const had = list.contains(document.activeElement) ? document.activeElement.closest("li")?.dataset.thread : null;
  list.replaceChildren();
  for (const each of rows) {
    const row = threadView(each, w, code(), each.thread === thread, act);
    row.dataset.thread = each.thread;
    list.append(row);
    if (each.thread === had) row.querySelector("button").focus();
  }
  if (!rows.length && !told.textContent) list.append(written("li", "detail", w.threads.nothing));
  if (had && !list.contains(document.activeElement)) (list.querySelector("button") || byId("thread-new")).focus();
}

function act(kind, each, title) {
  told.textContent = "";
  if (kind === "open") open({ thread: each.thread });
  else if (kind === "rename") {
    list.replaceChildren();
    ask({ type: "thread_rename", thread: each.thread, title: title.trim() }, () => told.append(words().threads.renamed), failed);
  } else {
    list.replaceChildren();
    ask({ type: "thread_delete", thread: each.thread }, () => told.append(words().threads.removed), failed);
  }
}

function failed(frame) {
  tell(frame);
  refreshThreads();
}

// Open another conversation. What goes on in this one is not left: its question would be lost with it.
function open(which) {
  if (page === null) return;
  if (page.isBusy()) {
    told.textContent = words().threads.busy;
    return;
  }
  isMoving = true;
  shut();
  enter(which);
  byId("question").focus();
}

// The texts of the column, in the page's language.
export function speakThreads() {
  const w = words().threads;
  for (const each of document.querySelectorAll("[data-thread]")) if (w[each.dataset.thread]) each.textContent = w[each.dataset.thread];
  for (const each of document.querySelectorAll("[data-thread-label]")) each.setAttribute("aria-label", w[each.dataset.threadLabel]);
  query.placeholder = w.search;
  if (remembers && page) render();
}

// --- the search

let searching = 0;

function search() {
  clearTimeout(searching);
  const text = query.value.trim();
  if (!text) {
    showFound(false);
    return;
  }
  ask(
    { type: "recall", query: text, limit: 20 },
    (frame) => {
      if (text !== query.value.trim()) return; // something else is looked for by now
      excerpts = bestOfEach(frame.excerpts);
      showFound(true);
    },
    tell,
  );
}

// The best excerpt of each conversation, the best first; an item of memory stands in none.
function bestOfEach(all) {
  const best = new Map();
  for (const each of [...all].sort((one, other) => other.score - one.score)) {
    if (each.kind === "turn" && each.thread && !best.has(each.thread)) best.set(each.thread, each);
  }
  return [...best.values()];
}

function showFound(any) {
  found.hidden = !any;
  list.hidden = any;
  found.replaceChildren();
  told.textContent = any && !excerpts.length ? words().threads.none : "";
  for (const each of any ? excerpts : []) {
    found.append(foundView(each, threads.get(each.thread)?.title, words(), code(), act));
  }
  render();
}

byId("thread-search").addEventListener("submit", (event) => {
  event.preventDefault();
  search();
});

query.addEventListener("input", () => {
  clearTimeout(searching);
  searching = setTimeout(search, SEARCH_AFTER);
});

query.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !query.value) return;
  event.stopPropagation();
  query.value = "";
  search();
});

// --- the person

function shut() {
  side.classList.remove("open");
  opener.setAttribute("aria-expanded", "false");
}

opener.addEventListener("click", () => {
  const isOpen = side.classList.toggle("open");
  opener.setAttribute("aria-expanded", String(isOpen));
  if (isOpen) byId("thread-new").focus();
});

side.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !side.classList.contains("open")) return;
  event.stopPropagation();
  shut();
  opener.focus();
});

document.addEventListener("click", (event) => {
  if (!side.contains(event.target) && !opener.contains(event.target) && event.target.isConnected) shut();
});

byId("thread-new").addEventListener("click", () => open({ fresh: true }));

byId("thread-more").addEventListener("click", () => ask({ type: "thread_list", after: more }, take, tell));

document.addEventListener("keydown", (event) => {
  if (!remembers || !event.altKey || event.ctrlKey || event.metaKey || event.code !== "KeyN") return;
  if (document.querySelector("dialog[open]")) return;
  event.preventDefault();
  open({ fresh: true });
});
