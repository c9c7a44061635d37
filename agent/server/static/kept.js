// The conversation, kept for a reload of the page where the server keeps none: in this tab's storage, bounded, and gone
// with the tab.

const KEY = "conversation";
export const MOST_ENTRIES = 100;
export const MOST_CHARS = 200_000; // of its JSON; browsers give a page some 5 million

// The newest entries that fit, as JSON texts, oldest first.
export function newest(entries) {
  const texts = [];
  let size = 0;
  for (let at = entries.length - 1; at >= 0 && texts.length < MOST_ENTRIES; at--) {
    const text = JSON.stringify(entries[at]);
    size += text.length;
    if (size > MOST_CHARS) break;
    texts.unshift(text);
  }
  return texts;
}

const WORD = /[\p{L}\p{N}]+/gu;
const SENTENCE = 3; // words from which on a text is looked for inside of others, as the server does

const spaced = (text) => ` ${(text.normalize("NFC").toLowerCase().match(WORD) || []).join(" ")} `;

// The entries that go with an item that is forgotten: what cites it, what asks about it, and whoever's words say what it
// says; what a person has said goes with the answer to it.
export function repeating(entries, item) {
  const quotes = (item.sources || []).filter((each) => each.kind === "message").map((each) => each.quote);
  const sought = [item.text, ...quotes].filter(Boolean).map(spaced);
  const says = (text) => sought.some((each) => (each.split(" ").length - 2 < SENTENCE ? spaced(text) === each : spaced(text).includes(each)));
  const found = new Set();
  let asked = false; // the answer that follows is to words that go
  for (const entry of entries) {
    const { kind, text, citations, payload, feedback } = entry;
    if (kind === "mine") asked = says(text);
    const asks = payload && [payload, ...(payload.replaces || [])].some((each) => each.item === item.id);
    const cites = (citations || []).some((each) => each.file === `memory/${item.id}`);
    if (asks || cites || (kind === "card" ? says(JSON.stringify(payload)) : asked || says(text || "") || says(feedback?.text || ""))) found.add(entry);
  }
  return found;
}

// A storage that keeps nothing, for a server that keeps the conversation itself.
export const NOWHERE = { getItem: () => null, setItem() {}, removeItem() {} };

export class Kept {
  constructor(storage) {
    this.storage = storage;
    this.entries = [];
  }

  // What an earlier page of this tab has kept; nothing where that cannot be read.
  earlier() {
    try {
      const found = JSON.parse(this.storage.getItem(KEY) || "[]");
      return Array.isArray(found) ? found : [];
    } catch {
      return [];
    }
  }

  // An entry may change later; save() writes what has become of it.
  add(entry) {
    this.entries.push(entry);
    this.save();
    return entry;
  }

  save() {
    const texts = newest(this.entries);
    this.entries.splice(0, this.entries.length - Math.max(texts.length, 1));
    try {
      this.storage.setItem(KEY, `[${texts.join(",")}]`);
    } catch {
      // a browser that keeps nothing for us: the page works, but a reload starts anew
    }
  }

  // Let go of what says an item that is forgotten; returns that.
  forget(item) {
    const gone = repeating(this.entries, item);
    this.entries = this.entries.filter((entry) => !gone.has(entry));
    this.save();
    return gone;
  }

  clear() {
    this.entries = [];
    try {
      this.storage.removeItem(KEY);
    } catch {
      // as above
    }
  }
}
