// The conversation, kept for a reload of the page: in this tab's storage, bounded, and gone with the tab.

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

  clear() {
    this.entries = [];
    try {
      this.storage.removeItem(KEY);
    } catch {
      // as above
    }
  }
}
