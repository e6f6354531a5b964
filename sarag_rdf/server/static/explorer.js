// The explorer: a search box, passages with their reasons, and the graph.
import * as api from "./api.js";
import { GraphView, palette } from "./graph.js";

const { byId, counted, element } = api;
const NEIGHBOURS = 30;
const MILLISECONDS = 1100;
const state = { found: null, question: "", frames: [], timer: 0, running: null, number: 0 };
const KINDS = { seed: "seed", entity: "entity", document: "document", class: "class", value: "date, quantity or adjective" };
const SVG = "http://www.w3.org/2000/svg";

let view = null;
function graphView() {
  if (!view) {
    view = new GraphView(byId("graph"), { onNode: inspectNode, onEdge: inspectEdge });
    window.explorer = view;
  }
  return view;
}

// ------------------------------------------------------------------ What the page shows

function busy(text) {
  state.running?.abort();
  state.running = new AbortController();
  pause();
  byId("error").hidden = true;
  byId("status").textContent = text;
  byId("work").setAttribute("aria-busy", "true");
  hideSuggestions();
  return state.running.signal;
}

function done(text) {
  byId("status").textContent = text;
  byId("work").removeAttribute("aria-busy");
}

function fail(error) {
  if (error.name === "AbortError") return;
  done("");
  byId("error").textContent = error instanceof api.ServerError ? error.message
    : `The page failed: ${error.message}`;
  byId("error").hidden = false;
}

function open(title) {
  document.body.classList.remove("start");
  byId("work").hidden = false;
  byId("graph-title").textContent = title;
  document.title = `${title} · sarag`;
}

const over = () => byId("over").value;

function address(values) {
  const parameters = new URLSearchParams(over() ? { ...values, over: over() } : values);
  const url = parameters.size ? `?${parameters}` : "./";
  if (url !== (location.search || "./")) history.pushState(null, "", url);
}

function legend(kinds) {
  const colours = palette();
  byId("legend").replaceChildren(...kinds.map((kind) => {
    const dot = document.createElementNS(SVG, "svg");
    for (const [key, value] of Object.entries({ viewBox: "0 0 10 10", width: 10, height: 10, "aria-hidden": "true" })) dot.setAttribute(key, value);
    const circle = document.createElementNS(SVG, "circle");
    for (const [key, value] of Object.entries({ cx: 5, cy: 5, r: 5, fill: colours[kind] })) circle.setAttribute(key, value);
    dot.append(circle);
    return element("span", {}, dot, ` ${KINDS[kind]}`);
  }), element("span", { class: "quiet" }, state.frames.length
    ? "Size: activation. Width of lines: weight." : "Choose a node or a line to read about it."));
}

// ------------------------------------------------------------------------------ Search

async function search(question, c = null) {
  const signal = busy(`Searching …`);
  byId("q").value = question;
  try {
    const found = await api.search({ q: question, c, over: over() }, signal);
    const isSame = state.question === question && c !== null;
    state.found = found;
    state.question = question;
    address(c === null ? { q: question } : { q: question, c });
    if (!isSame) byId("answer-panel").hidden = true;
    open("Activation");
    showPassages(found.documents, found.evidence_chain);
    showTrace(found, isSame);
    done(`${counted(found.documents.length, "passage")}, ${counted(found.trace.nodes.length, "node")}`);
  } catch (error) { fail(error); }
}

function showTrace({ trace, settings }, isSame) {
  const graph = graphView();
  graph.clear();
  state.frames = trace.frames.map((frame) => ({
    ...frame,
    passed: new Set(frame.passed.map((n) => `${trace.edges[n].source}\n${trace.edges[n].target}`)),
  }));
  graph.frame = state.frames[0];
  graph.add(trace.nodes, trace.edges);
  graph.resize();
  graph.fit();
  byId("rounds").hidden = false;
  byId("round").max = String(state.frames.length - 1);
  const c = settings.c;
  for (const id of ["c", "c-label", "c-name", "c-help"]) byId(id).hidden = c === undefined;
  if (c !== undefined) {
    byId("c").value = String(c);
    byId("c-label").textContent = Number(c).toFixed(2);
  }
  byId("left-out").textContent = trace.left_out.nodes
    ? `${counted(trace.left_out.nodes, "node")} with less activation left out.` : "";
  byId("inspector").hidden = true;
  legendOfNodes();
  if (isSame || api.isCalm()) showRound(state.frames.length - 1);
  else { showRound(0); play(); }
}

function showRound(number, isMoving = false) {
  const frame = state.frames[number];
  if (!frame) return;
  state.number = number;
  byId("round").value = String(number);
  byId("round").setAttribute("aria-valuetext", frame.label);
  const active = Object.keys(frame.activation).length;
  byId("round-label").textContent = `${frame.label} · ${active} active`;
  graphView().showFrame(frame.activation, frame.passed, isMoving);
  showTable();
}

function play() {
  pause();
  if (state.number >= state.frames.length - 1) showRound(0);
  byId("play").textContent = "Pause";
  state.timer = setInterval(() => {
    if (state.number >= state.frames.length - 1) { pause(); return; }
    showRound(state.number + 1, true);
  }, MILLISECONDS);
}

function pause() {
  clearInterval(state.timer);
  state.timer = 0;
  byId("play").textContent = "Play";
}

function showTable() {
  const graph = graphView().graph;
  const activation = state.frames[state.number]?.activation;
  const nodes = graph.mapNodes((iri, node) => ({ iri, ...node, value: activation ? activation[iri] ?? 0 : null }));
  nodes.sort((one, two) => (two.value ?? 0) - (one.value ?? 0) || one.label.localeCompare(two.label));
  byId("graph-text").textContent = `The graph as a table: ${counted(nodes.length, "node")}, ${counted(graph.size, "line")}`;
  byId("rows").replaceChildren(...nodes.map((node) => element("tr", {},
    element("td", {}, element("button", { type: "button", class: "link", onclick: () => inspectNode(node.iri) }, node.label)),
    element("td", {}, node.seed ? `${node.kind}, seed` : node.cls ? `${node.kind}, ${node.cls}` : node.kind),
    element("td", { class: "number" }, node.value === null ? "–" : node.value.toFixed(3)))));
}

// ---------------------------------------------------------------------------- Passages

function showPassages(documents, chain) {
  byId("results").hidden = false;
  byId("results-title").textContent = documents.length ? "Passages" : "No passages were found";
  const places = chain.map((e) => element("a", { href: `#passage-${e.rank}` }, e.title || `passage ${e.rank}`));
  byId("evidence-chain").replaceChildren(...(places.length > 1
    ? ["Evidence, hop by hop: ", ...places.flatMap((place, n) => (n ? [" → ", place] : [place]))] : []));
  byId("passages").replaceChildren(...documents.map((d) => element("li", { id: `passage-${d.rank}` },
    element("h3", {}, element("a", { href: api.resource(d.iri) }, d.title || "Untitled passage")),
    element("p", { class: "evidence" }, d.sentences.map((s) => s.text).join(" … ")),
    element("details", {}, element("summary", {}, "Whole passage"),
      element("p", { class: "passage" }, ...marked(d))),
    why(d))));
}

// The text of a passage with its evidence marked; offsets are in code points of the source.
function marked(d) {
  const text = [...d.text], parts = [];
  let at = 0;
  for (const s of d.sentences) {
    parts.push(text.slice(at, s.begin - d.begin).join(""), element("mark", {}, s.text));
    at = s.end - d.begin;
  }
  return [...parts, text.slice(at).join("")];
}

// The chain as a path of buttons; each chooses its node in the graph.
function why(d) {
  const score = `score ${d.score.toFixed(2)} · similarity ${d.similarity.toFixed(2)}`;
  if (!d.chain.length) {
    return element("p", { class: "why quiet" }, `Found by its text, not by activation · ${score}`);
  }
  const stop = (iri, name, type) => element("button", { type: "button", class: `step ${type}`, onclick: () => inspectNode(iri) }, name || api.abbreviate(iri));
  const parts = [stop(d.chain[0].origin, d.chain[0].origin_name, d.chain[0].origin_type)];
  for (const s of d.chain) {
    const said = s.text || { describes: s.origin_type === "document" ? "describes" : "is described in",
      about: "is the topic of", same_as: "is the same as" }[s.kind] || "";
    parts.push(element("span", { class: "via", title: `passed on ${s.amount.toPrecision(2)}` }, ` ${said} → `),
      stop(s.target, s.target_name, s.target_type));
  }
  return element("div", { class: "why" }, element("p", { class: "path" }, ...parts),
    element("p", { class: "quiet" }, score));
}

// ------------------------------------------------------------------------------- Selection

function inspect(title, ...children) {
  const panel = byId("inspector");
  panel.replaceChildren(element("div", { class: "bar" }, element("h2", {}, title),
    element("button", { type: "button", class: "right quiet-button", "aria-label": "Close the selection",
      onclick: () => { panel.hidden = true; graphView().choose(null); } }, "×")),
    ...children.filter((child) => child !== null));
  panel.hidden = false;
}

function inspectNode(iri) {
  const { graph } = graphView();
  if (!graph.hasNode(iri)) { showEntity(iri); return; }
  graphView().choose(iri);
  const node = graph.getNodeAttributes(iri);
  const value = state.frames[state.number]?.activation[iri];
  const facts = [node.cls || node.kind, node.seed ? "seed" : null,
    value ? `activation ${value.toFixed(3)}` : null].filter(Boolean).join(" · ");
  const lines = graph.mapEdges(iri, (edge, { statements }, source, target) => ({ edge, statements, source, target }));
  inspect(node.label,
    element("p", { class: "quiet" }, facts),
    element("p", { class: "bar" },
      element("button", { type: "button", class: "main", id: "expand", onclick: () => expand(iri) }, "Expand"),
      element("a", { class: "button", href: api.resource(iri) }, "Open its page"),
      element("button", { type: "button", onclick: () => search(node.label) }, "Search from here")),
    lines.length ? element("ul", { class: "lines" }, ...lines.slice(0, 40).map(({ edge, statements, source, target }) =>
      element("li", {}, element("button", { type: "button", class: "link", onclick: () => inspectEdge(edge) },
        `${label(source)} – ${sayingOf(statements[0])} → ${label(target)}`)))) : null,
    lines.length > 40 ? element("p", { class: "quiet" }, `${lines.length - 40} more lines in the graph.`) : null);
}

const label = (iri) => graphView().graph.getNodeAttribute(iri, "label");
const sayingOf = (s) => s.phrase || s.name || { describes: "describes", about: "is about", same_as: "same as" }[s.kind]
  || "related to";

function inspectEdge(key) {
  const { graph } = graphView();
  if (!graph.hasEdge(key)) return;
  graphView().choose(key);
  const [source, target] = graph.extremities(key);
  const end = (iri) => element("button", { type: "button", class: "step", onclick: () => inspectNode(iri) }, label(iri));
  const statements = graph.getEdgeAttribute(key, "statements");
  inspect("Statement",
    element("p", { class: "path" }, end(source), ` ${sayingOf(statements[0])} → `, end(target)),
    ...statements.map((s) => element("figure", {},
      s.text ? element("blockquote", {}, s.text) : null,
      element("figcaption", { class: "quiet" },
        s.property ? element("a", { href: api.resource(s.property) }, api.abbreviate(s.property)) : null,
        s.weight ? ` weight ${s.weight.toFixed(3)} ` : " ",
        /^https?:/.test(s.relationship ?? "") && (s.text || s.kind === "related_to")
          ? element("a", { class: "source", href: api.resource(s.relationship) }, "Where it is stated") : null))));
}

// ----------------------------------------------------------------------------- Neighbours

async function expand(iri, limit = NEIGHBOURS) {
  byId("status").textContent = "Expanding …";
  byId("error").hidden = true;
  try {
    const found = await api.neighbours(iri, limit, over());
    const graph = graphView();
    const before = graph.graph.order;
    const left = graph.add(found.nodes, found.edges, iri);
    showTable();
    inspectNode(iri);
    legendOfNodes();
    const more = found.left_out.nodes + left;
    const least = found.left_out.at_least ? "at least " : "";
    byId("left-out").textContent = more ? `${least}${counted(more, "neighbour")} of ${label(iri)} left out.` : "";
    done(`${counted(graph.graph.order - before, "new node")}`);
    return found;
  } catch (error) { fail(error); return null; }
}

function legendOfNodes() {
  const kinds = new Set();
  graphView().graph.forEachNode((_, { kind, seed }) => kinds.add(seed ? "seed" : kind));
  legend(Object.keys(KINDS).filter((kind) => kinds.has(kind)));
}

async function showEntity(iri) {
  busy("Reading …");
  state.frames = [];
  state.question = "";
  open("Neighbourhood");
  byId("rounds").hidden = true;
  byId("results").hidden = true;
  byId("answer-panel").hidden = true;
  const graph = graphView();
  graph.clear();
  graph.resize();
  const found = await expand(iri);
  if (!found) return;
  address({ entity: iri });
  if (!found.edges.length) byId("left-out").textContent = "Nothing in the graph is linked to it.";
  open(label(iri));
  graph.fit();
}

// What a CONSTRUCT or DESCRIBE query returns, to walk on from there.
async function showQuery(text) {
  const signal = busy("Running the query …");
  try {
    const response = await api.sparql(text, "application/n-triples", { over: over() ? [over()] : [], signal });
    const { nodes, edges, left } = await api.drawing(await response.text());
    state.frames = [];
    state.question = "";
    open("Result of a query");
    for (const id of ["rounds", "results", "answer-panel", "inspector"]) byId(id).hidden = true;
    const graph = graphView();
    graph.clear();
    graph.resize();
    const more = left + graph.add(nodes, edges);
    address({ query: text });
    byId("left-out").textContent = !nodes.length ? "The result has no triple that links two things."
      : more ? `${counted(more, "node")} left out.` : "";
    legendOfNodes();
    showTable();
    graph.fit();
    done(`${counted(nodes.length, "node")}, ${counted(graph.graph.size, "line")}`);
  } catch (error) { fail(error); }
}

// ---------------------------------------------------------------------------------- Answer

async function answer(question) {
  if (!question) { byId("q").focus(); return; }
  if (state.question !== question) await search(question);
  if (!byId("error").hidden) return;
  const signal = busy("Answering …");
  byId("work").removeAttribute("aria-busy"); // the passages stay readable
  byId("answer-panel").hidden = false;
  const text = element("p", { class: "answer" });
  const steps = element("ol", { class: "steps" });
  const trace = element("details", { open: true }, element("summary", {}, "Steps"), steps);
  const stop = element("button", { type: "button", id: "stop", onclick: () => state.running?.abort() }, "Stop");
  byId("answer-text").replaceChildren(text, trace, stop);
  const running = () => steps.querySelector(".running");
  try {
    const given = await api.ask({ q: question, over: over() }, signal, {
      call: ({ name }) => steps.append(element("li", { class: "running" }, `The model writes: ${name.replaceAll("_", " ")}`)),
      step: (stage) => {
        const item = stageItem(stage);
        if (stage.kind === "call" && running()) running().replaceWith(item);
        else steps.append(item);
      },
      text: (part) => { text.textContent += part.text; },
      withdrawn: () => { text.textContent = ""; },
    });
    if (given.outcome === "evidence") { noModel(); done(""); return; }
    steps.replaceChildren(...given.trace.map(stageItem));
    trace.open = false;
    stop.remove();
    showAnswer(given, text, trace);
    done(given.outcome === "insufficient" ? "The passages do not say." : `Answer: ${given.answer}`);
  } catch (error) {
    stop.remove();
    running()?.remove();
    if (text.textContent) text.classList.add("broken");
    else if (!steps.children.length) byId("answer-panel").hidden = true;
    if (error.name === "AbortError") {
      if (text.isConnected) trace.after(element("p", { class: "quiet" }, "Stopped."));
      if (state.running?.signal === signal) done("");
    } else fail(error);
  }
}

function noModel() {
  byId("answer-text").replaceChildren(
    element("p", { id: "no-model" }, "This server has no language model, and no imported graph states what is asked: see the passages."),
    element("p", { class: "quiet" }, "To get answers, start it with --base-url and --model."));
}

// A step of the trace: what was searched, what the model was asked, what was decided.
function stageItem({ kind, name, detail }) {
  if (kind === "retrieval") {
    return element("li", {}, `Searched: ${detail.question} `, element("small", { class: "quiet" },
      `${counted(detail.titles.length, "passage")}${detail.titles.length ? `: ${[...new Set(detail.titles)].slice(0, 4).join(", ")}` : ""}`));
  }
  const said = kind === "call" ? "The model wrote" : "Determined";
  const values = Object.entries(detail).filter(([, value]) => typeof value !== "object" && value !== "");
  return element("li", {}, `${said}: ${name.replaceAll("_", " ")}`, values.length ? element("dl", {},
    ...values.flatMap(([key, value]) => [element("dt", {}, key.replaceAll("_", " ")), element("dd", {}, String(value))])) : null);
}

function showAnswer(given, text, trace) {
  text.textContent = given.outcome === "insufficient" ? "The passages do not say." : given.answer;
  if (given.citations.length) {
    text.after(element("ul", { class: "chips", "aria-label": "Citations" }, ...given.citations.map((c) => element("li", {},
      element("a", { class: "chip", href: api.resource(c.document) }, `${c.title || "Passage"}, ${c.begin}–${c.end}`)))));
  }
  const tokens = given.usage.tokens_in + given.usage.tokens_out;
  const parts = [tokens ? `${given.model} · ${counted(tokens, "token")}` : given.reasoning];
  if (given.confidence !== null) {
    const withheld = given.outcome === "insufficient";
    parts.unshift(withheld ? given.reasoning.split("\n")[0] : `Confidence ${Math.round(100 * given.confidence)}%`);
  }
  trace.after(element("p", { class: "quiet" }, parts.join(" · ")));
}

// ------------------------------------------------------------------------------ Suggestions

let suggesting = null;
let chosen = -1;

function hideSuggestions() {
  suggesting?.abort();
  byId("suggestions").hidden = true;
  byId("q").setAttribute("aria-expanded", "false");
  byId("q").removeAttribute("aria-activedescendant");
  chosen = -1;
}

async function suggest() {
  suggesting?.abort();
  const text = byId("q").value.trim();
  if (text.length < 2) { hideSuggestions(); return; }
  suggesting = new AbortController();
  try {
    const terms = await api.complete(text, "entity", 6, suggesting.signal, over());
    if (!terms.length || byId("q").value.trim() !== text) { hideSuggestions(); return; }
    byId("suggestions").replaceChildren(...terms.map((term, number) => element("li",
      { role: "option", id: `suggestion-${number}`, "aria-selected": "false", "data-iri": term.iri,
        onmousedown: (event) => { event.preventDefault(); take(term.iri, term.name); } }, term.name)));
    byId("suggestions").hidden = false;
    byId("q").setAttribute("aria-expanded", "true");
    chosen = -1;
  } catch { hideSuggestions(); }
}

function take(iri, name) {
  byId("q").value = name;
  hideSuggestions();
  showEntity(iri);
}

function move(by) {
  const options = [...byId("suggestions").children];
  chosen = (chosen + by + options.length + 1) % (options.length + 1);
  options.forEach((option, number) => option.setAttribute("aria-selected", String(number === chosen)));
  if (options[chosen]) byId("q").setAttribute("aria-activedescendant", options[chosen].id);
  else byId("q").removeAttribute("aria-activedescendant");
}

async function showClasses() {
  try {
    const terms = (await api.complete("", "class", 30, undefined, over())).filter((t) => !/\/(ontology|prov|void|owl|rdf-schema)#|w3\.org/.test(t.iri));
    byId("classes").replaceChildren(...terms.slice(0, 12).map((term) => element("li", {},
      element("button", { type: "button", class: "chip", onclick: () => showEntity(term.iri) }, `${term.name} `,
        element("small", {}, term.uses.toLocaleString("en"))))));
    byId("starts").hidden = !terms.length;
  } catch (error) { fail(error); }
}

// ----------------------------------------------------------------------------------- Start

let waiting = 0;
byId("search").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = byId("q").value.trim();
  if (text) search(text);
});
byId("answer").addEventListener("click", () => answer(byId("q").value.trim()));
byId("q").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(suggest, 120); });
byId("q").addEventListener("blur", hideSuggestions);
byId("q").addEventListener("keydown", (event) => {
  if (byId("suggestions").hidden) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    move(event.key === "ArrowDown" ? 1 : -1);
  } else if (event.key === "Escape") {
    event.preventDefault();
    hideSuggestions();
  } else if (event.key === "Enter") {
    const option = byId("suggestions").children[chosen];
    if (option) { event.preventDefault(); take(option.dataset.iri, option.textContent); }
  }
});
byId("play").addEventListener("click", () => (state.timer ? pause() : play()));
byId("round").addEventListener("input", (event) => { pause(); showRound(Number(event.target.value), true); });
byId("c").addEventListener("input", (event) => { byId("c-label").textContent = Number(event.target.value).toFixed(2); });
byId("c").addEventListener("change", (event) => search(state.question, event.target.value));
byId("zoom-in").addEventListener("click", () => graphView().zoom(1.5));
byId("zoom-out").addEventListener("click", () => graphView().zoom(1 / 1.5));
byId("fit").addEventListener("click", () => graphView().fit());

function start() {
  const parameters = new URLSearchParams(location.search);
  const [question, entity, query] = ["q", "entity", "query"].map((name) => parameters.get(name));
  api.choosePart(byId("over"), parameters.get("over") ?? "");
  if (query) showQuery(query);
  else if (question) search(question, parameters.get("c"));
  else if (entity) showEntity(entity);
  else {
    document.body.classList.add("start");
    byId("work").hidden = true;
    byId("status").textContent = "";
    showClasses();
    byId("q").focus();
  }
}
byId("over").addEventListener("change", () => {
  const parameters = new URLSearchParams(location.search);
  const [question, entity, query] = ["q", "entity", "query"].map((name) => parameters.get(name));
  if (query) showQuery(query);
  else if (question) search(question);
  else if (entity) showEntity(entity);
  else { address({}); showClasses(); }
});
window.addEventListener("popstate", start);
start();
api.offerParts(byId("over"));
