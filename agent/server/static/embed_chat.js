// The conversation of the bubble, without a document: one connection (/agent.js), opened by the first question and again
// by the first one after it was lost, as the user whom the website's token names then.
//
// `hear` is called with each thing that happens:
//   {kind: "state"}                            `state` has changed
//   {kind: "delta", id, text}                  a piece of the answer to question `id`
//   {kind: "answered", id, frame}              its end, with the whole answer
//   {kind: "failed", id, why, frame}           its end without one; `why`: "stopped", "interrupted", "unreachable",
//                                              "expired" or "refused", which comes with the server's `frame`
//   {kind: "suggested" | "executed" | "closed" | "unaccepted", frame}   of a suggestion
//   {kind: "note", frame}                      an error that is about none of them
//   {kind: "lost"}                             the connection, with every suggestion that was open

import { Connection, UNAUTHORISED, retryDelay } from "/agent.js";

const ATTEMPTS = 4; // to connect, while a question waits
const LONGEST_WAIT = 30_000; // ms until the next attempt
const TOKEN_TIMEOUT = 15_000; // ms for the website to give its user's token

// The most that a token of a website may have for a browser to send it: letters, digits and !#$%&'*+-.^_`|~
const SENDABLE = /^[\w!#$%&'*+.^`|~-]{1,4096}$/;

export class Chat {
  // url: of the server. token(): returns its user's token, or a promise of it; none, or "", is a guest. warn(text): takes
  // what the website's developer should know.
  constructor(url, token, hear, { lang, warn = () => {}, WebSocket } = {}) {
    Object.assign(this, { token, hear, lang, warn });
    this.connection = new Connection(url, {
      WebSocket,
      received: (frame) => this.take(frame),
      ended: (event) => this.lose(event),
    });
    this.turns = new Map(); // question id -> {text, sent, begun, step}
    this.running = new Set(); // ids of confirmed suggestions
    this.open = new Set(); // ids of suggestions that can be confirmed
    this.thread = ""; // of the conversation, where the server remembers
    this.asked = 0;
    this.attempts = 0;
    this.isReady = false;
    this.isConnecting = false;
    this.isLeft = false;
    this.wasRefused = false; // the last attempt, for its token
  }

  get state() {
    const turns = [...this.turns.values()];
    if (turns.some((turn) => turn.begun)) return "streaming";
    if (this.running.size) return "executing";
    if (turns.some((turn) => turn.sent)) return "buffering";
    if (turns.length) return "connecting";
    return this.open.size ? "awaiting_confirmation" : "idle";
  }

  // What a slow turn does, by the wire's name for it; "" while nothing is told.
  get step() {
    return this.state === "buffering" ? [...this.turns.values()].pop().step : "";
  }

  // Ask, now or once there is a connection. Returns the question's id. A question cancels the one in progress.
  ask(text) {
    const id = `b${++this.asked}`;
    this.turns.set(id, { text, sent: false, begun: false, step: "" });
    if (this.isReady) this.sendWaiting();
    else this.connect();
    this.hear({ kind: "state" });
    return id;
  }

  // Cancel what is in progress, and what waits to be asked.
  stop() {
    this.connection.send({ type: "cancel" });
    for (const [id, turn] of this.turns) if (!turn.sent) this.fail(id, "stopped");
  }

  confirm(suggestionId, frame) {
    if (!this.isReady) return;
    this.open.delete(suggestionId);
    this.running.add(suggestionId);
    this.connection.send(frame);
    this.hear({ kind: "state" });
  }

  reject(suggestionId) {
    this.connection.send({ type: "reject_action", suggestionId });
  }

  // Leave for good; the server cancels what is in progress.
  leave() {
    this.isLeft = true;
    this.connection.close();
  }

  // Go on after all: the browser has kept the page that was left.
  comeBack() {
    this.isLeft = false;
  }

  // --- the connection

  async connect() {
    if (this.isConnecting || this.isLeft) return;
    this.isConnecting = true;
    let token = "";
    try {
      token = (await inTime(this.token())) || "";
      if (token && !(typeof token === "string" && SENDABLE.test(token))) throw new TypeError("its token is not one that a browser can send");
    } catch (error) {
      this.warn(`the website gave no token of its user: ${error?.message || error}`);
      this.giveUp("expired");
      return;
    }
    if (this.isLeft) return;
    try {
      this.connection.open(token);
    } catch (error) {
      this.warn(`the browser opens no connection: ${error.message}`);
      this.giveUp("unreachable");
    }
  }

  lose(event) {
    const { isReady } = this;
    this.isReady = false;
    if (isReady) {
      this.attempts = 0;
      this.isConnecting = false;
      for (const [id, turn] of this.turns) if (turn.sent) this.fail(id, "interrupted");
      this.open.clear();
      this.running.clear();
      this.hear({ kind: "lost" });
      if (event.code === UNAUTHORISED) this.warn(`the connection ended: ${event.reason}`);
      if (this.turns.size) this.connect(); // a question that came while it was being lost
    } else this.retry(event);
    this.hear({ kind: "state" });
  }

  retry(event) {
    if (event.code === UNAUTHORISED) {
      if (this.wasRefused) {
        this.warn("the server refuses the token; its log says why");
        this.giveUp("expired");
        return;
      }
      this.wasRefused = true; // it may have ended meanwhile: the website is asked for another one, once
      this.isConnecting = false;
      this.connect();
      return;
    }
    const wait = retryDelay(event, this.attempts++);
    if (this.attempts >= ATTEMPTS || wait > LONGEST_WAIT || !this.turns.size) {
      this.warn(`the server cannot be reached (${event.reason || `code ${event.code}`})`);
      this.giveUp("unreachable");
      return;
    }
    setTimeout(() => {
      this.isConnecting = false;
      if (this.turns.size) this.connect();
    }, wait);
  }

  giveUp(why) {
    this.isConnecting = false;
    this.attempts = 0;
    this.wasRefused = false;
    for (const id of [...this.turns.keys()]) this.fail(id, why);
    this.hear({ kind: "state" });
  }

  ready() {
    this.isReady = true;
    this.isConnecting = false;
    this.wasRefused = false;
    this.sendWaiting();
    if (!this.turns.size) this.hear({ kind: "state" });
  }

  sendWaiting() {
    for (const [id, turn] of this.turns) {
      if (turn.sent) continue;
      turn.sent = true;
      this.connection.send({ type: "message", id, text: turn.text, progress: true, ...(this.lang ? { lang: this.lang } : {}) });
    }
    this.hear({ kind: "state" });
  }

  fail(id, why, frame) {
    if (this.turns.delete(id)) this.hear({ kind: "failed", id, why, frame });
  }

  // --- frames

  take(frame) {
    if (!this.isReady) this.greet(frame);
    else if (Object.hasOwn(takes, frame.type)) takes[frame.type](this, frame);
    this.hear({ kind: "state" });
  }

  // The first frames of a connection: the server's welcome, and where it remembers the thread of the conversation.
  greet(frame) {
    if (frame.type === "welcome" && frame.memory !== true) this.ready();
    else if (frame.type === "welcome") this.openThread();
    else if (frame.type === "thread") {
      this.thread = frame.thread;
      this.ready();
    } else if (frame.type === "error" && frame.code === "unknown_thread" && this.thread) {
      this.thread = "";
      this.openThread();
    } else if (frame.type === "error") this.ready(); // without its memory it still answers
  }

  openThread() {
    this.connection.send(this.thread ? { type: "open_thread", thread: this.thread } : { type: "open_thread" });
  }
}

const takes = {
  progress(chat, { id, step }) {
    const turn = chat.turns.get(id);
    if (turn) turn.step = step;
  },

  stream(chat, { id, delta }) {
    const turn = chat.turns.get(id);
    if (!turn) return;
    turn.begun = true;
    chat.hear({ kind: "delta", id, text: delta });
  },

  stream_end(chat, { id, reason }) {
    if (reason === "cancelled") chat.fail(id, "stopped");
  },

  response(chat, frame) {
    if (chat.turns.delete(frame.id)) chat.hear({ kind: "answered", id: frame.id, frame });
  },

  action_suggestion(chat, frame) {
    chat.open.add(frame.suggestionId);
    chat.hear({ kind: "suggested", frame });
  },

  action_executed(chat, frame) {
    if (frame.result?.ignored && chat.running.has(frame.suggestionId)) return; // the first confirm's own result counts
    settle(chat, frame);
    chat.hear({ kind: "executed", frame });
  },

  action_closed(chat, frame) {
    if (frame.reason === "expired" && chat.running.has(frame.suggestionId)) return; // the answer to the confirm says so
    settle(chat, frame);
    chat.hear({ kind: "closed", frame });
  },

  error(chat, frame) {
    if (frame.suggestionId !== undefined) {
      settle(chat, frame);
      if (frame.code === "bad_message" || frame.code === "bad_edit") chat.open.add(frame.suggestionId); // it stays
      chat.hear({ kind: "unaccepted", frame });
    } else if (chat.turns.has(frame.id) && frame.code !== "internal") chat.fail(frame.id, "refused", frame);
    else chat.hear({ kind: "note", frame }); // a broken turn still answers
  },
};

function settle(chat, { suggestionId }) {
  chat.open.delete(suggestionId);
  chat.running.delete(suggestionId);
}

async function inTime(promised) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("it did not come in time")), TOKEN_TIMEOUT);
  });
  try {
    return await Promise.race([promised, late]);
  } finally {
    clearTimeout(timer);
  }
}
