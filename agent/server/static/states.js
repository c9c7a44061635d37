// The operator's view, on a page opened with ?debug=1 or with F2: the session's states with the present one lit, what
// can happen in it, and whether the server is well. The states are read from the server's own diagram, /session.mmd.

import { element } from "/static/answer.js";
import { words } from "/static/language.js";

const SVG = "http://www.w3.org/2000/svg";
const KEY = "F2";
const WIDTH = 118; // of a state
const HEIGHT = 30;
const PLACES = {
  idle: [10, 70], buffering: [180, 20], verifying: [350, 20], streaming: [520, 20],
  awaiting_confirmation: [180, 120], executing: [350, 120], closed: [520, 120],
}; // of the upper left corner; a state that is not here has no box
const ARROW = /^\s*(\w+) --> (\w+)(?:: (.*))?$/;

const box = document.getElementById("states");
const drawing = document.getElementById("states-drawing");
const now = document.getElementById("states-now");
const readiness = document.getElementById("states-readiness");
const title = document.getElementById("states-title");
const asked = document.getElementById("states-asked");
let arrows = []; // {from, to, label}
let boxes = {}; // state -> its group
let lit = "";

// Returns the arrows of a Mermaid state diagram.
export function readArrows(text) {
  return text.split("\n").flatMap((line) => {
    const [, from, to, label = ""] = ARROW.exec(line) || [];
    return from ? [{ from, to, label }] : [];
  });
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// The line from the edge of one state to the edge of another.
function line(from, to) {
  const [[x1, y1], [x2, y2]] = [PLACES[from], PLACES[to]].map(([x, y]) => [x + WIDTH / 2, y + HEIGHT / 2]);
  const reach = Math.min((WIDTH / 2 + 4) / Math.abs(x2 - x1 || 1e-9), (HEIGHT / 2 + 4) / Math.abs(y2 - y1 || 1e-9));
  const [dx, dy] = [(x2 - x1) * reach, (y2 - y1) * reach];
  const aside = 4; // so that there and back are two lines
  const length = Math.hypot(x2 - x1, y2 - y1);
  const [ax, ay] = [(-(y2 - y1) / length) * aside, ((x2 - x1) / length) * aside];
  return svg("line", { x1: x1 + dx + ax, y1: y1 + dy + ay, x2: x2 - dx + ax, y2: y2 - dy + ay, "marker-end": "url(#arrow)", class: `from-${from}` });
}

function draw() {
  const known = new Set(arrows.filter(({ from, to }) => from !== to && PLACES[from] && PLACES[to]).map(({ from, to }) => `${from} ${to}`));
  const marker = svg("marker", { id: "arrow", viewBox: "0 0 6 6", refX: 5, refY: 3, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0 6 3 0 6z" }));
  boxes = {};
  const states = Object.entries(PLACES).map(([name, [x, y]]) => {
    const text = svg("text", { x: x + WIDTH / 2, y: y + HEIGHT / 2 + 4, "text-anchor": "middle" });
    text.textContent = name.replace("awaiting_confirmation", "awaiting");
    return (boxes[name] = svg("g", {}, svg("rect", { x, y, width: WIDTH, height: HEIGHT, rx: 7 }), text));
  });
  drawing.replaceChildren(svg("defs", {}, marker), ...[...known].map((each) => line(...each.split(" "))), ...states);
}

// Light the state that the session is in.
export function light(state) {
  if (state === lit && now.childElementCount) return;
  lit = state;
  if (box.hidden) return;
  for (const [name, group] of Object.entries(boxes)) group.setAttribute("class", name === state ? "lit" : "");
  for (const each of drawing.querySelectorAll("line")) each.classList.toggle("lit", each.classList.contains(`from-${state}`));
  drawing.setAttribute("aria-label", words().debug.now(state));
  now.replaceChildren(...arrows.filter(({ from }) => from === state).map(({ to, label }) => element("li", "", `${label || "…"} → ${to}`)));
}

// Ask whether the server is well: why a model does not answer stands there, with the remedy.
export async function refreshReadiness() {
  if (box.hidden) return;
  try {
    const answer = await fetch("/readyz");
    readiness.textContent = (await answer.text()).trim();
  } catch {
    readiness.textContent = words().state.disconnected;
  }
}

async function show() {
  box.hidden = false;
  title.textContent = words().debug.title;
  asked.textContent = words().debug.readiness;
  if (!arrows.length) {
    try {
      const answer = await fetch("/session.mmd");
      if (answer.ok) arrows = readArrows(await answer.text());
    } catch {
      // without the server there is nothing to show yet
    }
    draw();
  }
  now.replaceChildren();
  light(lit);
  await refreshReadiness();
}

function turn() {
  const address = new URL(location.href);
  if (box.hidden) {
    address.searchParams.set("debug", "1");
    show();
  } else {
    address.searchParams.delete("debug");
    box.hidden = true;
  }
  history.replaceState(null, "", address);
}

export function beginStates() {
  document.addEventListener("keydown", (event) => {
    if (event.key !== KEY || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    turn();
  });
  if (new URLSearchParams(location.search).get("debug") === "1") show();
}
