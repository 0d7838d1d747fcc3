/** Files on their way in. They go on when one looks at another view; what is sent is a job of the server. */
import { signal } from "@preact/signals";
import { ApiError, changes, get, post, send, type Schema } from "../api/client";
import { readable } from "../parts/basics";
import { asApiError } from "../resource";
import { texts } from "../texts";

export type Job = Schema["JobReply"];
export type JobEvent = Schema["EventReply"];
export type State = "chosen" | "waiting" | "sending" | "running" | "stopping" | "done" | "failed" | "cancelled";

export interface Upload {
  key: number;
  /** As it will be called on the server. */
  name: string;
  file: File;
  state: State;
  estimate: Schema["EstimateReply"] | "asking" | null;
  job: string;
  event: JobEvent | null;
  reason: string;
  /** Of one that failed: whether the same file may come in by another try. */
  passes: boolean;
  /** The server has it already, as it is. */
  unchanged: boolean;
}

export const uploads = signal<readonly Upload[]>([]);
/** Grows when a job ends: lists of jobs are asked for again. */
export const ended = signal(0);

const MOST_BYTES = 100_000_000;
const MOST_NAME_BYTES = 200; // of a file or folder
const MOST_PATH = 500;
const ESTIMATED_CHARACTERS = 900_000;
const AT_ONCE = 2;
const POLL = 700;
const LONGEST_PAUSE = 5_000;
// readers of these need the file itself; the estimate takes text
const BINARY = /\.(pdf|docx|xlsx|xls|pptx|odt|ods|odp|epub|jsonl\.gz)$/i;
const NOT_UTF8 = /[\0\ufffd]/; // the server finds out what it is
let keys = 0;

const change = (key: number, to: Partial<Upload>) => {
  uploads.value = uploads.value.map((u) => (u.key === key ? { ...u, ...to } : u));
};
const stateOf = (key: number) => uploads.value.find((u) => u.key === key)?.state;
const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Put files on the list, and ask what they would cost; what the server would refuse is told at once. `path` is where in a folder each lay. */
export function choose(files: readonly { file: File; path: string }[]): void {
  // the server keeps one document of a name
  const names = new Set(uploads.value.filter((u) => u.state === "chosen").map((u) => u.name));
  const chosen = files
    .filter((f) => !f.file.name.startsWith("."))
    .map((f): Upload => {
      const name = f.path || f.file.name;
      const reason = refusal(f.file, name) || (names.has(name) ? texts.ingest.nameTaken : "");
      names.add(name);
      return { key: ++keys, name, file: f.file, state: reason ? "failed" : "chosen", estimate: null, job: "", event: null, reason, passes: false, unchanged: false };
    });
  uploads.value = [...uploads.value, ...chosen];
  void estimate(chosen.filter((u) => u.state === "chosen"));
}

function refusal(file: File, name: string): string {
  if (file.size > MOST_BYTES) return texts.ingest.tooLarge;
  if (file.size === 0) return texts.ingest.isEmpty;
  if (name.length > MOST_PATH) return texts.ingest.pathTooLong(MOST_PATH);
  const bytes = Math.max(...name.split("/").map((part) => new TextEncoder().encode(part).length));
  return bytes > MOST_NAME_BYTES ? texts.ingest.nameTooLong(MOST_NAME_BYTES) : "";
}

async function estimate(chosen: readonly Upload[]): Promise<void> {
  const asked = chosen.filter((u) => !BINARY.test(u.name));
  for (const u of asked) change(u.key, { estimate: "asking" });
  for (const u of asked) {
    if (stateOf(u.key) !== "chosen") continue;
    const [told, reason] = await estimateOf(u);
    // it may have been sent in the meantime
    change(u.key, { estimate: told, ...(reason && stateOf(u.key) === "chosen" ? { state: "failed", reason } : {}) });
  }
}

/** Return what a file would cost, null where that is not known, and why it would be refused. */
async function estimateOf(u: Upload): Promise<[Schema["EstimateReply"] | null, string]> {
  const text = u.file.size > ESTIMATED_CHARACTERS * 4 ? null : await u.file.text();
  if (text?.trim() === "") return [null, texts.ingest.isEmpty];
  const whole = text !== null && text.length <= ESTIMATED_CHARACTERS && !NOT_UTF8.test(text);
  try {
    // the name alone tells whether the type is known
    const told = await post("/estimate", { body: { text: whole ? text : u.name, name: u.file.name } as Schema["EstimateRequest"] });
    if (!whole) return [null, ""];
    const about = `${u.file.name}: `;
    const reason = told.documents ? undefined : told.notes.find((note) => note.startsWith(about));
    return [told, reason?.slice(about.length) ?? ""];
  } catch (error) {
    const { status, message } = asApiError(error);
    return [null, status === 422 ? message : ""];
  }
}

export function drop(key: number): void {
  uploads.value = uploads.value.filter((u) => u.key !== key);
}

/** Take what came in off the list: the document was deleted. */
export function forget(uri: string): void {
  uploads.value = uploads.value.filter((u) => u.state !== "done" || !readable(uri).endsWith(`/${u.name}`));
}

/** Take what is over, or was never sent, off the list. */
export function clear(): void {
  uploads.value = uploads.value.filter((u) => under(u));
}

/** Whether a file is on its way. */
export const under = (u: Upload) => ["waiting", "sending", "running", "stopping"].includes(u.state);

/** Leave a file unsent, or stop the job that takes it in. One that is being sent is stopped when it has a job. */
export function cancel(u: Upload): void {
  change(u.key, { state: u.state === "waiting" ? "cancelled" : "stopping" });
  if (u.job) void cancelJob(u.job);
}

/** Tell a job to stop. One that has just ended needs none. */
export const cancelJob = (job: string) => post("/jobs/{job_id}/cancel", { path: { job_id: job } }).catch(() => undefined);

let working = 0;
let filed = "default";

/** Send what was chosen, or `again` what failed and may come in by another try. */
export function start(namespace: string, again = false): void {
  filed = namespace || "default";
  for (const u of uploads.value) if (again ? u.state === "failed" && u.passes : u.state === "chosen") change(u.key, { state: "waiting", reason: "", event: null });
  while (working < AT_ONCE && uploads.value.some((u) => u.state === "waiting")) {
    working++;
    void work().finally(() => working--);
  }
}

async function work(): Promise<void> {
  let next: Upload | undefined;
  while ((next = uploads.value.find((u) => u.state === "waiting"))) {
    change(next.key, { state: "sending" });
    try {
      await follow(next.key, await sent(next));
    } catch (error) {
      const { status, message } = asApiError(error);
      change(next.key, { state: "failed", reason: message, passes: status < 400 || status === 429 || status >= 500 });
    }
    ended.value++;
    changes.value++;
  }
}

/** Send a file; where too many wait there, wait here. */
async function sent(u: Upload): Promise<string> {
  const form = new FormData();
  form.append("file", u.file, u.name);
  form.append("namespace", filed);
  for (let pause = 1_000; ; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
    try {
      const response = await send("POST", "/documents", { query: { wait: 0 }, body: form });
      return ((await response.json()) as Schema["DocumentJob"]).job_id;
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 429) throw error;
      await sleep(pause);
    }
  }
}

async function follow(key: number, job: string): Promise<void> {
  const stopping = stateOf(key) === "stopping";
  change(key, { state: stopping ? "stopping" : "running", job });
  if (stopping) void cancelJob(job);
  for (let after = 0; ; await sleep(POLL)) {
    try {
      const { events } = await get("/jobs/{job_id}/events", { path: { job_id: job }, query: { after } });
      const last = events.at(-1);
      if (last) after = last.seq;
      const step = events.filter((e) => e.stage !== "warning").at(-1);
      if (step) change(key, { event: step });
      const now = await get("/jobs/{job_id}", { path: { job_id: job } });
      if (now.status === "RUNNING") continue;
      const how = outcome(now);
      const state = how === "FAILED" ? "failed" : how === "CANCELLED" ? "cancelled" : "done";
      const reason = how === "CANCELLED" ? "" : troubles(now)[0]?.reason || now.reason;
      const unchanged = state === "done" && !now.result["documents_new"] && !now.result["documents_updated"] && Boolean(now.result["documents_unchanged"]);
      change(key, { state, unchanged, reason, passes: how === "FAILED" && now.result["error"] !== "invalid_input", event: null });
      return;
    } catch (error) {
      // a server that is away goes on with the job when it is back
      if (!(error instanceof ApiError) || error.status !== 0) throw error;
      await sleep(POLL);
    }
  }
}

export interface Trouble {
  what: string;
  reason: string;
}

/** Return what went wrong in a job, place by place, each once. */
export function troubles(job: Job): Trouble[] {
  const lists = ["failures", "chunk_failures", "pair_failures"].flatMap((name) => (job.result[name] as Record<string, unknown>[] | undefined) ?? []);
  const all = lists.map((f) => ({ what: String(f["uri"] ?? ""), reason: String(f["reason"] ?? "") }));
  return [...new Map(all.map((t) => [`${t.what}\n${t.reason}`, t])).values()];
}

/** How a job ended: of one that did its work, whether all of what it was given came in, or a part of it. */
export const outcome = (job: Job): string => (job.status === "SUCCEEDED" && troubles(job).length > 0 ? "PARTLY" : job.status);
