// A form for a call's arguments, made from the JSON Schema of the tool. What a field cannot show, it shows as JSON.

import { readJson, showValue, writeJson } from "/static/inbox-json.js";
import { make } from "/static/inbox-parts.js";
import { fill, named, texts } from "/static/inbox-texts.js";

const LONG = 60; // characters, from which a text gets several lines
let counter = 0;

const isScalar = (value) => ["string", "number", "boolean"].includes(typeof value) || value === null;

function kindOf(schema, value, given) {
  if (!schema || typeof schema !== "object") return "json";
  if (Array.isArray(schema.enum) && schema.enum.length && schema.enum.every(isScalar)) {
    return !given || schema.enum.includes(value) ? "choice" : "json";
  }
  if (schema.type === "boolean") return !given || typeof value === "boolean" ? "choice" : "json";
  if (schema.type === "integer" || schema.type === "number") return !given || /^-?[\d.eE+-]+$/.test(writeJson(value)) ? schema.type : "json";
  if (schema.type === "string") return !given || typeof value === "string" ? "text" : "json";
  if (schema.type === "array" && schema.items?.type === "string" && !schema.items.enum) {
    const plain = !given || (Array.isArray(value) && value.every((each) => typeof each === "string" && each && !each.includes("\n")));
    return plain ? "lines" : "json";
  }
  return "json";
}

function choice(schema, value, given, required) {
  const select = make("select");
  const options = schema.enum || [true, false];
  const yesNo = { true: texts().yes, false: texts().no };
  if (!required || !given) select.append(make("option", { value: "", textContent: texts().unset }));
  for (const each of options) {
    const text = typeof each === "boolean" ? yesNo[each] : showValue(each);
    select.append(make("option", { value: JSON.stringify(each), textContent: text }));
  }
  select.value = given ? JSON.stringify(value) : "";
  return select;
}

function control(kind, schema, value, given, required) {
  if (kind === "choice") return choice(schema, value, given, required);
  if (kind === "lines") return make("textarea", { rows: 3, defaultValue: given ? value.join("\n") : "" });
  if (kind === "json") return make("textarea", { rows: 4, defaultValue: given ? writeJson(value, "  ") : "", spellcheck: false });
  if (kind !== "text") return make("input", { type: "text", inputMode: "decimal", defaultValue: given ? writeJson(value) : "" });
  const text = given ? value : "";
  const long = text.length > LONG || text.includes("\n") || schema.maxLength > 200;
  return long ? make("textarea", { rows: 4, defaultValue: text }) : make("input", { type: "text", defaultValue: text });
}

// What a field says: { value }, { absent: true } or { fault }.
function read(field) {
  const { kind, required, given, input } = field;
  const text = input.value;
  if (kind === "text") return text === "" && !required && !given ? { absent: true } : { value: text };
  if (text.trim() === "" && kind === "lines") return required || given ? { value: [] } : { absent: true };
  if (text.trim() === "") return required ? { fault: texts().tooEmpty } : { absent: true };
  if (kind === "lines") return { value: text.split("\n").filter((line) => line !== "") };
  if (kind === "integer" && !/^\s*-?\d+\s*$/.test(text)) return { fault: texts().badWhole };
  try {
    return { value: readJson(text) };
  } catch {
    return { fault: kind === "number" || kind === "integer" ? texts().badNumber : texts().badJson };
  }
}

export class ArgumentsForm {
  // call: with `parameters`, `arguments` and `missing`. Where it has no schema, only what is missing is asked for.
  constructor(call) {
    const filling = call.parameters === null;
    const schema = filling ? { properties: {}, required: call.missing } : call.parameters;
    const values = filling ? {} : call.arguments;
    const properties = schema.properties && typeof schema.properties === "object" ? schema.properties : {};
    const names = filling ? call.missing : [...new Set([...Object.keys(properties), ...Object.keys(values)])];
    const required = new Set([...(Array.isArray(schema.required) ? schema.required : []), ...call.missing]);
    this.fields = names.map((name) => this.field(name, filling ? { type: "string" } : properties[name], values, required.has(name), call));
    this.told = make("p", { className: "fault", aria: { role: "alert" } });
    this.element = make("div", { className: "fields" }, ...this.fields.map((each) => each.element), this.told);
  }

  field(name, schema, values, required, call) {
    const given = Object.hasOwn(values, name);
    const kind = kindOf(schema, values[name], given);
    const input = control(kind, schema || {}, values[name], given, required);
    const id = `field-${(counter += 1)}`;
    const hints = [];
    if (required) hints.push(texts().required);
    if (kind === "lines") hints.push(texts().oneALine);
    if (kind === "json") hints.push(texts().asJson);
    const source = Object.entries(call.sources).find(([pointer]) => pointer.split("/")[1]?.replaceAll("~1", "/").replaceAll("~0", "~") === name);
    if (source) hints.push(fill(texts().source, { source: named(texts().sources, source[1]) }));
    const fault = make("p", { className: "fault", id: `${id}-fault` });
    const help = make("p", { className: "hint", id: `${id}-hint`, textContent: [hints.join(", "), schema?.description].filter((each) => typeof each === "string" && each).join(". ") });
    Object.assign(input, { id, autocomplete: "off" });
    input.setAttribute("aria-describedby", `${id}-hint ${id}-fault`);
    input.setAttribute("dir", "auto");
    if (required) input.setAttribute("aria-required", "true");
    const element = make("div", { className: "field" }, make("label", { htmlFor: id, textContent: name, dir: "auto" }), input, help, fault);
    return { name, kind, required, given, input, fault, element };
  }

  // The arguments as they are filled in, or null where a field says what is wrong with it.
  read() {
    this.clear();
    const found = {};
    let first = null;
    for (const field of this.fields) {
      const { value, absent, fault } = read(field);
      if (fault) {
        this.blame(field, fault);
        first ||= field;
      } else if (!absent) {
        Object.defineProperty(found, field.name, { value, enumerable: true, configurable: true, writable: true });
      }
    }
    first?.input.focus();
    return first ? null : found;
  }

  // Show the server's faults at the fields that they name.
  showFaults(errors, otherwise) {
    this.clear();
    const all = errors.length ? errors : [{ pointer: "", detail: otherwise }];
    for (const { pointer, detail } of all) {
      const name = pointer.split("/")[2]?.replaceAll("~1", "/").replaceAll("~0", "~");
      const field = this.fields.find((each) => each.name === name);
      if (field) {
        this.blame(field, detail);
        field.input.focus();
      } else this.told.textContent = detail;
    }
  }

  blame(field, text) {
    field.fault.textContent = text;
    field.input.setAttribute("aria-invalid", "true");
  }

  clear() {
    this.told.textContent = "";
    for (const { fault, input } of this.fields) {
      fault.textContent = "";
      input.removeAttribute("aria-invalid");
    }
  }
}
