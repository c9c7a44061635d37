// What is remembered, in a dialog: what is proposed, what counts, what has ended. The server is asked over the same
// connection, under labels of this module's own, and shows what it says last; nothing is kept here but the id of the
// thread, by which a reloaded page goes on with what is remembered of somebody whom the server has no name for.

import { isLive, itemView } from "/static/items.js";
import { words } from "/static/language.js";

const MOST_SHOWN = 1000; // items of one list
const THREAD = "thread";
const STALE = ["changed", "refused", "unknown_item"];

const byId = (id) => document.getElementById(id);
const dialog = byId("memory");
const open = byId("memory-open");
const told = byId("memory-told");
const lists = { proposed: byId("memory-proposed"), live: byId("memory-live"), ended: byId("memory-ended") };

let send = () => {};
let forgotten = () => {}; // is told an item, as it was, that is forgotten
let entered = () => {}; // is told the id of the thread, each time that one is opened
let thread = null; // of this connection, once it is told
let owed = false; // the thread is still to be opened
let asked = 0;
let acted = null; // id of the item that somebody did something about last
const waiting = new Map(); // label -> what is done with the answer
const shown = new Map(); // item id -> its element
let incomplete = false; // what was said last is not kept yet
let items = []; // all, as far as they came
let proposals = []; // the same, asked for by themselves: they are few, and are told of without the dialog

function ask(frame, answered) {
  const id = `memory-${++asked}`;
  waiting.set(id, { frame, answered });
  send({ ...frame, id });
}

// --- the thread

function stored() {
  try {
    return sessionStorage.getItem(THREAD) || localStorage.getItem(THREAD);
  } catch {
    return null; // a browser that keeps nothing for us: each page is a thread of its own
  }
}

// Keep the thread, once something was answered in it: before that there is nothing to go on with.
export function keepThread() {
  if (!thread) return;
  try {
    for (const storage of [sessionStorage, localStorage]) storage.setItem(THREAD, thread);
  } catch {
    // as above
  }
}

// Begin on a new connection. on: the server remembers. sending: sends a frame. letting: is told what is forgotten.
// entering: is told the id of the thread that is open.
export function begin(on, sending, letting = () => {}, entering = () => {}) {
  send = sending;
  forgotten = letting;
  entered = entering;
  waiting.clear();
  open.hidden = !on;
  if (!on) {
    if (dialog.open) dialog.close();
    return;
  }
  open.textContent = words().memory.open;
  openThread();
}

function openThread() {
  const earlier = thread || stored();
  owed = true;
  ask(earlier ? { type: "open_thread", thread: earlier } : { type: "open_thread" }, opened);
}

function opened(frame) {
  thread = frame.thread;
  owed = false;
  refresh();
  entered(thread);
}

// Go on in another thread: { thread } is an earlier one, { fresh: true } a new one, and {} the one that the server has.
export function enter(which) {
  owed = true;
  ask({ type: "open_thread", ...which }, opened);
}

// --- the lists

export function refresh() {
  if (open.hidden) return;
  let left = dialog.open ? 2 : 1;
  const part = () => --left || render();
  list({ status: "proposed" }, (found, missing) => {
    proposals = found;
    incomplete = missing;
    part();
  });
  if (!dialog.open) return;
  list({}, (found, missing) => {
    items = found;
    incomplete = missing;
    part();
  });
}

// Ask for a whole list, one piece after the other.
function list(which, done, before = [], after = 0, missing = false) {
  ask({ type: "memory_list", ...which, after }, (frame) => {
    const found = [...before, ...frame.items];
    const some = missing || frame.incomplete === true;
    if (frame.after === undefined || found.length >= MOST_SHOWN) done(found, some);
    else list(which, done, found, frame.after, some);
  });
}

// Somebody is about to correct or to forget something, which is not to be taken from him.
function busy() {
  return Object.values(lists).some((each) => each.querySelector(".correct") || each.querySelector(".sure"));
}

function render() {
  open.textContent = proposals.length ? `${words().memory.open} (${proposals.length})` : words().memory.open;
  if (acted === null && busy()) return;
  const others = items.filter((item) => item.status !== "proposed").reverse(); // the newest first
  const groups = {
    proposed: proposals,
    live: others.filter(isLive),
    ended: others.filter((item) => !isLive(item) && item.status !== "forgotten"),
  };
  shown.clear();
  for (const [name, group] of Object.entries(groups)) {
    lists[name].replaceChildren();
    for (const item of group) {
      const made = itemView(item, words(), act);
      shown.set(item.id, made);
      lists[name].append(made);
    }
    byId(`memory-${name}-box`).hidden = !group.length;
  }
  byId("memory-incomplete").hidden = !incomplete;
  byId("memory-nothing").hidden = incomplete || proposals.length + groups.live.length > 0;
  if (acted === null || !dialog.open) return;
  (shown.get(acted) || byId("memory-title")).focus();
  acted = null;
}

// Ask for what somebody wants done with an item; `done` takes its history, where that is what was asked for.
function act(frame, item, done) {
  ask(frame, (answer) => {
    if (done) {
      done(answer.history || []);
      return;
    }
    if (frame.type === "memory_forget") forgotten(item);
    acted = answer.item.id;
    told.textContent = words().memory.status[answer.item.status];
    refresh();
  });
}

// --- frames

function answered(frame) {
  const known = waiting.get(frame.id);
  waiting.delete(frame.id);
  known?.answered(frame);
}

export const memoryFrames = { thread: answered, memory: answered, memory_changed: answered };

// Whether an error is about something that was asked here; then it is dealt with.
export function memoryFailed(frame) {
  const known = waiting.get(frame.id);
  if (!known) return false;
  waiting.delete(frame.id);
  if (known.frame.type === "open_thread") {
    if (frame.code === "unknown_thread") {
      thread = null;
      ask({ type: "open_thread" }, opened);
    } else if (dialog.open) told.textContent = words().error[frame.code] || frame.message; // tried again when it is opened
    return true;
  }
  told.textContent = words().error[frame.code] || frame.message;
  if (STALE.includes(frame.code)) acted = known.frame.item; // so that it is shown as it is now
  if (known.frame.type !== "memory_list") refresh();
  return true;
}

// The connection is gone, and what was asked with it.
export function memoryLost() {
  waiting.clear();
  if (dialog.open) told.textContent = words().state.disconnected;
}

// --- the person

open.addEventListener("click", () => {
  told.textContent = "";
  dialog.showModal();
  if (owed) openThread();
  else refresh();
});

byId("memory-close").addEventListener("click", () => dialog.close());
