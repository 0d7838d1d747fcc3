/** One answer with its sources. */
import type { ComponentChildren } from "preact";
import { useMemo, useRef, useState } from "preact/hooks";
import { Failure, Folded, Loading, Notice, fileOf, flags, sentence } from "../parts/basics";
import { Nothing } from "../parts/start";
import { Legend, Path, ScoreBar, Why, followed } from "../parts/why";
import { to } from "../router";
import { texts } from "../texts";
import { standing, type Answer, type Asking, type Done, type Source } from "./answer";
import { blocks, type Piece } from "./blocks";
import { flat, quotes, usePlaces, type Place, type Places } from "./places";
import type { SearchName } from "./query";

interface Props {
  asking: Asking;
  search: SearchName;
  comparing: boolean;
  /** Statements that the other search found; absent while there is none to compare with. */
  others: ReadonlySet<string> | undefined;
  /** What can be done with the answer, once it is there. */
  children?: ComponentChildren;
}

// an answer need not use all that it was offered
const QUIET = new Set(["unused_sources"]);
const WEAK = "weak_match";
export const NOTE = "Extractive answer (no language model configured): the statements below are quoted from the sources.";
// the page says these in its own way
const NOT_FOUND = "Not found in these documents. The nearest statements, which do not seem to answer the question:";
const FALLBACK = "Extractive answer (the language model is unavailable): the statements below are quoted from the sources.";
const OPENINGS = new Set([NOTE, FALLBACK, NOT_FOUND]);
const LINES = 12; // of quoted code, before it is asked for more
const FIRST = 8; // sources shown of an answer that cites none of them, or not yet

export function AnswerPane({ asking, search, comparing, others, children }: Props) {
  const { answer } = asking;
  const [lit, setLit] = useState("");
  const [all, setAll] = useState(false);
  const cited = citedBy(answer);
  const [shown, rest] = useMemo(() => parted(answer.sources, cited), [answer.sources, cited]);
  const places = usePlaces(shown);
  const folded = useRef<HTMLDetailsElement>(null);
  const none = answer.done !== undefined && standing(answer.done) === "none";
  const anchor = (label: string) => `source-${search}-${label}`;
  const show = (label: string) => {
    setLit(label);
    if (folded.current) folded.current.open = true;
    const card = document.getElementById(anchor(label));
    card?.scrollIntoView({ block: "nearest", behavior: "smooth" });
    card?.focus({ preventScroll: true });
  };
  const cards = { answer, places, lit, others, anchor };
  const list = (
    <>
      <Sources {...cards} sources={shown} />
      {answer.done && rest.length > 0 && (
        <details class="rest" onToggle={(e) => setAll(e.currentTarget.open)}>
          <summary>{texts.ask.uncited(rest.length)}</summary>
          {all && <Sources {...cards} sources={rest} />}
        </details>
      )}
    </>
  );
  return (
    <div class={none ? "pane unanswered" : "pane"}>
      <section class="answer card" aria-labelledby={`answer-${search}`} aria-busy={answer.running}>
        <header class="row spread">
          <div class="row">
            <h2 id={`answer-${search}`}>{comparing ? texts.retrievers[search].name : none ? texts.ask.notFoundHead : texts.ask.answer}</h2>
            {answer.done && answer.sources.length > 0 && <Confidence done={answer.done} />}
          </div>
          {answer.done && <span class="faint small">{told(answer, search, comparing)}</span>}
        </header>
        <AnswerText answer={answer} places={places} onLabel={show} />
        {answer.running && <Loading what={answer.text ? texts.ask.writing : texts.ask.answering} />}
        {answer.error && (
          <>
            {answer.text && <p class="faint">{texts.ask.brokenOff}</p>}
            <Failure error={answer.error} retry={asking.again} />
          </>
        )}
        <After answer={answer} comparing={comparing} named={rest.length ? namedIn(shown, answer.done) : answer.done?.entities} />
        {answer.done && children}
      </section>
      {(answer.sources.length > 0 || (answer.done && !none)) && (
        <section class="sources" aria-label={comparing ? `${texts.ask.sources}: ${texts.retrievers[search].name}` : texts.ask.sources}>
          {none ? (
            <details ref={folded}>
              <summary>{texts.ask.nearest(answer.sources.length)}</summary>
              {list}
            </details>
          ) : (
            <>
              <header class="row spread">
                <h2>{texts.ask.sources}</h2>
                <Legend />
              </header>
              {list}
            </>
          )}
        </section>
      )}
    </div>
  );
}

function told(answer: Answer, search: SearchName, comparing: boolean): string {
  const total = answer.done!.timings.total;
  return [
    comparing ? texts.ask.sourcesOf(answer.sources.length) : texts.retrievers[search].name,
    total !== undefined && texts.ask.time(total),
    answer.done!.cached && texts.ask.cached,
  ]
    .filter(Boolean)
    .join(" · ");
}

function Confidence({ done }: { done: Done }) {
  return (
    <span class={`confidence ${standing(done)}`} title={texts.ask.confidenceMeans}>
      {texts.ask.confidence(done.confidence)}
    </span>
  );
}

/** Whether there is an answer, where that is in doubt. */
function Doubt({ done, found }: { done: Done; found: boolean }) {
  if (!found) {
    return (
      <Nothing>
        <Notice kind="warn" title={texts.ask.notFound}>
          {texts.ask.nothing}
        </Notice>
      </Nothing>
    );
  }
  const how = standing(done);
  if (how === "sure") return null;
  if (how === "unsure") return <Notice title={texts.ask.unsure}>{done.extractive ? texts.ask.unsureWhy : texts.ask.unsureWritten}</Notice>;
  // behind the semicolon stands what is missing; the page says the rest itself
  const missing = done.warnings.find((w) => w.type === WEAK)?.detail.split("; ")[1];
  return (
    <Notice kind="warn" title={texts.ask.notFound}>
      <p>{done.extractive ? texts.ask.notFoundWhy : texts.ask.notFoundWritten}</p>
      {missing && <p>{sentence(missing)}.</p>}
    </Notice>
  );
}

/** Without the passages that do not answer: they are listed with the sources. */
const quotesNothing = (done: Done | undefined) => done !== undefined && done.extractive && standing(done) === "none";

export function AnswerText({ answer, places, onLabel }: { answer: Answer; places: Places; onLabel: (label: string) => void }) {
  const titles = useMemo(() => new Map(answer.sources.map((s) => [s.label, s.title])), [answer.sources]);
  const text = useMemo(() => withoutOpening(answer.text), [answer.text]);
  const found = useMemo(() => blocks(text, titles, quotes(places)), [text, titles, places]);
  const pieces = (of: readonly Piece[]) => of.map((p, j) => piece(p, j, answer.sources, onLabel));
  const nothing = answer.done && answer.sources.length === 0;
  return (
    <>
      {answer.done?.rewritten && (
        <p class="faint small">
          {texts.ask.rewritten}: <Folded text={answer.done.rewritten} />
        </p>
      )}
      {answer.done && <Doubt done={answer.done} found={!nothing} />}
      {!quotesNothing(answer.done) && (
        <div class="prose" aria-live="polite">
          {found.map((block, i) =>
            block.kind === "text" ? (
              <p key={i}>{pieces(block.pieces)}</p>
            ) : (
              <figure key={i}>
                {block.caption.length > 0 && <figcaption>{pieces(block.caption)}</figcaption>}
                <Code text={block.text} />
              </figure>
            ),
          )}
        </div>
      )}
    </>
  );
}

const failed = (done: Done) => done.warnings.some((w) => w.type === "model_unavailable");

/** Quoted code; of much of it only the beginning at first. */
function Code({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const lines = text.split("\n");
  const folded = lines.length > LINES + 3;
  return (
    <>
      <pre>{folded && !whole ? lines.slice(0, LINES).join("\n") : text}</pre>
      {folded && (
        <button type="button" class="link small" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? texts.ask.fewerLines : texts.ask.allLines(lines.length)}
        </button>
      )}
    </>
  );
}

/** Return an answer without what the page says in its own way. */
export function withoutOpening(answer: string): string {
  const lines = answer.split("\n");
  while (lines.length && (OPENINGS.has(lines[0]!.trim()) || !lines[0]!.trim())) lines.shift();
  return lines.join("\n");
}

function piece(p: Piece, at: number, sources: readonly Source[], onLabel: (label: string) => void) {
  if ("text" in p) return flags(p.text);
  const title = sources.find((s) => s.label === p.label)?.title ?? "";
  return (
    <span key={at} class="together">
      {p.lead}
      <button type="button" class="cite" aria-label={texts.ask.labelled(p.label, title)} title={title} onClick={() => onLabel(p.label)}>
        {p.label}
      </button>
    </span>
  );
}

/** Return those of an answer's entities that the sources shown name. */
function namedIn(shown: readonly Source[], done: Done | undefined) {
  const read = shown.map((s) => `${s.title} ${s.resolved || s.text}`).join("\n").toLowerCase();
  return done?.entities.filter((e) => read.includes(e.name.toLowerCase()));
}

function After({ answer, comparing, named = [] }: { answer: Answer; comparing: boolean; named?: Done["entities"] | undefined }) {
  const done = answer.done;
  if (!done) return null;
  const warnings = done.warnings.filter((w) => !QUIET.has(w.type) && (w.type !== WEAK || done.answerable));
  return (
    <>
      {done.extractive && standing(done) !== "none" && <p class="faint small">{failed(done) ? texts.ask.extractiveDown : texts.ask.extractive}</p>}
      {done.unsupported.length > 0 && (
        <Notice kind="warn" title={texts.ask.unsupported}>
          <ul>
            {done.unsupported.map((u, i) => (
              <li key={i}>
                “{u.sentence}” <span class="faint">{u.reason}</span>
              </li>
            ))}
          </ul>
        </Notice>
      )}
      {warnings.length > 0 && (
        <Notice title={texts.ask.warnings}>
          {warnings.length === 1 ? (
            <p>{sentence(warnings[0]!.detail)}</p>
          ) : (
            <ul>
              {warnings.map((w, i) => (
                <li key={i}>{sentence(w.detail)}</li>
              ))}
            </ul>
          )}
        </Notice>
      )}
      {!comparing && standing(done) !== "none" && named.length > 0 && (
        <div class="named">
          <h3 class="small-heading">{texts.ask.entities}</h3>
          <ul class="chips">
            {named.slice(0, 12).map((e) => (
              <li key={e.name}>
                <a class="chip" href={e.id ? to("entity", e.id) : to("entities", "", { q: e.name })}>
                  {e.name} <span class="faint">{e.freq}</span>
                </a>
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

/** Return the labels that an answer cites, between blanks; those of its text so far while it is written. */
const citedBy = ({ done, text }: Answer) => [...new Set(done ? done.references.map((r) => r.label) : text.match(/\bS\d+\b/g))].join(" ");

/** Part the sources into those that the answer cites and the rest: a language model is offered hundreds. */
function parted(sources: readonly Source[], cited: string): [Source[], Source[]] {
  const labels = new Set(cited.split(" "));
  const first = cited ? sources.filter((s) => labels.has(s.label)) : sources.slice(0, FIRST);
  return [first, sources.filter((s) => !first.includes(s))];
}

interface SourcesProps {
  answer: Answer;
  sources: readonly Source[];
  places: Places;
  lit: string;
  others: ReadonlySet<string> | undefined;
  anchor: (label: string) => string;
}

function Sources({ answer, sources, places, lit, others, anchor }: SourcesProps) {
  const cited = new Set(answer.done?.references.map((r) => r.label));
  const files = filesOf(answer.sources);
  // quoted in the answer beside it: there it is read
  const said = answer.done && !quotesNothing(answer.done) ? flat(answer.text) : "";
  if (!answer.sources.length) return <p class="faint">{texts.ask.noSources}</p>;
  return (
    <ol class="plain cards">
      {sources.map((s) => (
        <SourceCard
          key={s.label}
          source={s}
          id={anchor(s.label)}
          lit={lit === s.label}
          cited={cited.has(s.label)}
          question={answer.done?.rewritten || answer.done?.question || ""}
          weak={answer.done?.answerable === false}
          repeated={said.includes(flat(s.text))}
          file={files.get(s.uri) ?? fileOf(s.uri)}
          place={places.get(s.label)}
          only={others !== undefined && s.statement_id !== "" && !others.has(s.statement_id)}
        />
      ))}
    </ol>
  );
}

/** Return how to name the file of each uri: with its folder where another source has the same title or file name. */
export function filesOf(sources: readonly Source[]): Map<string, string> {
  const alike = (a: Source, b: Source) => a.uri !== b.uri && (a.title === b.title || fileOf(a.uri) === fileOf(b.uri));
  return new Map(
    sources.filter((s) => s.uri).map((s) => {
      const folder = sources.some((other) => alike(s, other)) ? fileOf(s.uri.slice(0, s.uri.lastIndexOf("/"))) : "";
      return [s.uri, folder ? `${folder}/${fileOf(s.uri)}` : fileOf(s.uri)];
    }),
  );
}

/** A file's name; in a narrow place its middle is left out, its beginning and its end tell it from others. */
function FileName({ name }: { name: string }) {
  const end = name.length > 16 ? 8 : 0;
  return (
    <span class="file-name" title={name}>
      <span>{name.slice(0, name.length - end)}</span>
      {end > 0 && <span>{name.slice(-end)}</span>}
    </span>
  );
}

interface CardProps {
  source: Source;
  id: string;
  lit: boolean;
  cited: boolean;
  only: boolean;
  question: string;
  weak: boolean;
  /** The answer beside it quotes it. */
  repeated: boolean;
  file: string;
  place: Place | undefined;
}

function SourceCard({ source: s, id, lit, cited, only, question, weak, repeated, file, place }: CardProps) {
  const path = followed(s, question);
  const said = place?.text ?? s.text;
  // two lines of it, neither of them empty
  const glimpse = repeated && !lit;
  const title = s.title || fileOf(s.uri) || texts.common.noTitle;
  return (
    <li id={id} tabIndex={-1} class={`source${lit ? " lit" : ""}${cited ? " is-cited" : ""}`}>
      <header>
        <span class="label">{s.label}</span>
        {s.document_id ? (
          <a class="title" href={to("document", s.document_id, { at: `${s.start}-${s.end}` })}>
            {title}
          </a>
        ) : (
          <span class="title">{title}</span>
        )}
        {only && (
          <span class="badge" title={texts.ask.onlyHereLong}>
            {texts.ask.onlyHere}
          </span>
        )}
      </header>
      {s.kind === "prose" ? <blockquote class={glimpse ? "repeated" : undefined}>{flags(glimpse ? said.replace(/\n\s*\n/g, "\n") : said)}</blockquote> : <Code text={s.text} />}
      <p class="faint small place">
        {s.uri ? (
          <>
            <FileName name={file} />
            {place && <Where of={place} title={title} />}
          </>
        ) : (
          texts.ask.external
        )}
      </p>
      <ScoreBar parts={s.parts ?? {}} score={s.final_score} weak={weak} />
      {path && <Path {...s} />}
      <Why {...s} followed={path} />
    </li>
  );
}

/** The section and the page, as a reader would look for them. */
function Where({ of, title }: { of: Place; title: string }) {
  const told = whereOf(of, title);
  return told ? <span class="section" title={told}>{`, ${told}`}</span> : null;
}

export function whereOf(of: Place, title: string): string {
  const section = of.section.filter((h) => h !== title).join(" › ");
  return [section, of.page !== null && texts.document.page(of.page)].filter(Boolean).join(", ");
}
