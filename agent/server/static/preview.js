// The preview of a source above its mark, while the mark is pointed at or has the focus of the keyboard. It stays while
// it is pointed at itself, and Escape closes it without moving either (WCAG 1.4.13).

import { element } from "/static/answer.js";

const LEAVE = 250; // ms in which a pointer may go from the mark to the preview
const GAP = 4; // px between the two
const EDGE = 8; // px that stay free at the edges of the window

const tooltip = element("div", "preview");
tooltip.id = "preview";
tooltip.hidden = true;
tooltip.setAttribute("role", "tooltip");

let shownOf = null; // the mark
let leaving = 0;

// Show what `content` returns, a list of elements, for a mark. press: what pressing the mark does; without it the
// preview is shown then, as on a screen that is touched nothing is pointed at.
export function preview(mark, content, press) {
  mark.addEventListener("pointerenter", (event) => event.pointerType !== "touch" && reveal(mark, content()));
  mark.addEventListener("pointerleave", leaveSoon);
  mark.addEventListener("focus", () => mark.matches(":focus-visible") && reveal(mark, content()));
  mark.addEventListener("blur", () => shownOf === mark && conceal());
  mark.addEventListener("click", () => {
    if (!press) return reveal(mark, content());
    conceal();
    return press();
  });
}

function reveal(mark, content) {
  clearTimeout(leaving);
  if (shownOf === mark) return;
  conceal();
  shownOf = mark;
  mark.setAttribute("aria-describedby", tooltip.id);
  tooltip.replaceChildren(...content);
  tooltip.hidden = false;
  if (!tooltip.isConnected) document.querySelector("main").append(tooltip);
  putNear(mark.getBoundingClientRect());
}

// Above the mark, or below where there is more room, and inside the window. It moves with the page.
function putNear(at) {
  const above = at.top - document.querySelector("header").offsetHeight;
  const below = innerHeight - at.bottom - document.getElementById("ask").offsetHeight;
  const room = Math.max(above, below) - GAP - EDGE;
  tooltip.style.maxHeight = `${room}px`;
  const { width, height } = tooltip.getBoundingClientRect();
  const top = height + GAP + EDGE <= above || above >= below ? at.top - GAP - height : at.bottom + GAP;
  const left = Math.min(Math.max(at.left, EDGE), document.documentElement.clientWidth - width - EDGE);
  tooltip.style.top = `${top + scrollY}px`;
  tooltip.style.left = `${left + scrollX}px`;
}

function leaveSoon() {
  clearTimeout(leaving);
  leaving = setTimeout(() => shownOf && !shownOf.matches(":focus-visible") && conceal(), LEAVE);
}

function conceal() {
  clearTimeout(leaving);
  shownOf?.removeAttribute("aria-describedby");
  shownOf = null;
  tooltip.hidden = true;
}

tooltip.addEventListener("pointerenter", () => clearTimeout(leaving));
tooltip.addEventListener("pointerleave", leaveSoon);

document.addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Escape" || !shownOf) return;
    event.stopPropagation(); // it stops no answer
    conceal();
  },
  true,
);
