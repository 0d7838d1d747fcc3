/** The picture of the graph: Cytoscape.js, fetched with the first graph. */
import cytoscape, { type BoundingBox12, type Core, type EdgeSingular, type StylesheetJson } from "cytoscape";
import { texts } from "../texts";
import { fitted, inkOf } from "./label";
import { byLayer, headsOf, placed, ROW, shortly, widthOf, type Edge, type Graph, type Node, type Place } from "./model";

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
const LARGEST = 1.6; // of what is fitted
const FONT = 16;
const FONT_SAID = 14;

export function draw(box: HTMLElement, on: { select: (id: string) => void; expand: (id: string) => void }): Canvas {
  keepInlineStylesOut();
  const cy = cytoscape({ container: box, minZoom: 0.08, maxZoom: 2.5, boxSelectionEnabled: false, autoungrabify: true, style: styles() });
  cy.on("tap", "node.real", (e) => on.select(e.target.id() as string));
  cy.on("dbltap", "node.real", (e) => on.expand(e.target.id() as string));
  cy.on("mouseover tap", "edge", (e) => void e.target.addClass("told"));
  const untold = () => void cy.edges().removeClass("told");
  cy.on("mouseout", "edge", untold);
  box.addEventListener("mouseleave", untold); // of this it tells nothing
  let drawn: Graph | null = null;
  let places = new Map<string, Place>();
  let whole = false; // all is in sight, and nothing was moved since
  cy.on("pan zoom", () => void (whole = false));
  const fitAll = () => {
    fit(cy);
    whole = true;
  };
  const sizes = new ResizeObserver(() => {
    cy.resize();
    if (whole) fitAll();
  });
  sizes.observe(box);
  return {
    show(graph, selected, matches) {
      if (graph !== drawn) {
        const fitting = drawn === null || whole;
        places = placed(graph, cy.width() / Math.max(1, cy.height()));
        fill(cy, graph, places);
        drawn = graph;
        if (fitting) fitAll();
      }
      mark(cy, selected, matches);
      return places;
    },
    zoom(by) {
      const at = cy.nodes(".selected").first();
      const kept = at.nonempty() && inSight(cy, at.renderedPosition()) ? at.renderedPosition() : { x: cy.width() / 2, y: cy.height() / 2 };
      cy.zoom({ level: cy.zoom() * by, renderedPosition: kept });
      if (at.nonempty() && !inSight(cy, at.renderedPosition())) cy.center(at);
    },
    fit: fitAll,
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

/** Show all of it, as large as it fits. */
function fit(cy: Core): void {
  const box = cy.elements().boundingBox();
  if (!box.w || !cy.width()) return;
  const zoom = Math.min(LARGEST, (cy.width() - 2 * MARGIN) / box.w, (cy.height() - 2 * MARGIN) / box.h);
  cy.zoom(zoom);
  cy.pan({ x: (cy.width() - box.w * zoom) / 2 - box.x1 * zoom, y: (cy.height() - box.h * zoom) / 2 - box.y1 * zoom });
}

function fill(cy: Core, graph: Graph, places: ReadonlyMap<string, Place>): void {
  const heads = headsOf(graph);
  const short = shortly(graph);
  cy.batch(() => {
    cy.elements().remove();
    for (const node of graph.nodes.values()) cy.add({ group: "nodes", data: data(node, short(node), widthOf(graph, node.layer)), position: { ...places.get(node.id)! }, classes: classes(node) });
    graph.edges.forEach((e, i) => {
      const [from, till] = [places.get(e.from), places.get(e.to)];
      if (!from || !till) return;
      const way = from.x < till.x ? "rightward" : from.x > till.x ? "leftward" : "";
      cy.add({ group: "edges", data: { id: `edge:${i}`, source: e.from, target: e.to, said: said(e), whole: e.label }, classes: `${e.kind} ${way}` });
    });
    const top = Math.min(...[...places.values()].map((at) => at.y));
    byLayer(graph).forEach((nodes, layer) => {
      if (!nodes.length || !heads[layer]) return;
      const label = layer === 0 ? heads[0] : `${heads[layer]} ${nodes.length}`;
      const xs = nodes.map((n) => places.get(n.id)!.x);
      const x = (Math.min(...xs) + Math.max(...xs)) / 2;
      cy.add({ group: "nodes", data: { id: HEAD + layer, label, width: widthOf(graph, layer) }, position: { x, y: top - 0.9 * ROW }, classes: "head", selectable: false });
    });
  });
}

const PADDING = 16;
const SAID = 19; // characters for which there is room between two columns
const data = (n: Node, short: string, width: number) => ({ id: n.id, width, label: label(n, short, width) });

// two lines of it; the list beside says it all
function label(n: Node, short: string, width: number): string {
  const bold = n.layer === 0 || n.kind === "source";
  const text = n.citation ? `${n.citation}  ${short}` : n.kind === "question" ? texts.graph.layers[0]! : short;
  return fitted(text, width - PADDING, inkOf(`${bold ? 600 : 400} ${FONT}px ${face()}`));
}

const face = () => getComputedStyle(document.body).fontFamily;

function said(e: Edge): string {
  if (e.kind === "anchor" || e.kind === "from") return ""; // all of these say the same
  return e.label.length > SAID ? `${e.label.slice(0, SAID - 1).trimEnd()}…` : e.label;
}

const classes = (n: Node) => `real ${n.kind}${n.layer === 0 ? " root" : ""}${n.evidence ? "" : " opened"}${n.citation ? " cited" : ""}`;

function mark(cy: Core, selected: string, matches: ReadonlySet<string>): void {
  cy.batch(() => {
    cy.elements().removeClass("selected near far dim match said told");
    if (matches.size) cy.nodes(".real").forEach((n) => void n.addClass(matches.has(n.id()) ? "match" : "dim"));
    const at = cy.getElementById(selected);
    if (at.empty()) return;
    // what led to it, up to the question, and what it led to, down to the sources
    const way = at.predecessors().union(at.successors()).union(at.neighborhood());
    at.addClass("selected").removeClass("dim");
    cy.edges().not(way).addClass("far");
    way.edges().addClass("near");
    at.connectedEdges().addClass("said");
    if (!matches.size) cy.nodes(".real").not(at).not(way).addClass("dim");
  });
  speak(cy);
  const at = cy.getElementById(selected);
  if (at.nonempty() && !inSight(cy, at.renderedPosition())) cy.center(at);
}

const SPOTS = [0.5, 0.4, 0.6, 0.3, 0.7]; // of an edge's length

/** Let edges say what joins their ends where it covers neither a node nor the words of another; first those of what is selected. */
function speak(cy: Core): void {
  const ink = inkOf(`${FONT_SAID}px ${face()}`);
  const taken: Box[] = cy.nodes().map((n) => n.boundingBox({ includeEdges: false }));
  const edges = [...cy.edges(".said").toArray(), ...cy.edges(".relation").not(".said, .far").toArray()];
  cy.edges().removeClass("spoken");
  for (const edge of edges as EdgeSingular[]) {
    const said = edge.data("said") as string;
    const [from, to] = [edge.sourceEndpoint(), edge.targetEndpoint()];
    const [x, y] = [to.x - from.x, to.y - from.y];
    const at = (spot: number) => boxAround(from.x + spot * x, from.y + spot * y, ink(said) + 8, 1.5 * FONT_SAID);
    const spot = said && SPOTS.find((s) => !taken.some((box) => overlap(box, at(s))));
    if (!spot) continue;
    taken.push(at(spot));
    edge.data({ aside: (spot - 0.5) * x, below: (spot - 0.5) * y }).addClass("spoken");
  }
}

type Box = Pick<BoundingBox12, "x1" | "x2" | "y1" | "y2">;
const boxAround = (x: number, y: number, w: number, h: number): Box => ({ x1: x - w / 2, x2: x + w / 2, y1: y - h / 2, y2: y + h / 2 });
const overlap = (a: Box, b: Box) => a.x1 < b.x2 && b.x1 < a.x2 && a.y1 < b.y2 && b.y1 < a.y2;

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
  const [text, faint, strong, surface, raised, accent, soft, onAccent] = ["--text", "--faint", "--line-strong", "--surface", "--raised", "--accent", "--accent-soft", "--on-accent"].map(colour) as [string, string, string, string, string, string, string, string];
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
        "font-family": face(),
        "font-size": FONT,
        "line-height": 1.15,
        "text-wrap": "wrap",
        "text-max-width": "1000px",
        "text-valign": "center",
        "text-halign": "center",
      },
    },
    { selector: ".head", style: { "background-opacity": 0, "border-width": 0, color: faint, "font-weight": 600, events: "no" } },
    { selector: ".entity", style: { shape: "round-rectangle", "corner-radius": "25px", "background-color": soft, "border-color": accent } },
    { selector: ".root", style: { "background-color": accent, "border-color": accent, color: onAccent, "font-weight": 600 } },
    { selector: ".source", style: { "background-color": raised, "font-weight": 600 } },
    { selector: ".chunk, .topic", style: { "border-style": "solid" } },
    { selector: ".fact", style: { "border-style": "dotted" } },
    { selector: ".opened", style: { "border-style": "dashed" } },
    { selector: ".cited", style: { "border-width": 2, "border-color": accent } },
    { selector: "edge", style: { width: 1.2, "line-color": strong, "curve-style": "straight", "target-arrow-shape": "none", opacity: 0.75 } },
    { selector: "edge.rightward", style: { "source-endpoint": "90deg", "target-endpoint": "270deg" } },
    { selector: "edge.leftward", style: { "source-endpoint": "270deg", "target-endpoint": "90deg" } },
    {
      selector: "edge.spoken, edge.told",
      style: {
        "font-family": face(),
        "font-size": FONT_SAID,
        color: faint,
        "text-background-color": surface,
        "text-background-opacity": 0.9,
        "text-background-padding": "2px",
        "min-zoomed-font-size": 6,
      },
    },
    { selector: "edge.spoken", style: { label: "data(said)", "text-margin-x": "data(aside)", "text-margin-y": "data(below)", "z-index": 1 } },
    { selector: "edge.relation", style: { opacity: 0.9, "target-arrow-shape": "triangle", "target-arrow-color": strong, "arrow-scale": 0.9 } },
    { selector: "edge.leads_to", style: { "line-style": "dashed" } },
    { selector: ".dim", style: { "text-opacity": 0.8, "border-opacity": 0.35 } },
    { selector: ".match", style: { "border-width": 3, "border-color": accent } },
    { selector: "node.selected", style: { "border-width": 3, "border-color": accent } },
    { selector: "edge.far", style: { opacity: 0.2 } },
    { selector: "edge.near", style: { "line-color": accent, "target-arrow-color": accent, width: 2, opacity: 1 } },
    // above the nodes
    { selector: "edge.told", style: { label: "data(whole)", color: text, width: 2, opacity: 1, "text-background-opacity": 1, "min-zoomed-font-size": 0, "z-index-compare": "manual", "z-index": 2 } },
  ] as StylesheetJson;
}
