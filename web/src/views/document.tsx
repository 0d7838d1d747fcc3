/** Document: its text with the cited passage marked, what it is about, and what was taken from it. */
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, remove, type Schema } from "../api/client";
import type { ViewProps } from "../app";
import { DocumentText, type Heading, type PageStart } from "../document/text";
import type { Stretch, Verbatim } from "../document/blocks";
import { forget } from "../ingest/uploads";
import { PdfPanel } from "../document/pdf-panel";
import { Copy } from "../parts/copy";
import { Facts, Failure, absent, Loading, Notice, fileOf, number, when } from "../parts/basics";
import { StatementCard } from "../parts/statement";
import { VirtualList } from "../parts/virtual";
import { asApiError, useResource } from "../resource";
import { cameFrom, go, parse, to } from "../router";
import { texts } from "../texts";
import { told } from "./documents";

type Doc = Schema["DocumentReply"];
type Panel = "outline" | "statements" | "details" | "original";

export default function Document({ address }: ViewProps) {
  const id = address.id;
  const at = address.query.get("at");
  const marked = useMemo(() => stretch(at), [at]);
  const found = useResource((signal) => get("/documents/{document_id}", { path: { document_id: id }, signal }), [id]);
  if (found.error) {
    return (
      <div class="page narrow">
        <h1>{absent(found.error) ? texts.document.absent : texts.views.document}</h1>
        {absent(found.error) ? <p class="faint">{texts.document.absentWhy}</p> : <Failure error={found.error} retry={found.reload} />}
        <p class="row way-on">
          <a class="button" href={to("documents")}>
            {texts.document.listTitle}
          </a>
        </p>
      </div>
    );
  }
  if (!found.data) return <Loading />;
  return <Read key={id} doc={found.data} marked={marked} />;
}

/** Return the stretch that an address names, `620-657`. */
function stretch(at: string | null): Stretch | null {
  const [, from, till] = /^(\d+)-(\d+)$/.exec(at ?? "") ?? [];
  return from && till && Number(till) > Number(from) ? { start: Number(from), end: Number(till) } : null;
}

/** Leave a document that was deleted: the list tells of it, narrowed as it was. */
function gone(doc: Doc, what: string): void {
  told.value = what;
  forget(doc.uri);
  const { view, href } = wayBack();
  go(view === "documents" ? href : to("documents"), { replace: true });
}

function Read({ doc, marked }: { doc: Doc; marked: Stretch | null }) {
  const title = doc.title || fileOf(doc.uri);
  const back = useRef(wayBack()).current;
  const heading = useRef<HTMLHeadingElement>(null);
  const [stuck, setStuck] = useState(false);
  useEffect(() => {
    document.title = `${title} · Lexigraph`;
    const sight = new IntersectionObserver(([at]) => setStuck(!at!.isIntersecting), { rootMargin: "-40px 0px 0px" });
    sight.observe(heading.current!);
    return () => sight.disconnect();
  }, [title]);
  const [open, setOpen] = useState<ReadonlySet<Panel>>(beside);
  const [sight, setSight] = useState<Stretch>({ start: 0, end: 4_000 });
  const outline = useResource((signal) => get("/documents/{document_id}/outline", { path: { document_id: doc.id }, signal }), [doc.id, doc.version]);
  const pages: readonly PageStart[] = outline.data?.pages ?? NO_PAGES;
  const headings: readonly Heading[] = outline.data?.headings ?? NO_HEADINGS;
  const verbatim: readonly Verbatim[] = outline.data?.verbatim ?? NO_VERBATIM;
  const outdated = marked !== null && marked.end > doc.characters;
  const toggle = (panel: Panel) => {
    const next = new Set(open);
    if (!next.delete(panel)) next.add(panel);
    setOpen(next);
  };
  const choose = useCallback((s: Stretch) => go(to("document", doc.id, { at: `${s.start}-${s.end}` })), [doc.id]);
  const pdf = doc.metadata["file_type"] === "pdf" || /\.pdf$/i.test(doc.uri);
  const panels: readonly (readonly [Panel, string])[] = [
    ["outline", texts.document.outline],
    ["statements", texts.document.statements],
    ["details", texts.document.metadata],
    ...(pdf ? [["original", texts.document.original] as const] : []),
  ];
  return (
    <div class="page document">
      <header class="document-title">
        <h1 ref={heading}>{title}</h1>
        <p class="faint small">
          {fileOf(doc.uri)} · {doc.namespace} · {number(doc.characters)} {texts.document.charactersUnit} · {texts.document.version} {doc.version} · {when(doc.updated_at)}
        </p>
      </header>
      <p class={`document-bar small${stuck ? " stuck" : ""}`}>
        <a href={back.href}>
          <span aria-hidden="true">←</span> {texts.document.back[back.view]}
        </a>
        <span class="document-name" aria-hidden="true">
          {title}
        </span>
      </p>
      <div class="row document-tools">
        {panels.map(([panel, name]) => (
          <button key={panel} type="button" class="quiet toggle" aria-pressed={open.has(panel)} onClick={() => toggle(panel)}>
            {name}
          </button>
        ))}
        {marked && <Copy text={() => location.href}>{texts.document.link}</Copy>}
        <Delete doc={doc} />
      </div>
      {doc.state === "FAILED" && (
        <Notice kind="error" title={texts.document.failed}>
          {doc.reason}
        </Notice>
      )}
      {outdated && <Notice kind="warn">{texts.document.outOfRange}</Notice>}
      {open.has("details") && <Details doc={doc} />}
      <div class={`reading${open.has("outline") ? " with-outline" : ""}${open.has("statements") ? " with-statements" : ""}`}>
        {open.has("outline") && <Outline doc={doc} waiting={outline.loading} headings={headings} pages={pages} sight={sight} onChoose={choose} />}
        <section class="paper" aria-label={texts.document.text}>
          {doc.characters > 0 && (
            <DocumentText id={doc.id} version={doc.version} characters={doc.characters} marked={outdated ? null : marked} headings={headings} pages={pages} verbatim={verbatim} onSight={setSight} />
          )}
        </section>
        {open.has("statements") && <Statements doc={doc} sight={sight} marked={marked} onChoose={choose} />}
      </div>
      {open.has("original") && <PdfPanel name={fileOf(doc.uri)} page={pageAt(pages, marked?.start ?? sight.start)} />}
    </div>
  );
}

/** What has room beside the text. */
const beside = (): ReadonlySet<Panel> =>
  new Set(matchMedia("(min-width: 100rem)").matches ? ["outline", "statements"] : matchMedia("(min-width: 80rem)").matches ? ["statements"] : []);

const NO_PAGES: readonly PageStart[] = [];
const NO_HEADINGS: readonly Heading[] = [];
const NO_VERBATIM: readonly Verbatim[] = [];

/** Return where one came from, if a document can be opened from there, else the list. */
function wayBack(): { view: string; href: string } {
  const { view } = parse(cameFrom.value);
  const known = cameFrom.value !== "" && Object.hasOwn(texts.document.back, view);
  return known ? { view, href: cameFrom.value } : { view: "documents", href: to("documents") };
}

const pageAt = (pages: readonly PageStart[], offset: number) => pages.findLast((p) => p.start <= offset)?.number ?? 1;

function Details({ doc }: { doc: Doc }) {
  const metadata = Object.entries(doc.metadata).map(([name, value]) => [name, String(value)] as const);
  return (
    <section class="card details" aria-label={texts.document.metadata}>
      <Facts
        rows={[
          ["uri", doc.uri],
          [texts.document.namespace, doc.namespace],
          [texts.document.version, `${doc.version}. ${texts.document.versionNote}`],
          [texts.document.chunks, number(doc.chunks)],
          ...metadata,
        ]}
      />
    </section>
  );
}

interface OutlineProps {
  doc: Doc;
  waiting: boolean; // for headings and pages
  headings: readonly Heading[];
  pages: readonly PageStart[];
  sight: Stretch;
  onChoose: (s: Stretch) => void;
}

const ONE_LINE = 26; // characters, about

interface Entry {
  title: string;
  level: number;
  start: number;
  end: number;
}

/** Headings where the document has some, else its topics; and pages where there are neither. */
function Outline({ doc, waiting, headings, pages, sight, onChoose }: OutlineProps) {
  const topics = useResource((signal) => allTopics(doc.id, signal), [doc.id, doc.version]);
  const entries = useMemo<Entry[]>(() => {
    if (waiting) return [];
    if (headings.length > 1) return headings.map((h) => ({ title: h.text, level: h.level, start: h.start, end: h.start + Array.from(h.text).length }));
    if (topics.data?.length) return topics.data.map((t) => ({ title: shortened(t.title, doc.title), level: 1, start: t.start, end: t.end }));
    return pages.map((p) => ({ title: texts.document.page(p.number), level: 1, start: p.start, end: p.start + 1 }));
  }, [waiting, headings, topics.data, pages, doc.title]);
  const current = entries.findLastIndex((e) => e.start <= sight.start);
  const top = Math.min(...entries.map((e) => e.level), 9);
  if (!entries.length) return <aside class="side outline" aria-label={texts.document.outline}>{(waiting || topics.loading) && <Loading />}</aside>;
  return (
    <aside class="side outline" aria-label={texts.document.outline}>
      <h2 class="small-heading">{texts.document.outline}</h2>
      <VirtualList
        items={entries}
        rowHeight={entries.some((e) => e.title.length > ONE_LINE) ? 44 : 34}
        label={texts.document.outline}
        keyOf={(e, i) => `${e.start}-${i}`}
        show={current}
        row={(e, i) => (
          <button type="button" class={`outline-row level-${Math.min(e.level - top, 4)}`} aria-current={i === current ? "location" : undefined} title={e.title} onClick={() => onChoose(e)}>
            <span>{e.title}</span>
          </button>
        )}
      />
    </aside>
  );
}

// a topic without headings is called after its document, which is known here
const shortened = (topic: string, title: string) => (topic.startsWith(`${title}: `) ? topic.slice(title.length + 2) : topic.split(" > ").at(-1)!);

async function allTopics(id: string, signal: AbortSignal): Promise<Schema["TopicList"]["topics"][number][]> {
  const found: Schema["TopicList"]["topics"][number][] = [];
  let cursor: string | null = "";
  while (cursor !== null && found.length < 2_000) {
    const page: Schema["TopicList"] = await get("/documents/{document_id}/topics", { path: { document_id: id }, query: { cursor, limit: 200 }, signal });
    found.push(...page.topics);
    cursor = page.next ?? null;
  }
  return found;
}

/** The statements of what is in sight. */
function Statements({ doc, sight, marked, onChoose }: { doc: Doc; sight: Stretch; marked: Stretch | null; onChoose: (s: Stretch) => void }) {
  const found = useResource(
    (signal) => get("/documents/{document_id}/statements", { path: { document_id: doc.id }, query: { start: sight.start, end: sight.end, limit: 60 }, signal }),
    [doc.id, doc.version, sight.start, sight.end],
  );
  const panel = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const card = panel.current!.querySelector<HTMLElement>(".lit");
    if (card) panel.current!.scrollTop = card.offsetTop - 60;
  }, [found.data, marked]);
  return (
    <aside class="side statements" aria-label={texts.document.statements}>
      <h2 class="small-heading">{texts.document.statementsHere}</h2>
      <div class="side-scroll" ref={panel} tabIndex={0} role="region" aria-label={texts.document.statementsHere}>
        {found.error && <Failure error={found.error} retry={found.reload} />}
        {found.data?.statements.length === 0 && <p class="faint small">{texts.document.noStatements}</p>}
        <ul class="plain cards">
          {found.data?.statements.map((s) => {
            const here = marked !== null && s.start < marked.end && s.end > marked.start;
            return (
              <li key={s.id}>
                <StatementCard statement={s} lit={here} onChoose={() => onChoose(s)} />
              </li>
            );
          })}
        </ul>
      </div>
    </aside>
  );
}

function Delete({ doc }: { doc: Doc }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [state, setState] = useState<{ busy: boolean; error?: ReturnType<typeof asApiError> }>({ busy: false });
  const title = doc.title || fileOf(doc.uri);
  const run = () => {
    setState({ busy: true });
    remove("/documents/{document_id}", { path: { document_id: doc.id } }).then(
      (reply) => gone(doc, reply.removed ? texts.document.deleted(title) : texts.document.deleteLater),
      (error: unknown) => setState({ busy: false, error: asApiError(error) }),
    );
  };
  return (
    <>
      <button type="button" class="quiet danger" onClick={() => dialog.current!.showModal()}>
        {texts.document.delete}
      </button>
      <dialog ref={dialog} aria-labelledby="delete-title">
        <h2 id="delete-title">{texts.document.deleteTitle}</h2>
        <p>{texts.document.deleteText(title)}</p>
        {state.error && <Failure error={state.error} />}
        <div class="row dialog-row">
          <button type="button" class="quiet" autofocus onClick={() => dialog.current!.close()}>
            {texts.common.cancel}
          </button>
          <button type="button" class="danger" disabled={state.busy} onClick={run}>
            {state.busy ? texts.document.deleting : texts.document.delete}
          </button>
        </div>
      </dialog>
    </>
  );
}
