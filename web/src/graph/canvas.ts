/** The picture of the graph: Cytoscape.js, fetched with the first graph. */
import cytoscape, { type Core, type StylesheetJson } from "cytoscape";
import { texts } from "../texts";
import { WIDTHS, byLayer, placed, ROW, type Graph, type Node, type Place } from "./model";

export interface Canvas {
  show: (graph: Graph, selected: string, matches: ReadonlySet<string>) => ReadonlyMap<string, Place>;
  zoom: (by: number) => void;
  fit: () => void;
  restyle: () => void;
  png: () => Promise<Blob>;
  close: () => void;
}

const SHEET = "__________cytoscape_stylesheet";
const HEAD = "head:";
const MARGIN = 14;

export function draw(box: HTMLElement, on: { select: (id: string) => void; expand: (id: string) => void }): Canvas {
  keepInlineStylesOut();
  const cy = cytoscape({ container: box, minZoom: 0.08, maxZoom: 2.5, boxSelectionEnabled: false, autoungrabify: true, style: styles() });
  cy.on("tap", "node.real", (e) => on.select(e.target.id() as string));
  cy.on("dbltap", "node.real", (e) => on.expand(e.target.id() as string));
  const sizes = new ResizeObserver(() => cy.resize());
  sizes.observe(box);
  let drawn: Graph | null = null;
  let places = new Map<string, Place>();
  return {
    show(graph, selected, matches) {
      if (graph !== drawn) {
        const first = drawn === null;
        places = placed(graph);
        fill(cy, graph, places);
        drawn = graph;
        if (first) fit(cy);
      }
      mark(cy, selected, matches);
      return places;
    },
    zoom: (by) => cy.zoom({ level: cy.zoom() * by, renderedPosition: { x: cy.width() / 2, y: cy.height() / 2 } }),
    fit: () => fit(cy),
    restyle: () => cy.style(styles()),
    png: () => cy.png({ output: "blob-promise", full: true, scale: 2, maxWidth: 6000, maxHeight: 6000, bg: colour("--surface") }),
    close() {
      sizes.disconnect();
      cy.destroy();
    },
  };
}

// it would add a style element of its own, which the content security policy refuses; ours says the same
function keepInlineStylesOut(): void {
  if (document.getElementById(SHEET)) return;
  const taken = document.createElement("meta");
  taken.id = SHEET;
  document.head.append(taken);
}

/** Show the whole width, and of a tall graph the top: the rest is a scroll away, and can be read. */
function fit(cy: Core): void {
  const box = cy.elements().boundingBox();
  if (!box.w || !cy.width()) return;
  const wide = (cy.width() - 2 * MARGIN) / box.w;
  const zoom = Math.min(1.1, wide, Math.max((cy.height() - 2 * MARGIN) / box.h, 0.9 * wide));
  cy.zoom(zoom);
  cy.pan({ x: (cy.width() - box.w * zoom) / 2 - box.x1 * zoom, y: MARGIN - box.y1 * zoom });
}

function fill(cy: Core, graph: Graph, places: ReadonlyMap<string, Place>): void {
  cy.batch(() => {
    cy.elements().remove();
    for (const node of graph.nodes.values()) cy.add({ group: "nodes", data: data(node), position: { ...places.get(node.id)! }, classes: classes(node) });
    graph.edges.forEach((e, i) => {
      const [from, till] = [places.get(e.from), places.get(e.to)];
      if (!from || !till) return;
      const way = from.x < till.x ? "rightward" : from.x > till.x ? "leftward" : "";
      cy.add({ group: "edges", data: { id: `edge:${i}`, source: e.from, target: e.to }, classes: `${e.kind} ${way}` });
    });
    byLayer(graph).forEach((nodes, layer) => {
      if (!nodes.length) return;
      const label = layer === 0 ? texts.graph.layers[0] : `${texts.graph.layers[layer]} ${nodes.length}`;
      cy.add({ group: "nodes", data: { id: HEAD + layer, label, width: WIDTHS[layer] }, position: { x: places.get(nodes[0]!.id)!.x, y: -ROW }, classes: "head", selectable: false });
    });
  });
}

const data = (n: Node) => ({ id: n.id, width: WIDTHS[n.layer], room: WIDTHS[n.layer]! - 20, label: label(n) });

// two lines of it; the list beside says it all
function label(n: Node): string {
  if (n.kind === "question") return texts.graph.layers[0];
  const most = Math.floor((WIDTHS[n.layer]! - 20) / 4.9);
  const text = n.citation ? `${n.citation}  ${n.label}` : n.label;
  return text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text;
}

const classes = (n: Node) => `real ${n.kind}${n.evidence ? "" : " opened"}${n.citation ? " cited" : ""}`;

function mark(cy: Core, selected: string, matches: ReadonlySet<string>): void {
  cy.batch(() => {
    cy.elements().removeClass("selected near dim match");
    if (matches.size) cy.nodes(".real").forEach((n) => void n.addClass(matches.has(n.id()) ? "match" : "dim"));
    const at = cy.getElementById(selected);
    if (at.empty()) return;
    // what led to it, up to the question, and what it led to, down to the sources
    const way = at.predecessors().union(at.successors()).union(at.neighborhood());
    at.addClass("selected").removeClass("dim");
    way.edges().addClass("near");
    if (!matches.size) cy.nodes(".real").not(at).not(way).addClass("dim");
  });
  const at = cy.getElementById(selected);
  if (at.nonempty() && !inSight(cy, at.renderedPosition())) cy.center(at);
}

const inSight = (cy: Core, p: { x: number; y: number }) => p.x > 40 && p.y > 20 && p.x < cy.width() - 40 && p.y < cy.height() - 20;

/** Return a colour of the page as the canvas knows colours. */
function colour(name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

function styles(): StylesheetJson {
  const [text, faint, line, strong, surface, raised, accent, soft, onAccent] = ["--text", "--faint", "--line", "--line-strong", "--surface", "--raised", "--accent", "--accent-soft", "--on-accent"].map(colour) as [string, string, string, string, string, string, string, string, string];
  return [
    {
      selector: "node",
      style: {
        shape: "round-rectangle",
        width: "data(width)",
        height: 50,
        "background-color": surface,
        "border-width": 1,
        "border-color": strong,
        label: "data(label)",
        color: text,
        "font-family": getComputedStyle(document.body).fontFamily,
        "font-size": 15,
        "line-height": 1.15,
        "text-wrap": "wrap",
        "text-max-width": "data(room)",
        "text-valign": "center",
        "text-halign": "center",
      },
    },
    { selector: ".head", style: { "background-opacity": 0, "border-width": 0, color: faint, "font-size": 15, "font-weight": 600, "text-max-width": "400px", events: "no" } },
    { selector: ".question", style: { "background-color": accent, "border-color": accent, color: onAccent, "font-weight": 600 } },
    { selector: ".entity", style: { shape: "round-rectangle", "corner-radius": "25px", "background-color": soft, "border-color": accent } },
    { selector: ".source", style: { "background-color": raised, "font-weight": 600 } },
    { selector: ".chunk, .topic", style: { "border-style": "solid" } },
    { selector: ".fact", style: { "border-style": "dotted" } },
    { selector: ".opened", style: { "border-style": "dashed" } },
    { selector: ".cited", style: { "border-width": 2, "border-color": accent } },
    { selector: "edge", style: { width: 1.2, "line-color": line, "curve-style": "straight", "target-arrow-shape": "none", opacity: 0.9 } },
    { selector: "edge.rightward", style: { "source-endpoint": "90deg", "target-endpoint": "270deg" } },
    { selector: "edge.leftward", style: { "source-endpoint": "270deg", "target-endpoint": "90deg" } },
    { selector: "edge.leads_to", style: { "line-style": "dashed" } },
    { selector: ".dim", style: { "text-opacity": 0.5, "border-opacity": 0.35 } },
    { selector: ".match", style: { "border-width": 3, "border-color": accent } },
    { selector: "node.selected", style: { "border-width": 3, "border-color": accent } },
    { selector: "edge.near", style: { "line-color": accent, width: 2.2, opacity: 1 } },
  ] as StylesheetJson;
}
