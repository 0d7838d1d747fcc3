/**
 * The text of a document, of any length: fetched in pages as they come into sight, and laid out by the browser only
 * where it is seen (`content-visibility`), so that a find of the browser still works on what has been fetched.
 */
import { Component } from "preact";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, type ApiError } from "../api/client";
import { Failure, Loading, flags } from "../parts/basics";
import { asApiError } from "../resource";
import { texts } from "../texts";
import { blocksOf, segments, type Block, type Heading, type Stretch, type Verbatim } from "./blocks";

export type { Heading };

export interface PageStart {
  number: number;
  start: number;
}

interface Props {
  id: string;
  characters: number;
  version: number;
  marked: Stretch | null;
  headings: readonly Heading[];
  pages: readonly PageStart[];
  verbatim: readonly Verbatim[];
  onSight: (range: Stretch) => void;
}

const PAGE = 40_000;
const LINE_HEIGHT = 26;
const LINE = 60; // characters of a line, about

export function DocumentText({ id, characters, version, marked, headings, pages, verbatim, onSight }: Props) {
  const [loaded, setLoaded] = useState<ReadonlyMap<number, string>>(new Map());
  const [error, setError] = useState<ApiError | null>(null);
  const asked = useRef(new Set<number>());
  const count = Math.max(1, Math.ceil(characters / PAGE));
  const root = useRef<HTMLDivElement>(null);

  useEffect(() => {
    asked.current.clear();
    setLoaded(new Map());
    setError(null);
  }, [id, version]);

  const load = useCallback(
    (page: number) => {
      if (page < 0 || page >= count || asked.current.has(page)) return;
      asked.current.add(page);
      get("/documents/{document_id}/text", { path: { document_id: id }, query: { start: page * PAGE, limit: PAGE } }).then(
        (reply) => setLoaded((before) => new Map(before).set(page, reply.text)),
        (failed: unknown) => {
          asked.current.delete(page);
          setError(asApiError(failed));
        },
      );
    },
    [id, version, count],
  );

  const first = Math.floor((marked?.start ?? 0) / PAGE);
  useEffect(() => {
    load(first);
    if (marked) load(Math.floor(Math.max(marked.start, marked.end - 1) / PAGE));
  }, [load, first, marked?.end]);

  const cuts = useMemo(() => pages.map((p) => p.start), [pages]);
  const runs = useMemo(() => runsOf(loaded, count, cuts), [loaded, count, cuts]);
  useSight(root, runs, load, onSight);

  // the stretch comes into sight once it is there, and again when another one is chosen
  const there = marked !== null && loaded.has(first);
  const shown = useRef("");
  useLayoutEffect(() => {
    const key = `${id} ${marked?.start} ${marked?.end}`;
    const mark = root.current?.querySelector<HTMLElement>("mark");
    if (!there || shown.current === key || !mark) return;
    // the first one is what the reader came for: the focus is on the heading then
    if (shown.current) mark.focus({ preventScroll: true });
    shown.current = key;
    keepInSight(root.current!);
  });

  const numbers = useMemo(() => new Map(pages.map((p) => [p.start, p.number])), [pages]);
  if (error) return <Failure error={error} retry={() => (setError(null), load(first))} />;
  return (
    <div class="text" ref={root}>
      {runs.map((run) =>
        "blocks" in run ? (
          run.blocks.map((block) => (
            <Shown key={block.start} block={block} marked={overlaps(block, marked)} page={numbers.get(block.start)} headings={headings} verbatim={verbatim} />
          ))
        ) : (
          <div key={`page-${run.page}`} class="unread" data-page={run.page} style={{ height: `${(PAGE / LINE) * LINE_HEIGHT}px` }}>
            <Loading />
          </div>
        ),
      )}
    </div>
  );
}

const SETTLED = 2_000;

/** Bring the mark into sight, and again while what is around it takes its real height, unless the reader moves on. */
function keepInSight(root: HTMLElement): void {
  const sizes = new ResizeObserver(() => root.querySelector("mark")?.scrollIntoView({ block: "center" }));
  const left = new AbortController();
  const leave = () => {
    sizes.disconnect();
    left.abort();
  };
  for (const name of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(name, leave, { signal: left.signal, passive: true });
  setTimeout(leave, SETTLED);
  sizes.observe(root);
}

type Run = { blocks: Block[] } | { page: number };

function runsOf(loaded: ReadonlyMap<number, string>, count: number, cuts: readonly number[]): Run[] {
  const runs: Run[] = [];
  let text = "";
  let start = 0;
  const close = () => {
    if (text) runs.push({ blocks: blocksOf(text, start, cuts) });
    text = "";
  };
  for (let page = 0; page < count; page++) {
    const found = loaded.get(page);
    if (found === undefined) {
      close();
      runs.push({ page });
    } else {
      if (!text) start = page * PAGE;
      text += found;
    }
  }
  close();
  return runs;
}

/** Watch what is in sight: pages that come near are fetched, and the range that is read is told. */
function useSight(root: { current: HTMLDivElement | null }, runs: readonly Run[], load: (page: number) => void, onSight: (range: Stretch) => void): void {
  useEffect(() => {
    const near = new IntersectionObserver(
      (entries) => {
        for (const e of entries) if (e.isIntersecting) load(Number((e.target as HTMLElement).dataset.page));
      },
      { rootMargin: "1200px" },
    );
    const seen = new Map<Element, Stretch>();
    let timer = 0;
    const sight = new IntersectionObserver((entries) => {
      for (const e of entries) {
        const { start, end } = (e.target as HTMLElement).dataset;
        if (e.isIntersecting) seen.set(e.target, { start: Number(start), end: Number(end) });
        else seen.delete(e.target);
      }
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (!seen.size) return;
        const all = [...seen.values()];
        onSight({ start: Math.min(...all.map((s) => s.start)), end: Math.max(...all.map((s) => s.end)) });
      }, 150);
    });
    for (const at of root.current?.querySelectorAll(".unread") ?? []) near.observe(at);
    for (const at of root.current?.querySelectorAll(".block") ?? []) sight.observe(at);
    return () => {
      near.disconnect();
      sight.disconnect();
      clearTimeout(timer);
    };
  }, [runs, load, onSight]);
}

const overlaps = (block: Block, marked: Stretch | null) => (marked && marked.start < block.end && marked.end > block.start ? marked : null);

interface ShownProps {
  block: Block;
  marked: Stretch | null;
  page: number | undefined;
  headings: readonly Heading[];
  verbatim: readonly Verbatim[];
}

/** Each line of a table as a row; the text stays what it is. */
const rows = (text: string) =>
  text.split(/(?<=\n)/).map((line, i) => (
    <span key={i} class="table-row">
      {line}
    </span>
  ));

/** One block. It is drawn anew only when its marks change: of a long text there are a thousand. */
class Shown extends Component<ShownProps> {
  override shouldComponentUpdate(next: ShownProps): boolean {
    const { block, marked, page, headings, verbatim } = this.props;
    return next.block.text !== block.text || next.marked !== marked || next.page !== page || next.headings !== headings || next.verbatim !== verbatim;
  }

  override render({ block, marked, page, headings, verbatim }: ShownProps) {
    const within = headings.filter((h) => h.start >= block.start && h.start < block.end);
    return (
      <div class="block" data-start={block.start} data-end={block.end}>
        {page !== undefined && (
          <p class="page-mark" id={`page-${page}`}>
            {texts.document.page(page)}
          </p>
        )}
        {segments(block, marked, within, verbatim).map((s, i) => {
          const text = s.heading ? <strong key={i}>{s.text}</strong> : s.verbatim === "code" ? <code key={i}>{s.text}</code> : s.verbatim === "table" ? rows(s.text) : flags(s.text);
          return s.marked ? (
            <mark key={i} tabIndex={-1}>
              {text}
            </mark>
          ) : (
            text
          );
        })}
      </div>
    );
  }
}
