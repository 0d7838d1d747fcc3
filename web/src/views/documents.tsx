/** Documents: all of them, found by name and sorted by column. */
import { signal } from "@preact/signals";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, type ApiError, type Schema } from "../api/client";
import type { ViewProps } from "../app";
import { Failure, Loading, Notice, fileOf, number, readable, when } from "../parts/basics";
import { Icon } from "../parts/icons";
import { NoDocuments } from "../parts/start";
import { VirtualList } from "../parts/virtual";
import { asApiError, useNarrow, useReturn } from "../resource";
import { go, to } from "../router";
import { key } from "../session";
import { texts } from "../texts";

type Doc = Schema["DocumentReply"];
const PAGE = 200;
const PAGE_OF_ALL = 1_000;
const SETTLE = 200; // ms
const ENOUGH = 40; // rows: a screen
/** The API lists documents by their place; so many at most are read to be sorted and narrowed here. */
const MOST = 20_000;

/** What has just been done to a document; the list tells of it. */
export const told = signal("");

const typeOf = (d: Doc) => String(d.metadata["file_type"] ?? "");
const nameOf = (d: Doc) => d.title || fileOf(d.uri);
const stateOf = (d: Doc) => texts.document.state[d.state] ?? d.state;
const COLUMNS: Record<string, (d: Doc) => string | number> = {
  name: nameOf,
  type: typeOf,
  namespace: (d) => d.namespace,
  size: (d) => d.characters,
  date: (d) => d.updated_at,
  state: stateOf,
};
/** What the overview counts: the list can be narrowed by it. */
const ONLY: Record<string, (d: Doc) => string> = {
  state: (d) => d.state,
  type: typeOf,
  language: (d) => String(d.metadata["language"] ?? ""),
  day: (d) => d.updated_at.slice(0, 10),
};

export default function Documents({ address }: ViewProps) {
  const { query } = address;
  const [namespace, find, sort] = ["in", "find", "sort"].map((name) => query.get(name) ?? "") as [string, string, string];
  const only = Object.keys(ONLY).filter((name) => query.has(name));
  const all = sort !== "" || only.length > 0;
  const { documents, next, more, error, loading } = useDocuments(namespace, useSettled(find), all);
  const shown = useMemo(() => sorted(matching(documents, query), sort), [documents, address]);
  const namespaces = useMemo(() => [...new Set(documents.map((d) => d.namespace))].sort(), [documents]);
  const place = useMemo(() => placing(documents), [documents]);
  const change = (name: string, value: string) => {
    const changed = new URLSearchParams(query);
    if (value) changed.set(name, value);
    else changed.delete(name);
    go(to("documents") + (changed.size ? `?${changed}` : ""), { replace: true });
  };
  const [typed, setTyped] = useState(namespace); // the list may come while somebody types
  useEffect(() => setTyped(namespace), [namespace]);
  const narrow = useNarrow();
  const heading = useRef<HTMLHeadingElement>(null);
  const telling = useRef(told.value).current;
  useLayoutEffect(() => {
    if (telling) heading.current!.focus(); // a screen reader goes on from here
    told.value = "";
  }, []);
  const counted = () => {
    if (loading && all) return texts.document.loadingAll(documents.length);
    if (only.length > 0) return texts.common.of(shown.length, documents.length);
    if (find) return !loading && texts.document.found(documents.length, next !== null);
    return documents.length > 0 && `${texts.document.list(documents.length, next !== null)}${sort ? "" : `, ${texts.document.inOrder}`}`;
  };
  const head = (
    <>
      <header class="row spread list-head">
        <h1 ref={heading} tabIndex={-1}>
          {texts.document.listTitle}
        </h1>
        <p class="faint" role="status">
          {counted()}
        </p>
      </header>
      {telling && (
        <div role="status" class="told">
          <Notice title={telling} />
        </div>
      )}
    </>
  );
  if (!loading && !error && documents.length === 0 && !namespace && !find) {
    return (
      <div class="page">
        {head}
        <NoDocuments />
      </div>
    );
  }
  return (
    <div class="page fill">
      {head}
      <div class="row list-tools">
        <label>
          {texts.document.find}
          <input type="search" value={find} onInput={(e) => change("find", e.currentTarget.value)} />
        </label>
        <label>
          {texts.document.namespace}
          <input
            type="search"
            list="namespaces"
            value={typed}
            placeholder={texts.document.allNamespaces}
            onChange={(e) => change("in", e.currentTarget.value.trim())}
            onInput={(e) => {
              setTyped(e.currentTarget.value);
              if (!e.currentTarget.value) change("in", "");
            }}
          />
          <datalist id="namespaces">
            {namespaces.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </label>
        {narrow && <SortBy sort={sort} onSort={(by) => change("sort", by)} />}
      </div>
      {only.length > 0 && (
        <p class="row only">
          {only.map((name) => {
            const value = query.get(name)!;
            const what = `${texts.document.only[name]}: ${(name === "state" && texts.document.state[value]) || value || texts.overview.noLanguage}`;
            return (
              <button key={name} type="button" class="quiet" aria-label={texts.document.showAll(what)} onClick={() => change(name, "")}>
                {what} <Icon name="close" size={14} />
              </button>
            );
          })}
        </p>
      )}
      {error && <Failure error={error} retry={more} />}
      {all && next !== null && documents.length >= MOST && <Notice kind="warn">{texts.document.tooMany(documents.length)}</Notice>}
      {loading && documents.length === 0 && <Loading />}
      {!loading && !error && shown.length === 0 && <p class="faint">{texts.document.noMatch}</p>}
      {shown.length > 0 && (
        <div class="list">
          <VirtualList
            head={!narrow && <Heads sort={sort} onSort={(by) => change("sort", by)} />}
            items={shown}
            rowHeight={narrow ? 76 : 56}
            label={texts.document.listTitle}
            keyOf={(d) => d.id}
            row={(d) => <Row of={d} place={place(d)} />}
            onEnd={next === null || error || all ? undefined : more}
          />
        </div>
      )}
    </div>
  );
}

interface Sorting {
  sort: string;
  onSort: (by: string) => void;
}

/** Names of the columns: one sorts by it upwards, then downwards, then not at all. */
function Heads({ sort, onSort }: Sorting) {
  const next = (name: string) => (sort === name ? `-${name}` : sort === `-${name}` ? "" : name);
  return (
    <div class="document-row heads" role="group" aria-label={texts.document.sort}>
      {Object.keys(COLUMNS).map((name) => {
        const how = sort === name ? texts.document.ascending : sort === `-${name}` ? texts.document.descending : "";
        return (
          <button key={name} type="button" class={`head ${name}`} aria-pressed={how !== ""} onClick={() => onSort(next(name))}>
            {texts.document.columns[name]}
            <span class={how ? undefined : "unsorted"} aria-hidden="true">
              {!how ? "↕" : sort.startsWith("-") ? "↓" : "↑"}
            </span>
            {how && <span class="hidden">{how}</span>}
          </button>
        );
      })}
    </div>
  );
}

function SortBy({ sort, onSort }: Sorting) {
  return (
    <label>
      {texts.document.sort}
      <select value={sort} onChange={(e) => onSort(e.currentTarget.value)}>
        <option value="">{texts.document.byPath}</option>
        {Object.keys(COLUMNS).flatMap((name) =>
          [name, `-${name}`].map((value) => (
            <option key={value} value={value}>
              {texts.document.columns[name]}, {value === name ? texts.document.ascending : texts.document.descending}
            </option>
          )),
        )}
      </select>
    </label>
  );
}

function Row({ of: d, place }: { of: Doc; place: string }) {
  return (
    <a class="document-row" href={to("document", d.id)}>
      <span class="name" title={`${nameOf(d)}\n${readable(d.uri)}`}>
        <strong>{nameOf(d)}</strong>
        <span class="faint small">{place}</span>
      </span>
      <span class="faint small type" title={typeOf(d)}>
        {typeOf(d)}
      </span>
      <span class="faint small namespace" title={d.namespace}>
        {d.namespace}
      </span>
      <span class="figure faint small size">{number(d.characters)}</span>
      <span class="faint small date">{when(d.updated_at)}</span>
      <span class={`badge ${d.state === "READY" ? "plainly" : d.state === "FAILED" ? "bad" : ""}`}>{stateOf(d)}</span>
    </a>
  );
}

/** Return what tells where a document comes from: its file, and its folders, too, where another one is called the same. */
function placing(documents: readonly Doc[]): (d: Doc) => string {
  const called = (d: Doc) => `${nameOf(d)}\n${fileOf(d.uri)}`;
  const counts = new Map<string, number>();
  for (const d of documents) counts.set(called(d), (counts.get(called(d)) ?? 0) + 1);
  return (d) => (counts.get(called(d))! > 1 ? d.uri.split("/").slice(-3).map(fileOf).join("/") : fileOf(d.uri));
}

function matching(documents: readonly Doc[], query: URLSearchParams): readonly Doc[] {
  const only = Object.entries(ONLY).filter(([name]) => query.has(name));
  return documents.filter((d) => only.every(([name, of]) => of(d) === query.get(name)));
}

const ORDER = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

function sorted(documents: readonly Doc[], sort: string): readonly Doc[] {
  const column = sort.replace(/^-/, "");
  if (!Object.hasOwn(COLUMNS, column)) return documents;
  const of = COLUMNS[column]!;
  const sign = sort.startsWith("-") ? -1 : 1;
  return documents
    .map((d) => [of(d), d] as const)
    .sort(([a], [b]) => sign * (typeof a === "number" ? a - Number(b) : ORDER.compare(a, String(b))))
    .map(([, d]) => d);
}

interface Loaded {
  documents: Doc[];
  next: string | null;
  error?: ApiError;
  loading: boolean;
}

/** A value once nobody has changed it for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLE);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** The pages so far; `more` asks for the next, and for `all` they are asked for one after the other. */
function useDocuments(namespace: string, find: string, all: boolean) {
  const [state, setState] = useState<Loaded>({ documents: [], next: "", loading: true });
  const latest = useRef(0);
  const load = useCallback(
    async (after: string, before: Doc[], limit = PAGE) => {
      const turn = ++latest.current;
      const show = (found: Loaded) => turn === latest.current && setState(found);
      show({ documents: before, next: after, loading: true });
      let documents = before;
      let next: string | null = after;
      try {
        do {
          const reply: Schema["DocumentList"] = await get("/documents", { query: { limit, namespace: namespace || null, find, after: next } });
          documents = [...documents, ...reply.documents];
          next = reply.next ?? null;
          // one that looks for words may hold few documents, or none, and go on
        } while (next !== null && turn === latest.current && documents.length - before.length < ENOUGH);
        show({ documents, next, loading: false });
      } catch (error) {
        show({ documents, next, error: asApiError(error), loading: false });
      }
    },
    [namespace, find],
  );
  useEffect(() => {
    void load("", []);
    return () => {
      latest.current++;
    };
  }, [load, key.value]);
  const more = useCallback(() => {
    if (!state.loading && state.next !== null) void load(state.next, state.documents, all ? PAGE_OF_ALL : PAGE);
  }, [state, load, all]);
  useReturn(state.error, more);
  const wanted = all && !state.loading && !state.error && state.next !== null && state.documents.length < MOST;
  useEffect(() => {
    if (wanted) more();
  }, [wanted, more]);
  return { ...state, loading: state.loading || wanted, more };
}
