// A source in a dialog of its own: the section around the cited lines, with them and the numbers in them marked.
//
// The token goes in a header, so that it stands in no address; what comes is data, and put into the page as text.

import { element, written } from "/static/answer.js";
import { words } from "/static/language.js";

const dialog = document.getElementById("source");
const title = document.getElementById("source-title");
const told = document.getElementById("source-told");
const text = document.getElementById("source-text");
const whole = document.getElementById("source-whole");
const on = document.getElementById("source-on");

let opened = 0; // how many were: what comes for an earlier one is not shown
let shown = null; // the citation that is open

function address(file, lines) {
  const path = file.split("/").map(encodeURIComponent).join("/");
  return `/source/${path}${lines ? `?lines=${lines[0] === lines[1] ? lines[0] : lines.join("-")}` : ""}`;
}

// Which parts of the cited lines are the citation's own: of a long line it shows one part. All, where none is in it.
export function own(parts, snippet) {
  const cited = parts.flatMap((part) => part.lines).filter((line) => line.cited);
  const among = cited.filter((line) => snippet?.includes(line.text.join("")));
  return new Set(among.length ? among : cited);
}

// The lines of one heading. Parts of one long line follow each other under its number.
function section({ heading, lines }, mine) {
  const made = element("section");
  if (heading) made.append(written("h3", "", heading));
  let last = null;
  let row = null;
  for (const line of lines) {
    if (row && line.line !== null && line.line === last) row.append(" ");
    else {
      const box = element("p", `line ${line.kind}`);
      row = written("span");
      box.append(element("span", "number", line.line === null ? "" : String(line.line)), row);
      made.append(box);
    }
    last = line.line;
    row.append(piece(line, mine.has(line)));
  }
  return made;
}

function piece({ text: runs }, cited) {
  const made = element("span", cited ? "cited" : "");
  if (cited) made.setAttribute("aria-current", "true");
  runs.forEach((run, at) => made.append(element(at % 2 && cited ? "mark" : "span", "", run)));
  return made;
}

export function sections(found, snippet) {
  const mine = own(found.parts, snippet);
  return found.parts.map((part) => section(part, mine));
}

async function load(file, lines, snippet) {
  const number = ++opened;
  told.textContent = words().loading;
  text.replaceChildren();
  for (const each of [whole, on]) each.hidden = true;
  const token = sessionStorage.getItem("token");
  const headers = { accept: "application/json", ...(token ? { authorization: `Bearer ${token}` } : {}) };
  let found = null;
  let trouble = "";
  try {
    const answer = await fetch(address(file, lines), { headers });
    if (answer.ok) found = await answer.json();
    else trouble = words().source[answer.status] || words().source.other;
  } catch {
    trouble = words().source.other;
  }
  if (number !== opened) return;
  told.textContent = trouble || (found.above ? words().source.above : "");
  if (trouble) return;
  text.append(...sections(found, snippet));
  if (found.below !== null) text.append(element("p", "cut", words().source.below));
  whole.hidden = found.whole || !lines;
  on.hidden = found.below === null;
  on.textContent = words().source.on(found.below);
  on.onclick = () => load(file, [found.below, found.below], null);
  const first = text.querySelector(".cited");
  if (first && lines) first.scrollIntoView({ block: "center" });
  else text.scrollTop = 0;
}

// Escape and the button close it; the browser then gives the focus back to what opened it.
export function openSource(citation) {
  shown = citation;
  title.textContent = citation.file;
  if (!dialog.open) dialog.showModal();
  text.focus();
  return load(citation.file, citation.lines, citation.snippet);
}

whole.addEventListener("click", () => load(shown.file, null, null));
document.getElementById("source-close").addEventListener("click", () => dialog.close());
dialog.addEventListener("close", () => opened++);
