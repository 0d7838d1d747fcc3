/** Graph: what a question used, or what an entity is named with; in layers, opened further by hand, with a list that says the same. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, post, type Schema } from "../api/client";
import type { ViewProps } from "../app";
import { usedBy } from "../ask/answer";
import { past } from "../ask/history";
import { addressOf, asked, filter, type Asked } from "../ask/query";
import type { Canvas } from "../graph/canvas";
import { EMPTY, beside, byLayer, edgesAt, headsOf, merged, ofEntity, ofEvidence, shortly, step, type Graph, type Node, type Place } from "../graph/model";
import { Empty, Failure, Folded, Loading, Notice, number } from "../parts/basics";
import { Icon } from "../parts/icons";
import { Nothing } from "../parts/start";
import { asApiError, useResource } from "../resource";
import { address as current, go, to } from "../router";
import { theme } from "../session";
import { texts } from "../texts";

const FIRST = 24;
const STEPS = [FIRST, 50, 120, 500];
const AROUND = 24;
const FURTHER = 12; // entities around one that is not in the middle
const KINDS = "source,chunk,topic,statement,entity";

export default function GraphView({ address }: ViewProps) {
  const a = asked(address);
  const around = address.query.get("around") ?? "";
  const limit = STEPS.find((s) => s === Number(address.query.get("nodes"))) ?? FIRST;
  if (!a.question && !around) return <NoQuestion />;
  return <Evidence key={a.question + around} a={a} around={around} limit={limit} />;
}

function NoQuestion() {
  return (
    <div class="page narrow">
      <h1>{texts.graph.title}</h1>
      <Nothing>
        <Empty title={texts.graph.noQuestion}>
          <p>{texts.graph.noQuestionText}</p>
          {past.value.length > 0 && (
            <ul class="plain questions">
              {past.value.slice(0, 8).map((p) => (
                <li key={p.address}>
                  <Folded text={p.question} href={p.address.replace("#/ask", "#/graph")} />
                </li>
              ))}
            </ul>
          )}
          <a class="button primary" href={to("ask")}>
            {texts.views.ask}
          </a>
        </Empty>
      </Nothing>
    </div>
  );
}

async function evidence(a: Asked, limit: number, signal: AbortSignal): Promise<Graph> {
  const flat = a.search === "hybrid-flat";
  const used = await usedBy(a, signal);
  const reply = await post("/retrieve/{retriever}", {
    path: { retriever: flat ? "hybrid" : (a.search as Exclude<typeof a.search, "hybrid-flat">) },
    body: {
      ...used,
      evidence: true,
      evidence_limit: limit,
      parameters: flat ? { expand_hops: 0, subgraph_depth: 0 } : {},
      ...(a.conditions.length ? { filters: filter(a.conditions) } : {}),
    } as Schema["RetrieveRequest"],
    signal,
  });
  return reply.evidence ? ofEvidence(reply.evidence) : EMPTY;
}

/** What is opened around a node: how much of how much, and where to go on; null at the end. */
interface More {
  next: string | null;
  total: number;
  complete: boolean;
}

interface Opening {
  graph: Graph;
  more: More;
}

async function entities(graph: Graph, id: string, cursor: string, limit: number, signal?: AbortSignal): Promise<Opening> {
  const page = await get("/entities/{entity_id}/neighbours", { path: { entity_id: id }, query: { cursor, limit }, ...(signal ? { signal } : {}) });
  return { graph: beside(graph, id, page), more: { next: page.next ?? null, total: page.total, complete: page.complete } };
}

async function nodes(graph: Graph, id: string, cursor: string): Promise<Opening> {
  const reply = await get("/graph/egonet", { query: { id, limit: AROUND + 1, offset: Number(cursor || 0), kinds: KINDS } });
  const next = reply.next_offset == null ? null : String(reply.next_offset);
  return { graph: merged(graph, reply), more: { next, total: reply.totals.nodes - 1, complete: reply.totals.complete } };
}

interface Base {
  graph: Graph;
  opened: ReadonlyMap<string, More>;
}

async function ofQuestion(a: Asked, limit: number, signal: AbortSignal): Promise<Base> {
  return { graph: await evidence(a, limit, signal), opened: new Map() };
}

async function aroundEntity(id: string, signal: AbortSignal): Promise<Base> {
  const root = ofEntity(await get("/entities/{entity_id}", { path: { entity_id: id }, signal }));
  const { graph, more } = await entities(root, id, "", AROUND, signal);
  return { graph, opened: new Map([[id, more]]) };
}

/** Change a part of the address of this view. */
function set(name: string, value: string | number): void {
  const query = new URLSearchParams(current.peek().query);
  query.set(name, String(value));
  go(`#/graph?${query.toString()}`, { replace: true });
}

function Evidence({ a, around, limit }: { a: Asked; around: string; limit: number }) {
  const found = useResource(
    (signal) => (around ? aroundEntity(around, signal) : ofQuestion(a, limit, signal)),
    [a.question, a.search, JSON.stringify(a.conditions), around, limit],
  );
  const graph = found.data?.graph;
  const name = graph?.nodes.get(around)?.label;
  const more = graph && graph.nodes.size < graph.total && limit < STEPS.at(-1)! ? () => set("nodes", STEPS.find((s) => s > limit)!) : undefined;
  return (
    <div class="page graph-page">
      <header>
        <h1>{around ? (name ? texts.graph.titleAround(name) : texts.views.graph) : texts.graph.title}</h1>
        {a.question && (
          <p class="faint">
            <Folded text={a.question} href={addressOf(a)} /> · {texts.retrievers[a.search].name}
          </p>
        )}
        {around && (
          <p class="faint">
            {texts.graph.aboutAround} <a href={to("entity", around)}>{texts.graph.aboutEntity}</a>
          </p>
        )}
      </header>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {found.loading && !found.data && <Loading />}
      {graph && graph.nodes.size <= 1 && (
        <Nothing>
          <Empty title={around ? texts.graph.alone : texts.graph.nothing} />
        </Nothing>
      )}
      {found.data && graph && graph.nodes.size > 1 && (
        <Explored key={`${limit} ${graph.nodes.size}`} base={found.data} a={a} around={around} onMore={around ? undefined : more} />
      )}
    </div>
  );
}

type Opened = ReadonlyMap<string, More>;

function Explored({ base, a, around, onMore }: { base: Base; a: Asked; around: string; onMore: (() => void) | undefined }) {
  const [graph, setGraph] = useState(base.graph);
  const [opened, setOpened] = useState<Opened>(base.opened);
  const [told, setTold] = useState("");
  const [find, setFind] = useState("");
  const selected = current.value.query.get("at") ?? "";
  const [picture, setPicture] = useState(!matchMedia("(max-width: 52rem)").matches);

  const select = useCallback((id: string) => set("at", id), []);

  const expand = useCallback(
    (id: string) => {
      if (id === "question") return;
      const cursor = opened.has(id) ? opened.get(id)!.next : "";
      if (cursor === null) {
        setTold(texts.graph.expandedAll);
        return;
      }
      const opening = around ? entities(graph, id, cursor, id === around ? AROUND : FURTHER) : nodes(graph, id, cursor);
      opening.then(
        ({ graph: next, more }) => {
          const shown = edgesAt(next, id).length;
          const added = next.nodes.size - graph.nodes.size;
          setTold(added || more.next !== null ? texts.graph.expanded(added, shown, Math.max(shown, more.total), more.complete) : texts.graph.expandedAll);
          setGraph(next);
          setOpened(new Map(opened).set(id, more));
        },
        (error: unknown) => setTold(asApiError(error).message),
      );
    },
    [graph, opened, around],
  );

  const matches = useMemo(() => matching(graph, find), [graph, find]);
  const evidence = [...graph.nodes.values()].filter((n) => n.evidence).length;
  const node = graph.nodes.get(selected);
  return (
    <>
      <div class="row graph-tools">
        <p role="status" class="counts">
          {texts.graph.shown(evidence, Math.max(graph.total, evidence), graph.complete, graph.nodes.size - evidence)}
        </p>
        {onMore && (
          <button type="button" class="quiet" onClick={onMore}>
            {texts.graph.more}
          </button>
        )}
        {around && opened.get(around)?.next && (
          <button type="button" class="quiet" onClick={() => expand(around)}>
            {texts.graph.moreNeighbours}
          </button>
        )}
        <div class="row finding">
          <label class="find">
            <span class="hidden">{texts.graph.search}</span>
            <input
              type="search"
              value={find}
              placeholder={texts.graph.search}
              onInput={(e) => setFind(e.currentTarget.value)}
              onKeyDown={(e) => {
                if (e.key === "Enter" && matches.size) select(following([...matches], selected));
              }}
            />
          </label>
          {find && <span class="faint small">{texts.graph.matches(matches.size)}</span>}
          <div class="row view-switch" role="group" aria-label={texts.graph.title}>
            <button type="button" class="quiet toggle" aria-pressed={picture} onClick={() => setPicture(true)}>
              {texts.graph.picture}
            </button>
            <button type="button" class="quiet toggle" aria-pressed={!picture} onClick={() => setPicture(false)}>
              {texts.graph.list}
            </button>
          </div>
          <button type="button" class="quiet" onClick={() => save(new Blob([asJson(a, graph)], { type: "application/json" }), "evidence.json")}>
            <Icon name="download" />
            {texts.graph.json}
          </button>
        </div>
      </div>
      <p class="hidden" role="status">
        {told}
      </p>
      <div class={picture ? "graph-area" : "graph-area listed"}>
        {picture && <Picture graph={graph} selected={selected} matches={matches} onSelect={select} onExpand={expand} />}
        <div class="graph-side">
          {node && <Selected key={node.id} node={node} graph={graph} opened={opened} told={told} onSelect={select} onExpand={expand} />}
          <List graph={graph} selected={selected} matches={find ? matches : null} onSelect={select} />
        </div>
      </div>
    </>
  );
}

function matching(graph: Graph, find: string): ReadonlySet<string> {
  const text = find.trim().toLowerCase();
  if (!text) return new Set();
  return new Set([...graph.nodes.values()].filter((n) => n.label.toLowerCase().includes(text)).map((n) => n.id));
}

const following = (ids: readonly string[], id: string) => ids[(ids.indexOf(id) + 1) % ids.length]!;

interface PictureProps {
  graph: Graph;
  selected: string;
  matches: ReadonlySet<string>;
  onSelect: (id: string) => void;
  onExpand: (id: string) => void;
}

function Picture({ graph, selected, matches, onSelect, onExpand }: PictureProps) {
  const box = useRef<HTMLDivElement>(null);
  const [canvas, setCanvas] = useState<Canvas | null>(null);
  const [failed, setFailed] = useState(false);
  const places = useRef<ReadonlyMap<string, Place>>(new Map());
  const acts = useRef({ select: onSelect, expand: onExpand });
  acts.current = { select: onSelect, expand: onExpand };

  useEffect(() => {
    let drawn: Canvas | null = null;
    let left = false;
    void import("../graph/canvas").then(({ draw }) => {
      if (left || !box.current) return; // the view was left while its code was loading
      drawn = draw(box.current, { select: (id) => acts.current.select(id), expand: (id) => acts.current.expand(id) });
      setCanvas(drawn);
    }, () => setFailed(true)); // its code: the server is gone, or was replaced by a newer one
    return () => {
      left = true;
      drawn?.close();
    };
  }, []);
  useEffect(() => {
    if (canvas) places.current = canvas.show(graph, selected, matches);
  }, [canvas, graph, selected, matches]);
  useEffect(() => {
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const change = () => canvas?.restyle();
    change();
    dark.addEventListener("change", change);
    return () => dark.removeEventListener("change", change);
  }, [canvas, theme.value]);

  const press = (e: KeyboardEvent) => {
    if (e.key.startsWith("Arrow")) onSelect(step(graph, places.current, selected, e.key));
    else if (e.key === "Enter" && selected) onExpand(selected);
    else if (e.key === "+" || e.key === "=") canvas?.zoom(1.25);
    else if (e.key === "-") canvas?.zoom(0.8);
    else if (e.key === "0") canvas?.fit();
    else return;
    e.preventDefault();
  };
  const node = graph.nodes.get(selected);
  return (
    <section class="picture" aria-label={texts.graph.picture}>
      <div class="canvas-stage">
        <div class="canvas-frame" tabIndex={0} role="application" aria-label={texts.graph.canvas} aria-describedby="graph-keys" onKeyDown={press}>
          <div class="graph-canvas" ref={box} />
        </div>
        {!canvas && <div class="canvas-wait">{failed ? <Notice kind="error">{texts.graph.noPicture}</Notice> : <Loading />}</div>}
      </div>
      <p class="hidden" role="status">
        {node && `${texts.graph.kinds[node.kind] ?? node.kind}: ${node.label}`}
      </p>
      <div class="row spread canvas-foot">
        <p id="graph-keys" class="faint small">
          {texts.graph.keyboard}
        </p>
        <div class="canvas-tools">
          <button type="button" class="tool" title={texts.graph.zoomIn} aria-label={texts.graph.zoomIn} onClick={() => canvas?.zoom(1.25)}>
            <Icon name="plus" />
          </button>
          <button type="button" class="tool" title={texts.graph.zoomOut} aria-label={texts.graph.zoomOut} onClick={() => canvas?.zoom(0.8)}>
            <Icon name="minus" />
          </button>
          <button type="button" class="tool" title={texts.graph.fit} aria-label={texts.graph.fit} onClick={() => canvas?.fit()}>
            <Icon name="fit" />
          </button>
          <button type="button" class="tool" onClick={() => void canvas?.png().then((blob) => save(blob, "evidence.png"))}>
            <Icon name="download" />
            {texts.graph.png}
          </button>
        </div>
      </div>
    </section>
  );
}

interface SelectedProps {
  node: Node;
  graph: Graph;
  opened: Opened;
  told: string;
  onSelect: (id: string) => void;
  onExpand: (id: string) => void;
}

function Selected({ node, graph, opened, told, onSelect, onExpand }: SelectedProps) {
  const near = useMemo(() => edgesAt(graph, node.id), [graph, node]);
  const card = useRef<HTMLElement>(null);
  // chosen far down in the list, it would be told out of sight
  useEffect(() => card.current?.scrollIntoView({ block: "nearest" }), []);
  const open = opened.get(node.id);
  const href = node.kind === "entity" ? to("entity", node.id) : node.document && to("document", node.document, { at: node.at });
  return (
    <section ref={card} class="card selected-node" aria-label={texts.graph.selected}>
      <h2 class="small-heading">
        {texts.graph.kinds[node.kind] ?? node.kind}
        {node.citation && <span class="badge">{node.citation}</span>}
      </h2>
      <p class="node-text">
        <Folded text={node.label} />
      </p>
      {node.score !== null && (
        <p class="faint small">
          {texts.graph.score} {node.score.toFixed(3)}
        </p>
      )}
      <div class="row">
        {href && (
          <a class="button quiet" href={href}>
            <Icon name="open" />
            {texts.graph.open}
          </a>
        )}
        {node.kind !== "question" && (
          <button type="button" class="quiet" disabled={open?.next === null} onClick={() => onExpand(node.id)}>
            <Icon name="plus" />
            {open ? texts.graph.expandMore : texts.graph.expand}
          </button>
        )}
      </div>
      {told && <p class="faint small">{told}</p>}
      {near.length > 0 && (
        <details>
          <summary class="small">
            {texts.graph.connected} {number(near.length)}
          </summary>
          <ul class="plain near-list">
            {near.map(({ edge, other }) => (
              <li key={other.id}>
                <button type="button" class="node-row" onClick={() => onSelect(other.id)}>
                  <span class="node-label">
                    <span class="faint">{edge.from === node.id ? `${edge.label} →` : `← ${edge.label}`}</span> {other.label}
                  </span>
                </button>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

/** The same as the picture, to be read. */
function List({ graph, selected, matches, onSelect }: { graph: Graph; selected: string; matches: ReadonlySet<string> | null; onSelect: (id: string) => void }) {
  const layers = useMemo(() => byLayer(graph), [graph]);
  const heads = useMemo(() => headsOf(graph), [graph]);
  const short = useMemo(() => shortly(graph), [graph]);
  return (
    <div class="layers">
      {layers.map((nodes, layer) => {
        const shown = matches ? nodes.filter((n) => matches.has(n.id)) : nodes;
        if (!shown.length || layer === 0) return null;
        return (
          <section key={layer} aria-label={heads[layer]}>
            <h2 class="small-heading">
              {heads[layer]} {number(shown.length)}
            </h2>
            <ul class="plain">
              {shown.map((n) => (
                <li key={n.id}>
                  <button type="button" class="node-row" aria-current={n.id === selected ? "true" : undefined} onClick={() => onSelect(n.id)}>
                    {n.citation && <span class="badge">{n.citation}</span>}
                    <span class="node-label">{short(n)}</span>
                    {(n.note || n.score !== null) && <span class="figure faint small">{n.note || n.score!.toFixed(2)}</span>}
                  </button>
                </li>
              ))}
            </ul>
          </section>
        );
      })}
    </div>
  );
}

const asJson = (a: Asked, graph: Graph) => JSON.stringify({ question: a.question, search: a.search, nodes: [...graph.nodes.values()], edges: graph.edges, total: graph.total }, null, 2);

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
