/** Ask: a question, its answer as it is written, and beside it where each part stands and why that was found. */
import { useEffect, useState } from "preact/hooks";
import { get } from "../api/client";
import type { ViewProps } from "../app";
import { useAnswer, type Asking } from "../ask/answer";
import { AnswerPane } from "../ask/pane";
import { QuestionForm } from "../ask/form";
import { addressOf, asked, type Asked } from "../ask/query";
import { forgetAll, past, remember } from "../ask/history";
import { asMarkdown } from "../ask/markdown";
import { Icon } from "../parts/icons";
import { Copy } from "../parts/copy";
import { useResource } from "../resource";
import { go, to } from "../router";
import { texts } from "../texts";

export default function Ask({ address }: ViewProps) {
  const a = asked(address);
  const left = useAnswer(a, a.search);
  const right = useAnswer(a, a.compare);
  useEffect(() => {
    if (a.question) remember(a.question, addressOf(a));
  }, [address]);
  const submit = (next: Asked) => {
    const where = addressOf(next);
    if (where === location.hash) left.again();
    go(where);
  };
  return (
    <div class="page ask">
      <header class={a.question ? "ask-head compact" : "ask-head"}>
        <h1 class={a.question ? "hidden" : undefined}>{texts.ask.title}</h1>
        {!a.question && <p class="lead">{texts.ask.lead}</p>}
        <QuestionForm key={addressOf(a)} asked={a} running={left.answer.running || right.answer.running} onAsk={submit} onStop={() => (left.stop(), right.stop())} />
      </header>
      {a.question ? <Answers a={a} left={left} right={right} /> : <Start />}
      <History />
    </div>
  );
}

function Answers({ a, left, right }: { a: Asked; left: Asking; right: Asking }) {
  const comparing = a.compare !== "";
  const ids = [left, right].map((one) => new Set(one.answer.sources.map((s) => s.statement_id).filter(Boolean)));
  const [ours, theirs] = ids as [Set<string>, Set<string>];
  const both = [...ours].filter((id) => theirs.has(id)).length;
  const over = left.answer.done && right.answer.done;
  const follow: Asked = { ...a, question: "", before: [...a.before, left.answer.done?.rewritten || a.question].slice(-5) };
  return (
    <>
      {comparing && (
        <p class="differences" role="status">
          {over && texts.ask.differences(both, [nameOf(a.search), ours.size - both], [nameOf(a.compare as Asked["search"]), theirs.size - both])}
        </p>
      )}
      <div class={comparing ? "answers compared" : "answers"}>
        <AnswerPane asking={left} search={a.search} comparing={comparing} others={comparing && over ? theirs : undefined}>
          <div class="row actions">
            <a class="button" href={addressOf({ ...a, compare: "" }, "graph")}>
              <Icon name="graph" />
              {texts.ask.openGraph}
            </a>
            <Copy text={() => asMarkdown(a.question, left.answer)}>{texts.ask.copyMarkdown}</Copy>
            <Copy text={() => location.href}>{texts.ask.copyLink}</Copy>
            <a class="button quiet" href={addressOf(follow)}>
              {texts.ask.followUp}
            </a>
          </div>
        </AnswerPane>
        {comparing && <AnswerPane asking={right} search={a.compare as Asked["search"]} comparing others={over ? ours : undefined} />}
      </div>
    </>
  );
}

const nameOf = (search: Asked["search"]) => texts.retrievers[search].name;

/** Before the first question: what there is to ask about. */
function Start() {
  const documents = useResource((signal) => get("/documents", { query: { limit: 6 }, signal }), []);
  if (documents.data?.documents.length === 0) {
    return (
      <section class="card centred">
        <h2>{texts.ask.emptyTitle}</h2>
        <p>{texts.ask.emptyText}</p>
        <a class="button primary" href={to("ingest")}>
          {texts.ask.emptyGo}
        </a>
      </section>
    );
  }
  return null;
}

function History() {
  const [open, setOpen] = useState(false);
  if (past.value.length < 1) return null;
  return (
    <section class="history" aria-labelledby="history">
      <div class="row spread">
        <h2 id="history" class="small-heading">
          {texts.ask.history}
        </h2>
        <button type="button" class="link" onClick={forgetAll}>
          {texts.ask.clearHistory}
        </button>
      </div>
      <ul class="plain">
        {past.value.slice(0, open ? undefined : 5).map((p) => (
          <li key={p.address}>
            <a href={p.address}>{p.question}</a>
          </li>
        ))}
      </ul>
      {!open && past.value.length > 5 && (
        <button type="button" class="link" onClick={() => setOpen(true)}>
          {texts.common.more}
        </button>
      )}
    </section>
  );
}
