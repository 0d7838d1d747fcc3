/** The evidence of a question, or what an entity is named with, and what was opened around it: in layers. Pure. */
import type { Schema } from "../api/client";
import { texts } from "../texts";

export interface Node {
  id: string;
  kind: string;
  label: string;
  layer: number;
  score: number | null;
  citation: string;
  /** The document in which it stands; empty for what stands in none or in several. */
  document: string;
  /** Where it stands there: the characters, as in an address. */
  at: string;
  /** What else is to be said of it in a word. */
  note: string;
  /** What was asked for, not opened by hand. */
  evidence: boolean;
}

export interface Edge {
  from: string;
  to: string;
  kind: string;
  /** What joins the two, in words. */
  label: string;
}

export interface Graph {
  nodes: ReadonlyMap<string, Node>;
  edges: readonly Edge[];
  /** What was asked for in all, shown or not. */
  total: number;
  /** That is all of it: more was not looked at. */
  complete: boolean;
  /** Around an entity: a layer is how far a node is from it. */
  rings: boolean;
}

const LAYERS: Record<string, number> = { question: 0, chunk: 1, topic: 1, entity: 2, statement: 3, fact: 3, source: 4 };
const LAST = 4;

export const EMPTY: Graph = { nodes: new Map(), edges: [], total: 0, complete: true, rings: false };

/** Return what the layers are called; nothing where one node says it all. */
export function headsOf(graph: Graph): readonly string[] {
  if (graph.rings) return texts.graph.rings;
  const kinds = new Set([...graph.nodes.values()].map((n) => n.kind));
  const heads: string[] = [...texts.graph.layers];
  if (kinds.has("topic")) heads[LAYERS["topic"]!] = kinds.has("chunk") ? texts.graph.withTopics : texts.graph.topics;
  return heads;
}

const place = (start: unknown, end: unknown) => (typeof start === "number" && typeof end === "number" ? `${start}-${end}` : "");

export function ofEvidence(found: Schema["EvidenceReply"]): Graph {
  const labels = new Map(found.nodes.map((n) => [n.id, n.label]));
  // what a passage says tells it from others of its document; a title tells it from those of other documents
  const says = new Map([...found.edges].reverse().flatMap((e) => (e.kind === "says" ? [[e.from, labels.get(e.to)] as const] : [])));
  const titles = new Set(found.nodes.flatMap((n) => (n.kind === "source" ? [n.label] : [])));
  const passage = (said: string, title: string) => (titles.size > 1 ? `${said} · ${title}` : said);
  const nodes = found.nodes.map((n): Node => ({
    id: n.id,
    kind: n.kind,
    label: n.kind === "chunk" && says.get(n.id) ? passage(says.get(n.id)!, n.label) : n.label,
    layer: n.layer,
    score: n.score ?? null,
    citation: n.citation,
    document: n.document_id || (n.kind === "source" ? n.id : ""),
    at: place(n.start, n.end),
    note: "",
    evidence: true,
  }));
  const edges = found.edges.map((e) => ({ from: e.from, to: e.to, kind: e.kind, label: texts.graph.edges[e.kind] ?? e.kind }));
  return { ...EMPTY, nodes: new Map(nodes.map((n) => [n.id, n])), edges, total: found.totals.nodes };
}

/** Return an entity and nothing around it. */
export function ofEntity(entity: Schema["EntityReply"]): Graph {
  const root: Node = { id: entity.id, kind: "entity", label: entity.name, layer: 0, score: null, citation: "", document: "", at: "", note: entity.class, evidence: true };
  return { nodes: new Map([[root.id, root]]), edges: [], total: entity.neighbours + 1, complete: entity.complete, rings: true };
}

/** Return the graph with entities that are named together with one of it, a layer further. */
export function beside(graph: Graph, id: string, page: Schema["NeighbourList"]): Graph {
  const from = graph.nodes.get(id)!;
  const nodes = new Map(graph.nodes);
  for (const n of page.neighbours) {
    if (nodes.has(n.id)) continue;
    const note = texts.entities.together(n.together);
    nodes.set(n.id, { id: n.id, kind: "entity", label: n.name, layer: Math.min(LAST, from.layer + 1), score: null, citation: "", document: "", at: "", note, evidence: from.layer === 0 });
  }
  const edges = page.neighbours.map((n): Edge => {
    const first = n.relations[0];
    const ends = first?.direction === "in" ? { from: n.id, to: id } : { from: id, to: n.id };
    return { ...ends, kind: first ? "relation" : "together", label: first?.predicate ?? texts.graph.edges["together"]! };
  });
  return { ...graph, nodes, edges: joined(graph.edges, edges, nodes) };
}

/** Return the graph with what is around a node; what is there already stays as it is. */
export function merged(graph: Graph, around: Schema["Egonet"]): Graph {
  const nodes = new Map(graph.nodes);
  const facts = new Map(around.nodes.map((n) => [n.id, (n.properties?.["relations"] ?? []) as Fact[]]));
  for (const n of around.nodes) {
    if (nodes.has(n.id)) continue;
    const of = n.properties ?? {};
    const kind = n.type.toLowerCase();
    const document = kind === "source" ? n.id : String(of["document_id"] ?? "");
    nodes.set(n.id, { id: n.id, kind, label: n.label, layer: LAYERS[kind] ?? 3, score: null, citation: "", document, at: place(of["start"], of["end"]), note: "", evidence: false });
  }
  const edges = around.edges.map((e): Edge => {
    const kind = e.type.toLowerCase();
    // what a statement says of an entity says more than that it names it
    const said = facts.get(e.source)?.find((f) => f.subject === e.target || f.object === e.target)?.predicate;
    return { from: e.source, to: e.target, kind, label: said ?? texts.graph.edges[kind] ?? kind };
  });
  return { ...graph, nodes, edges: joined(graph.edges, edges, nodes) };
}

interface Fact {
  subject: string;
  predicate: string;
  object: string | null;
}

function joined(before: readonly Edge[], more: readonly Edge[], nodes: ReadonlyMap<string, Node>): Edge[] {
  const edges = new Map(before.map((e) => [pair(e), e]));
  for (const e of more) if (!edges.has(pair(e))) edges.set(pair(e), e);
  return [...edges.values()].filter((e) => nodes.has(e.from) && nodes.has(e.to));
}

const pair = (e: Edge) => (e.from < e.to ? `${e.from} ${e.to}` : `${e.to} ${e.from}`);

export interface Place {
  x: number;
  y: number;
}

const WIDTHS = [104, 170, 164, 200, 168] as const;
const RING = 180;

/** How wide the nodes of a layer are. */
export const widthOf = (graph: Graph, layer: number) => (graph.rings ? RING : WIDTHS[layer]!);

/** How high a row is. */
export const ROW = 60;
const GAPS = { least: 44, most: 160, labelled: 165, within: 20 };
const WORTH = 1.25; // larger, for lines to pass behind nodes
const FEWEST = 8; // nodes in a column that has another beside it

/**
 * Return where each node stands: a layer in one column, or in several where a window of this shape then shows more of it.
 * Around an entity the first ring has two sides, so that what the lines say stands between the nodes.
 */
export function placed(graph: Graph, shape: number): Map<string, Place> {
  const near = neighbours(graph);
  const places = new Map<string, Place>();
  const layers = byLayer(graph);
  const sides = graph.rings && layers[1]!.length > FEWEST;
  const rows = sides ? Math.max(FEWEST, Math.ceil(layers[1]!.length / 2)) : rowsFor(graph, layers, shape);
  const tall = Math.min(rows, Math.max(...layers.map((nodes) => nodes.length))) * ROW;
  const gap = Math.min(GAPS.most, Math.max(graph.rings ? GAPS.labelled : GAPS.least, (tall * shape - width(graph, layers, rows, 0)) / Math.max(1, layers.filter((l) => l.length).length - 1)));
  let left = 0;
  layers.forEach((nodes, layer) => {
    if (!nodes.length) return;
    const pull = (n: Node) => {
      const ys = (near.get(n.id) ?? []).flatMap((id) => places.get(id)?.y ?? []);
      return ys.length ? ys.reduce((a, b) => a + b, 0) / ys.length : Infinity;
    };
    const pulls = new Map(nodes.map((n) => [n.id, pull(n)]));
    const order = [...nodes].sort((a, b) => compare(pulls.get(a.id)!, pulls.get(b.id)!) || (b.score ?? -1) - (a.score ?? -1));
    const columns = Math.ceil(nodes.length / rows);
    const each = Math.ceil(nodes.length / columns);
    const top = (tall - each * ROW) / 2;
    const wide = widthOf(graph, layer);
    const aside = sides && layer === 1;
    const beside = aside ? -(wide + 2 * gap + wide) : wide + GAPS.within;
    order.forEach((n, i) => places.set(n.id, { x: left + Math.floor(i / each) * beside + wide / 2, y: top + (i % each) * ROW }));
    left += (aside ? wide : columns * beside - GAPS.within) + gap;
  });
  return places;
}

const compare = (a: number, b: number) => (a === b ? 0 : a < b ? -1 : 1);

function width(graph: Graph, layers: readonly Node[][], rows: number, gap: number): number {
  const wides = layers.flatMap((nodes, layer) => (nodes.length ? Math.ceil(nodes.length / rows) * (widthOf(graph, layer) + GAPS.within) : []));
  return wides.reduce((a, b) => a + b, 0) + gap * (wides.length - 1);
}

/** Return how many nodes a column has at most, so that a window of this shape (width by height) shows all as large as can be. */
function rowsFor(graph: Graph, layers: readonly Node[][], shape: number): number {
  const most = Math.max(FEWEST, ...layers.map((nodes) => nodes.length));
  const zoom = (rows: number) => Math.min(shape / width(graph, layers, rows, GAPS.least), 1 / ((rows + 1) * ROW));
  let best = most;
  for (let rows = most - 1; rows >= FEWEST; rows--) if (zoom(rows) > WORTH * zoom(best)) best = rows;
  return best;
}

const UNCITED = 1_000;
const rank = (n: Node) => (n.citation ? Number(n.citation.slice(1)) : UNCITED);

/** Return the nodes of each layer, what is cited first, then the best. */
export function byLayer(graph: Graph): Node[][] {
  const layers: Node[][] = [[], [], [], [], []];
  for (const node of graph.nodes.values()) layers[node.layer]!.push(node);
  for (const nodes of layers) nodes.sort((a, b) => rank(a) - rank(b) || (b.score ?? -1) - (a.score ?? -1));
  return layers;
}

const HEADING = /^(?!-)[^:\n]{2,80}: (?=\S)/;
const headingOf = (n: Node) => HEADING.exec(n.label)?.[0] ?? "";

/** Return how a node is called where there is little room: without a heading that several statements begin with. */
export function shortly(graph: Graph): (n: Node) => string {
  const headings = [...graph.nodes.values()].filter((n) => n.kind === "statement").map(headingOf);
  const shared = new Set(headings.filter((heading, i) => headings.indexOf(heading) !== i));
  return (n) => (shared.has(headingOf(n)) ? n.label.slice(headingOf(n).length) : n.label);
}

export function neighbours(graph: Graph): Map<string, string[]> {
  const near = new Map<string, string[]>();
  const add = (a: string, b: string) => near.set(a, [...(near.get(a) ?? []), b]);
  for (const e of graph.edges) {
    add(e.from, e.to);
    add(e.to, e.from);
  }
  return near;
}

/** Return the edges at a node, each with the node at its other end. */
export function edgesAt(graph: Graph, id: string): { edge: Edge; other: Node }[] {
  return graph.edges.flatMap((edge) => {
    const other = edge.from === id ? edge.to : edge.to === id ? edge.from : "";
    return graph.nodes.has(other) ? [{ edge, other: graph.nodes.get(other)! }] : [];
  });
}

/** Return the node that an arrow key leads to. */
export function step(graph: Graph, places: ReadonlyMap<string, Place>, from: string, key: string): string {
  const here = places.get(from);
  if (!here) return [...graph.nodes.keys()][0] ?? "";
  const sign = key === "ArrowDown" || key === "ArrowRight" ? 1 : -1;
  const others = [...places].filter(([id]) => id !== from).map(([id, at]) => ({ id, dx: (at.x - here.x) * sign, dy: (at.y - here.y) * sign }));
  if (key === "ArrowUp" || key === "ArrowDown") {
    const column = others.filter((o) => o.dx === 0 && o.dy > 0).sort((a, b) => a.dy - b.dy);
    return column[0]?.id ?? from;
  }
  const ahead = others.filter((o) => o.dx > 0);
  const nearest = Math.min(...ahead.map((o) => o.dx));
  const linked = new Set(neighbours(graph).get(from));
  const column = ahead.filter((o) => o.dx === nearest);
  const next = column.sort((a, b) => Number(linked.has(b.id)) - Number(linked.has(a.id)) || Math.abs(a.dy) - Math.abs(b.dy));
  return next[0]?.id ?? from;
}
