/** One answer with its sources. */
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Failure, Loading, Notice, fileOf, sentence } from "../parts/basics";
import { Legend, Path, ScoreBar, Why, added } from "../parts/why";
import { to } from "../router";
import { texts } from "../texts";
import type { Answer, Asking, Source } from "./answer";
import { blocks, type Piece } from "./blocks";
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
const NOTE = "Extractive answer (no language model configured): the statements below are quoted from the sources.";
// the page says these in its own way
const OPENINGS = new Set([NOTE, "Not found in these documents.", "The nearest statements, which do not seem to answer the question:"]);

export function AnswerPane({ asking, search, comparing, others, children }: Props) {
  const { answer } = asking;
  const [lit, setLit] = useState("");
  const anchor = (label: string) => `source-${search}-${label}`;
  const show = (label: string) => {
    setLit(label);
    const card = document.getElementById(anchor(label));
    card?.scrollIntoView({ block: "nearest", behavior: "smooth" });
    card?.focus({ preventScroll: true });
  };
  return (
    <div class="pane">
      <section class="answer card" aria-labelledby={`answer-${search}`} aria-busy={answer.running}>
        <header class="row spread">
          <h2 id={`answer-${search}`}>{comparing ? texts.retrievers[search].name : texts.ask.answer}</h2>
          {answer.done && <span class="faint small">{told(answer, search, comparing)}</span>}
        </header>
        <AnswerText answer={answer} onLabel={show} />
        {answer.running && <Loading what={answer.text ? texts.ask.writing : texts.ask.answering} />}
        {answer.error && (
          <>
            {answer.text && <p class="faint">{texts.ask.brokenOff}</p>}
            <Failure error={answer.error} retry={asking.again} />
          </>
        )}
        <After answer={answer} comparing={comparing} />
        {answer.done && children}
      </section>
      {(answer.sources.length > 0 || answer.done) && (
        <section class="sources" aria-label={comparing ? `${texts.ask.sources}: ${texts.retrievers[search].name}` : texts.ask.sources}>
          <header class="row spread">
            <h2>{texts.ask.sources}</h2>
            <Legend />
          </header>
          <Sources answer={answer} lit={lit} others={others} anchor={anchor} />
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

function AnswerText({ answer, onLabel }: { answer: Answer; onLabel: (label: string) => void }) {
  const labels = useMemo(() => new Set(answer.sources.map((s) => s.label)), [answer.sources]);
  const text = useMemo(() => withoutOpening(answer.text), [answer.text]);
  const found = useMemo(() => blocks(text, labels), [text, labels]);
  const nothing = answer.done && answer.sources.length === 0;
  return (
    <>
      {answer.done?.rewritten && (
        <p class="faint small">
          {texts.ask.rewritten}: {answer.done.rewritten}
        </p>
      )}
      {nothing ? (
        <Notice kind="warn" title={texts.ask.notFound}>
          {texts.ask.nothing}
        </Notice>
      ) : (
        answer.done &&
        !answer.done.answerable && (
          <Notice kind="warn" title={texts.ask.notFound}>
            <p>{texts.ask.notFoundWhy}</p>
            {answer.done.warnings.filter((w) => w.type === WEAK).map((w) => <p>{sentence(w.detail)}</p>)}
          </Notice>
        )
      )}
      {!(nothing && answer.done?.extractive) && (
        <div class="prose" aria-live="polite">
          {found.map((block, i) => (block.kind === "code" ? <pre key={i}>{block.text}</pre> : <p key={i}>{block.pieces.map((p, j) => piece(p, j, answer.sources, onLabel))}</p>))}
        </div>
      )}
      {answer.done?.extractive && !nothing && <p class="faint small">{texts.ask.extractive}</p>}
    </>
  );
}

function withoutOpening(answer: string): string {
  const lines = answer.split("\n");
  while (lines.length && (OPENINGS.has(lines[0]!.trim()) || !lines[0]!.trim())) lines.shift();
  return lines.join("\n");
}

function piece(p: Piece, at: number, sources: readonly Source[], onLabel: (label: string) => void) {
  if ("text" in p) return p.text;
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

function After({ answer, comparing }: { answer: Answer; comparing: boolean }) {
  const done = answer.done;
  if (!done) return null;
  const warnings = done.warnings.filter((w) => !QUIET.has(w.type) && (w.type !== WEAK || done.answerable));
  return (
    <>
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
      {!comparing && done.entities.length > 0 && (
        <div class="named">
          <h3 class="small-heading">{texts.ask.entities}</h3>
          <ul class="chips">
            {done.entities.slice(0, 12).map((e) => (
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

interface SourcesProps {
  answer: Answer;
  lit: string;
  others: ReadonlySet<string> | undefined;
  anchor: (label: string) => string;
}

function Sources({ answer, lit, others, anchor }: SourcesProps) {
  const cited = new Set(answer.done?.references.map((r) => r.label));
  const most = Math.max(...answer.sources.map((s) => added(s.parts ?? {})), 0);
  if (!answer.sources.length) return <p class="faint">{texts.ask.noSources}</p>;
  return (
    <ol class="plain cards">
      {answer.sources.map((s) => (
        <SourceCard
          key={s.label}
          source={s}
          id={anchor(s.label)}
          lit={lit === s.label}
          cited={cited.has(s.label)}
          most={most}
          only={others !== undefined && s.statement_id !== "" && !others.has(s.statement_id)}
        />
      ))}
    </ol>
  );
}

interface CardProps {
  source: Source;
  id: string;
  lit: boolean;
  cited: boolean;
  only: boolean;
  most: number;
}

function SourceCard({ source: s, id, lit, cited, only, most }: CardProps) {
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
      {s.kind === "prose" ? <blockquote>{s.text}</blockquote> : <pre>{s.text}</pre>}
      <p class="faint small place">{s.uri ? `${fileOf(s.uri)}, ${texts.characters(s.start, s.end)}` : texts.ask.external}</p>
      <ScoreBar parts={s.parts ?? {}} most={most} />
      <Path {...s} />
      <Why {...s} />
    </li>
  );
}
