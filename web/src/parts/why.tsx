/** Why something was found: which search found it, the path that led there, and what its score is made of. */
import type { ComponentChildren } from "preact";
import type { Schema } from "../api/client";
import { to } from "../router";
import { texts } from "../texts";

type Source = Schema["SourceReply"];
export type Found = Pick<Source, "reason" | "rel_type" | "path" | "path_ids" | "path_relations" | "ranks" | "parts">;

type Group = keyof typeof texts.why.groups;
type Parts = Readonly<Record<string, number>>;
const GROUPS: Record<string, Group> = {
  vector: "meaning",
  likeness: "meaning",
  general: "meaning",
  base: "meaning",
  bm25: "words",
  words: "words",
  coverage: "words",
  title: "words",
  entity: "graph",
  relation: "graph",
  path: "graph",
  link: "graph",
  graph_rank: "graph",
  topical: "graph",
};
const ORDER: readonly Group[] = ["meaning", "words", "graph", "other"];
// what a search found itself: its ranks say more
const SEARCHED = new Set(["vector", "bm25", "chunk", "statement", "semantic", "keyword"]);

/** Return how much each group of parts adds; what takes away is in none. */
function sums(parts: Parts): Record<Group, number> {
  const total: Record<Group, number> = { meaning: 0, words: 0, graph: 0, other: 0 };
  for (const [name, value] of Object.entries(parts)) if (value > 0) total[GROUPS[name] ?? "other"] += value;
  return total;
}

interface ScoreProps {
  parts: Parts;
  score: number;
  /** Nothing in the list answers. */
  weak: boolean;
}

/** A bar as long as the score, of a whole that is 1, in the colours of what adds to it. */
export function ScoreBar({ parts, score, weak }: ScoreProps) {
  const total = sums(parts);
  const groups = ORDER.filter((g) => total[g] > 0);
  if (!groups.length) return null;
  const whole = groups.reduce((sum, g) => sum + total[g], 0);
  const told = `${texts.why.match(score)}${weak ? `, ${texts.why.notEnough}` : ""}: ${groups.map((g) => texts.why.groups[g]).join(", ")}`;
  return (
    <div class="score-line" title={texts.why.scoreMeans}>
      <div class={weak ? "score weak" : "score"} role="img" aria-label={told}>
        {groups.map((g) => (
          <span key={g} class={`part ${g}`} style={{ width: `${(100 * Math.min(1, score) * total[g]) / whole}%` }} />
        ))}
      </div>
      <span class="faint small" aria-hidden="true">
        {texts.why.match(score)}
      </span>
    </div>
  );
}

export function Legend() {
  return (
    <ul class="legend" aria-hidden="true">
      {ORDER.map((g) => (
        <li key={g}>
          <span class={`part ${g}`} />
          {texts.why.groups[g]}
        </li>
      ))}
    </ul>
  );
}

/** Whether a reader can follow a path: the question or the words found have each name, or a relation says how it is reached. */
export function followed({ path = [], path_relations = [], text, title }: Source, question: string): boolean {
  const read = `${question}\n${text}\n${title}`.toLowerCase().replace(/\s+/g, " ");
  const stated = (i: number) => Boolean(path_relations[i - 1]?.label || path_relations[i]?.label);
  return path.length > 0 && path.every((name, i) => read.includes(name.toLowerCase()) || stated(i));
}

type Relation = NonNullable<Source["path_relations"]>[number];

/** The names that lead from the question to a source, with what is said of each two of them. */
export function Path({ path = [], path_ids = [], path_relations = [] }: Found) {
  if (!path.length) return null;
  return (
    <p class="path">
      <span class="faint">{texts.why.pathFrom}</span>
      {path.map((name, i) => (
        <span key={i}>
          <Arrow relation={i > 0 ? path_relations[i - 1] : undefined} />
          {path_ids[i]?.startsWith("entity:") ? <a href={to("entity", path_ids[i])}>{name}</a> : name}
        </span>
      ))}
      <Arrow relation={undefined} />
      <span class="faint">{texts.why.pathTo}</span>
    </p>
  );
}

function Arrow({ relation }: { relation: Relation | undefined }) {
  if (!relation?.label) return <span class="arrow" aria-label="→" role="img" />;
  return (
    <span class="relation">
      {relation.reverse ? <span class="arrow back" aria-label="←" role="img" /> : <span class="dash" />}
      {relation.label}
      {relation.reverse ? <span class="dash" /> : <span class="arrow" aria-label="→" role="img" />}
    </span>
  );
}

/** One sentence; how the search came to it and what its score is made of only when asked for. */
export function Why(found: Found & { followed: boolean }) {
  return (
    <details class="why">
      <summary>{texts.why.title}</summary>
      <p>{inShort(found)}</p>
      <details class="why-more">
        <summary>{texts.why.details}</summary>
        <ul>
          {ways(found).map((way, i) => (
            <li key={i}>{way}</li>
          ))}
        </ul>
        <PartsTable parts={found.parts ?? {}} />
      </details>
    </details>
  );
}

const WEIGHTY = 0.2; // of the whole: a group worth a word

/** Return in one sentence what speaks for a source most. */
function inShort({ reason, parts = {} }: Found): string {
  const total = sums(parts);
  const whole = ORDER.reduce((sum, g) => sum + total[g], 0);
  const groups = (["meaning", "words", "graph"] as const).filter((g) => total[g] > WEIGHTY * whole).sort((a, b) => total[b] - total[a]);
  return groups.length ? texts.why.short(groups.map((g) => texts.why.speaks[g])) : `${texts.why.reasons[reason] ?? texts.why.short([])}.`;
}

/** Return how the search came to a source, a sentence each. */
function ways({ reason, rel_type, path = [], path_relations = [], ranks = {}, followed }: Found & { followed: boolean }): ComponentChildren[] {
  const searches = Object.entries(ranks).map(([search, rank]) => texts.why.ranked(texts.why.searches[search] ?? search, rank));
  const known = searches.length > 0 && SEARCHED.has(reason);
  const stated = path_relations.flatMap((r, i) => (r.label ? [r.reverse ? `${path[i + 1]} ${r.label} ${path[i]}` : `${path[i]} ${r.label} ${path[i + 1]}`] : []));
  return [
    ...searches,
    ...(known ? [] : [`${texts.why.reasons[reason] ?? reason}.`]),
    ...(followed ? [texts.why.linked(path)] : []),
    ...stated.map(texts.why.stated),
    ...(rel_type ? [texts.why.related(rel_type)] : []),
  ];
}

const shown = (value: number) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;

/** What a score is made of: each part with what it means, and their sum. */
function PartsTable({ parts }: { parts: Parts }) {
  const rows = Object.entries(parts)
    .map(([name, value]) => [name, Math.round(value * 1000) / 1000] as const)
    .filter(([, value]) => value !== 0)
    .sort(([, a], [, b]) => b - a);
  if (!rows.length) return null;
  const total = rows.reduce((sum, [, value]) => sum + value, 0);
  return (
    <table class="parts">
      <caption class="hidden">{texts.why.partsOf}</caption>
      <tbody>
        {rows.map(([name, value]) => {
          const [label, meaning] = texts.why.parts[name] ?? [name.replaceAll("_", " "), ""];
          return (
            <tr key={name}>
              <th scope="row">
                {label}
                {meaning && <span class="faint">{meaning}</span>}
              </th>
              <td class="figure">{shown(value)}</td>
            </tr>
          );
        })}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">
            {texts.why.score}
            <span class="faint">{texts.why.scoreMeans}</span>
          </th>
          <td class="figure">{total.toFixed(3)}</td>
        </tr>
      </tfoot>
    </table>
  );
}
