// The page of stories: the shelf, and a reader that directs one branch. What was told is read from the server, which
// stores a scene once its last word has come; a scene that was stopped can be kept as the reader's own. Talk beside the
// story stands in a list of its own.

import { drawBook, rememberBook } from "/static/story-book.js";
import { showForm } from "/static/story-form.js";
import { byId, call, code, fill, make, redraw, say, setToken, shownToken, speak, texts } from "/static/story-parts.js";

const PAGE = 20; // scenes that are read at once
const SCENE = 32768; // characters of a scene
const NARROW = matchMedia("(max-width: 63.99rem)"); // the book takes the place of the reader; see story.css
const here = { story: null, branch: null, title: "", name: "", seq: 0, scenes: [], choices: [], asides: [], telling: null };
let socket = null;
let sent = 0;
let following = false; // until the reader scrolls

// --- the shelf

async function showShelf() {
  leave();
  here.story = here.branch = null;
  history.replaceState(null, "", location.pathname);
  showBook(false);
  byId("reader").hidden = byId("open-book").hidden = byId("open-shelf").hidden = true;
  byId("shelf").hidden = false;
  byId("shelf").append(byId("told"));
  showTitle(texts().stories);
  const { stories } = await call("GET", "");
  if (here.story) return; // one was opened meanwhile
  byId("none").hidden = stories.length > 0;
  byId("stories").replaceChildren(...stories.map((story) => make("li", null,
    make("button", { type: "button", textContent: story.title, dir: "auto", className: "title", on: () => guard(() => openStory(story.id)) }),
    make("button", { type: "button", textContent: texts().erase, className: "quiet", aria: { label: `${texts().erase}: ${story.title}` }, on: () => guard(() => eraseStory(story)) }))));
}

async function eraseStory(story) {
  if (!confirm(fill(texts().eraseSure, { title: story.title }))) return;
  await call("DELETE", `/${story.id}`);
  await showShelf();
  focusShelf();
}

function focusShelf() {
  (byId("stories").querySelector("button") || byId("new-title")).focus();
}

byId("new").addEventListener("submit", (event) => {
  event.preventDefault();
  guard(async () => {
    const made = await call("POST", "", { title: byId("new-title").value, foundation: byId("new-foundation").value, lang: byId("new-lang").value });
    byId("new").reset();
    byId("new-lang").value = code();
    await openStory(made.id, made.branch);
  });
});

// --- one branch

async function openStory(story, branch = null) {
  leave();
  const { title } = await call("GET", `/${story}`);
  Object.assign(here, { story, branch, title, name: "", scenes: [], choices: [] });
  showTitle(title);
  byId("shelf").hidden = true;
  byId("reader").hidden = byId("open-book").hidden = byId("open-shelf").hidden = false;
  byId("direct").prepend(byId("told"));
  if (NARROW.matches) showBook(false);
  send({ type: "open_story", story, ...(branch ? { branch } : {}), id: "open" });
  rememberBook(here, { move, openStory, showTitle });
  byId("text").focus({ preventScroll: true });
}

// Let go of what is told here, since another branch is shown, or this one anew.
function leave() {
  tell("");
  if (here.telling) finish(true);
}

async function opened(frame) {
  Object.assign(here, { branch: frame.branch, name: frame.name, seq: frame.seq, choices: frame.choices || [] });
  history.replaceState(null, "", `#${here.story}/${here.branch}`);
  showTitle(here.title);
  const { asides } = await call("GET", `/${here.story}/asides`);
  here.asides = asides.reverse();
  await readScenes(Math.max(0, frame.seq - PAGE));
  drawChoices();
  drawAsides();
  const stoppedText = byId("told").querySelector("blockquote")?.textContent;
  if (stoppedText && stoppedText === here.scenes.at(-1)?.text.trim()) tell(""); // it was told to its end after all
  following = true;
  follow();
  await drawBook();
}

function showTitle(title) {
  here.title = title;
  byId("title").textContent = title;
  byId("branch").textContent = here.story ? here.name : "";
  document.title = title;
}

async function readScenes(after) {
  const { scenes } = await call("GET", `/${here.story}/scenes?branch=${here.branch}&after=${after}&limit=${PAGE}`);
  const first = here.scenes[0]?.seq ?? 0;
  here.scenes = after + 1 < first ? [...scenes.filter((each) => each.seq < first), ...here.scenes] : scenes;
  drawScenes();
}

byId("earlier").addEventListener("click", () => guard(async () => {
  const page = document.documentElement;
  const below = page.scrollHeight - scrollY; // what was read stays where it was
  await readScenes(Math.max(0, here.scenes[0].seq - 1 - PAGE));
  scrollTo(0, page.scrollHeight - below);
  if (byId("earlier").hidden) byId("scenes").querySelector("button").focus({ preventScroll: true });
}));

function drawScenes() {
  const { scenes, telling } = here;
  const last = scenes.at(-1);
  const shown = telling?.fields.retell ? scenes.slice(0, -1) : scenes;
  byId("earlier").hidden = !scenes.length || scenes[0].seq === 1;
  byId("unwritten").hidden = scenes.length > 0 || telling !== null;
  redraw(byId("scenes"), ...shown.map((scene) => sceneOf(scene, scene === last)), telling?.fields.aside ? null : telling?.item);
}

function sceneOf(scene, isLast) {
  const act = (text, on) => make("button", { type: "button", textContent: text, data: { key: `${text}-${scene.scene}` }, aria: { label: `${text}: ${fill(texts().sceneOf, { seq: scene.seq })}` }, on: () => guard(on) });
  const tools = make("div", { className: "buttons" }, act(texts().fork, () => fork(scene)));
  if (isLast && here.telling === null) tools.append(act(texts().retell, () => direct({ retell: scene.scene })), act(texts().edit, () => edit(scene)), act(texts().undo, () => undo(scene)), act(texts().versions, () => showVersions(scene, tools)));
  return make("li", { data: { scene: scene.scene } },
    scene.directive ? make("p", { className: "directive", dir: "auto", textContent: scene.directive }) : null,
    make("p", { className: "text", dir: "auto", textContent: scene.text }), tools);
}

function drawChoices() {
  const shown = here.telling && !here.telling.fields.aside ? [] : here.choices;
  byId("choices").replaceChildren(...shown.map((choice) => make("button", { type: "button", dir: "auto", textContent: choice.text, on: () => guard(() => direct({ choice: choice.id })) })));
}

// Talk beside the story, the last first, so that an answer stands under the heading.
function drawAsides() {
  const asked = here.telling?.fields.aside ? here.telling : null;
  byId("beside").hidden = !here.asides.length && !asked;
  byId("beside").querySelector(".count").textContent = here.asides.length ? `(${here.asides.length})` : "";
  redraw(byId("asides"), asked?.item, ...here.asides.map((each) => itemOf("aside", each.question, each.answer)));
}

const itemOf = (className, asked, text) => make("li", { className }, asked ? make("p", { className: "directive", dir: "auto", textContent: asked }) : null, make("p", { className: "text", dir: "auto", textContent: text }));

function fork(scene) {
  showForm(`${texts().fork}: ${fill(texts().sceneOf, { seq: scene.seq })}`, texts().fork, { name: { label: texts().branchName, required: true } }, async ({ name }) => {
    const made = await call("POST", `/${here.story}/branches`, { branch: here.branch, seq: scene.seq, name });
    await openStory(here.story, made.id);
    say(fill(texts().forked, { name }));
  });
}

function edit(scene) {
  showForm(`${texts().edit}: ${fill(texts().sceneOf, { seq: scene.seq })}`, texts().save, { text: { label: texts().sceneText, value: scene.text, rows: 12, most: SCENE, required: true } }, async ({ text }) => {
    if (text !== scene.text) await call("POST", `/${here.story}/scenes/${scene.scene}/edit`, { text });
    await openStory(here.story, here.branch);
  });
}

async function undo(scene) {
  await move("undo");
  tell(make("span", { textContent: fill(texts().undone, { seq: scene.seq }) }), make("button", { type: "button", textContent: texts().redo, on: () => guard(() => move("redo")) }));
}

async function move(way) {
  await call("POST", `/${here.story}/branches/${here.branch}/${way}`);
  await openStory(here.story, here.branch);
}

async function showVersions(scene, tools) {
  if (tools.nextElementSibling) return tools.nextElementSibling.remove(); // they are shown
  const { versions } = await call("GET", `/${here.story}/scenes/${scene.scene}`);
  const list = make("ul", { role: "list", className: "versions" }, ...versions.map((each, place) => make("li", null,
    make("span", { dir: "auto", textContent: `${place + 1}/${versions.length} ${each.text.slice(0, 120)}` }),
    each.status === "active" ? make("strong", { textContent: texts().active }) : make("button", { type: "button", textContent: texts().pick, on: () => guard(() => pick(scene, each)) }))));
  tools.after(list);
  list.querySelector("button")?.focus();
}

async function pick(scene, version) {
  await call("POST", `/${here.story}/scenes/${scene.scene}/pick`, { version: version.version });
  await openStory(here.story, here.branch);
}

// --- directing

// Send a message, unless one is open or the server is away; return whether it was sent.
function direct(fields) {
  if (here.telling || socket?.readyState !== WebSocket.OPEN) {
    tell(here.telling ? texts().wait : texts().state.offline);
    return false;
  }
  tell("");
  const id = String(++sent);
  const directive = fields.own ? "" : fields.text || here.choices.find((each) => each.id === fields.choice)?.text || (fields.retell && here.scenes.at(-1)?.directive) || "";
  here.telling = { id, item: itemOf("telling", directive, ""), fields, directive, text: "" };
  showTelling();
  if (document.activeElement !== byId("text")) byId("stop").focus({ preventScroll: true });
  if (fields.aside) byId("beside").open = true;
  following = true;
  follow();
  send({ type: "message", id, ...fields });
  return true;
}

// Show what can be done while something is told, or else while nothing is.
function showTelling() {
  const isTelling = here.telling !== null;
  const held = document.activeElement === byId("stop");
  for (const id of ["send", "own", "aside"]) byId(id).hidden = isTelling;
  byId("stop").hidden = !isTelling;
  if (held && !isTelling) byId("send").focus({ preventScroll: true });
  drawScenes();
  drawChoices();
  drawAsides();
}

// End what is told here. `isLost`: nothing of it is kept, and its words go back to where they were written.
function finish(isLost) {
  const { telling } = here;
  here.telling = null;
  if (isLost && telling.fields.text && !byId("text").value) byId("text").value = telling.fields.text;
  showTelling();
}

function words(fields) {
  const text = byId("text").value.trim();
  if (!text) byId("text").focus();
  else if (direct({ text, ...fields })) byId("text").value = "";
}

byId("direct").addEventListener("submit", (event) => {
  event.preventDefault();
  words({});
});
byId("own").addEventListener("click", () => words({ own: true }));
byId("aside").addEventListener("click", () => words({ aside: true }));
byId("stop").addEventListener("click", stop);
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    words({});
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && !document.querySelector("dialog[open]")) stop();
});

function stop() {
  if (here.telling) send({ type: "cancel", id: here.telling.id });
}

// A scene that was stopped: what was read of it can be kept as the reader's own.
function stopped() {
  const { fields, text } = here.telling;
  finish(true);
  const read = fields.aside || fields.own ? "" : text.trim();
  tell(make("span", { textContent: texts().stopped }), ...(read ? [
    make("blockquote", { dir: "auto", tabIndex: 0, textContent: read }),
    make("button", { type: "button", textContent: texts().keep, on: () => direct({ text: read, own: true }) }),
  ] : []));
}

// Keep the end of what is told in sight, and its beginning; a reader who scrolls is left alone.
function follow(item = here.telling?.item || byId("scenes").lastElementChild) {
  if (!following || !item) return;
  const end = item === byId("scenes").lastElementChild && byId("choices").childElementCount ? byId("choices") : item;
  const above = item.getBoundingClientRect().top - document.querySelector("header").getBoundingClientRect().bottom - 8;
  const below = end.getBoundingClientRect().bottom + 8 - byId("direct").getBoundingClientRect().top;
  if (Math.min(above, below) > 0) scrollBy(0, Math.min(above, below));
}

for (const each of ["wheel", "touchmove", "keydown"]) {
  addEventListener(each, () => {
    following = false;
  }, { capture: true, passive: true });
}

const takers = {
  story: (frame) => guard(() => opened(frame)),
  stream(frame) {
    if (frame.id !== here.telling?.id) return;
    here.telling.text += frame.delta;
    here.telling.item.lastElementChild.textContent = here.telling.text;
    follow();
  },
  stream_end(frame) {
    if (frame.reason === "cancelled" && frame.id === here.telling?.id) stopped();
  },
  response(frame) {
    const { telling } = here;
    if (frame.id !== telling?.id) return;
    if (frame.blocked) {
      finish(true);
      tell(texts().errors[frame.blocked.code] || frame.blocked.message);
    } else if (telling.fields.aside) {
      here.asides.unshift({ question: telling.directive, answer: telling.text });
      finish(false);
      follow(byId("asides").firstElementChild);
      say(telling.text);
    } else {
      say(texts().sceneTold);
    }
  },
  scene_stored(frame) {
    const { telling } = here;
    if (frame.id !== telling?.id) return;
    here.seq = frame.seq;
    here.scenes = [...here.scenes.filter((each) => each.seq < frame.seq), { scene: frame.scene, version: frame.version, seq: frame.seq, branch: frame.branch, directive: telling.directive, text: telling.text }];
    here.choices = [];
    finish(false);
    follow();
    guard(drawBook);
  },
  choices(frame) {
    if (frame.scene !== here.scenes.at(-1)?.scene) return;
    here.choices = frame.choices;
    drawChoices();
    follow();
  },
  plot: () => guard(drawBook),
  error(frame) {
    const text = texts().errors[frame.code] || frame.message;
    if (here.telling && frame.id === here.telling.id) finish(true);
    if (frame.code === "moved") guard(() => openStory(here.story, here.branch).then(() => tell(text)));
    else tell(text);
  },
};

// --- the connection

function connect() {
  const offered = ["agent.v1", ...(shownToken() ? [`bearer.${shownToken()}`] : [])];
  socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/story`, offered);
  showState("connecting");
  socket.addEventListener("open", () => {
    showState("live");
    if (here.story) send({ type: "open_story", story: here.story, ...(here.branch ? { branch: here.branch } : {}), id: "open" });
  });
  socket.addEventListener("message", ({ data }) => {
    const frame = JSON.parse(data);
    takers[frame.type]?.(frame);
  });
  socket.addEventListener("close", () => {
    if (here.telling) stopped();
    showState("offline");
    setTimeout(connect, 2000);
  });
}

function send(frame) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame));
}

function showState(state) {
  byId("state").textContent = texts().state[state];
  byId("state").dataset.state = { live: "idle", connecting: "buffering", offline: "disconnected" }[state];
}

// Say something above the line of directives: a text alone is a fault, elements are news.
function tell(...children) {
  byId("told").className = typeof children[0] === "string" ? "fault" : "";
  byId("told").replaceChildren(...children.filter((each) => each));
}

async function guard(act) {
  try {
    await act();
  } catch (error) {
    tell(error.message);
  }
}

function showBook(isShown) {
  byId("book").hidden = !isShown;
  byId("open-book").setAttribute("aria-expanded", String(isShown));
  if (isShown) guard(drawBook);
}

byId("unlock").addEventListener("submit", () => {
  setToken(byId("token").value.trim());
  socket?.close();
});
byId("open-shelf").addEventListener("click", () => guard(() => showShelf().then(focusShelf)));
byId("open-book").addEventListener("click", () => showBook(byId("book").hidden));
byId("language").addEventListener("change", () => {
  localStorage.setItem("language", byId("language").value);
  speak();
  showState({ 0: "connecting", 1: "live" }[socket.readyState] || "offline");
  if (here.story) {
    showTitle(here.title);
    drawScenes();
    guard(drawBook);
  } else guard(showShelf);
});
byId("new-lang").value = code();

speak();
connect();
const [story, branch] = location.hash.slice(1).split("/");
guard(() => (story ? openStory(story, branch) : showShelf()));
