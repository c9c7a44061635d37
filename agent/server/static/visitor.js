// The browser's own secret, by which a server that has no name for its person knows it again: made once, of random
// bytes, and offered with each connection. Nothing else of the page needs it.

import { makeVisitor } from "/agent.js";

const KEY = "visitor";
const FORM = /^[\w-]{22,64}$/;

let secret = null;

export function visitor() {
  if (secret) return secret;
  try {
    secret = localStorage.getItem(KEY);
    if (!FORM.test(secret || "")) {
      secret = makeVisitor();
      localStorage.setItem(KEY, secret);
    }
  } catch {
    secret ||= makeVisitor(); // a browser that keeps nothing for us: each page is a visitor of its own
  }
  return secret;
}
