// The page /docs: the routes and frames that the server describes, and a form to try each route.

const SHOWN = 20_000; // characters of an answer

const WHO = {
  open: "anyone",
  token: "the server's token",
  user: "a user's token",
  owner: "a user's own token, a project's key, or the operator",
  project: "a project's key, or the operator",
  operator: "the operator's token",
};

function element(tag, text = "", ...children) {
  const made = document.createElement(tag);
  made.textContent = text;
  made.append(...children);
  return made;
}

// A schema, or the one that it refers to.
const follow = (description, schema) => {
  while (schema?.$ref) schema = schema.$ref.slice(2).split("/").reduce((part, name) => part[name], description);
  return schema ?? {};
};

// The type of a schema in words: "text", "list of numbers", "one of a, b".
function typeOf(description, given) {
  const schema = follow(description, given);
  const parts = schema.anyOf ?? schema.oneOf;
  if (parts) return [...new Set(parts.map((each) => typeOf(description, each)))].join(" or ");
  if (schema.enum) return schema.enum.length === 1 ? JSON.stringify(schema.enum[0]) : `one of ${schema.enum.join(", ")}`;
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.type === "array") return schema.items ? `list of ${typeOf(description, schema.items)}` : "list";
  if (schema.type === "object") return schema.title ?? "object";
  return { string: "text", integer: "whole number", boolean: "true or false" }[schema.type] ?? schema.type ?? "any value";
}

function fieldTable(description, given) {
  const schema = follow(description, given);
  const rows = Object.entries(schema.properties ?? {}).map(([name, field]) =>
    element("tr", "", element("td", "", element("code", name)), element("td", typeOf(description, field)),
      element("td", (schema.required ?? []).includes(name) ? "needed" : ""), element("td", field.description ?? "")));
  if (!rows.length) return element("p", typeOf(description, schema));
  const heads = ["field", "type", "", "meaning"].map((each) => element("th", each));
  return element("table", "", element("thead", "", element("tr", "", ...heads)), element("tbody", "", ...rows));
}

// A value of a schema, with the fields that are needed.
function example(description, given, depth = 0) {
  const schema = follow(description, given);
  if ("default" in schema && schema.default !== null) return schema.default;
  if (schema.enum) return schema.enum[0];
  if ("const" in schema) return schema.const;
  const part = (schema.anyOf ?? schema.oneOf)?.[0];
  if (part) return example(description, part, depth);
  if (schema.type === "object") {
    const needed = depth > 4 ? [] : schema.required ?? [];
    return Object.fromEntries(needed.map((name) => [name, example(description, schema.properties?.[name], depth + 1)]));
  }
  if (schema.type === "array") return schema.minItems && depth < 5 ? [example(description, schema.items, depth + 1)] : [];
  return { integer: schema.minimum ?? 0, number: schema.minimum ?? 0, boolean: false, string: "" }[schema.type] ?? "";
}

// The address of a request: the values of the path in their places, those of the query behind it.
export function addressOf(path, parameters, values) {
  const query = new URLSearchParams();
  for (const { name, in: where } of parameters) {
    const value = values[name] ?? "";
    if (where === "path") path = path.replace(`{${name}}`, value.split("/").map(encodeURIComponent).join("/"));
    else if (where === "query" && value) query.append(name, value);
  }
  return query.size ? `${path}?${query}` : path;
}

async function send(form, answer, method, path, parameters, body) {
  const values = Object.fromEntries(parameters.map(({ name }) => [name, form.elements[name].value]));
  const headers = {};
  const token = document.getElementById("token").value.trim();
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body) headers["Content-Type"] = "application/json";
  for (const { name, in: where } of parameters) if (where === "header" && values[name]) headers[name] = values[name];
  answer.textContent = "…";
  try {
    const given = await fetch(addressOf(path, parameters, values), { method, headers, body: body?.value, redirect: "error" });
    const text = await given.text();
    let shown = text;
    try {
      shown = JSON.stringify(JSON.parse(text), null, 2);
    } catch {} // it is no JSON
    const cut = shown.length > SHOWN ? "\n(the rest is not shown)" : "";
    answer.textContent = `${given.status} ${given.statusText}\n\n${shown.slice(0, SHOWN)}${cut}`;
  } catch (error) {
    answer.textContent = `The server did not answer (${error.message}). Is it running, and may this page ask it?`;
  }
}

function tryForm(description, method, path, parameters, schema) {
  const form = element("form");
  for (const each of parameters) {
    const input = element("input");
    Object.assign(input, { name: each.name, required: each.required === true });
    form.append(element("label", `${each.name}${each.required ? "" : " (optional)"} `, input));
  }
  const body = schema && element("textarea");
  if (body) {
    body.value = JSON.stringify(example(description, schema), null, 2);
    Object.assign(body, { rows: Math.min(12, body.value.split("\n").length + 1), spellcheck: false });
    form.append(element("label", "Body, as JSON ", body));
  }
  const answer = element("pre");
  answer.setAttribute("role", "status");
  const button = element("button", `Send ${method}`);
  form.append(button);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form, answer, method, path, parameters, body);
  });
  return [form, answer];
}

function routeDetails(description, method, path, operation) {
  const parameters = (operation.parameters ?? []).map((each) => follow(description, each));
  const content = operation.requestBody?.content ?? {};
  const schema = content["application/json"]?.schema;
  const details = element("details", "",
    element("summary", "", element("code", `${method} ${path}`), ` ${operation.summary ?? ""}`));
  details.addEventListener("toggle", () => {
    if (details.childElementCount > 1) return; // it is made once, when it is first opened
    details.append(element("p", `For ${WHO[operation["x-who"]] ?? "anyone"}.`));
    if (parameters.length) {
      const fields = parameters.map((each) => [each.name, { ...each.schema, description: each.description }]);
      const required = parameters.filter((each) => each.required).map((each) => each.name);
      details.append(element("h3", "Parameters"), fieldTable(description, { properties: Object.fromEntries(fields), required }));
    }
    if (schema) details.append(element("h3", "Body"), fieldTable(description, schema));
    for (const [status, given] of Object.entries(operation.responses ?? {})) {
      const answer = follow(description, given);
      const shape = answer.content?.["application/json"]?.schema;
      if (status.startsWith("2") && shape) details.append(element("h3", `Answer ${status}`), fieldTable(description, shape));
    }
    const codes = operation["x-problem-codes"];
    if (codes?.length) details.append(element("p", `Codes of problems: ${codes.join(", ")}.`));
    if (schema || !Object.keys(content).length) {
      details.append(element("h3", "Try it"), ...tryForm(description, method, path, parameters, schema));
    } else details.append(element("p", `The body is ${Object.keys(content).join(" or ")}.`));
  });
  return details;
}

function frameDetails(description, name, message) {
  return element("details", "", element("summary", "", element("code", name), ` ${message.summary ?? ""}`),
    fieldTable(description, message.payload));
}

async function load(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return answer.json();
}

async function show() {
  const [http, wire] = await Promise.all([load("/openapi.json"), load("/asyncapi.json")]);
  const routes = document.getElementById("routes");
  for (const [path, item] of Object.entries(http.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      routes.append(routeDetails(http, method.toUpperCase(), path, operation));
    }
  }
  const frames = document.getElementById("frames");
  for (const { summary, messages } of Object.values(wire.operations)) {
    frames.append(element("h3", summary));
    for (const each of messages) {
      const message = follow(wire, each);
      frames.append(frameDetails(wire, message.name, message));
    }
  }
}

if (globalThis.document?.getElementById("routes")) {
  show().catch((error) => {
    document.getElementById("trouble").textContent = `The descriptions could not be read: ${error.message}. Load the page again.`;
  });
}
