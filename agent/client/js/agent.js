// A client for agent servers, without dependencies: for pages, and for Node from 22 on.
//
// `connect` returns an `Agent`, whose `ask` is iterated over; the frames of a turn are its events, as the server sends
// them. Below it is a `Connection`: one WebSocket and its frames. The chat page uses the connection directly.

export const UNAUTHORISED = 4401;
export const UNSPOKEN = [4408, 1013]; // nothing was asked in time, or while others waited for the place
const UNREADABLE = 4002; // sent by this client
const BACKOFF = [500, 1000, 2000, 4000, 8000, 15000]; // ms before the next attempt; then always the last
const COME_BACK = /come back in (\d{1,3}) s$/; // in the reason of a close frame that sends its clients away
const CONNECT_TIMEOUT = 10_000; // ms
const SETTLE = 100; // ms after a response: its suggestions come in the same group, and a page cannot send a ping
const MESSAGE_MOST = 4 * 1024 * 1024; // characters of one message of the server
const WAITING_MOST = 20_000; // events of one turn that its reader has not taken

export class AgentError extends Error {
  constructor(message, code) {
    super(message);
    this.name = this.constructor.name;
    this.code = code;
  }
}
export class CannotConnect extends AgentError {}
export class ConnectionLost extends AgentError {}
export class RequestRefused extends AgentError {}

// A secret for `visitor`, to be made once and kept: 256 random bits as base64url.
export function makeVisitor() {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// The address of the WebSocket of the server at a URL.
function socketUrl(url) {
  const parts = /^(?:http|ws)(s?):\/\/([^/?#]+)(\/[^?#]*)?$/.exec(url);
  if (!parts) throw new TypeError("the URL must look like http://127.0.0.1:8787");
  const [, secure, host, path = "/"] = parts;
  return `ws${secure}://${host}${path === "/" ? "/ws" : path}`;
}

// Milliseconds until the next attempt to connect, after a number of attempts that failed.
export function retryDelay({ reason }, attempts) {
  const told = COME_BACK.exec(reason);
  if (told) return (Number(told[1]) + Math.random()) * 1000;
  return BACKOFF[Math.min(attempts, BACKOFF.length - 1)] * (0.75 + Math.random() / 2);
}

export class Connection {
  // opened(); received(frame); ended(event), with the `code` and `reason` of the close; sounded(audio), of the server's
  // voice: an ArrayBuffer of PCM, 16-bit little-endian, mono, 16 kHz.
  constructor(url, { opened = () => {}, received, ended, sounded = () => {}, WebSocket = globalThis.WebSocket }) {
    Object.assign(this, { url, opened, received, ended, sounded, WebSocket });
    this.socket = null;
  }

  // voice: whether to speak and listen, with a server that does. Throws where the token or the visitor's secret cannot be
  // sent.
  open(token, visitor, voice = false) {
    const protocols = voice ? ["agent.voice.v1", "agent.v1"] : ["agent.v1"];
    if (token) protocols.push(`bearer.${token}`);
    if (visitor) protocols.push(`visitor.${visitor}`);
    const socket = new this.WebSocket(socketUrl(this.url), protocols);
    this.socket = socket;
    socket.binaryType = "arraybuffer";
    socket.addEventListener("open", () => this.opened());
    socket.addEventListener("message", ({ data }) => {
      if (socket !== this.socket) return;
      if (data instanceof ArrayBuffer) {
        this.sounded(data);
        return;
      }
      let frame = null;
      try {
        if (data.length <= MESSAGE_MOST) frame = JSON.parse(data);
      } catch {
        // as a message that is too long
      }
      if (frame === null || typeof frame !== "object") socket.close(UNREADABLE);
      else this.received(frame);
    });
    socket.addEventListener("close", (event) => {
      if (socket !== this.socket) return;
      this.socket = null;
      this.ended(event);
    });
  }

  get isOpen() {
    return this.socket !== null && this.socket.readyState === 1;
  }

  // Send a frame, if there is a connection.
  send(frame) {
    if (this.isOpen) this.socket.send(JSON.stringify(frame));
  }

  // Send a frame of audio, in the form that `sounded` gets it; 20 to 100 ms.
  sendAudio(audio) {
    if (this.isOpen) this.socket.send(audio);
  }

  close() {
    this.socket?.close(1000);
  }
}

// The answer to one question. Leaving the loop over it cancels it at the server.
class Turn {
  constructor(agent, text, { lang, signal } = {}) {
    Object.assign(this, { agent, signal });
    this.frame = lang ? { type: "message", text, lang } : { type: "message", text };
    this.events = [];
    this.state = "new"; // then "open", "ended" once no event follows, "left" once its reader is gone
    this.isAnswered = false; // then a cancel would end its suggestions
    this.error = undefined;
    this.wake = () => {};
    this.abort = () => {
      this.cancel();
      this.end(signal.reason);
    };
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  async next() {
    if (this.state === "new") await this.begin();
    while (!this.events.length) {
      if (this.state === "left") return { done: true, value: undefined };
      if (this.state === "ended") {
        this.leave();
        if (this.error !== undefined) throw this.error;
        return { done: true, value: undefined };
      }
      await new Promise((resolve) => (this.wake = resolve));
    }
    return { done: false, value: this.events.shift() };
  }

  // Called where a loop is left by break, return or throw.
  async return(value) {
    this.cancel();
    this.leave();
    return { done: true, value };
  }

  async begin() {
    this.state = "open";
    if (this.signal?.aborted) {
      this.end(this.signal.reason);
      return;
    }
    this.signal?.addEventListener("abort", this.abort);
    try {
      await this.agent.begin(this);
    } catch (error) {
      this.end(error);
    }
  }

  add(event) {
    if (this.state !== "open") return;
    this.events.push(event);
    if (event.type === "response") this.isAnswered = true;
    if (this.events.length > WAITING_MOST) {
      this.cancel();
      this.end(new ConnectionLost("the events of the turn were not read"));
    }
    this.wake();
  }

  end(error) {
    if (this.state !== "open") return;
    if (error !== undefined && !(error instanceof AgentError)) this.events = []; // it was aborted
    this.error = error;
    this.state = "ended";
    this.agent.turns.delete(this.frame.id);
    this.wake();
  }

  cancel() {
    if (this.state === "open" && !this.isAnswered && this.frame.id) this.agent.connection.send({ type: "cancel", id: this.frame.id });
  }

  leave() {
    this.state = "left";
    this.events = [];
    this.agent.turns.delete(this.frame.id);
    this.signal?.removeEventListener("abort", this.abort);
    this.wake();
  }
}

export class Agent {
  constructor(url, { token, visitor, WebSocket, onEvent = () => {} } = {}) {
    Object.assign(this, { url, token, visitor, onEvent });
    this.connection = new Connection(url, {
      WebSocket,
      received: (frame) => this.take(frame),
      ended: (event) => this.lose(event),
    });
    this.turns = new Map(); // message id -> turn
    this.decisions = new Map(); // suggestion id, or label of feedback -> the promises of its outcome
    this.suggested = new Set();
    this.lost = [];
    this.thread = ""; // of the conversation, where the server has memory
    this.asked = 0;
    this.rated = 0;
    this.connections = 0;
    this.opening = null; // {promise, resolve, reject} of an attempt to connect
    this.isReady = false;
  }

  // Return the events of the answer to a question. A question cancels the one in progress.
  ask(text, options) {
    return new Turn(this, text, options);
  }

  // Confirm a suggested action; return the frame of its outcome. payload: fills in what is missing.
  confirm(suggestionId, payload) {
    return this.decide(payload === undefined ? { type: "confirm_action", suggestionId } : { type: "confirm_action", suggestionId, payload });
  }

  reject(suggestionId) {
    return this.decide({ type: "reject_action", suggestionId });
  }

  // Say whether an answer of this connection was good, "up" or "down"; return the frame that says it is stored. message:
  // the id of its response. text: words about it.
  feedback(message, verdict, text = "") {
    const frame = { type: "feedback", message, verdict, text, id: `feedback-${++this.rated}` };
    return this.decide(frame, frame.id, "the answer went with the connection: ask again, then rate the new answer");
  }

  // Cancel what is in progress, and everything that waits for a confirm.
  cancel() {
    this.connection.send({ type: "cancel" });
  }

  close() {
    this.connection.close();
  }

  // Connect, unless there is a connection; `ask` does so by itself.
  open() {
    if (this.isReady) return Promise.resolve();
    if (this.opening) return this.opening.promise;
    const opening = {};
    opening.promise = new Promise((resolve, reject) => Object.assign(opening, { resolve, reject }));
    this.opening = opening;
    opening.timer = setTimeout(() => {
      this.opened(new CannotConnect(`cannot connect to ${this.url}: no answer in ${CONNECT_TIMEOUT / 1000} s`));
      this.close();
    }, CONNECT_TIMEOUT);
    try {
      this.connection.open(this.token, this.visitor);
    } catch (error) {
      this.opened(new CannotConnect(`cannot connect to ${this.url}: ${error.message}`));
    }
    return opening.promise;
  }

  // What follows is for `Turn` and `Connection`.

  opened(error) {
    const opening = this.opening;
    if (!opening) return;
    this.opening = null;
    clearTimeout(opening.timer);
    if (error) {
      opening.reject(error);
      return;
    }
    this.isReady = true;
    this.connections++;
    opening.resolve();
  }

  async begin(turn) {
    const before = { connections: this.connections, thread: this.thread };
    await this.open();
    if (turn.state !== "open") return; // it was left meanwhile
    turn.frame.id = String(++this.asked);
    this.turns.set(turn.frame.id, turn);
    if (before.connections && before.connections !== this.connections) {
      const continues = before.thread !== "" && before.thread === this.thread;
      turn.add({ type: "reconnected", lost: this.lost.splice(0), continues });
    }
    this.connection.send(turn.frame);
  }

  decide(frame, id = frame.suggestionId, gone = "the suggestion went with the connection: ask again to get a new one") {
    if (!this.isReady) return Promise.reject(new ConnectionLost(gone));
    const known = this.decisions.get(id) || [];
    this.decisions.set(id, known);
    const outcome = new Promise((resolve, reject) => known.push({ resolve, reject }));
    this.connection.send(frame);
    return outcome;
  }

  settle(suggestionId, how, outcome) {
    const known = this.decisions.get(suggestionId);
    this.decisions.delete(suggestionId);
    for (const each of known || []) each[how](outcome);
    return known !== undefined;
  }

  take(frame) {
    if (!this.isReady) this.greet(frame);
    else if (frame.type === "error") this.refuse(frame);
    else if (frame.type === "action_executed" || frame.type === "action_closed") {
      this.suggested.delete(frame.suggestionId);
      if (!this.settle(frame.suggestionId, "resolve", frame)) this.tell(frame);
    } else if (frame.type === "feedback_stored") this.settle(frame.id, "resolve", frame);
    else if (["stream", "stream_end", "response", "action_suggestion"].includes(frame.type)) {
      if (frame.type === "action_suggestion") this.suggested.add(frame.suggestionId);
      this.tell(frame);
      if (frame.type === "stream_end" && frame.reason === "cancelled") this.turns.get(frame.id)?.end();
      if (frame.type === "response") setTimeout(() => this.turns.get(frame.id)?.end(), SETTLE);
    }
  }

  // Give an event to its turn; one whose turn is over goes to `onEvent`.
  tell(frame) {
    const turn = this.turns.get(frame.id);
    if (turn?.state === "open") turn.add(frame);
    else if (frame.type.startsWith("action_")) this.onEvent(frame);
  }

  refuse(frame) {
    const refused = new RequestRefused(frame.message, frame.code);
    if (frame.suggestionId !== undefined) this.settle(frame.suggestionId, "reject", refused);
    else if (this.settle(frame.id, "reject", refused)) return;
    else if (frame.code !== "internal") this.turns.get(frame.id)?.end(refused); // after that one comes a refusal
  }

  // The first frames of a connection: the server's welcome, and where it has memory the thread of the conversation.
  greet(frame) {
    const again = frame.type === "error" && frame.code === "unknown_thread";
    if (frame.type === "welcome" && !frame.memory) this.opened();
    else if (frame.type === "thread") {
      this.thread = frame.thread;
      this.opened();
    } else if (frame.type === "welcome" || again) {
      if (again) this.thread = "";
      this.connection.send(this.thread ? { type: "open_thread", thread: this.thread } : { type: "open_thread" });
    } else if (frame.type === "error") {
      this.opened(new CannotConnect(frame.message, frame.code));
      this.close();
    }
  }

  lose({ code, reason }) {
    this.isReady = false;
    const isOver = reason?.startsWith("the token is over"); // of a connection that it had opened
    const why = code === UNAUTHORISED && !isOver ? "the token is missing or wrong" : `the connection ended (${reason || `code ${code}`})`;
    this.opened(new CannotConnect(`cannot connect to ${this.url}: ${why}`, code));
    this.lost.push(...this.suggested);
    this.suggested.clear();
    for (const turn of this.turns.values()) turn.end(new ConnectionLost(`${why} before the answer: ask again`, code));
    for (const id of [...this.decisions.keys()]) {
      const rest = id.startsWith("feedback-") ? "send the feedback again" : "the action may have been carried out, or not";
      this.settle(id, "reject", new ConnectionLost(`${why}: ${rest}`, code));
    }
  }
}

export function connect(url = "http://127.0.0.1:8787", options = {}) {
  return new Agent(url, options);
}
