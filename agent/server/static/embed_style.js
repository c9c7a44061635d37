// The style of the bubble, which it gives its shadow root as a constructed sheet: so no style-src of the website's
// Content-Security-Policy concerns it. Sizes are in em of the browser's own, since rem is the website's.

export const STYLE = `
:host {
  all: initial !important;
  display: block !important;
  position: static !important;
}

.box {
  --ground: #f6f7f9;
  --paper: #ffffff;
  --ink: #1b2430;
  --faint: #566270;
  --line: #d5dbe2;
  --accent: #1f5f8b;
  --mine: #dcecf7;
  --warn: #8a4b00;
  --warn-ground: #fff3e0;
  --good: #1c6b36;
  --bad: #a3262c;
  --brand: #1f5f8b;
  --on-brand: #ffffff;
  color-scheme: light;
  color: var(--ink);
  font: 1em/1.5 system-ui, sans-serif;
  text-align: left;
}
.box.dark {
  --ground: #11161c;
  --paper: #1a212a;
  --ink: #e6ebf1;
  --faint: #9fabb8;
  --line: #323d49;
  --accent: #7fbde6;
  --mine: #1d3a50;
  --warn: #ffc27a;
  --warn-ground: #33261a;
  --good: #7fd39a;
  --bad: #ff9a9f;
  color-scheme: dark;
}

* { box-sizing: border-box; }
[hidden] { display: none !important; }
p, h2, h3, ol, ul, dl, dd, pre { margin: 0; padding: 0; }
button, textarea, input {
  font: inherit;
  color: inherit;
  margin: 0;
  min-height: 2.75em;
  padding: 0.5em 0.8em;
  border: 1px solid var(--line);
  border-radius: 0.6em;
  background: var(--paper);
}
button { cursor: pointer; font-weight: 600; }
button:disabled { opacity: 0.5; cursor: default; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }

svg { display: block; width: 1.6em; height: 1.6em; fill: none; stroke: currentColor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; }

.bubble {
  position: fixed;
  z-index: 2147483646;
  bottom: calc(1.25em + env(safe-area-inset-bottom));
  right: 1.25em;
  width: 3.75em;
  height: 3.75em;
  min-height: 0;
  padding: 0;
  display: grid;
  place-items: center;
  border: 0;
  border-radius: 50%;
  background: var(--brand);
  color: var(--on-brand);
  box-shadow: 0 2px 10px rgb(0 0 0 / 30%);
}
.bubble:focus-visible { outline-color: var(--ink); box-shadow: 0 0 0 6px var(--paper); }
.at-left .bubble { right: auto; left: 1.25em; }
.bubble.unread::after {
  content: "";
  position: absolute;
  top: 0.1em;
  right: 0.1em;
  width: 0.9em;
  height: 0.9em;
  border: 2px solid #ffffff;
  border-radius: 50%;
  background: #c62828;
}

.panel {
  position: fixed;
  z-index: 2147483647;
  inset: auto 1.25em calc(5.75em + env(safe-area-inset-bottom)) auto;
  width: min(24em, 100vw - 2.5em);
  height: min(38em, 100dvh - 7.5em);
  max-width: none;
  max-height: none;
  margin: 0;
  padding: 0;
  overflow: hidden;
  flex-direction: column;
  border: 1px solid var(--line);
  border-radius: 0.9em;
  background: var(--ground);
  color: var(--ink);
  box-shadow: 0 6px 30px rgb(0 0 0 / 30%);
}
.panel[open] { display: flex; }
.at-left .panel { inset: auto auto calc(5.75em + env(safe-area-inset-bottom)) 1.25em; }
.panel::backdrop { background: var(--ground); }

header { display: flex; align-items: center; gap: 0.5em; padding: 0.5em 0.5em 0.5em 1em; background: var(--brand); color: var(--on-brand); }
h2 { flex: 1; min-width: 0; font-size: 1em; font-weight: 600; overflow-wrap: anywhere; }
h3 { font-size: 1em; font-weight: 600; }
.shut { min-height: 2.5em; padding: 0.3em; border: 0; background: none; }
.shut:focus-visible { outline-color: currentColor; outline-offset: -3px; }

.scroller { flex: 1; min-height: 0; overflow-y: auto; overscroll-behavior: contain; padding: 1em; display: flex; flex-direction: column; gap: 0.75em; }
.scroller:focus-visible { outline-offset: -3px; }
.greeting { white-space: pre-wrap; overflow-wrap: anywhere; }
ol[role="list"] { list-style: none; display: flex; flex-direction: column; gap: 0.75em; }
.scroller > ol > li { max-width: 92%; padding: 0.6em 0.9em; border-radius: 0.75em; overflow-wrap: anywhere; }
.mine { align-self: flex-end; background: var(--mine); white-space: pre-wrap; }
.answer, .card { align-self: flex-start; background: var(--paper); border: 1px solid var(--line); }
.card { width: 92%; border-color: var(--warn); }
.card.ended { border-color: var(--line); }
.note { align-self: center; color: var(--warn); background: var(--warn-ground); font-size: 0.9em; }

.text { display: grid; grid-template-columns: minmax(0, 1fr); gap: 0.5em; }
.text p { white-space: pre-wrap; }
.text .lead { color: var(--faint); font-size: 0.9em; }
.text :is(ul, ol) { padding-left: 1.4em; display: grid; gap: 0.2em; }
.text ul { list-style: disc; }
.answer:not(.ended) .text:empty::before { content: "…"; color: var(--faint); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9em; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: 0.25em 0.6em; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
tr:first-child > * { color: var(--faint); font-weight: 600; }
.mark { min-height: 0; margin-left: 0.15em; padding: 0 0.1em; border: 0; background: none; color: var(--accent); font-size: 0.75em; vertical-align: super; line-height: 1; user-select: none; }

.remark, .confidence, .left, .detail { color: var(--faint); font-size: 0.9em; }
.text:not(:empty) ~ :is(.remark, .confidence) { margin-top: 0.4em; }
.sources { margin-top: 0.5em; padding-top: 0.3em; border-top: 1px solid var(--line); font-size: 0.9em; }
summary { cursor: pointer; padding: 0.35em 0; color: var(--accent); }
.place { font-weight: 600; }
.heading { color: var(--faint); }
pre { padding: 0.5em; background: var(--ground); border-radius: 0.4em; white-space: pre-wrap; font: 0.9em/1.45 ui-monospace, monospace; }

dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.1em 0.75em; margin: 0.3em 0; font-size: 0.9em; }
dt { color: var(--faint); }
.missing label { display: block; margin-top: 0.5em; }
.missing span { display: block; }
.missing :is(input, textarea) { width: 100%; }
.buttons { display: flex; flex-wrap: wrap; align-items: center; gap: 0.5em; margin-top: 0.5em; }
.confirm, .send { background: var(--brand); border-color: var(--brand); color: var(--on-brand); }
.again { min-height: 2.25em; margin-top: 0.5em; padding: 0.2em 0.7em; font-size: 0.9em; font-weight: 400; }
.outcome { font-weight: 600; }
.outcome.good { color: var(--good); }
.outcome.bad { color: var(--bad); }
.outcome.quiet { color: var(--faint); }

.status { padding: 0 1em 0.4em; color: var(--faint); font-size: 0.9em; }
.status:empty { display: none; }
.ask { display: flex; align-items: flex-end; gap: 0.5em; padding: 0.75em; border-top: 1px solid var(--line); }
.ask textarea { flex: 1; min-width: 0; resize: none; overflow-y: auto; }

.unseen { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }

@media (max-width: 480px) {
  .panel, .at-left .panel { inset: 0; width: 100%; height: 100dvh; border: 0; border-radius: 0; }
}
@media (prefers-reduced-motion: no-preference) {
  .panel[open] { animation: appear 0.15s ease-out; }
  @keyframes appear { from { opacity: 0; transform: translateY(0.5em); } }
}
@media (forced-colors: active) {
  .bubble, .panel { border: 1px solid ButtonText; }
}
@media print { .box { display: none; } }
`;
