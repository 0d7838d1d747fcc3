/** The evidence of a question and what was opened around it, in layers. Pure. */
import type { Schema } from "../api/client";

export interface Node {
  id: string;
  kind: string;
  label: string;
  layer: number;
  score: number | null;
  citation: string;
  /** The document in which it stands; empty for what stands in none or in several. */
  document: string;
  /** Found by the question, not opened by hand. */
  evidence: boolean;
}

export interface Edge {
  from: string;
  to: string;
  kind: string;
  reason: string;
}

export interface Graph {
  nodes: ReadonlyMap<string, Node>;
  edges: readonly Edge[];
  /** Nodes that the question used in all, shown or not. */
  total: number;
}

const LAYERS: Record<string, number> = { question: 0, chunk: 1, topic: 1, entity: 2, statement: 3, fact: 3, source: 4 };
export const layerOf = (kind: string) => LAYERS[kind] ?? 3;

export const EMPTY: Graph = { nodes: new Map(), edges: [], total: 0 };

export function ofEvidence(found: Schema["EvidenceReply"], citations: ReadonlyMap<string, string>): Graph {
  const labels = new Map(found.nodes.map((n) => [n.id, n.label]));
  // passages of one document have one title: the first thing that each says tells them apart
  const says = new Map([...found.edges].reverse().flatMap((e) => (e.kind === "says" ? [[e.from, labels.get(e.to)] as const] : [])));
  const nodes = found.nodes.map((n): Node => ({
    id: n.id,
    kind: n.kind,
    label: n.kind === "chunk" && says.get(n.id) ? `${n.label} · ${says.get(n.id)}` : n.label,
    layer: n.layer,
    score: n.score ?? null,
    citation: n.citation || citations.get(n.id) || "",
    document: n.document_id || (n.kind === "source" ? n.id : ""),
    evidence: true,
  }));
  const edges = found.edges.map((e) => ({ from: e.from, to: e.to, kind: e.kind, reason: e.reason ?? "" }));
  return { nodes: new Map(nodes.map((n) => [n.id, n])), edges, total: found.totals.nodes };
}

/** Return the graph with what is around a node; what is there already stays as it is. */
export function merged(graph: Graph, around: Schema["Egonet"]): Graph {
  const nodes = new Map(graph.nodes);
  for (const n of around.nodes) {
    if (nodes.has(n.id)) continue;
    const kind = n.type.toLowerCase();
    const document = kind === "source" ? n.id : String(n.properties?.["document_id"] ?? n.properties?.["source_id"] ?? "");
    nodes.set(n.id, { id: n.id, kind, label: n.label, layer: layerOf(kind), score: null, citation: "", document, evidence: false });
  }
  const known = new Set(graph.edges.map(pair));
  const edges = [...graph.edges];
  for (const e of around.edges) {
    const edge = { from: e.source, to: e.target, kind: e.type.toLowerCase(), reason: "" };
    if (!nodes.has(edge.from) || !nodes.has(edge.to) || known.has(pair(edge))) continue;
    known.add(pair(edge));
    edges.push(edge);
  }
  return { nodes, edges, total: graph.total };
}

const pair = (e: Edge) => (e.from < e.to ? `${e.from} ${e.to}` : `${e.to} ${e.from}`);

export interface Place {
  x: number;
  y: number;
}

/** How wide the nodes of each layer are. */
export const WIDTHS = [110, 200, 200, 260, 190] as const;
export const ROW = 62;
const GAP = 56;

/** Return where each node stands: a column a layer, from the top, within it near what it is connected with. */
export function placed(graph: Graph): Map<string, Place> {
  const near = neighbours(graph);
  const places = new Map<string, Place>();
  let left = 0;
  byLayer(graph).forEach((nodes, layer) => {
    if (!nodes.length) return;
    const pull = (n: Node) => {
      const ys = (near.get(n.id) ?? []).flatMap((id) => places.get(id)?.y ?? []);
      return ys.length ? ys.reduce((a, b) => a + b, 0) / ys.length : Infinity;
    };
    const pulls = new Map(nodes.map((n) => [n.id, pull(n)]));
    const order = [...nodes].sort((a, b) => compare(pulls.get(a.id)!, pulls.get(b.id)!) || (b.score ?? -1) - (a.score ?? -1));
    order.forEach((n, i) => places.set(n.id, { x: left + WIDTHS[layer]! / 2, y: i * ROW }));
    left += WIDTHS[layer]! + GAP;
  });
  return places;
}

const compare = (a: number, b: number) => (a === b ? 0 : a < b ? -1 : 1);

/** Return the nodes of each layer, best first. */
export function byLayer(graph: Graph): Node[][] {
  const layers: Node[][] = [[], [], [], [], []];
  for (const node of graph.nodes.values()) layers[node.layer]!.push(node);
  for (const nodes of layers) nodes.sort((a, b) => (b.score ?? -1) - (a.score ?? -1));
  return layers;
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
