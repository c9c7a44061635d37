// Beside the reader: title and foundation, the tree of branches, chapters, cast, states with locks, contradictions, and
// what is recalled.

import { showForm } from "/static/story-form.js";
import { byId, call, fill, make, redraw, texts } from "/static/story-parts.js";

const WORDS = 8000; // characters, as on the server
const LOOK = 1000;
const STATE = 300;

let here = null; // the open branch, and the ways to leave it; see story.js
let goTo = null;

export function rememberBook(opened, ways) {
  here = opened;
  goTo = ways;
}

const path = (rest) => `/${here.story}/${rest}`;

export async function drawBook() {
  const { story, branch } = here;
  if (!branch || byId("book").hidden) return;
  const [about, { branches }, { chapters }, { cast }, { states, contradictions }] = await Promise.all([
    call("GET", `/${story}`),
    call("GET", path("branches")),
    call("GET", path(`chapters?branch=${branch}`)),
    call("GET", path("cast")),
    call("GET", path(`states?branch=${branch}`)),
  ]);
  if (branch !== here.branch) return; // another one was opened meanwhile
  byId("book-told").textContent = "";
  const open = chapters.at(-1)?.status === "open";
  put("words", 0, quiet(about.foundation || texts().noFoundation), buttons(button("words", texts().change, "", () => writeAbout(about))));
  put("tree", branches.length, tree(branches), buttons(button("redo", texts().redo, "", () => act(() => goTo.move("redo")))));
  put("chapters", chapters.length, chapters.length ? null : quiet(texts().noChapters), ...chapters.map((each) => chapterOf(each, each === chapters.at(-1))), buttons(button("begin", open ? texts().nextChapter : texts().beginChapter, "", beginChapter)));
  put("cast", cast.length, cast.length ? list(cast, memberOf) : quiet(texts().noCast), buttons(button("add", texts().addMember, "", () => writeMember(null))));
  put("states", states.length, states.length ? null : quiet(texts().noStates), ...states.map(stateOf));
  put("contradictions", contradictions.length, contradictions.length ? list(contradictions, (each) => quiet(each)) : quiet(texts().noContradictions));
}

// Fill a part of the book: how many things it has, and what is shown.
function put(name, count, ...children) {
  const part = byId("book").querySelector(`[data-part="${name}"]`);
  const shown = part.querySelector(".count");
  if (shown) shown.textContent = count ? `(${count})` : "";
  redraw(part.lastElementChild, ...children);
}

async function act(deed) {
  try {
    await deed();
  } catch (error) {
    await drawBook().catch(() => null); // as it is on the server
    byId("book-told").textContent = error.message;
    byId("book-told").scrollIntoView({ block: "nearest" });
  }
}

const quiet = (textContent) => make("p", { dir: "auto", className: "words", textContent });
const buttons = (...children) => make("div", { className: "buttons" }, ...children);
const list = (entries, show) => make("ul", { role: "list" }, ...entries.map((each) => make("li", null, show(each))));

// A button. `key`: of its own in the book; `of`: the name of the thing that it is about.
function button(key, textContent, of, on) {
  return make("button", { type: "button", textContent, data: { key }, aria: of ? { label: `${textContent}: ${of}` } : {}, on });
}

function entries(pairs) {
  return make("dl", null, ...pairs.filter(([, words]) => words).flatMap(([name, words]) => [make("dt", { textContent: texts()[name] }), make("dd", { dir: "auto", textContent: words })]));
}

// --- title and foundation

function writeAbout(about) {
  const fields = {
    title: { label: texts().storyTitle, value: about.title, required: true },
    foundation: { label: texts().foundation, value: about.foundation, rows: 8, most: WORDS },
  };
  showForm(texts().words, texts().save, fields, async (values) => {
    await call("PUT", `/${here.story}`, values);
    goTo.showTitle(values.title);
    await drawBook();
  });
}

// The branches as a nested list, each under the one that it comes from: a tree that a keyboard and a reader can walk.
function tree(branches) {
  const under = (parent) => {
    const children = branches.filter((each) => each.parent === parent);
    return children.length ? make("ul", { role: "list" }, ...children.map((each) => make("li", null,
      make("button", { type: "button", dir: "auto", data: { key: each.id }, textContent: each.parent ? fill(texts().branchAt, { name: each.name, seq: each.cut }) : each.name, ...(each.id === here.branch ? { aria: { current: "true" } } : {}), on: () => act(() => goTo.openStory(here.story, each.id)) }),
      under(each.id)))) : null;
  };
  return under(null);
}

// --- chapters

function chapterOf(chapter, isLast) {
  const concluded = chapter.status === "concluded";
  const status = concluded ? texts().concluded : fill(texts().began, { seq: chapter.from_seq });
  return make("article", null,
    make("h2", null, make("span", { dir: "auto", textContent: chapter.title }), make("small", { textContent: ` ${status}` })),
    entries([["chapterPlace", chapter.place], ["scenario", chapter.scenario], ["direction", chapter.direction], ["summary", chapter.summary]]),
    chapter.milestones.length ? list(chapter.milestones, (each) => milestoneOf(chapter, each)) : null,
    buttons(
      button(`edit-${chapter.id}`, texts().change, chapter.title, () => writeChapter(chapter)),
      concluded ? null : button(`move-${chapter.id}`, texts().conclude, chapter.title, () => conclude(chapter)),
      concluded && isLast ? button(`move-${chapter.id}`, texts().reopen, chapter.title, () => act(() => changeChapter(chapter, { status: "open", branch: here.branch }))) : null));
}

function milestoneOf(chapter, milestone) {
  const box = make("input", { type: "checkbox", checked: milestone.met_at !== null, data: { key: `met-${chapter.id}-${milestone.number}` } });
  box.addEventListener("change", () => act(() => changeChapter(chapter, { met: { [milestone.number]: box.checked }, branch: here.branch })));
  return make("label", null, box, make("span", { dir: "auto", textContent: milestone.text }));
}

async function changeChapter(chapter, values) {
  await call("PUT", path(`chapters/${chapter.id}`), values);
  await drawBook();
}

function chapterFields(chapter) {
  return {
    title: { label: texts().chapterTitle, value: chapter?.title, required: true },
    place: { label: texts().chapterPlace, value: chapter?.place, most: LOOK },
    scenario: { label: texts().scenario, value: chapter?.scenario, rows: 3, most: WORDS },
    direction: { label: texts().direction, value: chapter?.direction, rows: 3, most: WORDS },
  };
}

function beginChapter() {
  const fields = { ...chapterFields(), milestones: { label: texts().milestones, rows: 3, most: 20 * STATE } };
  showForm(texts().beginChapter, texts().save, fields, async ({ milestones, ...values }) => {
    await call("POST", path("chapters"), { ...values, branch: here.branch, milestones: milestones.split("\n").map((each) => each.trim()).filter(Boolean) });
    await drawBook();
  });
}

function writeChapter(chapter) {
  showForm(`${texts().change}: ${chapter.title}`, texts().save, chapterFields(chapter), (values) => changeChapter(chapter, values));
}

function conclude(chapter) {
  const fields = { summary: { label: texts().summaryOr, rows: 4, most: WORDS } };
  showForm(`${texts().conclude}: ${chapter.title}`, texts().conclude, fields, async ({ summary }) => {
    await call("POST", path(`chapters/${chapter.id}/conclude`), { branch: here.branch, ...(summary ? { summary } : {}) });
    await drawBook();
  });
}

// --- cast

function memberOf(member) {
  return make("article", null,
    make("h2", null, make("span", { dir: "auto", textContent: member.name }), make("small", { textContent: ` ${texts().kinds[member.kind]}` })),
    entries([["look", member.look], ["voice", member.voice]]),
    buttons(button(`edit-${member.id}`, texts().change, member.name, () => writeMember(member))));
}

function writeMember(member) {
  const fields = {
    name: { label: texts().memberName, value: member?.name, required: true },
    kind: { label: texts().kind, value: member?.kind || "person", options: Object.entries(texts().kinds) },
    look: { label: texts().look, value: member?.look, rows: 2, most: LOOK },
    voice: { label: texts().voice, value: member?.voice, rows: 2, most: LOOK },
  };
  showForm(member ? `${texts().change}: ${member.name}` : texts().addMember, texts().save, fields, async (values) => {
    await call(member ? "PUT" : "POST", path(member ? `cast/${member.id}` : "cast"), values);
    await drawBook();
  });
}

// --- states

function stateOf(state) {
  const text = `${state.entity}: ${texts().fields[state.field]} ${state.value} (${fill(texts().sceneOf, { seq: state.seq })}, ${texts().setters[state.by]})`;
  const key = `${state.field}-${state.entity}`;
  const set = async (values) => {
    await call("PUT", path(`states?branch=${here.branch}`), { entity: state.entity, field: state.field, value: state.value, locked: true, ...values });
    await drawBook();
  };
  const lock = button(`lock-${key}`, state.locked ? texts().unlockState : texts().lockState, state.entity, () => act(() => set({ locked: !state.locked })));
  const change = button(`set-${key}`, texts().change, state.entity, () => showForm(`${state.entity}: ${texts().fields[state.field]}`, texts().save, { value: { label: texts().value, value: state.value, most: STATE, required: true } }, set));
  return make("div", { className: "state" }, make("span", { dir: "auto", textContent: text }), buttons(lock, change));
}

// --- what is recalled

byId("look").addEventListener("submit", (event) => {
  event.preventDefault();
  act(async () => {
    const { scenes } = await call("GET", path(`recall?branch=${here.branch}&query=${encodeURIComponent(byId("query").value.trim())}`));
    byId("found").replaceChildren(...(scenes.length ? scenes.map((each) => make("li", { dir: "auto", textContent: `${fill(texts().sceneOf, { seq: each.seq })}: ${each.text}` })) : [make("li", { textContent: texts().nothing })]));
  });
});
