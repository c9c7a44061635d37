// A chat for any website: one script, `/embed.js`, whose element has the attributes that say how it looks.
//
//   <script src="https://SERVER/embed.js" async data-title="Ask us"></script>
//
// It begins once the page is loaded: it asks the server whether pages of this origin may use it, and shows a button if so.
// What is wrong is told to the website's developer, in the console; the page's visitor sees nothing broken.

import { Chat } from "/static/embed_chat.js";
import { Panel } from "/static/embed_panel.js";
import { DEFAULT } from "/static/languages.js";
import { WORDS } from "/static/words.js";

const NAME = "agent-bubble";
const script = document.currentScript;

const warn = (text) => console.warn(`agent: ${text}`);
const report = (text) => console.error(`agent: ${text}`);

// The language of the bubble: the one that is asked for, or else the page's, or else the browser's.
export function chooseLanguage(...wanted) {
  const codes = wanted.map((each) => (each || "").slice(0, 2).toLowerCase());
  return codes.find((each) => Object.hasOwn(WORDS, each)) || DEFAULT;
}

// The addresses of the server that a script came from; below a path, where a proxy has it there.
export function addressesOf(source) {
  const base = new URL(".", source);
  const socket = base.pathname === "/" ? base.origin : `${base.origin}${base.pathname}ws`;
  return { base: base.href, socket, config: `${base.href}embed.json` };
}

// Gives the token of the page's user: what the function window.agentToken returns, or else data-token; "" for a guest.
function readToken() {
  return typeof window.agentToken === "function" ? window.agentToken() : script.dataset.token || "";
}

async function begin(host) {
  const { base, socket, config } = addressesOf(script.src);
  let server;
  try {
    const answer = await fetch(config, { mode: "cors", credentials: "omit", redirect: "error" });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    server = await answer.json();
  } catch {
    report(`no chat here: ${base} does not answer pages of ${location.origin}. Start it with --allow-origin ${location.origin}, and let this page's Content-Security-Policy connect to it.`);
    return;
  }
  if (!server.guests && typeof window.agentToken !== "function" && !script.dataset.token) {
    report(`no chat here: ${base} takes no guests. Set window.agentToken or data-token, or start it with --guests.`);
    return;
  }
  const { lang, color, position, theme, title, greeting } = script.dataset;
  const code = chooseLanguage(lang, document.documentElement.lang, navigator.language);
  const words = WORDS[code];
  const look = { title: title || server.name || words.title, greeting: greeting || server.greeting, position, theme };
  const panel = new Panel(host, look, words, code);
  if (color && !panel.paint(color)) warn(`data-color must be an opaque colour such as #1f5f8b: ${color}`);
  const chat = new Chat(socket, readToken, (event) => panel.hear(event), { lang: lang ? code : undefined, warn });
  panel.begin(chat);
  addEventListener("pagehide", () => chat.leave());
  addEventListener("pageshow", (event) => event.persisted && chat.comeBack());
}

function start() {
  if (document.querySelector(NAME)) {
    warn("there is a chat on this page already; this one is ignored");
    return;
  }
  const host = document.createElement(NAME);
  document.documentElement.append(host); // not in the body, which frameworks may draw anew
  begin(host);
}

if (!script?.src) report("load /embed.js by a classic <script> with a src, not as a module or inline");
else if (document.readyState === "complete") start();
else addEventListener("load", start);
