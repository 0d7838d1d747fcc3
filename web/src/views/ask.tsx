/** Ask: a question, its answer as it is written, and beside it where each part stands and why that was found. */
import { useEffect, useState } from "preact/hooks";
import type { ViewProps } from "../app";
import { useAnswer, type Asking } from "../ask/answer";
import { stored } from "../ask/examples";
import { AnswerPane, AnswerText } from "../ask/pane";
import { QuestionForm } from "../ask/form";
import { addressOf, asked, turns, type Asked } from "../ask/query";
import { forgetAll, past, remember } from "../ask/history";
import { asMarkdown } from "../ask/markdown";
import { placesOf, usePlaces } from "../ask/places";
import { Failure, Folded, Loading, shortened } from "../parts/basics";
import { Icon } from "../parts/icons";
import { Copy } from "../parts/copy";
import { NoDocuments } from "../parts/start";
import { useResource } from "../resource";
import { go, to } from "../router";
import { texts } from "../texts";

export default function Ask({ address }: ViewProps) {
  const a = asked(address);
  const before = turns(a);
  // before a follow-up is asked, what it follows stays in sight
  const shown = a.question ? a : before.pop();
  const left = useAnswer(shown ?? a, a.search);
  const right = useAnswer(shown ?? a, a.compare);
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
      <header class={shown ? "ask-head compact" : "ask-head"}>
        <h1 class={shown ? "hidden" : undefined}>{texts.ask.title}</h1>
        {!shown && <p class="lead">{texts.ask.lead}</p>}
        {before.length > 0 && <Conversation a={a} before={before} />}
        <QuestionForm asked={a} running={left.answer.running || right.answer.running} onAsk={submit} onStop={() => (left.stop(), right.stop())} />
      </header>
      {shown ? <Answers a={shown} left={left} right={right} following={shown !== a} /> : <Start />}
      <History />
    </div>
  );
}

/** The questions before this one, each with its answer behind it. */
function Conversation({ a, before }: { a: Asked; before: readonly Asked[] }) {
  return (
    <section class="conversation" aria-labelledby="conversation">
      <div class="row spread">
        <h2 id="conversation" class="small-heading">
          {texts.ask.conversation}
        </h2>
        <a href={addressOf({ ...a, question: "", before: [] })}>{texts.ask.newTopic}</a>
      </div>
      {before.map((turn) => (
        <Turn key={addressOf(turn)} turn={turn} />
      ))}
    </section>
  );
}

function Turn({ turn }: { turn: Asked }) {
  const [open, setOpen] = useState(false);
  const { answer, again } = useAnswer(turn, open ? turn.search : "");
  const places = usePlaces(answer.sources);
  return (
    <details class="turn" onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary>{open ? turn.question : shortened(turn.question)}</summary>
      {answer.running && <Loading />}
      {answer.error && <Failure error={answer.error} retry={again} />}
      <AnswerText answer={answer} places={places} onLabel={() => go(addressOf(turn))} />
      <a href={addressOf(turn)}>{texts.ask.openTurn}</a>
    </details>
  );
}

interface AnswersProps {
  a: Asked;
  left: Asking;
  right: Asking;
  /** A follow-up is about to be asked. */
  following: boolean;
}

function Answers({ a, left, right, following }: AnswersProps) {
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
            <Copy text={async () => asMarkdown(a.question, left.answer, await placesOf(left.answer.sources))}>{texts.ask.copyMarkdown}</Copy>
            <Copy text={() => location.href}>{texts.ask.copyLink}</Copy>
            {!following && (
              <a class="button quiet" href={addressOf(follow)}>
                {texts.ask.followUp}
              </a>
            )}
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
  const { data, error, reload } = useResource(stored, []);
  if (error) return <Failure error={error} retry={reload} />;
  if (!data) return <Loading />;
  if (data.documents === 0) return <NoDocuments />;
  return (
    <section class="start">
      <p class="faint">{texts.ask.stored(data.documents, data.passages, data.entities)}</p>
      {data.examples.length > 0 && (
        <>
          <h2 class="small-heading">{texts.ask.examples}</h2>
          <ul class="plain">
            {data.examples.map((question) => (
              <li key={question}>
                <a href={to("ask", "", { q: question })}>{question}</a>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
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
            <Folded text={p.question} href={p.address} />
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
