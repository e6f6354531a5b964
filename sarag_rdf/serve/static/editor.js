"use strict";

const byId = (id) => document.getElementById(id);
const { endpoint, prefixes, examples } = JSON.parse(byId("data").textContent);
const sparql = new URL("sparql", document.baseURI);
const query = byId("query");
const MOST_ROWS = 1000;
const NUMBER = /#(integer|decimal|double|float|int|long)$/;
let running = null;
let urls = [];

function shortened(iri) {
  let best = null;
  for (const [name, base] of Object.entries(prefixes)) {
    if (iri.startsWith(base) && (!best || base.length > best[1].length)) best = [name, base];
  }
  if (!best) return iri;
  const rest = iri.slice(best[1].length);
  return /^[\w%.~-]+$/u.test(rest) ? `${best[0]}:${rest}` : iri;
}

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== null) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function cell(term) {
  if (!term) return element("td", "");
  if (term.type === "uri") {
    const made = element("td", null);
    const safe = /^https?:/i.test(term.value);
    const shown = shortened(term.value);
    made.append(safe
      ? element("a", shown, { href: term.value, title: term.value, rel: "noreferrer" })
      : element("span", shown));
    return made;
  }
  if (term.type === "bnode") return element("td", `_:${term.value}`);
  if (term.type === "triple") return element("td", JSON.stringify(term.value));
  if (NUMBER.test(term.datatype || "")) return element("td", term.value, { class: "number" });
  const made = element("td", term.value);
  const kind = term["xml:lang"] ? `@${term["xml:lang"]}`
    : term.datatype ? `^^${shortened(term.datatype)}` : "";
  if (kind) made.append(" ", element("small", kind));
  return made;
}

function showRows(data) {
  const table = element("table", null);
  const head = element("tr", null);
  for (const name of data.head.vars) head.append(element("th", name, { scope: "col" }));
  const body = element("tbody", null);
  for (const row of data.results.bindings.slice(0, MOST_ROWS)) {
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

const counted = (number, what) => `${number.toLocaleString("en")} ${what}${number === 1 ? "" : "s"}`;

function notice(parts) {
  byId("notice").textContent = parts.filter(Boolean).join(" ");
  byId("notice").hidden = !byId("notice").textContent;
}

function clear() {
  for (const id of ["error", "table", "text", "notice", "downloads"]) byId(id).hidden = true;
  urls.forEach(URL.revokeObjectURL);
  urls = [];
}

function offer(id, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  urls.push(url);
  byId(id).href = url;
}

async function ask(accept, text, signal) {
  return fetch(sparql, {
    method: "POST",
    headers: { "Content-Type": "application/sparql-query", Accept: accept },
    body: text,
    signal,
  });
}

async function offerCsv(text) {
  try {
    const response = await ask("text/csv", text);
    if (!response.ok) return;
    offer("csv", await response.text(), "text/csv");
    byId("csv").hidden = false;
  } catch { /* the table is there; only this download is not */ }
}

async function show(response, seconds) {
  const type = response.headers.get("Content-Type") || "";
  const text = await response.text();
  const cut = response.headers.get("X-SPARQL-Truncated") === "true";
  const most = Number(response.headers.get("X-SPARQL-MaxRows")).toLocaleString("en");
  const said = cut ? `The server stopped at ${most}: there is more.` : "";
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
      notice([said, rows > MOST_ROWS
        ? `The table shows the first ${counted(MOST_ROWS, "row")}; the downloads hold all.` : ""]);
      byId("csv").hidden = true;
      offerCsv(query.value);
    }
    offer("json", text, "application/sparql-results+json");
  } else {
    byId("text").textContent = text;
    byId("text").hidden = false;
    notice([said]);
    offer("ttl", text, "text/turtle");
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

function busy(is) {
  byId("run").disabled = is;
  byId("stop").hidden = !is;
  byId("result").setAttribute("aria-busy", String(is));
}

async function run() {
  if (running) running.abort();
  const mine = running = new AbortController();
  const begun = performance.now();
  clear();
  busy(true);
  byId("status").textContent = "Running …";
  keep();
  try {
    const accept = "application/sparql-results+json, text/turtle;q=0.9";
    const response = await ask(accept, query.value, mine.signal);
    const seconds = (performance.now() - begun) / 1000;
    if (response.ok) await show(response, seconds);
    else fail(await response.text());
  } catch (error) {
    if (running === mine) {
      fail(error.name === "AbortError" ? "Stopped." : `The server does not answer: ${error.message}`);
    }
  }
  if (running === mine) {
    running = null;
    busy(false);
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
    : "No further known prefix is used";
  query.focus();
}

function keep() {
  history.replaceState(null, "", `#query=${encodeURIComponent(query.value)}`);
}

function restore() {
  const found = /^#query=(.*)$/s.exec(location.hash);
  if (!found) return false;
  try {
    query.value = decodeURIComponent(found[1]);
  } catch {
    return false;
  }
  return true;
}

async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed: copy it from the address bar";
  }
  setTimeout(() => { button.textContent = before; }, 2000);
}

function indent(event) {
  event.preventDefault();
  query.setRangeText("  ", query.selectionStart, query.selectionEnd, "end");
}

let leaving = false;
query.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run();
  } else if (event.key === "Tab" && !event.shiftKey && !leaving) {
    indent(event);
  }
  leaving = event.key === "Escape";
});
byId("run").addEventListener("click", run);
byId("stop").addEventListener("click", () => running && running.abort());
byId("prefixes").addEventListener("click", addPrefixes);
byId("copy").addEventListener("click", () => copy(endpoint, byId("copy")));
byId("share").addEventListener("click", () => { keep(); copy(location.href, byId("share")); });
byId("examples").addEventListener("change", (event) => {
  const chosen = examples[Number(event.target.value)];
  if (event.target.value === "" || !chosen) return;
  query.value = chosen.text;
  keep();
  query.focus();
  query.setSelectionRange(0, 0);
});
window.addEventListener("hashchange", restore);

byId("endpoint").textContent = endpoint;
examples.forEach((example, number) => {
  byId("examples").append(element("option", example.title, { value: String(number) }));
});
if (!restore()) query.value = examples.length ? examples[0].text : "SELECT * { ?s ?p ?o } LIMIT 10\n";
