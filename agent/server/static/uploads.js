// Documents that a person adds to those that answers are taken from, in a dialog of its own: what is sent, what was read
// of it and what was left out, and what is there already. The server says who may, into which project, and how much; the
// button is hidden from everybody else. Files are sent one after the other; names are shown as text.

import { element, written } from "/static/answer.js";
import { words } from "/static/language.js";
import { filled } from "/static/words.js";

const MOST = 100; // files that wait to be sent
const LISTED = 100; // documents of one piece of the list, as the server gives them
const MB = 1024 * 1024;

const byId = (id) => document.getElementById(id);
const said = (name, values = {}) => filled(words().uploads[name], values);

let place = null; // where this person may upload: { project, most, types }
let token = null;
let asked = 0;
let parts = null; // the dialog's elements, once somebody may upload
let sendings = []; // the files that were chosen, oldest first
let listed = null; // the documents that are there; null until they came

// Ask whether this person may upload; for each new connection.
export async function beginUploads(given) {
  token = given;
  const number = ++asked;
  let answer = null;
  try {
    const response = await fetch("/uploads.json", { headers: shown() });
    if (response.ok) answer = await response.json();
  } catch {
    // the connection says so, where it is lost
  }
  if (number !== asked) return;
  place = answer?.project ? answer : null;
  if (place && !parts) build();
  if (!parts) return;
  parts.open.hidden = !place;
  if (!place) parts.dialog.close();
  else if (parts.dialog.open) list();
}

const shown = () => (token ? { authorization: `Bearer ${token}` } : {});
const address = (rest = "") => `/projects/${encodeURIComponent(place.project)}/docs${rest}`;

// --- the dialog

function button(pressed, label) {
  const made = element("button");
  made.type = "button";
  made.addEventListener("click", pressed);
  if (label) made.setAttribute("aria-label", label);
  return made;
}

function build() {
  const dialog = element("dialog");
  dialog.id = "uploads";
  dialog.setAttribute("aria-labelledby", "uploads-title");
  const title = element("h2");
  title.id = "uploads-title";
  title.tabIndex = -1; // takes the focus when what was pressed is gone
  const files = element("input");
  files.type = "file";
  files.multiple = true;
  files.hidden = true;
  files.accept = Object.keys(place.types).join(",");
  files.addEventListener("change", () => {
    add([...files.files]);
    files.value = "";
  });
  parts = {
    dialog,
    title,
    files,
    open: byId("uploads-open"),
    shut: button(() => dialog.close()),
    choose: button(() => files.click()),
    told: element("p"),
    drop: element("span"),
    limits: element("p", "detail"),
    sent: element("ul"),
    heading: element("h3"),
    list: element("ul"),
    nothing: element("p", "detail"),
  };
  parts.open.addEventListener("click", show);
  parts.choose.id = "uploads-choose";
  parts.told.id = "uploads-told";
  parts.told.setAttribute("role", "status");
  parts.sent.id = "uploads-sent";
  parts.list.id = "uploads-list";
  for (const each of [parts.sent, parts.list]) each.setAttribute("role", "list");
  const header = element("header");
  header.append(title, parts.shut);
  const zone = element("div", "drop");
  zone.append(parts.drop, parts.choose, files);
  const body = element("div");
  body.id = "uploads-text";
  body.append(zone, parts.limits, parts.sent, parts.heading, parts.nothing, parts.list);
  dialog.append(header, parts.told, body);
  document.body.append(dialog);
  addEventListener("dragover", dragged);
  addEventListener("dragleave", (event) => event.relatedTarget || document.body.classList.remove("dropping"));
  addEventListener("drop", dropped);
  tell();
}

// Say everything in the language of the page; the button has its words, and so its place, before it is seen.
export function speakUploads() {
  byId("uploads-name").textContent = said("open");
  byId("uploads-open").setAttribute("aria-label", said("open"));
  if (parts && place) tell();
}

function tell() {
  parts.title.textContent = said("open");
  parts.shut.textContent = words().shut;
  parts.choose.textContent = said("choose");
  parts.drop.textContent = said("drop");
  parts.limits.textContent = `${said("limits", { size: Math.floor(place.most / MB) })} ${said("shared")}`;
  parts.heading.textContent = said("listed");
  parts.told.textContent = "";
  render();
}

function show() {
  parts.told.textContent = "";
  if (!parts.dialog.open) parts.dialog.showModal();
  list();
}

function render() {
  for (const each of sendings.filter((one) => !one.view)) {
    each.view = makeView(each);
    parts.sent.append(each.view.row);
  }
  for (const each of sendings) renderSending(each);
  const held = parts.list.contains(document.activeElement);
  parts.list.replaceChildren(...(listed || []).map(documentView));
  parts.nothing.textContent = listed ? said("nothing") : words().loading;
  parts.nothing.hidden = listed?.length > 0;
  if (held) parts.title.focus();
}

// --- what is sent

function dragged(event) {
  if (!place || ![...event.dataTransfer.types].includes("Files") || document.querySelector("dialog[open]:not(#uploads)")) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = "copy";
  document.body.classList.add("dropping");
}

function dropped(event) {
  if (!document.body.classList.contains("dropping")) return;
  event.preventDefault();
  document.body.classList.remove("dropping");
  show();
  add([...event.dataTransfer.files]);
}

function suffixOf(name) {
  return name.includes(".") ? name.slice(name.lastIndexOf(".")).toLowerCase() : "";
}

// Why a file is not even sent; "" where it can be.
function faultOf(file) {
  if (!Object.hasOwn(place.types, suffixOf(file.name))) return "type";
  if (!file.size) return "empty";
  return file.size > place.most ? "large" : "";
}

function add(files) {
  const room = MOST - sendings.filter((each) => each.state === "waiting").length;
  for (const file of files.slice(0, Math.max(0, room))) {
    const code = faultOf(file);
    sendings.push({ file, state: code ? "failed" : "waiting", code, share: 0 });
  }
  parts.told.textContent = files.length > room ? said("many", { most: MOST }) : "";
  render();
  sendNext();
}

function sendNext() {
  if (sendings.some((each) => each.request)) return;
  const one = sendings.find((each) => each.state === "waiting");
  if (one) send(one);
}

function send(one) {
  const { name } = one.file;
  const form = new FormData();
  form.append("category", "FACTS");
  form.append("file", new File([one.file], name, { type: place.types[suffixOf(name)] }), name);
  const request = new XMLHttpRequest(); // fetch tells nothing of how much was sent
  Object.assign(one, { request, state: "sending", share: 0 });
  request.upload.onprogress = (event) => {
    one.share = event.lengthComputable ? Math.floor((100 * event.loaded) / event.total) : 0;
    renderSending(one);
  };
  request.upload.onload = () => {
    one.state = "reading";
    renderSending(one);
  };
  request.onload = () => finish(one, ...outcomeOf(request));
  request.onerror = () => finish(one, "failed", "lost");
  request.onabort = () => finish(one, "failed", "stopped");
  request.open("POST", address());
  for (const [header, value] of Object.entries(shown())) request.setRequestHeader(header, value);
  request.send(form);
  renderSending(one);
}

// How a request ended: the state, and the code of the fault or the document with how it was taken.
function outcomeOf(request) {
  let value = null;
  try {
    value = JSON.parse(request.responseText);
  } catch {
    return ["failed", "other"]; // a proxy's page
  }
  if (request.status >= 300) return ["failed", String(value?.code)];
  return ["done", "", { ...value, was: value.version > 1 ? "replaced" : request.status === 200 ? "same" : "" }];
}

function finish(one, state, code, made = null) {
  Object.assign(one, { request: null, state, code, made });
  renderSending(one);
  parts.told.textContent = `${one.file.name}: ${stateOf(one)}`;
  if (state === "done") one.file = { name: one.file.name }; // its content is not needed any more
  list();
  sendNext();
}

// What is said of a file, from its state.
function stateOf(one) {
  if (one.state === "waiting") return said("waiting");
  if (one.state === "sending") return said("sent", { share: one.share });
  if (one.state === "reading") return said("reading");
  if (one.state === "failed") {
    const faults = words().uploads.error;
    const kinds = Object.keys(place?.types || {}).join(" ");
    return filled(faults[one.code] || faults.other, { kinds, size: Math.floor((place?.most || 0) / MB) });
  }
  return [read(one.made), leftOut(one.made), one.made.was ? said(one.made.was) : ""].filter(Boolean).join(" ");
}

function read({ report, chunks_count: count }) {
  const pages = report.pages ? said("pages", { count: report.pages }) : "";
  return [pages, said("sections", { count })].filter(Boolean).join(" ");
}

function leftOut({ report }) {
  const told = [
    report.blank_pages ? said("blank", { count: report.blank_pages }) : "",
    report.cut_pages ? said("cut", { count: report.cut_pages }) : "",
    report.pictures ? said("pictures", { count: report.pictures }) : "",
  ];
  return told.filter(Boolean).join(" ");
}

function makeView(one) {
  const row = element("li", "item");
  const state = element("p", "detail");
  const bar = element("progress");
  bar.max = 100;
  bar.setAttribute("aria-label", one.file.name);
  const stop = button(() => one.request.abort());
  const again = button(() => {
    Object.assign(one, { state: "waiting", code: "" });
    render();
    sendNext();
  });
  const away = button(() => {
    sendings = sendings.filter((each) => each !== one);
    row.remove();
    parts.title.focus();
  });
  const buttons = element("div", "buttons");
  buttons.append(stop, again, away);
  row.append(written("p", "text", one.file.name), state, bar, buttons);
  return { row, state, bar, stop, again, away };
}

function renderSending(one) {
  const { row, state, bar, stop, again, away } = one.view;
  const busy = one.state === "sending" || one.state === "reading";
  row.dataset.state = one.state;
  state.textContent = stateOf(one);
  bar.hidden = !busy;
  if (one.state === "reading") bar.removeAttribute("value");
  else bar.value = one.share;
  const held = document.activeElement;
  for (const [each, name, seen] of [
    [stop, "stop", one.state === "sending"],
    [again, "again", one.state === "failed" && !["type", "empty", "large"].includes(one.code)],
    [away, "away", one.state === "failed" || one.state === "done" || one.state === "waiting"],
  ]) {
    each.hidden = !seen;
    each.textContent = said(name);
    each.setAttribute("aria-label", `${said(name)}: ${one.file.name}`);
    if (!seen && each === held) parts.title.focus();
  }
}

// --- what is there

async function list() {
  const found = [];
  let cursor = "";
  try {
    do {
      const response = await fetch(address(`?limit=${LISTED}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`), { headers: shown() });
      if (!response.ok) throw new Error(String(response.status));
      const part = await response.json();
      found.push(...part.items.filter((each) => each.category !== "RULES"));
      cursor = part.next_cursor;
    } while (cursor);
  } catch {
    if (parts.dialog.open && !listed) parts.told.textContent = words().uploads.error.lost;
    return;
  }
  listed = found;
  if (!parts.list.querySelector(".sure")) render(); // a question is not taken from somebody who is about to answer it
}

function documentView(one) {
  const row = element("li", "item");
  const about = [read(one), said("size", { size: Math.ceil(one.bytes / 1024) }), leftOut(one)].filter(Boolean).join(" ");
  const spot = element("div", "buttons");
  const remove = button(() => {
    spot.replaceChildren(sure(one, () => {
      spot.replaceChildren(remove);
      remove.focus();
    }));
    spot.querySelector("button:last-child").focus(); // keeping is what happens by mistake
  }, `${said("remove")}: ${one.filename}`);
  remove.textContent = said("remove");
  spot.append(remove);
  row.append(written("p", "text", one.filename), element("p", "detail", about), spot);
  return row;
}

// Removing is asked once more.
function sure(one, back) {
  const box = element("div", "sure");
  const text = written("p", "", said("sure", { name: one.filename }));
  text.setAttribute("role", "alert");
  const keep = button(back);
  keep.textContent = said("keep");
  const gone = button(() => remove(one));
  gone.textContent = said("remove");
  const buttons = element("div", "buttons");
  buttons.append(gone, keep);
  box.append(text, buttons);
  return box;
}

async function remove(one) {
  let told = words().uploads.error.lost;
  try {
    const response = await fetch(address(`/${encodeURIComponent(one.id)}`), { method: "DELETE", headers: shown() });
    if (response.ok || response.status === 404) {
      told = said("removed", { name: one.filename });
      listed = listed.filter((each) => each.id !== one.id);
    }
  } catch {
    // told as it stands: nothing was removed, as far as is known here
  }
  parts.told.textContent = told;
  render();
  parts.title.focus();
  list();
}
