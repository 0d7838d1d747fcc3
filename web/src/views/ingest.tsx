/** Add documents: drop files, see what they will cost, watch them come in; and the jobs of the past. */
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import type { ViewProps } from "../app";
import { chosen, dropped } from "../ingest/dropped";
import { cancel, cancelJob, choose, clear, drop, ended, outcome, start, troubles, under, uploads, type Job, type JobEvent, type Upload } from "../ingest/uploads";
import { Failure, Loading, Notice, fileOf, number, sentence, when } from "../parts/basics";
import { Icon } from "../parts/icons";
import { Command } from "../parts/start";
import { useResource } from "../resource";
import { go, to } from "../router";
import { texts } from "../texts";

export default function Ingest({ address }: ViewProps) {
  return (
    <div class="page ingest">
      <h1>{texts.ingest.title}</h1>
      <DropZone />
      {uploads.value.length > 0 && <Uploads />}
      <Jobs open={address.query.get("job") ?? ""} />
    </div>
  );
}

function DropZone() {
  const [over, setOver] = useState(false);
  const take = (e: DragEvent) => {
    e.preventDefault();
    setOver(false);
    if (e.dataTransfer) void dropped(e.dataTransfer.items).then(choose);
  };
  const pick = (e: Event & { currentTarget: HTMLInputElement }) => {
    choose(chosen(e.currentTarget.files));
    e.currentTarget.value = "";
  };
  return (
    <section
      class={`drop${over ? " over" : ""}`}
      aria-label={texts.ingest.drop}
      onDragOver={(e) => {
        e.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={take}
    >
      <Icon name="ingest" size={28} />
      <p class="drop-title">{texts.ingest.drop}</p>
      <div class="row">
        <label class="button file-button">
          {texts.ingest.choose}
          <input class="hidden" type="file" multiple onChange={pick} />
        </label>
        <label class="button quiet file-button">
          {texts.ingest.chooseFolder}
          <input class="hidden" type="file" multiple ref={(at) => at?.setAttribute("webkitdirectory", "")} onChange={pick} />
        </label>
      </div>
      <p class="faint small">{texts.ingest.types}</p>
      <p class="faint small">
        {texts.start.orRun} <Command />
      </p>
    </section>
  );
}

function Uploads() {
  const [namespace, setNamespace] = useState("default");
  const list = uploads.value;
  const ready = list.filter((u) => u.state === "chosen");
  const failed = list.filter((u) => u.state === "failed" && u.passes);
  const going = list.filter((u) => under(u) && u.state !== "stopping");
  const known = ready.flatMap((u) => (u.estimate && u.estimate !== "asking" ? [u.estimate] : []));
  return (
    <section class="card uploads" aria-labelledby="to-send">
      <header class="row spread">
        <h2 id="to-send">{texts.ingest.toSend}</h2>
        <button type="button" class="link" onClick={clear}>
          {texts.ingest.clear}
        </button>
      </header>
      <ul class="plain upload-list" aria-live="polite">
        {list.map((u) => (
          <Row key={u.key} of={u} />
        ))}
      </ul>
      {ready.length > 0 && (
        <form
          class="row send-row"
          onSubmit={(e) => {
            e.preventDefault();
            start(namespace.trim());
          }}
        >
          <label>
            {texts.ingest.namespace}
            <input value={namespace} maxLength={128} aria-describedby="namespace-hint" onInput={(e) => setNamespace(e.currentTarget.value)} />
          </label>
          <p id="namespace-hint" class="faint small grow">
            {texts.ingest.namespaceHint}
          </p>
          <p class="faint grow">
            {known.length > 0 && (
              <>
                {texts.ingest.estimate(known.length, ready.length)}: {estimated(known)}
              </>
            )}
          </p>
          <button type="submit" class="primary">
            {texts.ingest.start(ready.length)}
          </button>
        </form>
      )}
      <div class="row">
        {going.length > 1 && (
          <button type="button" class="quiet" onClick={() => going.forEach(cancel)}>
            {texts.ingest.cancelAll}
          </button>
        )}
        {failed.length > 0 && (
          <button type="button" class="quiet" onClick={() => start(namespace.trim(), true)}>
            {texts.ingest.retryAll}
          </button>
        )}
      </div>
    </section>
  );
}

type Estimate = Exclude<Upload["estimate"], "asking" | null>;

function estimated(all: readonly Estimate[]): string {
  const sum = (of: (e: Estimate) => number) => all.reduce((total, e) => total + of(e), 0);
  const usd = all.some((e) => e.usd == null) ? texts.ingest.usdUnknown : sum((e) => e.usd ?? 0) === 0 ? texts.ingest.free : texts.ingest.usd(sum((e) => e.usd ?? 0));
  return texts.ingest.estimateOf(sum((e) => e.chunks), texts.ingest.minutes(sum((e) => e.minutes)), usd);
}

const SIZES = ["B", "kB", "MB"];
function size(bytes: number): string {
  const power = Math.min(2, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  return `${number(Math.round((10 * bytes) / 1000 ** power) / 10)} ${SIZES[power]}`;
}

function Row({ of: u }: { of: Upload }) {
  const running = ["running", "sending", "stopping"].includes(u.state);
  return (
    <li class={`upload ${u.state}`}>
      <span class="upload-name">
        {u.name} <span class="faint small">{size(u.file.size)}</span>
      </span>
      <span class="upload-state small">
        {u.state === "chosen" && <span class="faint">{u.estimate === "asking" ? texts.ingest.estimating : u.estimate ? estimated([u.estimate]) : texts.ingest.noEstimate}</span>}
        {u.state === "waiting" && <span class="faint">{texts.ingest.waiting}</span>}
        {u.state === "sending" && texts.ingest.sending}
        {u.state === "running" && (u.event ? stage(u.event) : texts.ingest.queued)}
        {u.state === "done" && <a href={to("documents", "", { find: u.name })}>{u.unchanged ? texts.ingest.unchanged : texts.ingest.done}</a>}
        {u.state === "failed" && <strong class="bad-text">{texts.ingest.failed}</strong>}
        {u.state === "stopping" && texts.ingest.cancelling}
        {u.state === "cancelled" && <span class="faint">{texts.ingest.cancelled}</span>}
      </span>
      {u.state === "chosen" && (
        <button type="button" class="tool" aria-label={texts.ingest.remove(u.name)} onClick={() => drop(u.key)}>
          <Icon name="close" size={16} />
        </button>
      )}
      {under(u) && u.state !== "stopping" && (
        <button type="button" class="tool" title={texts.ingest.cancelOne(u.name)} aria-label={texts.ingest.cancelOne(u.name)} onClick={() => cancel(u)}>
          <Icon name="close" size={16} />
        </button>
      )}
      {running && <Progress of={u.event} />}
      {u.reason && (
        <p class="small upload-reason">
          <Reason of={u.reason} name={u.name} />
        </p>
      )}
    </li>
  );
}

/** Why a file did not come in, and what to do. */
function Reason({ of, name }: { of: string; name: string }) {
  return (
    <>
      {told(of)} <span class="faint">{texts.ingest.remedy(of, name)}</span>
    </>
  );
}

// "file: is of ..." names a field of the request, which nobody here has written
const told = (reason: string) => texts.ingest.reason(reason) || sentence(reason.replace(/^(file: )?(is )?/, "")).replace(/([^.!?])$/, "$1.");

const figure = (of: JobEvent, name: string) => (typeof of.data[name] === "number" ? (of.data[name] as number) : null);

function stage(of: JobEvent): string {
  const rate = figure(of, "per_second");
  const left = figure(of, "seconds_left");
  return [texts.ingest.stage[of.stage] ?? of.stage.replaceAll("_", " "), rate && texts.ingest.rate(rate), left && texts.ingest.left(left)].filter(Boolean).join(" · ");
}

function Progress({ of }: { of: JobEvent | null }) {
  const current = of && figure(of, "current");
  const total = of && (figure(of, "expected") ?? figure(of, "total"));
  const label = of ? stage(of) : texts.ingest.queued;
  return current != null && total ? <progress value={current} max={total} aria-label={label} /> : <progress aria-label={label} />;
}

const WATCH = 3_000;

function Jobs({ open }: { open: string }) {
  const found = useResource((signal) => get("/jobs", { query: { limit: 50 }, signal }), [ended.value]);
  const running = found.data?.jobs.some((j) => j.status === "RUNNING");
  useEffect(() => {
    if (!running) return;
    const timer = setTimeout(found.reload, WATCH);
    return () => clearTimeout(timer);
  }, [running, found.data]);
  return (
    <section aria-labelledby="jobs" class="jobs">
      <h2 id="jobs">{texts.ingest.jobs}</h2>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {!found.data && found.loading && <Loading />}
      {found.data?.jobs.length === 0 && <p class="faint">{texts.ingest.noJobs}</p>}
      <ul class="plain cards">
        {found.data?.jobs.map((job) => (
          <JobRow key={job.id} job={job} open={job.id === open} />
        ))}
      </ul>
    </section>
  );
}

function JobRow({ job, open }: { job: Job; open: boolean }) {
  const failures = troubles(job);
  const how = outcome(job);
  const missed = ((job.result["failures"] as unknown[] | undefined) ?? []).length;
  const nothing = missed > 0 && job.status === "FAILED" && job.result["error"] === "invalid_input";
  // of one file its name and its badge say that
  const lost = missed > 0 && !(job.uri && nothing);
  const count = (name: string) => (typeof job.result[name] === "number" ? (job.result[name] as number) : 0);
  const documents = count("documents_new") + count("documents_updated");
  const toggle = (e: Event & { currentTarget: HTMLDetailsElement }) => {
    if (e.currentTarget.open !== open) go(to("ingest", "", { job: e.currentTarget.open ? job.id : "" }), { replace: true });
  };
  return (
    <li class="job">
      <details open={open} onToggle={toggle}>
        <summary>
          <span class={`badge ${BADGES[how] ?? ""}`}>{texts.ingest.status[how]}</span>
          <span class="job-kind">{texts.ingest.jobKind[job.kind] ?? job.kind}</span>
          {job.uri && <span class="job-file">{fileOf(job.uri)}</span>}
          <span class="faint small">{when(job.created_at)}</span>
          <span class="faint small">{job.namespace}</span>
          <span class="small job-sum">
            {lost && <span class="bad-text">{texts.ingest.notAdded(missed, fileOf(failures[0]?.what ?? ""))}</span>}
            {lost && how === "PARTLY" && " · "}
            {job.status === "SUCCEEDED" && job.kind !== "remove" && (documents || !count("documents_unchanged") ? texts.ingest.result(documents, count("chunks_new"), count("statements_created")) : texts.ingest.unchanged)}
            {job.status === "FAILED" && !nothing && <span class="bad-text">{sentence(job.reason)}</span>}
          </span>
        </summary>
        {job.status === "RUNNING" && job.kind === "ingest" && <Cancel job={job} />}
        {warningsOf(job).map((w) => (
          <Notice key={w.type} kind="warn">
            {sentence(w.detail)}
          </Notice>
        ))}
        {failures.length > 0 && (
          <>
            <h3 class="small-heading">{texts.ingest.failures}</h3>
            <ul class="trouble">
              {failures.map((f, i) => (
                <li key={i}>
                  <strong>{fileOf(f.what)}</strong> <Reason of={f.reason} name={f.what} />
                </li>
              ))}
            </ul>
          </>
        )}
        {open && <Events job={job} />}
      </details>
    </li>
  );
}

const BADGES: Record<string, string> = { FAILED: "bad", PARTLY: "warn", SUCCEEDED: "plainly", CANCELLED: "plainly" };

const warningsOf = (job: Job) => (job.result["warnings"] as { type: string; detail: string }[] | undefined) ?? [];

function Cancel({ job }: { job: Job }) {
  const [told, setTold] = useState(false);
  const run = () => {
    setTold(true);
    void cancelJob(job.id).then(() => ended.value++);
  };
  return (
    <button type="button" class="quiet job-cancel" disabled={told} onClick={run}>
      {told ? texts.ingest.cancelling : texts.ingest.cancel}
    </button>
  );
}

function Events({ job }: { job: Job }) {
  const found = useResource((signal) => get("/jobs/{job_id}/events", { path: { job_id: job.id }, signal }), [job.id, job.status, job.updated_at]);
  if (!found.data) return found.error ? <Failure error={found.error} retry={found.reload} /> : <Loading />;
  return (
    <ol class="plain events">
      {found.data.events.filter((e) => !("path" in e.data)).map((e) => (
        <li key={e.seq}>
          <span class="faint small figure">{new Date(e.at).toLocaleTimeString("en-GB")}</span> <span>{stage(e)}</span>{" "}
          <span class="faint small">
            {figure(e, "total") ? `${number(figure(e, "current") ?? 0)} / ${number(figure(e, "total")!)}` : typeof e.data["reason"] === "string" ? e.data["reason"] : ""}
          </span>
        </li>
      ))}
    </ol>
  );
}
