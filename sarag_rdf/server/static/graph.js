// A graph on a canvas: nodes sized by activation, edges by weight.
import { EdgeArrowProgram, forceAtlas2, Graph, Sigma } from "./vendor/graph.js";
import { isCalm } from "./api.js";

const MOST = 500;
const MANY = 700;
const MILLISECONDS = 450;
const LONGEST = 40; // characters of a name
const dark = matchMedia("(prefers-color-scheme: dark)");
const PALETTES = {
  light: { seed: "#b0005e", document: "#2f6db5", entity: "#1d8a6b", class: "#8250c4", value: "#8592a0", idle: "#c3cbd4",
    edge: "#b4bec9", lit: "#b0005e", chosen: "#e08a00", ink: "#1b2430", paper: "#ffffff" },
  dark: { seed: "#ff7ab8", document: "#7cb5f2", entity: "#5fcfae", class: "#bd9bf5", value: "#7b8896", idle: "#4a5563",
    edge: "#4b5766", lit: "#ff7ab8", chosen: "#ffb84d", ink: "#e8ecf1", paper: "#1a2028" },
};
export const palette = () => PALETTES[dark.matches ? "dark" : "light"];

export class GraphView {
  constructor(container, { onNode, onEdge }) {
    this.container = container;
    this.graph = new Graph({ type: "directed" });
    this.chosen = null;
    this.frame = null;
    this.animation = 0;
    this.labels = []; // nodes of the frame that is drawn
    this.named = []; // where their names are
    try {
      this.sigma = new Sigma(this.graph, container, this.settings());
    } catch (error) {
      this.sigma = null;
      container.textContent = "This browser cannot draw the graph (it has no WebGL). "
        + "The table below has all of it.";
      console.info(error.message);
      return;
    }
    this.sigma.on("clickNode", ({ node }) => onNode(node));
    this.sigma.on("clickEdge", ({ edge }) => onEdge(edge));
    for (const [event, on] of [["enterNode", 1], ["leaveNode", 0], ["enterEdge", 1], ["leaveEdge", 0]]) {
      this.sigma.on(event, () => container.classList.toggle("over", Boolean(on)));
    }
    this.sigma.on("beforeRender", () => { this.labels = []; });
    this.sigma.on("afterRender", () => this.drawLabels());
    dark.addEventListener("change", () => {
      for (const [name, value] of Object.entries(this.settings())) this.sigma.setSetting(name, value);
      this.paint();
    });
  }

  settings() {
    const colours = palette();
    return {
      allowInvalidContainer: true,
      renderEdgeLabels: false,
      enableEdgeEvents: true,
      defaultEdgeType: "arrow",
      edgeProgramClasses: { arrow: EdgeArrowProgram },
      labelColor: { color: colours.ink },
      labelFont: "system-ui, sans-serif",
      labelSize: 13,
      labelWeight: "500",
      labelDensity: 2,
      labelGridCellSize: 60,
      labelRenderedSizeThreshold: 5,
      zIndex: true,
      minEdgeThickness: 1,
      stagePadding: 40,
      defaultDrawNodeHover: drawHover,
      defaultDrawNodeLabel: (_, node) => this.labels.push(node),
    };
  }

  // Names that do not cover each other: the chosen one, seeds, passages by rank, then by size.
  // Dates, quantities and adjectives come last, and in a trace only when chosen or pointed at.
  drawLabels() {
    const context = this.sigma.getCanvases().labels.getContext("2d");
    const { labelFont, labelSize, labelWeight } = this.sigma.getSettings();
    context.font = `${labelWeight} ${labelSize}px ${labelFont}`;
    const colours = palette();
    const place = ({ key, kind, seed, rank }) =>
      key === this.chosen ? -2 : seed ? -1 : rank ?? (kind === "value" ? MOST + 1 : MOST);
    const nodes = this.labels.filter((node) => !this.frame || place(node) <= MOST);
    nodes.sort((one, two) => place(one) - place(two) || two.size - one.size || one.label.localeCompare(two.label));
    this.named = [];
    for (const { key, label, kind, x, y, size } of nodes) {
      const text = label.length > LONGEST ? `${label.slice(0, LONGEST - 1)}…` : label;
      const left = x + size + 3, right = left + context.measureText(text).width;
      const top = y - labelSize / 2, bottom = y + labelSize / 2;
      if (this.named.some((box) => left < box.right && right > box.left && top < box.bottom && bottom > box.top)) continue;
      this.named.push({ key, left, right, top, bottom });
      context.lineWidth = 3;
      context.lineJoin = "round";
      context.strokeStyle = colours.paper;
      context.strokeText(text, left, y + labelSize / 3);
      context.fillStyle = kind === "document" ? colours.document : colours.ink;
      context.fillText(text, left, y + labelSize / 3);
    }
  }

  clear() {
    cancelAnimationFrame(this.animation);
    this.graph.clear();
    this.chosen = null;
    this.frame = null;
  }

  // Add nodes and edges, up to the limit; returns how many nodes were left out.
  add(nodes, edges, around = null) {
    let left = 0;
    const before = this.graph.order;
    const middle = around && this.graph.hasNode(around) ? this.graph.getNodeAttributes(around) : { x: 0, y: 0 };
    const reach = before ? this.reach() * 0.14 : 1;
    nodes.forEach((node, number) => {
      if (this.graph.hasNode(node.iri)) return;
      if (this.graph.order >= MOST) { left += 1; return; }
      const angle = number * 2.39996; // the golden angle: even, and the same each time
      const distance = reach * Math.sqrt((number + 1) / (nodes.length || 1));
      this.graph.addNode(node.iri, {
        label: node.name || node.iri, kind: node.kind, seed: node.seed ?? false, rank: node.rank ?? null,
        cls: node.type ?? "", size: 6, // "type" would name a program of sigma
        x: middle.x + distance * Math.cos(angle), y: middle.y + distance * Math.sin(angle),
      });
    });
    for (const edge of edges) this.addEdge(edge);
    if (this.graph.order > before) this.layout(before > 0 && around !== null);
    // Lines are most of the work of a frame, and not read while the view moves.
    this.sigma?.setSetting("hideEdgesOnMove", this.graph.size > MANY);
    this.sigma?.refresh(); // new nodes and lines must be known before they are painted
    this.paint();
    return left;
  }

  addEdge(edge) {
    const { source, target } = edge;
    if (!this.graph.hasNode(source) || !this.graph.hasNode(target) || source === target) return;
    if (this.graph.hasEdge(source, target)) {
      const key = this.graph.edge(source, target);
      const statements = this.graph.getEdgeAttribute(key, "statements");
      if (!statements.some((s) => s.relationship === edge.relationship && s.property === edge.property)) {
        statements.push(edge);
      }
      const weight = Math.max(this.graph.getEdgeAttribute(key, "weight"), edge.weight ?? 0);
      this.graph.setEdgeAttribute(key, "weight", weight);
      return;
    }
    this.graph.addEdge(source, target, { statements: [edge], weight: edge.weight ?? 0, size: 1 });
  }

  reach() {
    let most = 0;
    this.graph.forEachNode((_, { x, y }) => { most = Math.max(most, Math.hypot(x, y)); });
    return most || 1;
  }

  // With `isFixed` only the nodes that have no place yet move.
  layout(isFixed) {
    if (!this.graph.order) return;
    const settings = { ...forceAtlas2.inferSettings(this.graph), barnesHutOptimize: this.graph.order > 150,
      gravity: 1.2, scalingRatio: 12, slowDown: 4, adjustSizes: false, outboundAttractionDistribution: true };
    this.graph.forEachNode((node, { placed }) => {
      this.graph.setNodeAttribute(node, "fixed", Boolean(isFixed && placed));
    });
    forceAtlas2.assign(this.graph, { iterations: this.graph.order > 200 ? 150 : 300, settings,
      getEdgeWeight: null });
    this.graph.forEachNode((node) => this.graph.setNodeAttribute(node, "placed", true));
  }

  showFrame(activation, passed, isMoving) {
    this.frame = { activation, passed };
    this.paint(isMoving);
  }

  sizeOf(node) {
    if (!this.frame) return 5 + Math.min(9, Math.sqrt(this.graph.degree(node)) * 1.6);
    const value = this.frame.activation[node] ?? 0;
    const most = this.graph.getNodeAttribute(node, "kind") === "value" ? 4 : 13;
    return value ? 4 + most * Math.sqrt(Math.min(1, value)) : 2.5;
  }

  colourOf(node, { kind, seed }) {
    const colours = palette();
    if (node === this.chosen) return colours.chosen;
    if (this.frame && !this.frame.activation[node]) return colours.idle;
    if (seed) return colours.seed;
    return colours[kind] ?? colours.entity;
  }

  // Sizes and colours for the frame; sizes change gradually unless the user prefers no motion.
  paint(isMoving = false) {
    cancelAnimationFrame(this.animation);
    const colours = palette();
    const goals = new Map();
    this.graph.updateEachNodeAttributes((node, old) => {
      goals.set(node, [old.size, this.sizeOf(node)]);
      return { ...old, color: this.colourOf(node, old), zIndex: node === this.chosen ? 2 : 1,
        forceLabel: node === this.chosen || Boolean(old.seed || old.rank) };
    });
    this.graph.updateEachEdgeAttributes((edge, old, source, target) => {
      const isLit = this.frame?.passed.has(`${source}\n${target}`);
      const isChosen = edge === this.chosen || source === this.chosen || target === this.chosen;
      return { ...old, size: (isLit ? 2.6 : 1.5) + 2.5 * Math.min(1, old.weight ?? 0),
        color: isChosen ? colours.chosen : isLit ? colours.lit : colours.edge, zIndex: isLit || isChosen ? 1 : 0 };
    });
    const begin = performance.now();
    const step = (now) => {
      const part = isMoving && !isCalm() ? Math.min(1, (now - begin) / MILLISECONDS) : 1;
      const eased = 1 - (1 - part) ** 3;
      this.graph.updateEachNodeAttributes((node, old) => {
        const [from, to] = goals.get(node) ?? [old.size, old.size];
        return { ...old, size: from + (to - from) * eased };
      }, { attributes: ["size"] });
      if (part < 1) this.animation = requestAnimationFrame(step);
    };
    step(begin);
  }

  choose(key) {
    this.chosen = key;
    this.paint();
  }

  zoom(factor) {
    const camera = this.sigma?.getCamera();
    camera?.animate({ ratio: camera.ratio / factor }, { duration: isCalm() ? 1 : 200 });
  }

  fit() {
    this.sigma?.getCamera().animate({ x: 0.5, y: 0.5, ratio: 1, angle: 0 }, { duration: isCalm() ? 1 : 250 });
  }

  resize() {
    this.sigma?.resize();
    this.sigma?.refresh();
  }
}

function drawHover(context, node, settings) {
  const { label, x, y, size, color } = node;
  const colours = palette();
  context.font = `${settings.labelWeight} ${settings.labelSize}px ${settings.labelFont}`;
  const width = context.measureText(label ?? "").width;
  context.fillStyle = colours.paper;
  context.strokeStyle = color;
  context.beginPath();
  context.roundRect(x - size - 3, y - 12, width + 2 * size + 16, 24, 12);
  context.fill();
  context.stroke();
  context.fillStyle = color;
  context.beginPath();
  context.arc(x, y, size, 0, Math.PI * 2);
  context.fill();
  context.fillStyle = colours.ink;
  context.fillText(label ?? "", x + size + 5, y + settings.labelSize / 3);
}
