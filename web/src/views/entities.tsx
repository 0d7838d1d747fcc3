/** Entity: found as one types; its names, what is said of it and where, and what it is named together with. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { get, type ApiError, type Schema } from "../api/client";
import type { ViewProps } from "../app";
import { Failure, Loading, absent, fileOf } from "../parts/basics";
import { Icon } from "../parts/icons";
import { Nothing } from "../parts/start";
import { FactLine, StatementCard } from "../parts/statement";
import { asApiError, useResource, useReturn } from "../resource";
import { go, to } from "../router";
import { key } from "../session";
import { texts } from "../texts";
import { Curation } from "./curation";

export default function Entities({ address }: ViewProps) {
  const id = address.view === "entity" ? address.id : "";
  const q = address.query.get("q") ?? "";
  return (
    <div class={`page entities${id ? " with-entity" : ""}`}>
      {!id && <h1>{texts.entities.title}</h1>}
      <Search q={q} id={id} />
      {id && <Entity key={id} id={id} />}
    </div>
  );
}

const PAUSE = 150;

function Search({ q, id }: { q: string; id: string }) {
  const [typed, setTyped] = useState(q);
  useEffect(() => setTyped(q), [q]);
  useEffect(() => {
    if (typed === q) return;
    const timer = setTimeout(() => go(to(id ? "entity" : "entities", id, { q: typed }), { replace: true }), PAUSE);
    return () => clearTimeout(timer);
  }, [typed, q, id]);
  const asked = q.trim();
  const found = useResource((signal) => get("/entities", { query: asked ? { q: asked, limit: 40 } : { limit: 20 }, signal }), [asked]);
  const count = found.data?.entities.length;
  return (
    <section class={`entity-search${asked ? "" : " unasked"}`} aria-label={texts.entities.title}>
      <label>
        {texts.entities.search}
        <input type="search" value={typed} placeholder={texts.entities.placeholder} autofocus={!id} onInput={(e) => setTyped(e.currentTarget.value)} />
      </label>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {!asked && !!count && <h2 class="small-heading">{texts.entities.start}</h2>}
      <p class="hidden" role="status">
        {asked && count !== undefined && texts.count(count, "entity", "entities")}
      </p>
      {count === 0 && (
        <Nothing>
          <p class="faint">{asked ? `${texts.entities.none} ${texts.entities.noneHint}` : texts.entities.empty}</p>
        </Nothing>
      )}
      <ul class="plain entity-list">
        {found.data?.entities.map((e) => (
          <li key={e.id}>
            <a href={to("entity", e.id, { q })} aria-current={e.id === id ? "true" : undefined}>
              <strong>{e.name}</strong>
              <span class="faint small">{[e.class, texts.entities.documents(e.documents), e.facts > 0 && texts.entities.facts(e.facts)].filter(Boolean).join(" · ")}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Entity({ id }: { id: string }) {
  const found = useResource((signal) => get("/entities/{entity_id}", { path: { entity_id: id }, signal }), [id]);
  if (found.error) {
    return (
      <div>
        <h1>{absent(found.error) ? texts.entities.absent : texts.views.entity}</h1>
        {absent(found.error) ? <p class="faint">{texts.entities.absentWhy}</p> : <Failure error={found.error} retry={found.reload} />}
      </div>
    );
  }
  const e = found.data;
  if (!e) return <Loading />;
  return (
    <article class="entity">
      <header class="entity-head">
        <p class="faint small">{e.class || texts.views.entity}</p>
        <h1>{e.name}</h1>
        <p class="faint">
          {[texts.entities.documents(e.documents), said(e), e.facts > 0 && texts.entities.facts(e.facts)].filter(Boolean).join(" · ")}
        </p>
        <div class="row">
          <a class="button quiet" href={to("ask", "", { q: e.name })}>
            <Icon name="ask" />
            {texts.entities.ask}
          </a>
          <a class="button quiet" href={to("graph", "", { around: e.id })}>
            <Icon name="graph" />
            {texts.entities.around}
          </a>
        </div>
      </header>
      <div class="entity-body">
        <Said id={id} />
        <aside class="entity-side">
          <Names title={texts.entities.names} of={e.names} />
          {e.classes.length > 1 && <Names title={texts.entities.classes} of={e.classes} />}
          {e.aliases.length > 0 && (
            <section>
              <h2 class="small-heading">{texts.entities.aliases}</h2>
              <ul class="chips">
                {e.aliases.map((a) => (
                  <li key={a.id}>
                    <a class="chip" href={to("entity", a.id)}>
                      {a.name}
                    </a>
                  </li>
                ))}
              </ul>
            </section>
          )}
          <Curation name={e.name} onChange={found.reload} />
          <Neighbours id={id} />
        </aside>
      </div>
    </article>
  );
}

function said(e: Schema["EntityReply"]): string {
  const statements = texts.count(e.statements, "statement");
  return e.complete ? statements : texts.entities.atLeast(statements);
}

function Names({ title, of }: { title: string; of: readonly { name: string; count: number }[] }) {
  if (!of.length) return null;
  return (
    <section>
      <h2 class="small-heading">{title}</h2>
      <ul class="chips">
        {of.slice(0, 20).map((n) => (
          <li key={n.name} class="chip">
            {n.name} <span class="faint">{texts.entities.times(n.count)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface Paged<T> {
  items: readonly T[];
  next: string | null;
  loading: boolean;
  error: ApiError | undefined;
  more: () => void;
}

/** Pages of a list, one after another. */
function usePaged<T>(ask: (cursor: string) => Promise<{ items: T[]; next: string | null }>, inputs: readonly unknown[]): Paged<T> {
  const [state, setState] = useState<{ items: readonly T[]; next: string | null; loading: boolean; error?: ApiError }>({ items: [], next: "", loading: true });
  const load = useCallback(
    (cursor: string, before: readonly T[], current: () => boolean) => {
      setState({ items: before, next: cursor, loading: true });
      ask(cursor).then(
        (page) => current() && setState({ items: [...before, ...page.items], next: page.next, loading: false }),
        (error: unknown) => current() && setState({ items: before, next: cursor, loading: false, error: asApiError(error) }),
      );
    },
    inputs,
  );
  useEffect(() => {
    let here = true;
    load("", [], () => here);
    return () => {
      here = false;
    };
  }, [load, key.value]);
  const more = () => {
    if (!state.loading && state.next !== null) load(state.next, state.items, () => true);
  };
  useReturn(state.error, more);
  return { ...state, error: state.error, more };
}

type SourceOf = Schema["SourceStatements"];

function Said({ id }: { id: string }) {
  const found = usePaged<SourceOf>(
    (cursor) => get("/entities/{entity_id}/statements", { path: { entity_id: id }, query: { cursor, limit: 50 } }).then((r) => ({ items: r.sources, next: r.next ?? null })),
    [id],
  );
  const sources = joined(found.items);
  const facts = factsOf(id, sources);
  return (
    <section class="said" aria-labelledby="said">
      {facts.length > 0 && (
        <section class="facts-told" aria-labelledby="facts">
          <h2 id="facts">{texts.document.facts}</h2>
          <ul class="plain">
            {facts.map((f) => (
              <li key={f.id}>
                <FactLine of={f} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <h2 id="said">{texts.entities.statements}</h2>
      {!found.loading && !found.error && sources.length === 0 && <p class="faint">{texts.entities.noStatements}</p>}
      {sources.map((s) => (
        <section key={s.document.id} class="said-source">
          <h3>
            <a href={to("document", s.document.id)}>{s.document.title || fileOf(s.document.uri)}</a>
          </h3>
          <ul class="plain cards">
            {s.statements.map((statement) => (
              <li key={statement.id}>
                <StatementCard statement={statement} href={to("document", s.document.id, { at: `${statement.start}-${statement.end}` })} />
              </li>
            ))}
          </ul>
        </section>
      ))}
      <More of={found} />
    </section>
  );
}

/** Return the facts of the statements so far that have an entity in them, each once. */
function factsOf(id: string, sources: readonly SourceOf[]) {
  const all = sources.flatMap((s) => s.statements.flatMap((statement) => statement.facts));
  const about = all.filter((f) => f.subject.id === id || f.object.id === id);
  return [...new Map(about.map((f) => [f.id, f])).values()];
}

// a source may go on with the next page
function joined(sources: readonly SourceOf[]): SourceOf[] {
  const all: SourceOf[] = [];
  for (const s of sources) {
    const last = all.at(-1);
    if (last?.document.id === s.document.id) all[all.length - 1] = { ...last, statements: [...last.statements, ...s.statements] };
    else all.push(s);
  }
  return all;
}

type Neighbour = Schema["NeighbourReply"];
type Relation = Neighbour["relations"][number];

const NEIGHBOURS = 12;
const RELATIONS = 2; // told at once

function Neighbours({ id }: { id: string }) {
  const [counted, setCounted] = useState({ total: 0, complete: true });
  const found = usePaged<Neighbour>(
    (cursor) =>
      get("/entities/{entity_id}/neighbours", { path: { entity_id: id }, query: { cursor, limit: NEIGHBOURS } }).then((r) => {
        setCounted(r);
        return { items: r.neighbours, next: r.next ?? null };
      }),
    [id],
  );
  if (!found.loading && !found.error && !found.items.length) return null;
  return (
    <section>
      <h2 class="small-heading">{texts.entities.neighbours}</h2>
      <ul class="plain neighbours">
        {found.items.map((n) => (
          <li key={n.id}>
            <a href={to("entity", n.id)}>{n.name}</a> <span class="faint small">{texts.entities.together(n.together)}</span>
            {n.relations.length > 0 && <Relations of={n.relations} />}
          </li>
        ))}
      </ul>
      {counted.total > 0 && <p class="faint small">{texts.entities.shownOf(found.items.length, counted.total, counted.complete)}</p>}
      <More of={found} />
    </section>
  );
}

function Relations({ of }: { of: readonly Relation[] }) {
  const [first, rest] = [of.slice(0, RELATIONS), of.slice(RELATIONS)];
  return (
    <div class="faint small">
      {first.map(told).join(", ")}
      {rest.length > 0 && (
        <details>
          <summary>{texts.entities.moreRelations(rest.length)}</summary>
          {rest.map(told).join(", ")}
        </details>
      )}
    </div>
  );
}

const told = (r: Relation) => (r.direction === "out" ? `${r.predicate} →` : `← ${r.predicate}`);

function More({ of }: { of: Paged<unknown> }) {
  if (of.error) return <Failure error={of.error} retry={of.more} />;
  if (of.loading) return <Loading />;
  if (of.next === null) return null;
  return (
    <button type="button" class="quiet" onClick={of.more}>
      {texts.common.more}
    </button>
  );
}
