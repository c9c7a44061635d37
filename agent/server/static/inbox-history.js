// The decisions that were made: a table with filters, page by page, and files of it.

import { readJson } from "/static/inbox-json.js";
import { byId, headers, make, request } from "/static/inbox-parts.js";
import { fill, named, showTime, texts } from "/static/inbox-texts.js";

const COLUMNS = ["time", "event", "tool", "approver", "key", "user", "hash", "call", "because"];
const EVENTS = ["approved", "edited", "rejected", "answered", "cancelled"];
const PAGE = 50;
const FILES = { csv: "decisions.csv", jsonl: "decisions.jsonl" };

let cursor = null;
let refused = () => {};

function query(more) {
  const day = (id) => byId(id).value && new Date(`${byId(id).value}T00:00:00`).toISOString();
  const wanted = {
    tool: byId("history-tool").value.trim(),
    approver: byId("history-approver").value.trim(),
    user_id: byId("history-user").value.trim(),
    event: byId("history-event").value,
    since: day("history-since"),
    until: day("history-until"),
    ...more,
  };
  return new URLSearchParams(Object.entries(wanted).filter(([, value]) => value));
}

function row(decision) {
  const cell = (text, props) => make("td", { textContent: text ?? "", dir: "auto", ...props });
  const hash = decision.arguments_hash || "";
  return make("tr", null,
    cell(showTime(decision.at)), cell(named(texts().events, decision.event)), cell(decision.tool), cell(decision.approver),
    cell(decision.key_id), cell(decision.user_id), cell(hash.slice(0, 12), { title: hash, className: "code" }),
    cell(decision.call_id.slice(0, 12), { title: decision.call_id, className: "code" }), cell(decision.reason));
}

function tell(problem) {
  if (problem.status === 401) refused();
  byId("history-told").textContent = named(texts().errors, problem.value?.code ?? "other") || texts().errors.other;
}

async function load(more) {
  const answer = await request("GET", `/calls/history?${query({ limit: PAGE, cursor: more ? cursor : "" })}`);
  if (answer.status !== 200) {
    tell(answer);
    return;
  }
  const rows = answer.value.items.map(row);
  if (more) byId("history-rows").append(...rows);
  else byId("history-rows").replaceChildren(...rows);
  cursor = answer.value.next_cursor;
  byId("history-more").hidden = cursor === null;
  byId("history-told").textContent = byId("history-rows").children.length ? "" : texts().noHistory;
}

// A file of the server: fetched with the key, and then saved.
async function save(form) {
  try {
    const answer = await fetch(`/calls/${form === "csv" ? "history.csv" : "history.jsonl"}?${query({})}`, { headers: headers() });
    if (!answer.ok) {
      tell({ status: answer.status, value: readJson(await answer.text()) });
      return;
    }
    const url = URL.createObjectURL(await answer.blob());
    const link = make("a", { href: url, download: FILES[form] });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
    byId("history-told").textContent = answer.headers.get("X-Next-Cursor") ? fill(texts().cutExport, { count: 10_000 }) : "";
  } catch {
    tell({ status: 0 });
  }
}

export function speakHistory() {
  byId("history-head").replaceChildren(...COLUMNS.map((name) => make("th", { scope: "col", textContent: texts()[name] })));
  const chosen = byId("history-event").value;
  byId("history-event").replaceChildren(make("option", { value: "", textContent: texts().any }), ...EVENTS.map((each) => make("option", { value: each, textContent: texts().events[each] })));
  byId("history-event").value = chosen;
  if (!byId("history").hidden) load(false);
}

export function showHistory() {
  return load(false);
}

export function beginHistory(whenRefused) {
  refused = whenRefused;
  byId("history-filters").addEventListener("submit", (event) => {
    event.preventDefault();
    load(false);
  });
  byId("history-more").addEventListener("click", () => load(true));
  byId("export-csv").addEventListener("click", () => save("csv"));
  byId("export-jsonl").addEventListener("click", () => save("jsonl"));
}
