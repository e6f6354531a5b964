// Requests to the server, and small helpers for pages.

export const byId = (id) => document.getElementById(id);
export const data = JSON.parse(byId("data").textContent);

export class ServerError extends Error {}

export async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(new URL(path, document.baseURI), options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("The server does not respond. Is it still running?");
  }
  if (!response.ok) throw new ServerError(messageOf(await response.text(), response.status));
  return response;
}

function messageOf(text, status) {
  let message = text.trim();
  try {
    message = JSON.parse(message).error.message;
  } catch { /* it is a line of text */ }
  return message ? sentence(message) : `The server answers with status ${status}.`;
}

const sentence = (message) => message.replace(/^[a-z](?=[a-z])/, (first) => first.toUpperCase());

const json = async (path, options) => (await request(path, options)).json();
const query = (values) => new URLSearchParams(
  Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "")).toString();

export const search = (values, signal) =>
  json(`search?${query({ ...values, trace: true })}`, { signal });

// An answer as events: `on` has a function for each, which gets its data; returns the result.
export async function ask(values, signal, on) {
  const response = await request(`ask?${query({ ...values, stream: true })}`, { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new ServerError("The connection broke before the answer was complete. Ask again.");
    }
    if (part.done) throw new ServerError("The server stopped before the answer was complete. Ask again.");
    const events = (rest + part.value).split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const found = /^event: (\w+)\ndata: (.*)$/s.exec(event);
      if (!found) continue; // a comment, which says that the server is at work
      const values = JSON.parse(found[2]);
      if (found[1] === "result") return values;
      if (found[1] === "error") throw new ServerError(sentence(values.error.message));
      on[found[1]]?.(values);
    }
  }
}

export const neighbours = (iri, limit, over) => json(`graph/neighbours?${query({ iri, limit, over })}`);
export const complete = (prefix, kind, limit, signal, over) =>
  json(`graph/complete?${query({ prefix, kind, limit, over })}`, { signal }).then((found) => found.terms);
export const prefixes = () => json("graph/prefixes").then((found) => found.prefixes);
export const names = (iris) => json("graph/names", {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(iris),
}).then((found) => found.nodes);

export function sparql(text, accept, { over = [], signal } = {}) {
  const parameters = new URLSearchParams(over.map((part) => ["over", part]));
  return request(`sparql?${parameters}`, {
    method: "POST",
    headers: { "Content-Type": "application/sparql-query", Accept: accept },
    body: text,
    signal,
  });
}

// Choose a part of the graph, which need not be among the options of a list yet.
export function choosePart(list, name) {
  if (![...list.options].some((option) => option.value === name)) list.append(element("option", { value: name }, name));
  list.value = name;
}

// Add imported graphs to a list of parts.
export async function offerParts(list) {
  try {
    const found = await (await sparql("SELECT DISTINCT ?g { GRAPH ?g { } FILTER(CONTAINS(STR(?g), '/graph/external/')) } ORDER BY ?g",
      "application/sparql-results+json")).json();
    const chosen = list.value;
    for (const { g } of found.results.bindings) choosePart(list, decodeURIComponent(g.value.split("/graph/external/")[1]));
    list.value = chosen;
  } catch { /* the other choices remain */ }
}

// The triples of N-Triples that link IRIs, as nodes and edges for a drawing; names come from the
// triples themselves, or from the server.
export async function drawing(text) {
  const all = triples(text);
  const labels = new Map();
  const classes = new Map();
  for (const [subject, property, object] of all) {
    if (object.text !== undefined && LABELS.test(property.iri)) labels.set(subject.iri, object.text);
    if (property.iri === RDF_TYPE && object.iri) classes.set(subject.iri, abbreviate(object.iri));
  }
  const links = all.filter(([, property, object]) => object.iri && property.iri !== RDF_TYPE);
  const iris = [...new Set(links.flatMap(([subject, , object]) => [subject.iri, object.iri]))];
  const shown = iris.slice(0, MAX_NAMES);
  const unnamed = shown.filter((iri) => !labels.has(iri) && !iri.startsWith("_:"));
  const found = unnamed.length ? await names(unnamed).catch(() => []) : [];
  const known = new Map(found.map((node) => [node.iri, node]));
  return {
    nodes: shown.map((iri) => ({ kind: "entity", type: classes.get(iri), ...known.get(iri), iri,
      name: labels.get(iri) ?? known.get(iri)?.name ?? abbreviate(iri) })),
    edges: links.map(([subject, property, object]) => ({ source: subject.iri, target: object.iri,
      property: property.iri, name: abbreviate(property.iri) })),
    left: iris.length - shown.length,
  };
}

export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function abbreviate(iri) {
  let best = null;
  for (const [name, base] of Object.entries(data.prefixes)) {
    if (iri.startsWith(base) && (!best || base.length > best[1].length)) best = [name, base];
  }
  if (!best) return iri;
  const rest = iri.slice(best[1].length);
  return /^[\p{L}\p{N}_%.~-]+$/u.test(rest) ? `${best[0]}:${rest}` : iri;
}

export const resource = (iri) => `resource?${query({ iri })}`;
export const counted = (number, one, many = `${one}s`) =>
  `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
export const isCalm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

const MAX_NAMES = 500;
const RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
const LABELS = /[#/](?:prefLabel|label|name|title)$/;
const ESCAPES = { t: "\t", b: "\b", n: "\n", r: "\r", f: "\f", '"': '"', "'": "'", "\\": "\\" };
const TERM = /<([^>]*)>|"((?:[^"\\]|\\.)*)"(?:@[\w-]+|\^\^<[^>]*>)?|(_:\S+)/g;
const unescaped = (text) => text.replace(/\\(?:u([\dA-Fa-f]{4})|U([\dA-Fa-f]{8})|(.))/g,
  (_, four, eight, one) => (one ? ESCAPES[one] ?? one : String.fromCodePoint(parseInt(four ?? eight, 16))));

// The triples of N-Triples: [subject, property, object], objects as {iri} or {text}.
export function triples(text) {
  return text.split("\n").filter(Boolean).map((line) => {
    const [subject, property, object] = [...line.matchAll(TERM)].map(([, iri, literal, blank]) =>
      (literal === undefined ? { iri: blank ?? unescaped(iri) } : { text: unescaped(literal) }));
    return [subject, property, object];
  }).filter(([, , object]) => object);
}
