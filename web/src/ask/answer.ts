/** An answer while it arrives. */
import { useCallback, useEffect, useState } from "preact/hooks";
import { ApiError, changes, type Schema } from "../api/client";
import { events } from "../api/client";
import { asApiError, useReturn } from "../resource";
import { key } from "../session";
import { request, type Asked, type SearchName } from "./query";

export type Source = Schema["SourceReply"];
export type Done = Omit<Schema["QueryReply"], "sources">;

export interface Answer {
  text: string;
  sources: readonly Source[];
  done: Done | undefined;
  error: ApiError | undefined;
  running: boolean;
}

const NONE: Answer = { text: "", sources: [], done: undefined, error: undefined, running: false };
const KEPT = 30;
// answers of this tab: the way back to one does not ask again
const kept = new Map<string, Answer>();
key.subscribe(() => kept.clear());
changes.subscribe(() => kept.clear());

/** From this confidence on an answer stands without a doubt; below 0.5 the API says that there is none. */
const SURE = 0.75;
export type Standing = "sure" | "unsure" | "none";

export function standing(done: Done): Standing {
  if (!done.answerable) return "none";
  return done.confidence < SURE ? "unsure" : "sure";
}

export interface Asking {
  answer: Answer;
  stop: () => void;
  again: () => void;
}

/** Ask as soon as there is a question; again when it changes, and when the server is back. */
export function useAnswer(a: Asked, by: SearchName | ""): Asking {
  const body = by && a.question ? JSON.stringify(request(a, by)) : "";
  const [answer, setAnswer] = useState<Answer>(kept.get(body) ?? NONE);
  const [turn, setTurn] = useState(0);
  const [control, setControl] = useState<AbortController | null>(null);
  const again = useCallback(() => {
    kept.delete(body);
    setTurn((t) => t + 1);
  }, [body]);
  const stop = useCallback(() => control?.abort(), [control]);
  useReturn(answer.text ? undefined : answer.error, again);

  useEffect(() => {
    const known = kept.get(body);
    if (!body || known) {
      setAnswer(known ?? NONE);
      return;
    }
    const abort = new AbortController();
    setControl(abort);
    void follow(body, abort.signal, setAnswer);
    return () => abort.abort("left");
  }, [body, turn, key.value]);
  return { answer, stop, again };
}

async function follow(body: string, signal: AbortSignal, tell: (answer: Answer) => void): Promise<void> {
  let now: Answer = { ...NONE, running: true };
  const left = () => signal.reason === "left";
  const next = (change: Partial<Answer>) => {
    now = { ...now, ...change };
    if (!left()) tell(now);
  };
  next({});
  try {
    for await (const { name, data } of events("/query", JSON.parse(body), "done", signal)) {
      if (name === "token") next({ text: now.text + (data as { text: string }).text });
      else if (name === "sources") next({ sources: data as Source[] });
      else if (name === "done") next({ done: data as Done, running: false });
    }
    keep(body, now);
  } catch (error) {
    next({ running: false, error: signal.aborted ? undefined : asApiError(error) });
  }
}

/** What an answer was searched for by, and the labels of the statements that it cites. */
export interface Used {
  question: string;
  citations: Record<string, string>;
}

/** Return what the answer used; it is asked for where it was not given in this tab. */
export async function usedBy(a: Asked, signal: AbortSignal): Promise<Used> {
  const body = JSON.stringify(request(a, a.search));
  if (!kept.has(body)) await follow(body, signal, () => undefined);
  const { done, sources } = kept.get(body) ?? NONE;
  const cited = new Set(done?.references.map((r) => r.label));
  const citations = sources.filter((s) => s.statement_id && cited.has(s.label)).map((s) => [s.statement_id, s.label]);
  return { question: done?.rewritten || a.question, citations: Object.fromEntries(citations) };
}

function keep(body: string, answer: Answer): void {
  kept.set(body, answer);
  // a question after this one leans on what was searched for
  if (answer.done?.rewritten) kept.set(JSON.stringify({ ...JSON.parse(body), question: answer.done.rewritten }), answer);
  while (kept.size > KEPT) kept.delete(kept.keys().next().value!);
}
