/** Other names of an entity: what was decided, what may be the same, and a name to add. For keys with the scope admin. */
import { useState } from "preact/hooks";
import { get, post, remove, type ApiError, type Schema } from "../api/client";
import { Failure } from "../parts/basics";
import { asApiError, useResource } from "../resource";
import { texts } from "../texts";

/** Asks the server when it is opened: most readers may not curate, and need not be told. */
export function Curation({ name, onChange }: { name: string; onChange: () => void }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="curation" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{texts.curation.title}</summary>
      {open && <Decide name={name} onChange={onChange} />}
    </details>
  );
}

function Decide({ name, onChange }: { name: string; onChange: () => void }) {
  const decided = useResource((signal) => get("/curation/decisions", { signal }), []);
  const proposed = useResource((signal) => get("/curation/proposals", { query: { name }, signal }), [name]);
  const [error, setError] = useState<ApiError | null>(null);
  const [typed, setTyped] = useState("");
  const change = (asked: Promise<unknown>) =>
    asked.then(
      () => {
        setError(null);
        setTyped("");
        decided.reload();
        proposed.reload();
        onChange();
      },
      (failed: unknown) => setError(asApiError(failed)),
    );
  const decide = (body: Schema["NewDecision"]) => change(post("/curation/decisions", { body }));
  if (decided.error) {
    return decided.error.status === 403 ? <p class="faint">{texts.curation.need}</p> : <Failure error={decided.error} retry={decided.reload} />;
  }
  const holding = decided.data?.decisions.filter((d) => !d.undone_at && (d.name === name || d.others.includes(name))) ?? [];
  return (
    <>
      {error && <Failure error={error} />}
      <ul class="plain">
        {holding.map((d) => (
          <li key={d.id}>
            <p>
              {d.name} = {d.others.join(", ")}
              {d.kind === "split" && texts.curation.split(d.documents.length)}
            </p>
            <p class="faint small">{[d.by, d.note].filter(Boolean).join(" · ")}</p>
            <button type="button" class="quiet" onClick={() => void change(remove("/curation/decisions/{decision_id}", { path: { decision_id: d.id } }))}>
              {texts.curation.undo}
            </button>
          </li>
        ))}
        {proposed.data?.proposals.map((p) => (
          <li key={p.other + p.name}>
            <p>
              {p.name} = {p.other}?
            </p>
            <p class="faint small">{evidence(p)}</p>
            <button type="button" class="quiet" onClick={() => void decide({ kind: "merge", name: p.name, others: [p.other], documents: [], note: evidence(p).slice(0, 500) })}>
              {texts.curation.accept}
            </button>
          </li>
        ))}
      </ul>
      <form
        class="row"
        onSubmit={(e) => {
          e.preventDefault();
          void decide({ kind: "alias", name, others: [typed], documents: [], note: "" });
        }}
      >
        <label>
          {texts.curation.other}
          <input value={typed} required maxLength={100} onInput={(e) => setTyped(e.currentTarget.value)} />
        </label>
        <button type="submit">{texts.curation.add}</button>
      </form>
    </>
  );
}

function evidence(p: Schema["ProposalReply"]): string {
  return [p.reason, p.shared.length > 0 && texts.curation.beside(p.shared), p.documents.length > 0 && texts.curation.within(p.documents)]
    .filter(Boolean)
    .join("; ");
}
