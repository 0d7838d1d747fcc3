/** Why something was found: its reason, the path that led there, and what its score is made of. */
import { to } from "../router";
import { texts } from "../texts";

export interface Found {
  reason: string;
  path?: readonly string[];
  path_ids?: readonly string[];
  parts?: Readonly<Record<string, number>>;
}

type Group = keyof typeof texts.why.groups;
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

/** Return how much each group of parts adds; what takes away is in none. */
export function sums(parts: Readonly<Record<string, number>>): Record<Group, number> {
  const total: Record<Group, number> = { meaning: 0, words: 0, graph: 0, other: 0 };
  for (const [name, value] of Object.entries(parts)) if (value > 0) total[GROUPS[name] ?? "other"] += value;
  return total;
}

export const added = (parts: Readonly<Record<string, number>>) => Object.values(sums(parts)).reduce((a, b) => a + b, 0);

/** A bar as long as the score, against the best of its list. */
export function ScoreBar({ parts, most }: { parts: Readonly<Record<string, number>>; most: number }) {
  const total = sums(parts);
  const told = ORDER.filter((g) => total[g] > 0).map((g) => `${texts.why.groups[g]} ${total[g].toFixed(2)}`);
  if (!told.length) return null;
  return (
    <div class="score" role="img" aria-label={`${texts.why.score}: ${told.join(", ")}`}>
      {ORDER.map((g) => total[g] > 0 && <span key={g} class={`part ${g}`} style={{ width: `${(100 * total[g]) / (most || 1)}%` }} />)}
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

export function Path({ path = [], path_ids = [] }: Found) {
  if (!path.length) return null;
  return (
    <p class="path">
      <span class="faint">{texts.why.pathFrom}</span>
      {path.map((name, i) => (
        <span key={i}>
          <span class="arrow" aria-label="→" role="img" />
          {path_ids[i]?.startsWith("entity:") ? <a href={to("entity", path_ids[i])}>{name}</a> : name}
        </span>
      ))}
    </p>
  );
}

export function Why(found: Found) {
  const parts = Object.entries(found.parts ?? {}).filter(([, value]) => Math.abs(value) >= 0.0005);
  return (
    <details class="why">
      <summary>{texts.why.title}</summary>
      <p>{texts.why.reasons[found.reason] ?? found.reason}.</p>
      {parts.length > 0 && (
        <table class="parts">
          <tbody>
            {parts
              .sort(([, a], [, b]) => b - a)
              .map(([name, value]) => (
                <tr key={name}>
                  <th scope="row">{texts.why.parts[name] ?? name}</th>
                  <td class="figure">{`${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`}</td>
                </tr>
              ))}
          </tbody>
        </table>
      )}
    </details>
  );
}

