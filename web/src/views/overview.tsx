/** Overview: what is stored, what works, what is wrong, and who may ask. */
import { useEffect, useRef, useState } from "preact/hooks";
import { get, post, remove, type Schema } from "../api/client";
import type { ViewProps } from "../app";
import { Copy } from "../parts/copy";
import { Failure, Loading, Notice, number, sentence, when } from "../parts/basics";
import { asApiError, useResource } from "../resource";
import { to } from "../router";
import { key, takeKey } from "../session";
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
      {found.data && <Shown of={found.data} />}
      <Keys />
    </div>
  );
}

function Shown({ of }: { of: Reply }) {
  return (
    <>
      <dl class="figures">
        {Object.entries(of.counts).map(([name, count]) => (
          <div key={name}>
            <dt>{texts.overview.counts[name] ?? name}</dt>
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
              {sentence(w.remedy)}
            </Notice>
          ))}
        </section>
        <section class="card">
          <h2>{texts.overview.stores}</h2>
          <ul class="plain states">
            {Object.entries(of.stores).map(([name, state]) => (
              <li key={name}>
                <State ok={state === "ok"} /> {name} {state !== "ok" && <span class="faint small">{state}</span>}
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

type Key = Schema["KeyReply"];
const SCOPES = ["read", "ingest", "admin"] as const;

function Keys() {
  const found = useResource((signal) => get("/keys", { signal }), []);
  const [made, setMade] = useState("");
  const forbidden = found.error?.status === 403;
  return (
    <section class="card keys" aria-labelledby="keys">
      <h2 id="keys">{texts.overview.keys}</h2>
      {forbidden && <p class="faint">{texts.overview.keysNeed}</p>}
      {found.error && !forbidden && <Failure error={found.error} retry={found.reload} />}
      {found.data && (
        <>
          {made && (
            <Notice title={texts.overview.keyCreated}>
              <p class="row">
                <code class="new-key">{made}</code>
                <Copy text={() => made}>{texts.overview.keyCopy}</Copy>
              </p>
            </Notice>
          )}
          {found.data.keys.length === 0 ? (
            <p class="faint">
              {texts.overview.noKeys} {texts.overview.keyFirst}
            </p>
          ) : (
            <div class="table-scroll" tabIndex={0} role="region" aria-label={texts.overview.keyList}>
              <table class="table">
                <thead>
                  <tr>
                    <th scope="col">{texts.overview.keyName}</th>
                    <th scope="col">{texts.overview.keyScopes}</th>
                    <th scope="col">{texts.overview.keySince}</th>
                    <th scope="col">{texts.overview.keyState}</th>
                    <th scope="col">
                      <span class="hidden">{texts.overview.keyRevoke}</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {found.data.keys.map((k) => (
                    <KeyRow key={k.id} of={k} onRevoked={found.reload} />
                  ))}
                </tbody>
              </table>
            </div>
          )}
          <NewKey
            onMade={(secret) => {
              setMade(secret);
              found.reload();
            }}
          />
        </>
      )}
    </section>
  );
}

function KeyRow({ of: k, onRevoked }: { of: Key; onRevoked: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState<ReturnType<typeof asApiError> | null>(null);
  const revoke = () =>
    remove("/keys/{key_id}", { path: { key_id: k.id } }).then(
      () => {
        dialog.current!.close();
        onRevoked();
      },
      (failed: unknown) => setError(asApiError(failed)),
    );
  return (
    <tr>
      <th scope="row">
        {k.name || k.id} <span class="faint small mono">{k.id}</span>
      </th>
      <td>{k.scopes.map((s) => texts.overview.scopes[s] ?? s).join(", ")}</td>
      <td>{when(k.created_at)}</td>
      <td>{k.revoked_at ? <span class="badge bad">{texts.overview.keyRevoked}</span> : <span class="badge">{texts.overview.keyActive}</span>}</td>
      <td>
        {!k.revoked_at && (
          <button type="button" class="quiet danger" aria-label={`${texts.overview.keyRevoke} ${k.name || k.id}`} onClick={() => dialog.current!.showModal()}>
            {texts.overview.keyRevoke}
          </button>
        )}
        <dialog ref={dialog} aria-label={texts.overview.keyRevokeTitle}>
          <h2>{texts.overview.keyRevokeTitle}</h2>
          <p>{texts.overview.keyRevokeText(k.name || k.id)}</p>
          {error && <Failure error={error} />}
          <div class="row dialog-row">
            <button type="button" class="quiet" autofocus onClick={() => dialog.current!.close()}>
              {texts.common.cancel}
            </button>
            <button type="button" class="danger" onClick={() => void revoke()}>
              {texts.overview.keyRevoke}
            </button>
          </div>
        </dialog>
      </td>
    </tr>
  );
}

function NewKey({ onMade }: { onMade: (key: string) => void }) {
  const [name, setName] = useState("");
  const [scopes, setScopes] = useState<ReadonlySet<string>>(new Set(["read"]));
  const [error, setError] = useState<ReturnType<typeof asApiError> | null>(null);
  const create = (e: Event) => {
    e.preventDefault();
    setError(null);
    post("/keys", { body: { name, scopes: [...scopes] } as Schema["NewKey"] }).then(
      (made) => {
        setName("");
        if (!key.value) takeKey(made.key); // the server is closed from here on
        onMade(made.key);
      },
      (failed: unknown) => setError(asApiError(failed)),
    );
  };
  const toggle = (scope: string) => {
    const next = new Set(scopes);
    if (!next.delete(scope)) next.add(scope);
    setScopes(next);
  };
  return (
    <form class="new-key-form" onSubmit={create}>
      <label class="grow">
        {texts.overview.keyName}
        <input value={name} required maxLength={100} onInput={(e) => setName(e.currentTarget.value)} />
      </label>
      <fieldset>
        <legend class="hidden">{texts.overview.keyScopes}</legend>
        <div class="choices">
          {SCOPES.map((scope) => (
            <label key={scope}>
              <input type="checkbox" checked={scopes.has(scope)} onChange={() => toggle(scope)} />
              {texts.overview.scopes[scope]}
            </label>
          ))}
        </div>
      </fieldset>
      <button type="submit" disabled={!name.trim() || scopes.size === 0}>
        {texts.overview.keyCreate}
      </button>
      {error && <Failure error={error} />}
    </form>
  );
}
