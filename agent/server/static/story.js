// The page of stories: the shelf, and a reader that directs one branch. What was told is read from the server, which
// stores a scene once its last word has come; a scene that was stopped can be kept as the reader's own.

import { drawBook, rememberBook } from "/static/story-book.js";
import { byId, call, code, fill, make, say, setToken, shownToken, speak, texts } from "/static/story-parts.js";

const PAGE = 20; // scenes that are read at once
const here = { story: null, branch: null, name: "", seq: 0, scenes: [], choices: [], telling: null };
let socket = null;
let sent = 0;

// --- the shelf

async function showShelf() {
  here.story = here.branch = null;
  history.replaceState(null, "", location.pathname);
  byId("reader").hidden = byId("book").hidden = true;
  byId("open-book").disabled = true;
  byId("shelf").hidden = false;
  byId("title").textContent = texts().stories;
  const { stories } = await call("GET", "");
  byId("none").hidden = stories.length > 0;
  byId("stories").replaceChildren(...stories.map((story) => make("li", null,
    make("button", { type: "button", textContent: story.title, dir: "auto", className: "title", on: () => guard(() => openStory(story.id)) }),
    make("button", { type: "button", textContent: texts().erase, aria: { label: `${texts().erase}: ${story.title}` }, on: () => guard(() => eraseStory(story)) }))));
}

async function eraseStory(story) {
  if (!confirm(fill(texts().eraseSure, { title: story.title }))) return;
  await call("DELETE", `/${story.id}`);
  await showShelf();
}

byId("new").addEventListener("submit", (event) => {
  event.preventDefault();
  guard(async () => {
    const made = await call("POST", "", { title: byId("new-title").value, foundation: byId("new-foundation").value, lang: byId("new-lang").value });
    byId("new").reset();
    await openStory(made.id, made.branch);
  });
});

// --- one branch

async function openStory(story, branch = null) {
  const { title } = await call("GET", `/${story}`);
  byId("title").textContent = title;
  Object.assign(here, { story, branch, scenes: [], choices: [], telling: null });
  byId("shelf").hidden = true;
  byId("reader").hidden = false;
  byId("open-book").disabled = false;
  send({ type: "open_story", story, ...(branch ? { branch } : {}), id: "open" });
  rememberBook(here, { move, openStory });
  byId("text").focus();
}

async function opened(frame) {
  Object.assign(here, { branch: frame.branch, name: frame.name, seq: frame.seq, choices: frame.choices || [] });
  history.replaceState(null, "", `#${here.story}/${here.branch}`);
  await readScenes(Math.max(0, frame.seq - PAGE));
  drawChoices();
  if (!byId("book").hidden) await drawBook();
}

async function readScenes(after) {
  const { scenes } = await call("GET", `/${here.story}/scenes?branch=${here.branch}&after=${after}&limit=${PAGE}`);
  here.scenes = after + 1 < (here.scenes[0]?.seq ?? 0) ? [...scenes, ...here.scenes] : scenes;
  byId("earlier").hidden = !here.scenes.length || here.scenes[0].seq === 1;
  drawScenes();
}

byId("earlier").addEventListener("click", () => guard(() => readScenes(Math.max(0, here.scenes[0].seq - 1 - PAGE))));

function drawScenes() {
  const last = here.scenes.at(-1);
  const shown = here.telling?.fields.retell ? here.scenes.slice(0, -1) : here.scenes;
  byId("scenes").replaceChildren(...shown.map((scene) => sceneOf(scene, scene === last)), ...(here.telling ? [here.telling.item] : []));
}

function sceneOf(scene, isLast) {
  const act = (text, on) => make("button", { type: "button", textContent: text, aria: { label: `${text}: ${fill(texts().sceneOf, { seq: scene.seq })}` }, on: () => guard(on) });
  const tools = make("div", { className: "buttons" }, act(texts().fork, () => fork(scene)));
  if (isLast && here.telling === null) tools.append(act(texts().retell, () => direct({ retell: scene.scene })), act(texts().edit, () => edit(scene)), act(texts().undo, () => move("undo")), act(texts().versions, () => showVersions(scene, tools)));
  return make("li", { data: { scene: scene.scene } },
    scene.directive ? make("p", { className: "directive", dir: "auto", textContent: scene.directive }) : null,
    make("p", { className: "text", dir: "auto", textContent: scene.text }), tools);
}

function drawChoices() {
  byId("choices").replaceChildren(...here.choices.map((choice) => make("button", { type: "button", dir: "auto", textContent: choice.text, on: () => guard(() => direct({ choice: choice.id })) })));
}

async function fork(scene) {
  const name = prompt(texts().branchName);
  if (!name) return;
  const made = await call("POST", `/${here.story}/branches`, { branch: here.branch, seq: scene.seq, name });
  await openStory(here.story, made.id);
  say(fill(texts().forked, { name }));
}

async function edit(scene) {
  const text = prompt(texts().edit, scene.text);
  if (!text || text === scene.text) return;
  await call("POST", `/${here.story}/scenes/${scene.scene}/edit`, { text });
  await openStory(here.story, here.branch);
}

async function move(way) {
  await call("POST", `/${here.story}/branches/${here.branch}/${way}`);
  await openStory(here.story, here.branch);
}

async function showVersions(scene, tools) {
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

function direct(fields) {
  byId("told").replaceChildren();
  const id = String(++sent);
  const directive = fields.own ? "" : fields.text || here.choices.find((each) => each.id === fields.choice)?.text || (fields.retell && here.scenes.at(-1)?.directive) || "";
  const item = make("li", { className: "telling" }, directive ? make("p", { className: "directive", dir: "auto", textContent: directive }) : null, make("p", { className: "text", dir: "auto" }));
  here.telling = { id, item, fields, directive, text: "" };
  drawScenes();
  here.choices = [];
  drawChoices();
  byId("stop").hidden = false;
  send({ type: "message", id, ...fields });
}

function words(fields) {
  const text = byId("text").value.trim();
  if (!text) return;
  byId("text").value = "";
  direct({ text, ...fields });
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
  } else if (event.key === "Escape") stop();
});

function stop() {
  if (here.telling) send({ type: "cancel", id: here.telling.id });
}

function finish() {
  here.telling = null;
  byId("stop").hidden = true;
}

// A scene that was stopped: what was read of it can be kept as the reader's own.
function stopped(telling) {
  finish();
  telling.item.remove();
  drawScenes();
  const text = telling.text.trim();
  if (!text || telling.fields.aside) return;
  byId("told").replaceChildren(make("span", { textContent: texts().stopped }), make("blockquote", { dir: "auto", textContent: text }),
    make("button", { type: "button", textContent: texts().keep, on: () => direct({ text, own: true }) }));
}

const takers = {
  story: (frame) => guard(() => opened(frame)),
  stream(frame) {
    if (frame.id !== here.telling?.id) return;
    here.telling.text += frame.delta;
    here.telling.item.lastElementChild.textContent = here.telling.text;
  },
  stream_end(frame) {
    if (frame.reason === "cancelled" && frame.id === here.telling?.id) stopped(here.telling);
  },
  response(frame) {
    const telling = here.telling;
    if (frame.id !== telling?.id) return;
    if (frame.blocked) {
      finish();
      telling.item.remove();
      drawScenes();
      tell(texts().errors[frame.blocked.code] || frame.blocked.message);
    } else if (telling.fields.aside) {
      finish();
      telling.item.className = "aside";
    } else {
      say(texts().told);
    }
  },
  scene_stored(frame) {
    const telling = here.telling;
    if (frame.id !== telling?.id) return;
    finish();
    const scene = { scene: frame.scene, version: frame.version, seq: frame.seq, branch: frame.branch, directive: telling.directive, text: telling.text };
    here.seq = frame.seq;
    here.scenes = [...here.scenes.filter((each) => each.seq < frame.seq), scene];
    drawScenes();
    if (!byId("book").hidden) guard(drawBook);
  },
  choices(frame) {
    if (frame.scene !== here.scenes.at(-1)?.scene || here.telling) return;
    here.choices = frame.choices;
    drawChoices();
  },
  plot() {
    if (!byId("book").hidden) guard(drawBook);
  },
  error(frame) {
    tell(texts().errors[frame.code] || frame.message);
    if (frame.code === "moved") guard(() => openStory(here.story, here.branch));
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
    if (here.telling) stopped(here.telling);
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

function tell(text) {
  byId("told").replaceChildren(text);
}

async function guard(act) {
  try {
    await act();
  } catch (error) {
    tell(error.message);
    say(error.message);
  }
}

byId("unlock").addEventListener("submit", () => {
  setToken(byId("token").value);
  socket?.close();
});
byId("open-shelf").addEventListener("click", () => guard(showShelf));
byId("open-book").addEventListener("click", () => {
  const book = byId("book");
  book.hidden = !book.hidden;
  byId("open-book").setAttribute("aria-expanded", String(!book.hidden));
  if (!book.hidden) guard(drawBook);
});
byId("language").addEventListener("change", () => {
  localStorage.setItem("language", byId("language").value);
  speak();
  drawScenes();
});
byId("new-lang").value = code();

speak();
connect();
const [story, branch] = location.hash.slice(1).split("/");
guard(() => (story ? openStory(story, branch) : showShelf()));
