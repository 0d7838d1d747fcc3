/** A statement with its facts. */
import type { Schema } from "../api/client";
import { flags } from "./basics";
import { to } from "../router";
import { texts } from "../texts";

export type Statement = Schema["PlacedStatement"];

interface Props {
  statement: Statement;
  lit?: boolean;
  onChoose?: () => void;
  href?: string;
}

export function StatementCard({ statement: s, lit = false, onChoose, href }: Props) {
  const words = s.kind === "prose" ? <span class="statement-text">{flags(s.text)}</span> : <pre>{s.text}</pre>;
  return (
    <article class={`statement${lit ? " lit" : ""}`} aria-current={lit ? "true" : undefined}>
      {href ? (
        <a class="statement-link" href={href}>
          {words}
        </a>
      ) : (
        <button type="button" class="statement-link" onClick={onChoose}>
          {words}
        </button>
      )}
      {s.facts.length > 0 && (
        <ul class="plain statement-facts" aria-label={texts.document.facts}>
          {s.facts.map((f) => (
            <li key={f.id}>
              <FactLine of={f} />
            </li>
          ))}
        </ul>
      )}
    </article>
  );
}

export function FactLine({ of: f }: { of: Statement["facts"][number] }) {
  return (
    <>
      <Name {...f.subject} /> <span class="predicate">{f.predicate}</span> <Name {...f.object} />
    </>
  );
}

function Name({ id, name }: { id?: string | null; name: string }) {
  return id ? <a href={to("entity", id)}>{name}</a> : <span>{name}</span>;
}
