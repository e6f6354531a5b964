"use strict";

const byId = (id) => document.getElementById(id);
const { endpoint, prefixes, examples } = JSON.parse(byId("data").textContent);
const sparql = new URL("sparql", document.baseURI);
const query = byId("query");
const MAX_ROWS = 1000;
const NUMBER = /#(integer|decimal|double|float|int|long)$/;
let running = null;
let urls = [];

function abbreviate(iri) {
  let best = null;
  for (const [name, base] of Object.entries(prefixes)) {
    if (iri.startsWith(base) && (!best || base.length > best[1].length)) best = [name, base];
  }
  if (!best) return iri;
  const rest = iri.slice(best[1].length);
  return /^[\w%.~-]+$/u.test(rest) ? `${best[0]}:${rest}` : iri;
}

function element(name, text, attributes = {}) {
  const node = document.createElement(name);
  if (text !== null) node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

function cell(term) {
  if (!term) return element("td", "");
  if (term.type === "uri") {
    const td = element("td", null);
    const isHttp = /^https?:/i.test(term.value);
    const text = abbreviate(term.value);
    td.append(isHttp
      ? element("a", text, { href: term.value, title: term.value, rel: "noreferrer" })
      : element("span", text));
    return td;
  }
  if (term.type === "bnode") return element("td", `_:${term.value}`);
  if (term.type === "triple") return element("td", JSON.stringify(term.value));
  if (NUMBER.test(term.datatype || "")) return element("td", term.value, { class: "number" });
  const td = element("td", term.value);
  const suffix = term["xml:lang"] ? `@${term["xml:lang"]}`
    : term.datatype ? `^^${abbreviate(term.datatype)}` : "";
  if (suffix) td.append(" ", element("small", suffix));
  return td;
}

function showRows(data) {
  const table = element("table", null);
  const head = element("tr", null);
  for (const name of data.head.vars) head.append(element("th", name, { scope: "col" }));
  const body = element("tbody", null);
  for (const row of data.results.bindings.slice(0, MAX_ROWS)) {
    const line = element("tr", null);
    for (const name of data.head.vars) line.append(cell(row[name]));
    body.append(line);
  }
  const top = element("thead", null);
  top.append(head);
  table.append(top, body);
  byId("table").replaceChildren(table);
  byId("table").hidden = false;
}

const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

function showNotice(parts) {
  byId("notice").textContent = parts.filter(Boolean).join(" ");
  byId("notice").hidden = !byId("notice").textContent;
}

function clear() {
  for (const id of ["error", "table", "text", "notice", "downloads"]) byId(id).hidden = true;
  urls.forEach(URL.revokeObjectURL);
  urls = [];
}

function offerDownload(id, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  urls.push(url);
  byId(id).href = url;
}

async function send(accept, text, signal) {
  return fetch(sparql, {
    method: "POST",
    headers: { "Content-Type": "application/sparql-query", Accept: accept },
    body: text,
    signal,
  });
}

async function offerCsv(text) {
  try {
    const response = await send("text/csv", text);
    if (!response.ok) return;
    offerDownload("csv", await response.text(), "text/csv");
    byId("csv").hidden = false;
  } catch { /* the table is shown, only without this download */ }
}

async function show(response, seconds) {
  const type = response.headers.get("Content-Type") || "";
  const text = await response.text();
  const isTruncated = response.headers.get("X-SPARQL-Truncated") === "true";
  const limit = Number(response.headers.get("X-SPARQL-MaxRows")).toLocaleString("en");
  const warning = isTruncated ? `The server's limit of ${limit} was exceeded: the result is incomplete.` : "";
  const isTable = type.includes("sparql-results+json");
  let status = "";
  if (isTable) {
    const data = JSON.parse(text);
    if ("boolean" in data) {
      byId("text").textContent = String(data.boolean);
      byId("text").hidden = false;
    } else {
      const rows = data.results.bindings.length;
      status = `${counted(rows, "row")} · `;
      showRows(data);
      showNotice([warning, rows > MAX_ROWS
        ? `The table shows the first ${counted(MAX_ROWS, "row")}; the downloads contain all.` : ""]);
      byId("csv").hidden = true;
      offerCsv(query.value);
    }
    offerDownload("json", text, "application/sparql-results+json");
  } else {
    byId("text").textContent = text;
    byId("text").hidden = false;
    showNotice([warning]);
    offerDownload("ttl", text, "text/turtle");
  }
  if (!isTable) byId("csv").hidden = true;
  byId("json").hidden = !isTable;
  byId("ttl").hidden = isTable;
  byId("downloads").hidden = false;
  byId("status").textContent = `${status}${seconds.toFixed(2)} seconds`;
}

function fail(message) {
  byId("status").textContent = "Failed";
  byId("error").textContent = message.trim();
  byId("error").hidden = false;
}

function setBusy(isBusy) {
  byId("run").disabled = isBusy;
  byId("stop").hidden = !isBusy;
  byId("result").setAttribute("aria-busy", String(isBusy));
}

async function run() {
  if (running) running.abort();
  const mine = running = new AbortController();
  const begin = performance.now();
  clear();
  setBusy(true);
  byId("status").textContent = "Running …";
  saveQuery();
  try {
    const accept = "application/sparql-results+json, text/turtle;q=0.9";
    const response = await send(accept, query.value, mine.signal);
    const seconds = (performance.now() - begin) / 1000;
    if (response.ok) await show(response, seconds);
    else fail(await response.text());
  } catch (error) {
    if (running === mine) {
      fail(error.name === "AbortError" ? "Stopped." : `The server does not respond: ${error.message}`);
    }
  }
  if (running === mine) {
    running = null;
    setBusy(false);
  }
}

function addPrefixes() {
  const text = query.value;
  const declared = new Set([...text.matchAll(/\bprefix\s+([\w-]*)\s*:/gi)].map((m) => m[1]));
  const bare = text.replace(/<[^<>\s]*>|"[^"\n]*"|'[^'\n]*'|#[^\n]*/g, " ");
  const used = new Set([...bare.matchAll(/(?<![\w:?$@])([a-z][\w-]*):/gi)].map((m) => m[1]));
  const lines = Object.entries(prefixes)
    .filter(([name]) => used.has(name) && !declared.has(name))
    .map(([name, iri]) => `PREFIX ${name}: <${iri}>\n`);
  query.value = lines.join("") + text;
  byId("status").textContent = lines.length
    ? `${counted(lines.length, "prefix").replace(/prefixs$/, "prefixes")} added`
    : "No undeclared known prefixes are used";
  query.focus();
}

function saveQuery() {
  history.replaceState(null, "", `#query=${encodeURIComponent(query.value)}`);
}

function restoreQuery() {
  const match = /^#query=(.*)$/s.exec(location.hash);
  if (!match) return false;
  try {
    query.value = decodeURIComponent(match[1]);
  } catch {
    return false;
  }
  return true;
}

async function copy(text, button) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed: copy it from the address bar";
  }
  setTimeout(() => { button.textContent = label; }, 2000);
}

function indent(event) {
  event.preventDefault();
  query.setRangeText("  ", query.selectionStart, query.selectionEnd, "end");
}

let isLeaving = false;
query.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run();
  } else if (event.key === "Tab" && !event.shiftKey && !isLeaving) {
    indent(event);
  }
  isLeaving = event.key === "Escape";
});
byId("run").addEventListener("click", run);
byId("stop").addEventListener("click", () => running && running.abort());
byId("prefixes").addEventListener("click", addPrefixes);
byId("copy").addEventListener("click", () => copy(endpoint, byId("copy")));
byId("share").addEventListener("click", () => { saveQuery(); copy(location.href, byId("share")); });
byId("examples").addEventListener("change", (event) => {
  const chosen = examples[Number(event.target.value)];
  if (event.target.value === "" || !chosen) return;
  query.value = chosen.text;
  saveQuery();
  query.focus();
  query.setSelectionRange(0, 0);
});
window.addEventListener("hashchange", restoreQuery);

byId("endpoint").textContent = endpoint;
examples.forEach((example, number) => {
  byId("examples").append(element("option", example.title, { value: String(number) }));
});
if (!restoreQuery()) query.value = examples.length ? examples[0].text : "SELECT * { ?s ?p ?o } LIMIT 10\n";
