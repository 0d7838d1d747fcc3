/** The question and how it is searched for. */
import { useEffect, useRef, useState } from "preact/hooks";
import { Folded } from "../parts/basics";
import { Icon } from "../parts/icons";
import { texts } from "../texts";
import { OPERATORS, STANDARD, addressOf, shown, type Asked, type Condition, type SearchName } from "./query";

interface Props {
  asked: Asked;
  running: boolean;
  onAsk: (next: Asked) => void;
  onStop: () => void;
}

const USUAL = texts.usualSearches as readonly SearchName[];
const EXPERT = (Object.keys(texts.retrievers) as SearchName[]).filter((name) => !USUAL.includes(name));
const FIELDS = ["title", "namespace", "uri", "file_type", "file_name", "language"];

export function QuestionForm({ asked, running, onAsk, onStop }: Props) {
  const [now, setNow] = useState(asked);
  const changed = now.search !== STANDARD || now.compare !== "" || now.conditions.length > 0;
  const [open, setOpen] = useState(changed);
  const box = useRef<HTMLTextAreaElement>(null);
  // what is asked may change without this form: by the way back, a link, or a follow-up
  useEffect(() => {
    setNow(asked);
    if (!asked.question) box.current?.focus();
  }, [addressOf(asked)]);
  const ready = now.question.trim() !== "";
  const submit = (event: Event) => {
    event.preventDefault();
    if (ready) onAsk({ ...now, question: now.question.trim() });
  };
  // what was asked already is asked anew with other options at once
  const option = (change: Partial<Asked>) => {
    const next = { ...now, ...change };
    setNow(next);
    if (asked.question) onAsk({ ...next, question: asked.question });
  };
  return (
    <form class="question" onSubmit={submit} role="search">
      {!asked.question && asked.before.length > 0 && (
        <p class="follow">
          <span class="faint">{texts.ask.follow}</span> <Folded text={asked.before.at(-1)!} />
          <a href={addressOf({ ...asked, before: [] })}>{texts.ask.newTopic}</a>
        </p>
      )}
      <div class="question-line">
        <label class="hidden" for="question">
          {texts.ask.question}
        </label>
        <textarea
          id="question"
          ref={box}
          rows={1}
          value={now.question}
          placeholder={texts.ask.placeholder}
          maxLength={4000}
          onInput={(e) => setNow({ ...now, question: e.currentTarget.value })}
          onKeyDown={(e) => {
            if (e.key === "Enter" && !e.shiftKey && !e.isComposing) submit(e);
          }}
        />
        {running ? (
          // two elements: one that turned into the other during its click would send the question
          <button key="stop" type="button" onClick={onStop}>
            {texts.ask.stop}
          </button>
        ) : (
          <button key="ask" type="submit" class="primary" disabled={!ready}>
            {texts.ask.submit}
          </button>
        )}
      </div>
      <details class="options" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
        <summary>{texts.ask.options}</summary>
        <div class="option-grid">
          <Search label={texts.ask.retriever} value={now.search} onChange={(by) => option({ search: by as SearchName })} />
          <Search label={texts.ask.compare} value={now.compare} none={texts.ask.noCompare} onChange={(by) => option({ compare: by })} />
        </div>
        <Conditions of={now.conditions} onChange={(conditions) => option({ conditions })} />
      </details>
    </form>
  );
}

function Search({ label, value, none, onChange }: { label: string; value: SearchName | ""; none?: string; onChange: (by: SearchName | "") => void }) {
  return (
    <label>
      {label}
      <select value={value} onChange={(e) => onChange(e.currentTarget.value as SearchName | "")}>
        {none && <option value="">{none}</option>}
        {USUAL.map(searchOption)}
        <optgroup label={texts.ask.expert}>{EXPERT.map(searchOption)}</optgroup>
      </select>
    </label>
  );
}

const searchOption = (name: SearchName) => (
  <option key={name} value={name}>
    {`${texts.retrievers[name].name}: ${texts.retrievers[name].about}`}
  </option>
);

const BLANK: Condition = { key: "", operator: "==", value: "" };

function Conditions({ of, onChange }: { of: readonly Condition[]; onChange: (next: readonly Condition[]) => void }) {
  const [next, setNext] = useState(BLANK);
  const first = useRef<HTMLInputElement>(null);
  const complete = /^\S+$/.test(next.key) && next.value.trim() !== "";
  const add = () => {
    if (!complete) return;
    onChange([...of, { ...next, value: next.value.trim() }]);
    setNext(BLANK);
    first.current?.focus();
  };
  // Enter in one of these fields adds the filter, and does not ask
  const enter = (e: KeyboardEvent) => {
    if (e.key !== "Enter") return;
    e.preventDefault();
    add();
  };
  return (
    <fieldset class="conditions">
      <legend>{texts.ask.filters}</legend>
      {of.length > 0 && (
        <ul class="chips">
          {of.map((c) => (
            <li key={shown(c)} class="chip">
              {shown(c)}
              <button type="button" aria-label={texts.ask.filter.drop(shown(c))} onClick={() => onChange(of.filter((o) => o !== c))}>
                <Icon name="close" size={12} />
              </button>
            </li>
          ))}
        </ul>
      )}
      <div class="condition">
        <input ref={first} list="filter-fields" aria-label={texts.ask.filter.key} placeholder={texts.ask.filter.key} value={next.key} onInput={(e) => setNext({ ...next, key: e.currentTarget.value })} onKeyDown={enter} />
        <datalist id="filter-fields">
          {FIELDS.map((f) => (
            <option key={f} value={f} />
          ))}
        </datalist>
        <select aria-label={texts.ask.filter.operator} value={next.operator} onChange={(e) => setNext({ ...next, operator: e.currentTarget.value })}>
          {OPERATORS.map((o) => (
            <option key={o} value={o}>
              {texts.ask.operators[o]}
            </option>
          ))}
        </select>
        <input aria-label={texts.ask.filter.value} placeholder={texts.ask.filter.value} value={next.value} onInput={(e) => setNext({ ...next, value: e.currentTarget.value })} onKeyDown={enter} />
        <button type="button" class="quiet" disabled={!complete} onClick={add}>
          {texts.ask.filter.add}
        </button>
      </div>
      {next.operator.endsWith("in") && <p class="faint small">{texts.ask.filter.hint}</p>}
    </fieldset>
  );
}
