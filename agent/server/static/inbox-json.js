// JSON without a loss: a whole number that JavaScript would round keeps its digits, to be shown and sent as they are.

class Digits {
  constructor(text) {
    this.text = text;
  }
}

const keep = (_, value, context) =>
  typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d{16,}$/.test(context?.source ?? "")
    ? new Digits(context.source)
    : value;

export function readJson(text) {
  return JSON.parse(text, keep);
}

export function writeJson(value, indent = "", inside = "") {
  if (value instanceof Digits) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const list = Array.isArray(value);
  const parts = list
    ? value.map((each) => writeJson(each, indent, inside + indent))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}:${indent && " "}${writeJson(each, indent, inside + indent)}`);
  const [open, close] = list ? "[]" : "{}";
  if (!parts.length) return open + close;
  const line = indent ? `\n${inside}` : "";
  return open + line + (indent ? indent : "") + parts.join(`,${line}${indent}`) + line + close;
}

// A value as a person reads it: a text as it is, anything else as JSON.
export function showValue(value) {
  return typeof value === "string" ? value : writeJson(value, "  ");
}
