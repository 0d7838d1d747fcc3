/** Overview: what is stored, what works, and what is wrong. */
import { useEffect } from "preact/hooks";
import { get, type Schema } from "../api/client";
import type { ViewProps } from "../app";
import { Failure, Loading, Notice, number, sentence, when } from "../parts/basics";
import { Nothing } from "../parts/start";
import { useResource } from "../resource";
import { to } from "../router";
import { texts } from "../texts";

type Reply = Schema["Overview"];
const COUNTING = 2_000; // ms until counts are asked for again that were not there yet

export default function Overview(_: ViewProps) {
  const found = useResource((signal) => get("/overview", { signal }), []);
  const counting = found.data?.counted_at === "";
  useEffect(() => {
    if (!counting || found.loading) return;
    const again = setTimeout(found.reload, COUNTING);
    return () => clearTimeout(again);
  }, [counting, found.loading]);
  return (
    <div class="page overview">
      <h1>{texts.overview.title}</h1>
      {found.error && <Failure error={found.error} retry={found.reload} />}
      {!found.data && found.loading && <Loading />}
      {found.data && <Nothing />}
      {found.data && <Shown of={found.data} />}
    </div>
  );
}

function Shown({ of }: { of: Reply }) {
  return (
    <>
      <dl class="figures">
        {Object.entries(of.counts).map(([name, count]) => (
          <div key={name}>
            <dt>
              {texts.overview.counts[name] ?? name}
              <span class="meaning">{texts.overview.meanings[name]}</span>
            </dt>
            <dd>{name in LISTS ? <a href={LISTS[name]}>{number(count)}</a> : number(count)}</dd>
          </div>
        ))}
      </dl>
      <div class="tiles">
        <section class="card">
          <h2>{texts.overview.warnings}</h2>
          {of.warnings.length === 0 && <p class="faint">{texts.overview.noWarnings}</p>}
          {of.warnings.map((w, i) => (
            <Notice key={i} kind="warn" title={sentence(w.detail)}>
              {w.type in REASONS ? <a href={REASONS[w.type]}>{texts.overview.reasons}</a> : sentence(w.remedy)}
            </Notice>
          ))}
        </section>
        <section class="card">
          <h2>{texts.overview.stores}</h2>
          <ul class="plain states">
            {Object.entries(of.stores).map(([name, state]) => (
              <li key={name}>
                <State ok={state === "ok"} /> {name} <span class="faint small">{state === "ok" ? texts.overview.ok : state}</span>
              </li>
            ))}
          </ul>
          <h2 class="second">{texts.overview.models}</h2>
          <ul class="plain states">
            <li>
              <State ok={of.models.embedding.answers ?? null} /> {of.models.embedding.name}{" "}
              <span class="faint small">
                {texts.overview.embedding}, {texts.overview.dimensions(of.models.embedding.dimension ?? 0)}
              </span>
            </li>
            <li>
              {none(of.models.llm.name) ? (
                <span class="faint">{texts.overview.noModel}</span>
              ) : (
                <>
                  <State ok={of.models.llm.answers ?? null} /> {of.models.llm.name} <span class="faint small">{texts.overview.llm}</span>
                </>
              )}
            </li>
          </ul>
        </section>
        <section class="card">
          <h2>{texts.overview.states}</h2>
          <Bars of={Object.entries(of.documents).filter(([, n]) => n > 0).map(([name, n]) => [texts.document.state[name] ?? name, n, only("state", name)])} />
          <h2 class="second">{texts.overview.jobs}</h2>
          <Bars of={Object.entries(of.jobs).filter(([, n]) => n > 0).map(([name, n]) => [texts.ingest.status[name] ?? name, n, to("ingest")])} />
        </section>
        <section class="card">
          <h2>{texts.overview.types}</h2>
          <Bars of={of.file_types.map((t) => [t.name || texts.overview.noLanguage, t.documents, only("type", t.name)])} />
        </section>
        <section class="card">
          <h2>{texts.overview.languages}</h2>
          <Bars of={of.languages.map((l) => [language(l.name), l.documents, only("language", l.name)])} />
        </section>
        <section class="card">
          <h2>{texts.overview.growth}</h2>
          <Bars of={of.growth.slice(-12).map((g) => [g.day, g.documents, only("day", g.day)])} />
        </section>
      </div>
      <p class="faint small">
        {of.counted_at ? `${texts.overview.counted} ${when(of.counted_at)}` : texts.overview.counting} · {texts.overview.version} {of.version}
      </p>
    </>
  );
}

/** Where what is counted is listed; the others stand in documents only. */
const LISTS: Record<string, string> = { documents: to("documents"), entities: to("entities") };
// an empty value counts: documents whose language is not known
const only = (name: string, value: string) => `${to("documents")}?${new URLSearchParams({ [name]: value })}`;

// the API names its own routes
const REASONS: Record<string, string> = { documents_failed: only("state", "FAILED"), jobs_failed: to("ingest") };

const none = (model: string) => model === "" || model === "none";
const LANGUAGES = new Intl.DisplayNames(["en"], { type: "language" });

function language(code: string): string {
  if (!code) return texts.overview.noLanguage;
  try {
    return LANGUAGES.of(code) ?? code;
  } catch {
    return code;
  }
}

function State({ ok }: { ok: boolean | null }) {
  const told = ok === null ? texts.overview.unknown : ok ? texts.overview.ok : texts.overview.down;
  return <span class={`dot ${ok === null ? "unknown" : ok ? "ok" : "down"}`} role="img" aria-label={told} title={told} />;
}

function Bars({ of }: { of: readonly (readonly [string, number, string])[] }) {
  const most = Math.max(...of.map(([, n]) => n), 1);
  if (!of.length) return <p class="faint">{texts.overview.none}</p>;
  return (
    <ul class="plain bars">
      {of.slice(0, 12).map(([name, n, href]) => (
        <li key={name}>
          <a class="bar-name" href={href}>
            {name}
          </a>
          <span class="bar-track" aria-hidden="true">
            <span style={{ width: `${(100 * n) / most}%` }} />
          </span>
          <span class="figure">{number(n)}</span>
        </li>
      ))}
    </ul>
  );
}
