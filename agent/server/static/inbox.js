// The page of an approver: a live list of the calls that wait, one call with its decisions, the history.
// The list shows what the server tells (inbox-stream.js). Nothing of it is decided here: the server says who was first.

import { alert, isOn, mayNotify, turn } from "/static/inbox-alerts.js";
import { CallDetail, isOpen } from "/static/inbox-call.js";
import { beginHistory, showHistory, speakHistory } from "/static/inbox-history.js";
import { byId, hasToken, isSendable, make, request, say, setToken, write } from "/static/inbox-parts.js";
import { Stream } from "/static/inbox-stream.js";
import { code, decidedBy, fill, named, showLeft, texts } from "/static/inbox-texts.js";

const LATELY = 50; // decided calls that stay in the list
const DETAILS = 5; // calls whose forms stay, beside those in which something was typed

const calls = new Map(); // id -> call
const details = new Map(); // id -> CallDetail, the last used last
const rows = new Map(); // id -> the call's button in the list
let seen = new Set(); // ids told since the connection was opened
let listed = { waiting: 0, shown: 0 };
let complete = false; // all open calls were told
let current = null; // the id of the chosen call
let at = null; // the id of the row that the keyboard is on
let retryAt = 0;
let connected = false;
const language = byId("language");
const project = new URLSearchParams(location.search).get("project");
const stream = new Stream(`/calls/waiting${project ? `?project_id=${encodeURIComponent(project)}` : ""}`, { opened, received, ended });

// --- words

function speak() {
  document.documentElement.lang = code();
  for (const each of document.querySelectorAll("[data-text]")) each.textContent = texts()[each.dataset.text];
  for (const each of document.querySelectorAll("[data-aria]")) each.setAttribute("aria-label", texts()[each.dataset.aria]);
  details.clear();
  rows.clear();
  byId("list").replaceChildren();
  byId("lately").replaceChildren();
  byId("detail").replaceChildren(byId("pick") || make("p", { id: "pick", textContent: texts().pick }));
  speakHistory();
  draw();
  if (current) choose(current, false);
  showState();
}

function showState() {
  const seconds = Math.ceil((retryAt - Date.now()) / 1000);
  const locked = byId("locked").open;
  const state = locked ? "locked" : connected ? "live" : retryAt ? "offline" : "connecting";
  const text = state === "offline" && seconds > 0 ? fill(texts().state.retry, { seconds }) : texts().state[state];
  write(byId("state"), text);
  byId("state").dataset.state = { live: "idle", connecting: "buffering" }[state] || "disconnected";
}

// --- the list

const waiting = () => [...calls.values()].filter((call) => call.status === "suggested").sort((one, other) => Date.parse(one.deadline) - Date.parse(other.deadline) || (one.id < other.id ? -1 : 1));

function matches(call) {
  const user = byId("by-user").value.trim().toLowerCase();
  const is = (id, value) => !byId(id).value || byId(id).value === value;
  return is("by-tool", call.tool) && is("by-risk", call.risk) && is("by-project", call.project_id) && (!user || call.user_id.toLowerCase().includes(user));
}

function offer(id, values, label) {
  const select = byId(id);
  const wanted = [...new Set([...values, ...(select.value ? [select.value] : [])])].sort();
  const same = select.options.length === wanted.length + 1 && wanted.every((each, index) => select.options[index + 1].value === each);
  if (same && select.options[0].textContent === texts().any) return;
  const chosen = select.value;
  select.replaceChildren(make("option", { value: "", textContent: texts().any }), ...wanted.map((each) => make("option", { value: each, textContent: label(each) })));
  select.value = chosen;
}

function rowOf(call) {
  let row = rows.get(call.id);
  if (!row) {
    row = make("button", { type: "button", tabIndex: -1, data: { id: call.id } }, make("span", { className: "tool", dir: "auto" }), make("span", { className: "risk" }), make("span", { className: "user", dir: "auto" }), make("span", { className: "left" }));
    row.addEventListener("click", () => choose(call.id, true));
    rows.set(call.id, row);
  }
  const [tool, risk, user] = row.children;
  write(tool, call.tool);
  write(risk, named(texts().risks, call.risk));
  if (risk.dataset.risk !== call.risk) risk.dataset.risk = call.risk;
  write(user, call.user_id);
  const chosen = String(call.id === current);
  if (row.getAttribute("aria-current") !== chosen) row.setAttribute("aria-current", chosen);
  const tab = call.id === at ? 0 : -1;
  if (row.tabIndex !== tab) row.tabIndex = tab;
  tickRow(row, call);
  return row;
}

function tickRow(row, call) {
  const { decision } = call;
  const text = call.status === "suggested" ? showLeft(Date.parse(call.deadline) - Date.now()) : decision ? `${named(texts().statuses, call.status)} · ${decidedBy(decision)}` : named(texts().statuses, call.status);
  write(row.lastChild, text);
}

// Put these rows into a list, moving only what is not in its place: a row that has the focus keeps it.
function place(list, wanted) {
  const items = wanted.map((row) => row.parentElement || make("li", null, row));
  const staying = new Set(items);
  for (const item of [...list.children]) if (!staying.has(item)) item.remove();
  items.forEach((item, index) => {
    if (list.children[index] !== item) list.insertBefore(item, list.children[index] || null);
  });
}

let drawing = 0;
function draw() {
  drawing ||= setTimeout(drawNow);
}

function drawNow() {
  clearTimeout(drawing);
  drawing = 0;
  const all = waiting();
  const shown = all.filter(matches);
  const ended = [...calls.values()].filter((call) => call.status !== "suggested" && matches(call)).reverse();
  if (!shown.some((call) => call.id === at) && !ended.some((call) => call.id === at)) at = (shown[0] || ended[0])?.id ?? null;
  offer("by-tool", all.map((call) => call.tool), (each) => each);
  offer("by-risk", ["low", "medium", "high"], (each) => texts().risks[each]);
  offer("by-project", [...calls.values()].map((call) => call.project_id), (each) => each);
  byId("project-filter").hidden = byId("by-project").options.length < 3;
  place(byId("list"), shown.map(rowOf));
  place(byId("lately"), ended.map(rowOf));
  byId("lately-box").hidden = !ended.length;
  if (byId("pick")) byId("pick").hidden = !shown.length && !ended.length;
  const count = listed.waiting > listed.shown ? Math.max(listed.waiting, all.length) : all.length;
  const counted = fill(texts().waiting, { count });
  const told = shown.length === count ? counted : `${counted} (${fill(texts().shownOf, { shown: shown.length, count })})`;
  write(byId("count"), told);
  write(byId("empty"), shown.length || !complete ? "" : all.length ? texts().noMatch : texts().nothing);
  const title = count ? `(${count}) ${texts().title}` : texts().title;
  if (document.title !== title) document.title = title;
}

function forget(id) {
  calls.delete(id);
  rows.get(id)?.parentElement?.remove();
  rows.delete(id);
  if (id !== current && !details.get(id)?.typed) details.delete(id);
}

function trim() {
  const ended = [...calls.values()].filter((call) => !isOpen(call) && call.id !== current);
  for (const call of ended.slice(0, Math.max(0, ended.length - LATELY))) forget(call.id);
}

// Keep a call as it is now; of those that are decided, the last one comes last.
function put(call) {
  if (calls.get(call.id)?.status === "suggested" && call.status !== "suggested") calls.delete(call.id);
  calls.set(call.id, call);
  draw();
}

// --- what the server tells

function opened() {
  connected = true;
  retryAt = 0;
  complete = false;
  seen = new Set();
  showState();
}

function received(event) {
  if (event.type === "calls") {
    const fresh = [];
    for (const call of event.calls) {
      seen.add(call.id);
      if (complete && call.status === "suggested" && !calls.has(call.id)) fresh.push(call);
      const before = calls.get(call.id);
      if (before && before.status !== "suggested" && call.status === "suggested") continue; // it was read before the decision
      put(call);
      details.get(call.id)?.update(call);
    }
    if (fresh.length) alert(fresh.map((call) => call.tool));
  } else if (event.type === "gone") {
    for (const id of event.ids) leave(id);
  } else if (event.type === "listed") {
    listed = event;
    if (!complete) {
      complete = true;
      for (const call of [...calls.values()]) if (isOpen(call) && !seen.has(call.id)) missed(call);
    }
  }
  trim();
  draw();
}

// A call that is listed no more. One that is being looked at stays, and says so.
function leave(id) {
  const call = calls.get(id);
  if (call && details.has(id) && (id === current || details.get(id).typed)) missed(call);
  else forget(id);
}

// What became of a call while nothing was told of it.
async function missed(call) {
  const { status, value } = await request("GET", `/calls/${encodeURIComponent(call.id)}?project_id=${encodeURIComponent(call.project_id)}`);
  if (status === 200) {
    const now = { ...call, ...value };
    if (isOpen(now) && !seen.has(call.id)) forget(call.id);
    else calls.set(call.id, now);
    details.get(call.id)?.update(now);
  } else if (status === 404) {
    details.get(call.id)?.update({ ...call, status: "cancelled" });
    details.get(call.id)?.tell(texts().errors.not_found);
    calls.delete(call.id);
    rows.get(call.id)?.parentElement?.remove();
    rows.delete(call.id);
  }
  draw();
}

function ended(problem, wait) {
  connected = false;
  retryAt = wait ? Date.now() + wait : 0;
  if (!wait) lock(problem.status === 401 && !calls.size && hasToken() ? texts().wrongToken : hasToken() ? texts().revoked : "");
  showState();
}

function lock(why) {
  byId("locked-why").textContent = why;
  byId("token").value = "";
  setToken(null);
  stream.close();
  connected = false;
  if (!byId("locked").open) byId("locked").showModal();
  showState();
}

// --- the person

function approver() {
  const name = localStorage.getItem("inbox-approver");
  if (!name) openSettings();
  return name || null;
}

function openSettings() {
  byId("settings-title").textContent = localStorage.getItem("inbox-approver") ? texts().settings : texts().named;
  byId("name").value = localStorage.getItem("inbox-approver") || "";
  byId("sound").checked = isOn("sound");
  byId("notify").checked = isOn("notify");
  byId("notify-told").textContent = "";
  if (!byId("settings").open) byId("settings").showModal();
}

function choose(id, focused) {
  const call = calls.get(id);
  if (!call) return;
  let detail = details.get(id);
  details.delete(id);
  detail ||= new CallDetail(call, { deciding: approver, closed: close, next: goOn, decided: put, refused: () => lock(texts().revoked) });
  details.set(id, detail);
  for (const [each, kept] of [...details].slice(0, -DETAILS)) if (!kept.typed) details.delete(each);
  current = id;
  at = id;
  byId("detail").replaceChildren(detail.element);
  byId("panes").classList.add("chosen");
  detail.tick();
  drawNow();
  if (focused) detail.focus();
}

function close() {
  const id = current;
  current = null;
  byId("panes").classList.remove("chosen");
  byId("detail").replaceChildren(make("p", { id: "pick", textContent: texts().pick }));
  drawNow();
  (rows.get(id) || rows.get(at))?.focus();
}

// Open the call that waits next, with the filters that are set.
function goOn() {
  const next = waiting().find(matches);
  if (next) choose(next.id, true);
  else close();
}

function view(name) {
  for (const each of ["waiting", "history"]) {
    byId(each).hidden = each !== name;
    byId(`open-${each}`).setAttribute("aria-pressed", String(each === name));
  }
  if (name === "history") showHistory();
}

function move(step) {
  const shown = [...byId("list").querySelectorAll("button"), ...(byId("lately-box").open ? byId("lately").querySelectorAll("button") : [])];
  if (!shown.length) return;
  const index = shown.findIndex((row) => row.dataset.id === at);
  const row = shown[Math.min(shown.length - 1, Math.max(0, index + step))];
  at = row.dataset.id;
  drawNow();
  row.focus();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]") || byId("waiting").hidden) return;
  if (event.key === "Escape" && current) {
    if (details.get(current)?.mode) details.get(current).show("");
    else close();
    return;
  }
  if (event.target.closest("input, textarea, select")) return;
  const inList = event.target.closest("#lists") || event.target === document.body;
  const step = { j: 1, k: -1, ...(inList ? { ArrowDown: 1, ArrowUp: -1 } : {}) }[event.key];
  if (step) {
    event.preventDefault();
    move(step);
  } else if (current && details.get(current)?.press(event.key)) event.preventDefault();
});

for (const id of ["by-tool", "by-risk", "by-user", "by-project"]) byId(id).addEventListener("input", draw);
byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("open-waiting").addEventListener("click", () => view("waiting"));
byId("open-history").addEventListener("click", () => view("history"));
byId("open-settings").addEventListener("click", openSettings);
byId("settings-shut").addEventListener("click", () => byId("settings").close());
byId("locked").addEventListener("cancel", (event) => event.preventDefault());

byId("settings-form").addEventListener("submit", (event) => {
  const name = byId("name").value.trim();
  if (!name) {
    event.preventDefault();
    byId("name").focus();
    return;
  }
  localStorage.setItem("inbox-approver", name);
  say(fill(texts().decideAs, { name }));
});

byId("sound").addEventListener("change", () => {
  turn("sound", byId("sound").checked);
  if (byId("sound").checked) alert([]);
});

byId("notify").addEventListener("change", async () => {
  const on = byId("notify").checked && (await mayNotify());
  if (byId("notify").checked && !on) byId("notify-told").textContent = texts().notifyDenied;
  byId("notify").checked = on;
  turn("notify", on);
});

language.addEventListener("change", () => {
  localStorage.setItem("language", language.value);
  speak();
});

byId("unlock").addEventListener("submit", (event) => {
  const token = byId("token").value.trim();
  if (!isSendable(token)) {
    event.preventDefault();
    byId("locked-why").textContent = texts().wrongToken;
    return;
  }
  setToken(token);
  byId("locked").close();
  showState();
  stream.open();
});

setInterval(() => {
  showState();
  for (const [id, row] of rows) if (calls.has(id)) tickRow(row, calls.get(id));
  if (current) details.get(current)?.tick();
}, 1000);

beginHistory(() => lock(texts().revoked));
speak();
stream.open();
