// Beside the reader: the tree of branches, chapters, cast, states with locks, contradictions, and what is recalled.

import { byId, call, fill, make, texts } from "/static/story-parts.js";

let here = null; // the open branch, and the ways to leave it; see story.js
let goTo = null;

export function rememberBook(opened, ways) {
  here = opened;
  goTo = ways;
}

const path = (rest) => `/${here.story}/${rest}`;

export async function drawBook() {
  const { branch } = here;
  if (!branch) return;
  const [{ branches }, { chapters }, { cast }, { states, contradictions }] = await Promise.all([
    call("GET", path("branches")),
    call("GET", path(`chapters?branch=${branch}`)),
    call("GET", path("cast")),
    call("GET", path(`states?branch=${branch}`)),
  ]);
  const open = new Set([...byId("book").querySelectorAll("details[open]")].map((each) => each.dataset.part));
  const first = !byId("book").childElementCount;
  const part = (name, ...children) => make("details", { data: { part: name }, open: first ? name === "tree" : open.has(name) }, make("summary", { textContent: texts()[name] }), ...children);
  byId("book").replaceChildren(
    part("tree", tree(branches), make("div", { className: "buttons" }, make("button", { type: "button", textContent: texts().redo, on: () => act(() => goTo.move("redo")) }))),
    part("chapters", ...chapters.map(chapterOf), chapterForm()),
    part("cast", list(cast, (each) => `${each.name} (${texts().kinds[each.kind]})${each.look ? `: ${each.look}` : ""}`), castForm()),
    part("states", ...states.map(stateOf)),
    part("contradictions", contradictions.length ? list(contradictions, (each) => each) : make("p", { textContent: texts().noContradictions })),
    part("recall", recallForm()),
    make("p", { id: "book-told", role: "alert" }),
  );
}

async function act(deed) {
  try {
    await deed();
  } catch (error) {
    byId("book-told").textContent = error.message;
  }
}

function list(entries, show) {
  return make("ul", { role: "list" }, ...entries.map((each) => make("li", { dir: "auto", textContent: show(each) })));
}

// The branches as a nested list, each under the one that it comes from: a tree that a keyboard and a reader can walk.
function tree(branches) {
  const under = (parent) => {
    const children = branches.filter((each) => each.parent === parent);
    return children.length ? make("ul", { role: "list" }, ...children.map((each) => make("li", null,
      make("button", { type: "button", dir: "auto", textContent: each.parent ? fill(texts().branchAt, { name: each.name, seq: each.cut }) : each.name, ...(each.id === here.branch ? { aria: { current: "true" } } : {}), on: () => act(() => goTo.openStory(here.story, each.id)) }),
      under(each.id)))) : null;
  };
  return under(null);
}

function chapterOf(chapter) {
  return make("article", null,
    make("h3", { dir: "auto", textContent: chapter.title }),
    chapter.summary ? make("p", { dir: "auto", textContent: chapter.summary }) : null,
    list(chapter.milestones, (each) => `${each.met_at === null ? "○" : "●"} ${each.text}`),
    chapter.status === "open" ? make("button", { type: "button", textContent: texts().conclude, on: () => act(async () => {
      await call("POST", path(`chapters/${chapter.id}/conclude`), {});
      await drawBook();
    }) }) : null);
}

// A form of one or more fields, and a button. `fields`: names of texts, which are the names of its inputs too.
function form(fields, button, submit) {
  const inputs = Object.fromEntries(fields.map((name) => [name, name === "milestones" ? make("textarea", { rows: 3 }) : make("input", { maxLength: 200, autocomplete: "off", required: true })]));
  const made = make("form", null, ...fields.map((name) => make("label", null, make("span", { textContent: texts()[name] }), inputs[name])), make("button", { type: "submit", textContent: button }));
  made.addEventListener("submit", (event) => {
    event.preventDefault();
    act(() => submit(Object.fromEntries(fields.map((name) => [name, inputs[name].value.trim()]))));
  });
  return made;
}

function chapterForm() {
  return form(["chapterTitle", "milestones"], texts().beginChapter, async ({ chapterTitle, milestones }) => {
    await call("POST", path("chapters"), { branch: here.branch, title: chapterTitle, milestones: milestones.split("\n").map((each) => each.trim()).filter(Boolean) });
    await drawBook();
  });
}

function castForm() {
  const kind = make("select", { required: true }, ...Object.entries(texts().kinds).map(([value, textContent]) => make("option", { value, textContent })));
  const made = form(["memberName"], texts().addMember, async ({ memberName }) => {
    await call("POST", path("cast"), { name: memberName, kind: kind.value });
    await drawBook();
  });
  made.lastElementChild.before(make("label", null, make("span", { textContent: texts().kind }), kind));
  return made;
}

function stateOf(state) {
  const text = `${state.entity}: ${texts().fields[state.field]} ${state.value} (${fill(texts().sceneOf, { seq: state.seq })}, ${texts().setters[state.by]})`;
  const label = state.locked ? texts().unlockState : texts().lockState;
  return make("p", { className: "state" }, make("span", { dir: "auto", textContent: text }),
    make("button", { type: "button", textContent: label, aria: { label: `${label}: ${state.entity}`, pressed: String(state.locked) }, on: () => act(async () => {
      await call("PUT", path(`states?branch=${here.branch}`), { entity: state.entity, field: state.field, value: state.value, locked: !state.locked });
      await drawBook();
    }) }));
}

function recallForm() {
  const found = make("ul", { role: "list", aria: { live: "polite" } });
  const made = form(["query"], texts().search, async ({ query }) => {
    const { scenes } = await call("GET", path(`recall?branch=${here.branch}&query=${encodeURIComponent(query)}`));
    found.replaceChildren(...(scenes.length ? scenes.map((each) => make("li", { dir: "auto", textContent: `${fill(texts().sceneOf, { seq: each.seq })}: ${each.text}` })) : [make("li", { textContent: texts().nothing })]));
  });
  return make("div", null, made, found);
}
