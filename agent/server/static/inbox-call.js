// One call as its approver sees it, and the four decisions about it. What was typed stays, whatever becomes of the call.

import { ArgumentsForm } from "/static/inbox-form.js";
import { showValue, writeJson } from "/static/inbox-json.js";
import { make, newKey, request, say, write } from "/static/inbox-parts.js";
import { decidedBy, fill, named, showLeft, showTime, texts } from "/static/inbox-texts.js";

const MODES = { a: "accept", e: "edit", r: "reject", w: "answer" }; // keys

const pointerParts = (pointer) => pointer.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));

// Whether the outcome of a call is still to come.
export const isOpen = (call) => ["suggested", "confirmed", "claimed"].includes(call.status);

export class CallDetail {
  // deciding: returns the approver's name, or null after it was asked for. closed(): back to the list. next(): on to the
  // next call that waits. decided(call): it was decided here. refused(): the key was not accepted.
  constructor(call, { deciding, closed, next, decided, refused }) {
    this.call = call;
    this.decided = decided;
    this.deciding = deciding;
    this.refused = refused;
    this.busy = false;
    this.mode = "";
    this.sent = null; // the request whose answer did not come, and its key
    const title = make("h2", { id: "detail-title", tabIndex: -1, textContent: call.tool, dir: "auto" });
    const back = make("button", { type: "button", className: "back", textContent: texts().back });
    back.addEventListener("click", closed);
    this.title = title;
    this.status = make("p", { className: "status" });
    this.told = make("p", { className: "told", aria: { role: "alert" } });
    this.onward = make("button", { type: "button", className: "main", textContent: texts().next, hidden: true });
    this.onward.addEventListener("click", next);
    this.facts = make("div");
    this.buttons = make("div", { className: "buttons" });
    this.panels = make("div");
    this.after = make("div");
    this.copying = make("button", { type: "button", className: "copy", textContent: texts().copy, hidden: true });
    this.copying.addEventListener("click", () => this.copy());
    this.element = make("article", { aria: { "aria-labelledby": "detail-title" } },
      back, title, this.status, this.facts, this.told, this.buttons, this.panels, this.copying, this.onward, this.after);
    this.makeButtons();
    this.update(call);
  }

  get waits() {
    return this.call.status === "suggested" && Date.parse(this.call.deadline) > Date.now();
  }

  // Whether something was typed that is nowhere else.
  get typed() {
    return this.inputs().some((each) => each.value !== each.defaultValue);
  }

  inputs() {
    return [...this.panels.querySelectorAll("textarea, input")];
  }

  focus() {
    this.title.focus();
  }

  // --- what is shown

  update(call) {
    const waited = this.call.status === "suggested";
    this.call = call;
    const { decision } = call;
    const parts = [named(texts().statuses, call.status)];
    if (decision) parts.push(fill(texts().decided, { name: decidedBy(decision), event: named(texts().events, decision.event), time: showTime(decision.at) }));
    this.status.textContent = parts.join(" · ");
    this.status.dataset.status = call.status;
    const facts = `${call.arguments_hash} ${call.reason} ${call.words}`;
    if (this.drawn !== facts) this.drawFacts();
    this.drawn = facts;
    this.tick();
    this.drawAfter();
    this.enable();
    if (waited && call.status !== "suggested" && this.mode && this.mode !== "accept" && !this.busy && !this.done) {
      this.tell(decision ? fill(texts().first, { name: decidedBy(decision), event: named(texts().events, decision.event), time: showTime(decision.at) }) : texts().ended);
    }
  }

  drawFacts() {
    const { call } = this;
    const list = make("dl");
    const add = (name, ...values) => list.append(make("dt", { textContent: name }), make("dd", { dir: "auto" }, ...values));
    add(texts().askedBy, call.user_id);
    add(texts().risk, make("span", { className: "risk", textContent: named(texts().risks, call.risk), data: { risk: call.risk } }));
    if (call.why_approval.length) add(texts().why, call.why_approval.map((each) => named(texts().reasons, each)).join(", "));
    this.left = make("span");
    add(texts().deadline, `${showTime(call.deadline)} `, this.left);
    if (call.reason) add(texts().because, call.reason);
    const words = make("blockquote", { textContent: call.words ?? texts().forgotten, dir: "auto" });
    const cut = call.words_cut ? make("p", { className: "hint", textContent: texts().wordsCut }) : null;
    const given = Object.entries(call.arguments).map(([name, value]) => this.argument(name, value));
    const args = given.length ? make("dl", { className: "arguments" }, ...given.flat()) : make("p", { className: "hint", textContent: texts().noArguments });
    const whole = make("details", null, make("summary", { textContent: texts().whole }), make("pre", { textContent: writeJson(call.arguments, "  "), tabIndex: 0 }));
    this.facts.replaceChildren(list, make("h3", { textContent: texts().words }), words, ...(cut ? [cut] : []), make("h3", { textContent: texts().arguments }), args, ...(given.length ? [whole] : []));
  }

  argument(name, value) {
    const sources = Object.entries(this.call.sources).filter(([pointer]) => pointerParts(pointer)[0] === name);
    const kinds = [...new Set(sources.map(([, kind]) => named(texts().sources, kind)))];
    const from = kinds.length ? make("span", { className: "hint", textContent: fill(texts().source, { source: kinds.join(", ") }) }) : null;
    return [make("dt", { textContent: name, dir: "auto" }), make("dd", { dir: "auto" }, make("span", { className: "value", textContent: showValue(value) }), " ", from)];
  }

  drawAfter() {
    const { result } = this.call;
    this.after.replaceChildren();
    if (result) this.after.append(make("h3", { textContent: texts().result }), make("pre", { textContent: writeJson(result, "  "), tabIndex: 0 }));
    if (this.reply) this.after.append(make("h3", { textContent: texts().reply }), make("blockquote", { textContent: this.reply, dir: "auto" }));
  }

  tick() {
    const waits = this.call.status === "suggested";
    write(this.left, waits ? `(${fill(texts().left, { time: showLeft(Date.parse(this.call.deadline) - Date.now()) })})` : "");
    if (waits && !this.waits && !this.over) {
      this.over = true;
      this.enable();
      if (this.mode) this.tell(texts().errors.expired);
    }
  }

  enable() {
    const open = this.waits && !this.busy;
    for (const each of this.element.querySelectorAll("button.decides")) each.disabled = !open;
    this.buttons.querySelector("[data-mode=accept]").disabled = !open || this.call.missing.length > 0;
    this.copying.hidden = open || this.busy || !this.typed;
  }

  tell(text) {
    this.told.textContent = text;
    this.enable();
  }

  // --- what is decided

  makeButtons() {
    const { call } = this;
    const editable = call.parameters !== null || call.missing.length > 0;
    for (const mode of ["accept", "edit", "reject", "answer"]) {
      const button = make("button", { type: "button", className: "decides", textContent: texts()[mode], hidden: mode === "edit" && !editable, data: { mode } });
      button.addEventListener("click", () => (mode === "accept" ? this.decide("accept") : this.show(mode)));
      this.buttons.append(button);
    }
    if (call.missing.length) this.told.textContent = fill(texts().toFill, { names: call.missing.join(", ") });
  }

  // Make the form of a decision, when it is first wanted.
  makePanel(mode) {
    if (this.panels.querySelector(`[data-panel="${mode}"]`)) return;
    if (mode === "edit") {
      this.edited = new ArgumentsForm(this.call);
      this.panel(mode, texts().runEdited, this.edited.element);
    } else if (mode === "reject") {
      this.reason = make("textarea", { rows: 2, maxLength: 500, id: "reject-reason" });
      this.panel(mode, texts().sendReject, make("label", { htmlFor: "reject-reason", textContent: texts().reason }), this.reason);
    } else if (mode === "answer") {
      this.answerText = make("textarea", { rows: 3, maxLength: 8000, id: "answer-words", required: true });
      this.panel(mode, texts().sendAnswer, make("label", { htmlFor: "answer-words", textContent: texts().answerLabel }), this.answerText);
    }
    this.enable();
  }

  panel(mode, label, ...content) {
    const send = make("button", { type: "submit", className: "decides main", textContent: label });
    const leave = make("button", { type: "button", textContent: texts().leave });
    const form = make("form", { hidden: true, noValidate: true, aria: { "aria-label": texts()[mode] }, data: { panel: mode } }, ...content, make("div", { className: "buttons" }, send, leave));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!send.disabled) this.decide(mode);
    });
    leave.addEventListener("click", () => this.show(""));
    this.panels.append(form);
  }

  show(mode) {
    this.mode = mode;
    this.makePanel(mode);
    for (const form of this.panels.children) form.hidden = form.dataset.panel !== mode;
    this.panels.querySelector(`[data-panel="${mode}"] :is(textarea, input, select)`)?.focus();
    if (!mode) this.focus();
  }

  press(key) {
    const button = this.buttons.querySelector(`[data-mode="${MODES[key]}"]`);
    if (!button || button.hidden || button.disabled) return false;
    if (MODES[key] === "accept") button.focus();
    else this.show(MODES[key]);
    return true;
  }

  body(mode, approver) {
    const { call } = this;
    const said = { user_id: call.user_id, project_id: call.project_id, approver };
    if (mode === "reject") return { ...said, waiting: true, ...(this.reason.value.trim() ? { reason: this.reason.value.trim() } : {}) };
    if (mode === "answer") return this.answerText.value.trim() ? { ...said, outcome: "respond", text: this.answerText.value.trim() } : null;
    const seen = { ...said, arguments_hash: call.arguments_hash };
    if (mode === "accept") return seen;
    const filled = this.edited.read();
    return filled && { ...seen, outcome: "edit", arguments: filled };
  }

  async decide(mode) {
    const approver = this.deciding();
    if (approver === null || this.busy) return;
    const body = this.body(mode, approver);
    if (body === null) {
      if (mode === "answer") this.answerText.focus();
      return;
    }
    const content = writeJson([mode, body]);
    if (this.sent?.content !== content) this.sent = { content, key: newKey() }; // the same again is done once
    this.busy = true;
    this.mode = mode;
    this.tell(texts().sending);
    const way = mode === "reject" ? "reject" : "approve";
    const prefer = mode === "answer" ? {} : { Prefer: "respond-async" };
    const path = `/calls/${encodeURIComponent(this.call.id)}/${way}`;
    const { status, value } = await request("POST", path, body, { ...prefer, "Idempotency-Key": this.sent.key });
    this.busy = false;
    if (status >= 200 && status < 300) this.succeed(value, approver, mode);
    else this.fail(status, value, mode);
  }

  succeed(value, approver, mode) {
    this.sent = null;
    this.done = true;
    this.reply = value.reply?.render?.text_to_send_to_user;
    const event = { accept: "approved", edit: "edited", reject: "rejected", answer: "answered" }[mode];
    this.show("");
    const decision = this.call.decision || { approver, user_id: value.user_id, event, at: new Date().toISOString() };
    // The outcome may have come before this answer, which does not know it.
    const known = isOpen(this.call) ? value : this.call;
    this.update({ ...this.call, ...value, ...known, decision });
    this.decided(this.call);
    this.tell("");
    this.onward.hidden = false;
    if (this.element.contains(document.activeElement) || document.activeElement === document.body) this.onward.focus();
    say(this.status.textContent);
  }

  fail(status, problem, mode) {
    const code = problem?.code ?? "other";
    if (status >= 400 && status < 500) this.sent = null; // a request that was refused is another one when it is sent again
    if (problem?.decision) {
      const { decision } = problem;
      this.tell(fill(texts().first, { name: decidedBy(decision), event: named(texts().events, decision.event), time: showTime(decision.at) }));
    } else this.tell(Object.hasOwn(texts().errors, code) ? texts().errors[code] : texts().errors.other);
    if (mode === "edit" && code === "bad_edit") this.edited.showFaults(problem.errors, texts().errors.bad_edit);
    if (status === 401) this.refused();
  }

  async copy() {
    const written = this.inputs().filter((each) => each.value !== each.defaultValue).map((each) => each.value).join("\n");
    try {
      await navigator.clipboard.writeText(written);
      this.copying.textContent = texts().copied;
    } catch {
      this.copying.textContent = texts().notCopied;
    }
  }
}
