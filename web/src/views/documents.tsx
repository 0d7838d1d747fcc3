/** Documents: all of them, by name. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, type ApiError, type Schema } from "../api/client";
import type { ViewProps } from "../app";
import { Empty, Failure, Loading, fileOf, when } from "../parts/basics";
import { VirtualList } from "../parts/virtual";
import { asApiError, useReturn } from "../resource";
import { go, to } from "../router";
import { key } from "../session";
import { texts } from "../texts";

type Doc = Schema["DocumentReply"];
const PAGE = 200;
const SETTLE = 200; // ms
const ENOUGH = 40; // rows: a screen

export default function Documents({ address }: ViewProps) {
  const namespace = address.query.get("in") ?? "";
  const find = address.query.get("find") ?? "";
  const { documents, next, more, error, loading } = useDocuments(namespace, useSettled(find));
  const change = (values: { in?: string; find?: string }) => go(to("documents", "", { in: namespace, find, ...values }), { replace: true });
  const height = useRowHeight();
  if (!loading && !error && documents.length === 0 && !namespace && !find) {
    return (
      <div class="page">
        <h1>{texts.document.listTitle}</h1>
        <Empty title={texts.document.empty}>
          <a class="button primary" href={to("ingest")}>
            {texts.document.emptyGo}
          </a>
        </Empty>
      </div>
    );
  }
  return (
    <div class="page fill">
      <header class="row spread list-head">
        <h1>{texts.document.listTitle}</h1>
        <p class="faint" role="status">
          {find ? !loading && texts.document.found(documents.length, next !== null) : documents.length > 0 && texts.document.list(documents.length, next !== null)}
        </p>
      </header>
      <div class="row list-tools">
        <label>
          {texts.document.find}
          <input type="search" value={find} onInput={(e) => change({ find: e.currentTarget.value })} />
        </label>
        <label>
          {texts.document.namespace}
          <input value={namespace} placeholder={texts.document.allNamespaces} onChange={(e) => change({ in: e.currentTarget.value.trim() })} />
        </label>
      </div>
      {error && <Failure error={error} retry={more} />}
      {loading && documents.length === 0 && <Loading />}
      {documents.length > 0 && (
        <VirtualList items={documents} rowHeight={height} label={texts.document.listTitle} keyOf={(d) => d.id} row={Row} onEnd={next === null || error ? undefined : more} />
      )}
    </div>
  );
}

function Row(d: Doc) {
  return (
    <a class="document-row" href={to("document", d.id)}>
      <span class="name">
        <strong>{d.title || fileOf(d.uri)}</strong>
        <span class="faint small">{fileOf(d.uri)}</span>
      </span>
      <span class="faint small namespace">{d.namespace}</span>
      <span class="figure faint small">{texts.count(d.characters, "character")}</span>
      <span class="faint small date">{when(d.updated_at)}</span>
      <span class={`badge ${d.state === "READY" ? "plainly" : d.state === "FAILED" ? "bad" : ""}`}>{texts.document.state[d.state]}</span>
    </a>
  );
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

/** The pages so far; `more` asks for the next. */
function useDocuments(namespace: string, find: string) {
  const [state, setState] = useState<{ documents: Doc[]; next: string | null; error?: ApiError; loading: boolean }>({ documents: [], next: "", loading: true });
  const latest = useRef(0);
  const load = useCallback(
    async (after: string, before: Doc[]) => {
      const turn = ++latest.current;
      const show = (found: typeof state) => turn === latest.current && setState(found);
      show({ documents: before, next: after, loading: true });
      let documents = before;
      let next: string | null = after;
      try {
        do {
          const reply: Schema["DocumentList"] = await get("/documents", { query: { limit: PAGE, namespace: namespace || null, find, after: next } });
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
    if (!state.loading && state.next !== null) void load(state.next, state.documents);
  }, [state, load]);
  useReturn(state.error, more);
  return { ...state, more };
}

function useRowHeight(): number {
  const narrow = matchMedia("(max-width: 52rem)");
  const [height, setHeight] = useState(narrow.matches ? 76 : 56);
  useEffect(() => {
    const change = () => setHeight(narrow.matches ? 76 : 56);
    narrow.addEventListener("change", change);
    return () => narrow.removeEventListener("change", change);
  }, []);
  return height;
}
