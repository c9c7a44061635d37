// The live list: server-sent events over fetch, since EventSource sends no key. It connects again by itself.

import { readJson } from "/static/inbox-json.js";
import { headers } from "/static/inbox-parts.js";

const SILENCE = 40_000; // the server says something every 15 seconds
const FIRST_WAIT = 500;
const LONGEST_WAIT = 10_000;

export class Stream {
  // events: opened(), received(event), ended(problem, wait): problem null where the connection was lost; wait in ms.
  constructor(path, events) {
    this.path = path;
    this.events = events;
    this.tries = 0;
    this.run = 0; // of the connection in use; an older one is ignored
  }

  open() {
    this.close();
    const run = this.run;
    this.abort = new AbortController();
    this.read(run, this.abort).catch(() => null).then((problem) => this.finish(run, problem || null));
  }

  close() {
    this.run += 1;
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.abort?.abort();
  }

  finish(run, problem) {
    if (run !== this.run) return;
    this.close();
    if (problem?.status === 401 || problem?.status === 404) {
      this.events.ended(problem, 0);
      return;
    }
    const wait = Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** this.tries) * (0.75 + Math.random() / 2);
    this.tries += 1;
    this.timer = setTimeout(() => this.open(), wait);
    this.events.ended(problem, wait);
  }

  wake(abort) {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => abort.abort(), SILENCE);
  }

  async read(run, abort) {
    this.wake(abort);
    const answer = await fetch(this.path, { headers: headers({ Accept: "text/event-stream" }), signal: abort.signal, cache: "no-store" });
    if (!answer.ok) return readJson(await answer.text());
    if (run !== this.run) return null;
    this.events.opened();
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let left = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done || run !== this.run) return null;
      this.wake(abort);
      const parts = (left + value).split("\n\n");
      left = parts.pop();
      for (const part of parts) {
        const found = /^event: (.*)\ndata: (.*)$/s.exec(part);
        if (!found) continue;
        if (found[1] === "problem") return readJson(found[2]);
        this.tries = 0;
        this.events.received(readJson(found[2]));
      }
    }
  }
}
