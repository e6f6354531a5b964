// The SPARQL editor: completion from the graph, errors at their line, tables and drawn graphs.
import * as cm from "./vendor/editor.js";
import * as api from "./api.js";
import { GraphView } from "./graph.js";

const { byId, counted, element } = api;
const { endpoint, prefixes, examples } = api.data;
const MAX_ROWS = 1000;
const MAX_NAMES = 500;
const MAX_HISTORY = 30;
const NUMBER = /#(integer|decimal|double|float|int|long)$/;
const HISTORY = "sarag-queries";
const KEYWORDS = `SELECT CONSTRUCT DESCRIBE ASK WHERE PREFIX DISTINCT FILTER OPTIONAL UNION GRAPH FROM MINUS BIND VALUES
  SERVICE LIMIT OFFSET COUNT SUM AVG MIN MAX SAMPLE GROUP_CONCAT STR LANG CONTAINS STRSTARTS REGEX EXISTS NOT IN AS`.split(/\s+/)
  .concat("GROUP BY", "ORDER BY", "HAVING", "NOT EXISTS", "FROM NAMED");
let running = null;
let urls = [];
let view = null;

// ------------------------------------------------------------------------------ The text

// The styles of the editor are adopted by a shadow root, which a page without inline styles allows.
const host = byId("query");
const root = host.attachShadow({ mode: "open" });
const colours = cm.HighlightStyle.define([
  { tag: [cm.tags.keyword, cm.tags.operatorKeyword], color: "var(--link)", fontWeight: "600" },
  { tag: [cm.tags.string, cm.tags.literal], color: "var(--string)" },
  { tag: [cm.tags.variableName, cm.tags.special(cm.tags.variableName)], color: "var(--variable)" },
  { tag: [cm.tags.namespace, cm.tags.url, cm.tags.propertyName, cm.tags.typeName], color: "var(--iri)" },
  { tag: cm.tags.number, color: "var(--string)" },
  { tag: [cm.tags.comment, cm.tags.lineComment], color: "var(--muted)", fontStyle: "italic" },
]);
const theme = cm.EditorView.theme({
  "&": { border: "1px solid var(--rule)", borderRadius: "7px", background: "var(--page)", fontSize: "14px" },
  "&.cm-focused": { outline: "2px solid var(--lit)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: 'ui-monospace, "SFMono-Regular", Menlo, Consolas, "DejaVu Sans Mono", monospace',
    lineHeight: "1.5", minHeight: "12em", maxHeight: "48vh" },
  ".cm-content": { caretColor: "var(--ink)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { background: "var(--chosen) !important" },
  ".cm-gutters": { background: "transparent", color: "var(--muted)", border: "0" },
  ".cm-tooltip": { background: "var(--card)", color: "var(--ink)", border: "1px solid var(--rule)", borderRadius: "7px" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { background: "var(--main)", color: "var(--main-ink)" },
  ".cm-completionDetail": { fontStyle: "normal", color: "var(--muted)" },
  "li[aria-selected] .cm-completionDetail": { color: "inherit" },
  ".cm-diagnosticText": { color: "var(--bad)" },
});
const editor = new cm.EditorView({
  root,
  parent: root,
  extensions: [
    cm.lineNumbers(), cm.history(), cm.bracketMatching(), cm.sparql(), cm.syntaxHighlighting(colours), theme,
    cm.autocompletion({ override: [complete], maxRenderedOptions: 40 }),
    cm.keymap.of([{ key: "Mod-Enter", run: () => { run(); return true; } },
      ...cm.completionKeymap, cm.indentWithTab, ...cm.historyKeymap, ...cm.defaultKeymap]),
    cm.EditorView.lineWrapping,
    cm.EditorView.contentAttributes.of({ "aria-label": "Query", spellcheck: "false", autocapitalize: "off" }),
  ],
});
Object.defineProperty(host, "value", {
  get: () => editor.state.doc.toString(),
  set: (text) => editor.dispatch({ changes: { from: 0, to: editor.state.doc.length, insert: text },
    selection: { anchor: 0 } }),
});
host.focus = () => editor.focus();
host.editor = editor;

function mark(message) {
  const place = /\(line (\d+)\)|\bat (\d+):(\d+)/.exec(message);
  const { doc } = editor.state;
  const number = place && Number(place[1] ?? place[2]);
  if (!number || number > doc.lines) return;
  const line = doc.line(number);
  const from = place[3] ? Math.min(line.to, line.from + Number(place[3]) - 1) : line.from;
  editor.dispatch(cm.setDiagnostics(editor.state, [{ from: Math.min(from, Math.max(line.from, line.to - 1)), to: line.to,
    severity: "error", message }]), { effects: cm.EditorView.scrollIntoView(line.from) });
}

// -------------------------------------------------------------------------- Completion

const declared = (text) => new Map([...text.matchAll(/\bprefix\s+([\w-]*)\s*:\s*<([^>]*)>/gi)].map((m) => [m[1], m[2]]));

async function complete(context) {
  const variable = context.matchBefore(/[?$]\w*/);
  const text = context.state.doc.toString();
  if (variable) {
    const names = new Set([...text.matchAll(/[?$]\w+/g)].map(([name]) => name));
    names.delete(variable.text);
    return { from: variable.from, options: [...names].map((label) => ({ label, type: "variable" })), validFor: /^[?$]\w*$/ };
  }
  const word = context.matchBefore(/(?:[\w-]*:)?[\p{L}\p{N}_-]*/u);
  if (!word || (word.from === word.to && !context.explicit)) return null;
  if (/[<"'#]\S*$/.test(context.state.sliceDoc(context.state.doc.lineAt(word.from).from, word.from))) return null;
  const colon = word.text.indexOf(":");
  const typed = word.text.slice(colon + 1);
  const before = context.state.sliceDoc(Math.max(0, word.from - 80), word.from);
  const wantsClass = /(?:^|\s)(?:a|rdf:type)\s+$/.test(before);
  const base = colon >= 0 ? declared(text).get(word.text.slice(0, colon)) ?? prefixes[word.text.slice(0, colon)] : "";
  if (base === undefined) return null;
  try {
    const kinds = wantsClass ? ["class"] : ["property", "class", "entity"];
    const found = await Promise.all(kinds.map((kind) =>
      (kind === "entity" && typed.length < 2 ? [] : api.complete(typed, kind, 20))));
    if (context.aborted) return null;
    const options = found.flatMap((terms, place) => terms
      .filter(({ iri }) => iri.startsWith(base))
      .map((term, number) => ({
        label: colon >= 0 ? `${word.text.slice(0, colon)}:${term.name}` : term.name,
        detail: term.uses === undefined ? kinds[place] : `${kinds[place]}, ${term.uses.toLocaleString("en")}`,
        info: term.iri, boost: 20 - number - place * 20,
        type: { property: "property", class: "class", entity: "constant" }[kinds[place]],
        apply: (target, _, from, to) => insert(target, term.iri, from, to),
      })));
    if (colon < 0 && !wantsClass) options.push(...KEYWORDS.map((label) => ({ label, type: "keyword" })));
    return { from: word.from, options, validFor: (now) => now.startsWith(word.text) && found.flat().length < 20
      && word.text.length >= 2 };
  } catch { return null; } // the query can be written without completion
}

// Insert an IRI by its prefix, and declare the prefix if it is not.
function insert(target, iri, from, to) {
  const text = target.state.doc.toString();
  const own = [...declared(text)].filter(([, base]) => iri.startsWith(base)
    && /^[\p{L}_][\p{L}\p{N}_-]*$/u.test(iri.slice(base.length))).sort((one, two) => two[1].length - one[1].length)[0];
  const short = own ? `${own[0]}:${iri.slice(own[1].length)}` : api.abbreviate(iri);
  const name = /^([\w-]*):/.exec(short)?.[1];
  const isShort = short !== iri && !/[%~.]/.test(short);
  const changes = [{ from, to, insert: isShort ? short : `<${iri}>` }];
  if (isShort && !own && !declared(text).has(name)) changes.push({ from: 0, insert: `PREFIX ${name}: <${prefixes[name]}>\n` });
  const set = target.state.changes(changes);
  target.dispatch({ changes: set, selection: { anchor: set.mapPos(to, 1) }, userEvent: "input.complete" });
}

// ------------------------------------------------------------------------------ Results

function cell(term) {
  if (!term) return element("td");
  if (term.type === "uri") {
    const text = api.abbreviate(term.value);
    return element("td", {}, /^(https?|urn):/i.test(term.value)
      ? element("a", { href: api.resource(term.value), title: term.value, "data-iri": term.value }, text)
      : element("span", {}, text));
  }
  if (term.type === "bnode") return element("td", {}, `_:${term.value}`);
  if (term.type === "triple") return element("td", {}, JSON.stringify(term.value));
  if (NUMBER.test(term.datatype || "")) return element("td", { class: "number" }, term.value);
  const suffix = term["xml:lang"] ? `@${term["xml:lang"]}` : term.datatype ? `^^${api.abbreviate(term.datatype)}` : "";
  return element("td", {}, term.value, ...(suffix ? [" ", element("small", {}, suffix)] : []));
}

function showRows(data) {
  const rows = data.results.bindings.slice(0, MAX_ROWS);
  byId("table").replaceChildren(element("table", {},
    element("thead", {}, element("tr", {}, ...data.head.vars.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...data.head.vars.map((name) => cell(row[name])))))));
  byId("table").hidden = false;
  showNames();
}

// Names beside IRIs, as soon as they are there.
async function showNames() {
  const links = [...byId("table").querySelectorAll("a[data-iri]")];
  const iris = [...new Set(links.map((link) => link.dataset.iri))].slice(0, MAX_NAMES);
  if (!iris.length) return;
  try {
    const named = new Map((await api.names(iris)).map(({ iri, name }) => [iri, name]));
    for (const link of links) {
      const name = named.get(link.dataset.iri);
      if (name && !link.textContent.endsWith(name)) link.after(" ", element("small", { class: "name" }, name));
    }
  } catch { /* the table is readable without names */ }
}

// The triples that link IRIs, drawn.
async function draw(text, query) {
  const { nodes, edges, left } = await api.drawing(text);
  byId("drawing").hidden = !nodes.length;
  if (!nodes.length) return;
  view ??= new GraphView(byId("graph"), { onNode: (iri) => { location.href = api.resource(iri); }, onEdge: () => {} });
  view.clear();
  view.add(nodes, edges);
  view.resize();
  view.fit();
  window.explorer = view;
  const address = new URLSearchParams({ query, ...(byId("over").value ? { over: byId("over").value } : {}) });
  byId("drawn").replaceChildren(`${counted(nodes.length, "node")}, ${counted(view.graph.size, "line")}${left ? `; ${counted(left, "node")} left out` : ""}. A node leads to its page. `,
    element("a", { id: "open-explorer", href: `./?${address}` }, "Open in the explorer"));
}

function showNotice(parts) {
  byId("notice").textContent = parts.filter(Boolean).join(" ");
  byId("notice").hidden = !byId("notice").textContent;
}

function clear() {
  for (const id of ["error", "table", "text", "notice", "downloads", "drawing"]) byId(id).hidden = true;
  editor.dispatch(cm.setDiagnostics(editor.state, []));
  urls.forEach(URL.revokeObjectURL);
  urls = [];
}

function offerDownload(id, content, type) {
  const url = URL.createObjectURL(new Blob([content], { type }));
  urls.push(url);
  byId(id).href = url;
}

const over = () => (byId("over").value ? [byId("over").value] : []);
const send = (accept, text, signal) => api.sparql(text, accept, { over: over(), signal });

async function offerCsv(text) {
  try {
    offerDownload("csv", await (await send("text/csv", text)).text(), "text/csv");
    byId("csv").hidden = false;
  } catch { /* the table is shown, only without this download */ }
}

async function show(response, seconds, sent) {
  const type = response.headers.get("Content-Type") || "";
  const text = await response.text();
  const isTruncated = response.headers.get("X-SPARQL-Truncated") === "true";
  const limit = Number(response.headers.get("X-SPARQL-MaxRows")).toLocaleString("en");
  const warning = isTruncated ? `The server's limit of ${limit} was exceeded: the result is incomplete.` : "";
  const isTable = type.includes("sparql-results+json");
  let status = "";
  if (isTable) {
    const data = JSON.parse(text);
    byId("csv").hidden = true;
    if ("boolean" in data) {
      byId("text").textContent = String(data.boolean);
      byId("text").hidden = false;
    } else {
      const rows = data.results.bindings.length;
      status = `${counted(rows, "row")} · `;
      showRows(data);
      showNotice([warning, rows > MAX_ROWS
        ? `The table shows the first ${counted(MAX_ROWS, "row")}; the downloads contain all.` : ""]);
      offerCsv(sent);
    }
    offerDownload("json", text, "application/sparql-results+json");
  } else {
    byId("csv").hidden = true;
    byId("text").textContent = text;
    byId("text").hidden = false;
    showNotice([warning]);
    offerDownload("ttl", text, "text/turtle");
    await draw(await (await send("application/n-triples", sent)).text(), sent);
  }
  byId("json").hidden = !isTable;
  byId("ttl").hidden = isTable;
  byId("downloads").hidden = false;
  byId("status").textContent = `${status}${seconds.toFixed(2)} seconds`;
}

// Where a query stops being SPARQL, in words before the message of the parser.
function inWords(message) {
  const [, line, column] = /\berror at (\d+):(\d+): expected/.exec(message) ?? [];
  if (!line) return message;
  const rest = (host.value.split("\n")[line - 1] ?? "").slice(column - 1).trim();
  const start = `Line ${line}, column ${column}: `;
  return rest ? `${start}“${rest.split(/\s/)[0]}” does not fit here. Is something missing before it?\n${message}`
    : `${start}the query ends too early. Is a bracket not closed?\n${message}`;
}

function fail(message) {
  byId("status").textContent = "Failed";
  byId("error").textContent = inWords(message.trim());
  byId("error").hidden = false;
  mark(message);
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
  const text = host.value;
  clear();
  setBusy(true);
  byId("status").textContent = "Running …";
  saveQuery();
  remember(text);
  try {
    const response = await send("application/sparql-results+json, text/turtle;q=0.9", text, mine.signal);
    await show(response, (performance.now() - begin) / 1000, text);
  } catch (error) {
    if (running === mine) fail(error.name === "AbortError" ? "Stopped." : error.message);
  }
  if (running === mine) {
    running = null;
    setBusy(false);
  }
}

// ------------------------------------------------------------ Prefixes, links and history

function addPrefixes() {
  const text = host.value;
  const known = declared(text);
  const bare = text.replace(/<[^<>\s]*>|"[^"\n]*"|'[^'\n]*'|#[^\n]*/g, " ");
  const used = new Set([...bare.matchAll(/(?<![\w:?$@])([a-z][\w-]*):/gi)].map((m) => m[1]));
  const lines = Object.entries(prefixes)
    .filter(([name]) => used.has(name) && !known.has(name))
    .map(([name, iri]) => `PREFIX ${name}: <${iri}>\n`);
  editor.dispatch({ changes: { from: 0, insert: lines.join("") } });
  byId("status").textContent = lines.length ? `${counted(lines.length, "prefix", "prefixes")} added`
    : "No undeclared known prefixes are used";
  host.focus();
}

function saveQuery() {
  const part = byId("over").value ? `over=${encodeURIComponent(byId("over").value)}&` : "";
  history.replaceState(null, "", `#${part}query=${encodeURIComponent(host.value)}`);
}

function restoreQuery() {
  const match = /^#(?:over=([^&]*)&)?query=(.*)$/s.exec(location.hash);
  if (!match) return false;
  try {
    host.value = decodeURIComponent(match[2]);
    const part = decodeURIComponent(match[1] ?? "");
    api.choosePart(byId("over"), part);
  } catch { return false; }
  return true;
}

function remembered() {
  try {
    const found = JSON.parse(localStorage.getItem(HISTORY) ?? "[]");
    return Array.isArray(found) ? found.filter((text) => typeof text === "string") : [];
  } catch { return []; }
}

function remember(text) {
  const texts = [text, ...remembered().filter((other) => other !== text)].slice(0, MAX_HISTORY);
  try { localStorage.setItem(HISTORY, JSON.stringify(texts)); } catch { /* the browser keeps nothing */ }
  showHistory(texts);
}

function showHistory(texts) {
  const short = (text) => text.replace(/^\s*PREFIX[^\n]*\n/gim, "").replace(/\s+/g, " ").trim().slice(0, 80);
  byId("history").replaceChildren(element("option", { value: "" }, "Queries run here …"),
    ...texts.map((text, number) => element("option", { value: number }, short(text) || "(empty)")));
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

function take(text) {
  host.value = text;
  saveQuery();
  host.focus();
}

byId("run").addEventListener("click", run);
byId("stop").addEventListener("click", () => running && running.abort());
byId("prefixes").addEventListener("click", addPrefixes);
byId("copy").addEventListener("click", () => copy(endpoint, byId("copy")));
byId("share").addEventListener("click", () => { saveQuery(); copy(location.href, byId("share")); });
byId("examples").addEventListener("change", ({ target }) => {
  if (target.value !== "" && examples[Number(target.value)]) take(examples[Number(target.value)].text);
});
byId("history").addEventListener("change", ({ target }) => {
  if (target.value !== "") take(remembered()[Number(target.value)] ?? "");
});
window.addEventListener("hashchange", restoreQuery);

byId("endpoint").textContent = endpoint;
examples.forEach((example, number) => {
  byId("examples").append(element("option", { value: String(number) }, example.title));
});
showHistory(remembered());
api.offerParts(byId("over"));
api.prefixes().then((found) => Object.assign(prefixes, found), () => {}); // those of the page remain
if (!restoreQuery()) host.value = examples.length ? examples[0].text : "SELECT * { ?s ?p ?o } LIMIT 10\n";
