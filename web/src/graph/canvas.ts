/** The picture of the graph: Cytoscape.js, fetched with the first graph. */
import cytoscape, { type Core, type StylesheetJson } from "cytoscape";
import { texts } from "../texts";
import { byLayer, placed, ROW, type Graph, type Node, type Place } from "./model";

export interface Canvas {
  show: (graph: Graph, selected: string, matches: ReadonlySet<string>) => ReadonlyMap<string, Place>;
  zoom: (by: number) => void;
  fit: () => void;
  restyle: () => void;
  png: () => Promise<Blob>;
  close: () => void;
}

const WIDTH = 250;
const SHEET = "__________cytoscape_stylesheet";
const HEAD = "head:";

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

function fit(cy: Core): void {
  cy.fit(undefined, 24);
  // of a tall graph the top is legible rather than the whole a stripe
  if (cy.zoom() < 0.55) {
    const box = cy.elements().boundingBox();
    const zoom = Math.min(1, Math.max(0.55, (cy.width() - 40) / box.w));
    cy.zoom(zoom);
    cy.pan({ x: 20 - box.x1 * zoom + Math.max(0, (cy.width() - 40 - box.w * zoom) / 2), y: 20 - box.y1 * zoom });
  } else if (cy.zoom() > 1) {
    cy.zoom(1);
    cy.center();
  }
}

function fill(cy: Core, graph: Graph, places: ReadonlyMap<string, Place>): void {
  cy.batch(() => {
    cy.elements().remove();
    for (const node of graph.nodes.values()) cy.add({ group: "nodes", data: data(node), position: { ...places.get(node.id)! }, classes: classes(node) });
    graph.edges.forEach((e, i) => {
      if (graph.nodes.has(e.from) && graph.nodes.has(e.to)) cy.add({ group: "edges", data: { id: `edge:${i}`, source: e.from, target: e.to }, classes: e.kind });
    });
    const top = Math.min(0, ...[...places.values()].map((p) => p.y)) - ROW * 1.1;
    byLayer(graph).forEach((nodes, layer) => {
      if (!nodes.length) return;
      const label = layer === 0 ? texts.graph.layers[0] : `${texts.graph.layers[layer]} ${nodes.length}`;
      cy.add({ group: "nodes", data: { id: HEAD + layer, label }, position: { x: places.get(nodes[0]!.id)!.x, y: top }, classes: "head", selectable: false });
    });
  });
}

const data = (n: Node) => ({ id: n.id, label: n.citation ? `${n.citation}  ${n.label}` : n.label });
const classes = (n: Node) => `real ${n.kind}${n.evidence ? "" : " opened"}${n.citation ? " cited" : ""}`;

function mark(cy: Core, selected: string, matches: ReadonlySet<string>): void {
  cy.batch(() => {
    cy.elements().removeClass("selected near dim match");
    if (matches.size) cy.nodes(".real").forEach((n) => void n.addClass(matches.has(n.id()) ? "match" : "dim"));
    const at = cy.getElementById(selected);
    if (at.empty()) return;
    at.addClass("selected").removeClass("dim");
    at.connectedEdges().addClass("near");
    if (!matches.size) cy.nodes(".real").not(at).not(at.neighborhood()).addClass("dim");
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
        width: WIDTH,
        height: 44,
        "background-color": surface,
        "border-width": 1,
        "border-color": strong,
        label: "data(label)",
        color: text,
        "font-family": getComputedStyle(document.body).fontFamily,
        "font-size": 13,
        "text-wrap": "ellipsis",
        "text-max-width": `${WIDTH - 24}px`,
        "text-valign": "center",
        "text-halign": "center",
      },
    },
    { selector: ".head", style: { "background-opacity": 0, "border-width": 0, color: faint, "font-size": 14, "font-weight": 600, events: "no" } },
    { selector: ".question", style: { "background-color": accent, "border-color": accent, color: onAccent, "text-wrap": "wrap", height: 64 } },
    { selector: ".entity", style: { shape: "round-rectangle", "corner-radius": "22px", "background-color": soft, "border-color": accent } },
    { selector: ".source", style: { "background-color": raised, "font-weight": 600 } },
    { selector: ".chunk, .topic", style: { "border-style": "solid" } },
    { selector: ".fact", style: { "border-style": "dotted" } },
    { selector: ".opened", style: { "border-style": "dashed" } },
    { selector: ".cited", style: { "border-width": 2, "border-color": accent } },
    { selector: "edge", style: { width: 1.2, "line-color": line, "curve-style": "bezier", "target-arrow-shape": "none", opacity: 0.9 } },
    { selector: "edge.leads_to", style: { "line-style": "dashed", "line-color": accent } },
    { selector: ".dim", style: { opacity: 0.35 } },
    { selector: ".match", style: { "border-width": 3, "border-color": accent } },
    { selector: "node.selected", style: { "border-width": 3, "border-color": accent } },
    { selector: "edge.near", style: { "line-color": accent, width: 2.2, opacity: 1 } },
  ] as StylesheetJson;
}
