// Every word the page says, by language: those of languages.js, which the server makes from its languages, and functions
// for what has a number in it. Keys that come over the wire (refusal, error and close codes, action names) have a group
// each; what is not listed there falls back to what the server said.

import { LANGUAGES } from "/static/languages.js";

const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);

function spoken(said) {
  return {
    ...said,
    lines: (first, last) => filled(first === last ? said.line : said.lines, { first, last }),
    left: (seconds) => filled(said.left, { seconds }),
    retry: (seconds) => filled(said.retry, { seconds }),
    moreSources: (count) => filled(said.moreSources, { count }),
    openIt: (place) => filled(said.openIt, { place }),
    memory: {
      ...said.memory,
      since: (day) => filled(said.memory.since, { day }),
      until: (day) => filled(said.memory.until, { day }),
      cited: (day) => filled(said.memory.cited, { day }),
      said: (day, who) => filled(said.memory.said, { day, who }),
    },
    source: { ...said.source, on: (line) => filled(said.source.on, { line }) },
  };
}

export const WORDS = Object.fromEntries(Object.entries(LANGUAGES).map(([code, { words }]) => [code, spoken(words)]));
