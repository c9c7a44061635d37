// The bubble's button and its panel, in a shadow root: nothing of the website's styles reaches them, nor of theirs it.

import { Drawing, element, grouped, putMarks, written } from "/static/answer.js";
import { Card, ranCard } from "/static/embed_cards.js";
import { STYLE } from "/static/embed_style.js";
import { placeOf, quotation } from "/static/fields.js";

const MOST_SHOWN = 500; // entries of the list
const CONFIRM_SECONDS = 120; // for a suggestion that does not say when it expires
const BUSY = ["connecting", "buffering", "streaming", "executing"]; // states that can be stopped
const LONGEST = 8000; // characters of a question, as the server takes them
const TICK = 1000; // ms
const NARROW = "(max-width: 480px)"; // where the panel takes the whole screen; as in embed_style.js
const FOCUSABLE = "button, textarea, input, summary, [tabindex='0']";
const OPAQUE = /^rgb\((\d+), (\d+), (\d+)\)$/; // as a browser computes a colour
const SVG = "http://www.w3.org/2000/svg";

export class Panel {
  // host: the element of the bubble. look: {title, greeting, position, theme}, each a text. words: of the language.
  constructor(host, look, words, lang) {
    Object.assign(this, { host, look, words });
    this.root = host.attachShadow({ mode: "open" });
    this.cards = new Map(); // suggestion id -> its card
    this.answers = new Map(); // question id -> {item, drawing, text}
    this.following = true; // until the person scrolls up
    dress(this.root);
    this.box = element("section", `box ${look.position === "left" ? "at-left" : ""}`);
    this.box.lang = lang;
    this.box.dir = "ltr";
    this.box.setAttribute("aria-label", look.title);
    this.button = this.makeButton();
    this.panel = this.makePanel();
    this.box.append(this.button, this.panel);
    this.root.append(this.box);
    this.turnDark(look.theme);
    // The website's own shortcuts are not for what is typed here.
    for (const kind of ["keydown", "keypress", "keyup"]) this.box.addEventListener(kind, (event) => event.stopPropagation());
  }

  // chat: the conversation that the panel shows (embed_chat.js).
  begin(chat) {
    this.chat = chat;
    this.showState();
  }

  // --- what it is made of

  makeButton() {
    const button = element("button", "bubble");
    button.type = "button";
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-label", this.look.title);
    button.title = this.look.title;
    button.append(icon("M4 4h16a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-8l-5 4v-4H4a2 2 0 0 1-2-2V6a2 2 0 0 1 2-2z"));
    button.addEventListener("click", () => (this.panel.open ? this.close() : this.open()));
    return button;
  }

  makePanel() {
    const { words, look } = this;
    const panel = element("dialog", "panel");
    const header = element("header");
    const title = element("h2", "", look.title);
    title.id = "title";
    panel.setAttribute("aria-labelledby", "title");
    const shut = element("button", "shut");
    shut.type = "button";
    shut.setAttribute("aria-label", words.shut);
    shut.append(icon("M6 6l12 12M18 6L6 18"));
    shut.addEventListener("click", () => this.close());
    header.append(title, shut);

    this.scroller = element("div", "scroller");
    this.scroller.tabIndex = 0; // so that the keys scroll it
    this.scroller.setAttribute("role", "log");
    this.scroller.setAttribute("aria-live", "off");
    this.scroller.setAttribute("aria-label", words.conversation);
    this.log = element("ol");
    this.log.setAttribute("role", "list");
    this.scroller.append(written("p", "greeting", look.greeting || words.hint), this.log);
    this.scroller.addEventListener("scroll", () => {
      const { scrollHeight, scrollTop, clientHeight } = this.scroller;
      this.following = scrollHeight - scrollTop - clientHeight < 60;
    });

    this.status = element("p", "status");
    this.status.setAttribute("role", "status");
    this.said = element("p", "unseen");
    this.said.setAttribute("aria-live", "polite");
    panel.append(header, this.scroller, this.status, this.said, this.makeForm());
    panel.addEventListener("keydown", (event) => this.keyed(event));
    panel.addEventListener("close", () => this.closed());
    return panel;
  }

  makeForm() {
    const { words } = this;
    const form = element("form", "ask");
    this.question = element("textarea");
    Object.assign(this.question, { rows: 1, maxLength: LONGEST, placeholder: words.question, autocomplete: "off", dir: "auto" });
    this.question.setAttribute("aria-label", words.question);
    this.question.setAttribute("enterkeyhint", "send");
    this.send = element("button", "send", words.send);
    this.stop = element("button", "stop", words.stop);
    this.stop.type = "button";
    this.stop.hidden = true;
    form.append(this.question, this.send, this.stop);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = this.question.value.trim();
      if (!text) return;
      this.question.value = "";
      this.grow();
      this.ask(text);
    });
    this.question.addEventListener("input", () => this.grow());
    this.question.addEventListener("paste", (event) => {
      const pasted = event.clipboardData?.getData("text/plain").length || 0;
      const { value, selectionStart, selectionEnd } = this.question;
      const long = value.length - (selectionEnd - selectionStart) + pasted > LONGEST;
      this.status.textContent = long ? words.embed.long(LONGEST) : "";
    });
    this.question.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      form.requestSubmit();
    });
    this.stop.addEventListener("click", () => this.chat.stop());
    return form;
  }

  // Light or dark, as the website says, or else the browser.
  turnDark(theme) {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const turn = () => this.box.classList.toggle("dark", theme === "dark" || (theme !== "light" && dark.matches));
    dark.addEventListener("change", turn);
    turn();
  }

  // Take a colour of the website, with the text on it black or white, whichever is read better. Returns false where it is
  // no opaque colour of sRGB.
  paint(color) {
    if (!CSS.supports("color", color)) return false;
    this.box.style.setProperty("--brand", color);
    const channels = OPAQUE.exec(getComputedStyle(this.button).backgroundColor);
    if (!channels) {
      this.box.style.removeProperty("--brand");
      return false;
    }
    this.box.style.setProperty("--on-brand", luminance(...channels.slice(1).map(Number)) > 0.179 ? "#000000" : "#ffffff");
    return true;
  }

  // --- open and closed

  open() {
    this.button.classList.remove("unread");
    this.button.setAttribute("aria-label", this.look.title);
    if (matchMedia(NARROW).matches) this.panel.showModal();
    else this.panel.show();
    this.button.setAttribute("aria-expanded", "true");
    this.question.focus();
    this.follow();
  }

  // Nothing is cancelled: what is being answered goes on.
  close() {
    this.panel.close();
  }

  closed() {
    this.button.setAttribute("aria-expanded", "false");
    this.button.focus();
  }

  keyed(event) {
    if (event.key === "Escape" && !event.isComposing) {
      event.preventDefault();
      this.close();
    } else if (event.key === "Tab") this.keepFocus(event);
  }

  // The focus goes around in the open panel; Escape leads out of it.
  keepFocus(event) {
    const places = [...this.panel.querySelectorAll(FOCUSABLE)].filter((each) => !each.disabled && each.getClientRects().length);
    const [from, to] = event.shiftKey ? [places[0], places[places.length - 1]] : [places[places.length - 1], places[0]];
    if (this.root.activeElement !== from) return;
    event.preventDefault();
    to.focus();
  }

  // --- the conversation

  ask(text) {
    this.following = true;
    this.add(written("li", "mine", text));
    const body = element("div", "text");
    const item = element("li", "answer");
    item.append(body);
    this.add(item);
    const id = this.chat.ask(text);
    if (this.answers.size >= MOST_SHOWN) this.answers.delete(this.answers.keys().next().value);
    this.answers.set(id, { item, text, drawing: new Drawing(body, () => this.follow()) });
  }

  // Takes what `Chat` hears.
  hear(event) {
    hears[event.kind](this, event);
    if (event.kind !== "state") this.follow();
  }

  add(item) {
    this.log.append(item);
    if (this.log.childElementCount > MOST_SHOWN) this.log.firstElementChild.remove();
    this.follow();
  }

  note(text) {
    this.add(written("li", "note", text));
    this.tell(text);
  }

  // Say it to a screen reader; and on the button, while the panel is closed.
  tell(text) {
    this.said.textContent = text;
    if (this.panel.open) return;
    this.button.classList.add("unread");
    this.button.setAttribute("aria-label", `${this.look.title} (${this.words.embed.unread})`);
  }

  follow() {
    if (this.following) this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  grow() {
    this.question.style.height = "auto";
    this.question.style.height = `${Math.min(this.question.scrollHeight, 120)}px`;
  }

  showState() {
    const { state, step } = this.chat;
    const text = BUSY.includes(state) ? this.words.step[step] || this.words.state[state] : "";
    if (this.status.textContent !== text) this.status.textContent = text;
    const isBusy = BUSY.includes(state);
    const focused = this.root.activeElement === (isBusy ? this.send : this.stop);
    this.send.hidden = isBusy; // Enter sends all the same, and cancels what is in progress
    this.stop.hidden = !isBusy;
    if (focused) this.question.focus();
  }

  suggest(frame) {
    const known = this.answers.get(frame.id);
    const card = new Card(frame, this.words, this.chat, {
      again: known && (() => this.ask(known.text)),
      left: () => this.question.focus(),
      seconds: CONFIRM_SECONDS,
    });
    this.cards.set(frame.suggestionId, card);
    this.add(card.item);
    this.ticking ||= setInterval(() => this.tick(), TICK);
  }

  tick() {
    for (const card of this.cards.values()) card.tick();
    if (this.cards.size) return;
    clearInterval(this.ticking);
    this.ticking = 0;
  }

  // End a card by one of its methods, and forget it.
  endCard(frame, end) {
    const card = this.cards.get(frame.suggestionId);
    if (!card) return;
    const focused = card.item.contains(this.root.activeElement);
    this.cards.delete(frame.suggestionId);
    end(card);
    if (focused && this.panel.open) this.question.focus();
    this.tell(card.item.querySelector(".outcome").textContent);
  }

  errorText({ code, message }) {
    const known = this.words.error[code];
    return code === "internal" || !known ? `${known || ""} ${message}`.trim() : known;
  }
}

const hears = {
  state: (panel) => panel.showState(),

  delta: (panel, { id, text }) => panel.answers.get(id)?.drawing.add(text),

  answered(panel, { id, frame }) {
    const { item, drawing } = panel.answers.get(id);
    const { words } = panel;
    const cited = frame.citations || [];
    const box = cited.length ? sources(cited, words) : null;
    drawing.whole(putMarks(frame.text, cited), mark(cited, words, box));
    item.classList.add("ended");
    if (frame.blocked) item.append(element("p", "remark", words.blocked[frame.blocked.code] || frame.blocked.message));
    else if (frame.confidence && cited.length) item.append(element("p", "confidence", words.confidence[frame.confidence]));
    if (frame.withoutMemory) item.append(element("p", "remark", words.unread));
    if (box) item.append(box);
    panel.tell(frame.text);
  },

  failed(panel, { id, why, frame }) {
    const { item, drawing, text } = panel.answers.get(id);
    const { words } = panel;
    const told = { stopped: words.stopped, interrupted: words.interrupted, unreachable: words.embed.unreachable, expired: words.embed.expired };
    const reason = why === "refused" ? panel.errorText(frame) : told[why];
    drawing.redraw();
    item.classList.add("ended");
    item.append(element("p", "remark", reason));
    panel.tell(reason);
    if (why === "stopped") return;
    const button = element("button", "again", words.embed.again);
    button.type = "button";
    button.addEventListener("click", () => {
      button.remove();
      panel.question.focus();
      panel.ask(text);
    });
    item.append(button);
  },

  suggested: (panel, { frame }) => panel.suggest(frame),

  executed(panel, { frame }) {
    if (panel.cards.has(frame.suggestionId)) panel.endCard(frame, (card) => card.executed(frame));
    else if (frame.action) panel.add(ranCard(frame, panel.words).item);
  },

  closed: (panel, { frame }) => panel.endCard(frame, (card) => card.closed(frame)),

  unaccepted(panel, { frame }) {
    const stays = panel.chat.open.has(frame.suggestionId);
    const text = frame.code === "bad_message" ? panel.words.unfilled : panel.errorText(frame);
    if (stays) panel.cards.get(frame.suggestionId)?.retry(text);
    else panel.endCard(frame, (card) => card.end(text, "bad"));
  },

  note: (panel, { frame }) => panel.note(panel.errorText(frame)),

  lost(panel) {
    for (const [id, card] of [...panel.cards]) {
      const { words } = panel;
      const wasConfirmed = !card.form.contains(card.yes); // then it may have begun, and goes on without us
      panel.endCard({ suggestionId: id }, () => card.end(wasConfirmed ? words.lost : words.closed.cancelled, wasConfirmed ? "bad" : "quiet"));
    }
  },
};

// The sources of an answer, one for each section, folded.
function sources(citations, words) {
  const box = element("details", "sources");
  const list = element("ol");
  list.setAttribute("role", "list");
  const rows = grouped(citations).map((cited, at) => {
    const row = element("li");
    const place = element("p", "place", `[${at + 1}] `);
    place.append(written("bdi", "", placeOf(cited, words)));
    row.tabIndex = -1;
    row.append(place, ...quotation(cited));
    return row;
  });
  list.append(...rows);
  box.append(element("summary", "", `${words.sources} (${rows.length})`), list);
  return box;
}

// The mark of a source behind a part of an answer: a button that unfolds the sources and goes to it.
function mark(citations, words, box) {
  const found = grouped(citations);
  return (number) => {
    const made = element("button", "mark", `[${number}]`);
    made.type = "button";
    made.setAttribute("aria-label", `[${number}] ${placeOf(found[number - 1], words)}`);
    made.addEventListener("click", () => {
      box.open = true;
      const row = box.lastElementChild.children[number - 1];
      row.focus({ preventScroll: true });
      row.scrollIntoView({ block: "nearest" });
    });
    return made;
  };
}

// Styles that no Content-Security-Policy of the website concerns; older browsers get a <style>.
function dress(root) {
  try {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLE);
    root.adoptedStyleSheets = [sheet];
  } catch {
    root.append(element("style", "", STYLE));
  }
}

function icon(path) {
  const drawn = document.createElementNS(SVG, "svg");
  const line = document.createElementNS(SVG, "path");
  for (const [name, value] of [["viewBox", "0 0 24 24"], ["aria-hidden", "true"]]) drawn.setAttribute(name, value);
  line.setAttribute("d", path);
  drawn.append(line);
  return drawn;
}

// The relative luminance of a colour, 0..1 (WCAG 2.2). Black is read better than white on one above 0.179.
export function luminance(...channels) {
  const [red, green, blue] = channels.map((each) => {
    const part = each / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
