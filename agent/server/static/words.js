// Every word the page says, by language: those of languages.js, which the server makes from its languages, and functions
// for what has a number in it. Keys that come over the wire (refusal, error and close codes, action names) have a group
// each; what is not listed there falls back to what the server said.

import { LANGUAGES } from "/static/languages.js";

// A text with its places filled.
export const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// Returns a sentence of the server in the page's words, where it is one of the patterns of `reasons`; a sentence of a tool
// stays as it is.
export function reworded(text, reasons) {
  for (const [written, words] of Object.entries(reasons)) {
    const parts = written.split(/\{(\w+)\}/); // each other one is a name
    const pattern = parts.map((part, at) => (at % 2 ? `(?<${part}>.+)` : part.replace(/[\\^$.*+?()[\]|]/g, "\\$&")));
    const found = new RegExp(`^${pattern.join("")}$`, "s").exec(text);
    if (found) return filled(words, found.groups || {});
  }
  return text;
}

function spoken(said) {
  return {
    ...said,
    lines: (first, last) => filled(first === last ? said.line : said.lines, { first, last }),
    left: (seconds) => filled(said.left, { seconds }),
    retry: (seconds) => filled(said.retry, { seconds }),
    moreSources: (count) => filled(said.moreSources, { count }),
    tooLong: (most, length) => filled(said.tooLong, { most, length }),
    fault: (fault) => filled(said.fault, { fault }),
    debug: { ...said.debug, now: (state) => filled(said.debug.now, { state }) },
    openIt: (place) => filled(said.openIt, { place }),
    memory: {
      ...said.memory,
      since: (day) => filled(said.memory.since, { day }),
      until: (day) => filled(said.memory.until, { day }),
      cited: (day) => filled(said.memory.cited, { day }),
      said: (day, who) => filled(said.memory.said, { day, who }),
    },
    embed: { ...said.embed, long: (most) => filled(said.embed.long, { most }) },
    source: { ...said.source, on: (line) => filled(said.source.on, { line }) },
  };
}

export const WORDS = Object.fromEntries(Object.entries(LANGUAGES).map(([code, { words }]) => [code, spoken(words)]));
