/** The keys of the server: who may ask. For keys with the scope admin. */
import { useRef, useState } from "preact/hooks";
import { get, post, remove, type Schema } from "../api/client";
import { Copy } from "../parts/copy";
import { Failure, Notice, when } from "../parts/basics";
import { asApiError, useResource } from "../resource";
import { key, takeKey } from "../session";
import { texts } from "../texts";

type Key = Schema["KeyReply"];
const SCOPES = ["read", "ingest", "admin"] as const;

export function Keys() {
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
            first={found.data.keys.length === 0}
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

function NewKey({ first, onMade }: { first: boolean; onMade: (key: string) => void }) {
  const [name, setName] = useState("");
  // the first key closes the server: without admin it could make no other
  const [scopes, setScopes] = useState<ReadonlySet<string>>(new Set(first ? SCOPES : ["read"]));
  const [error, setError] = useState<ReturnType<typeof asApiError> | null>(null);
  const create = (e: Event) => {
    e.preventDefault();
    setError(null);
    post("/keys", { body: { name, scopes: [...scopes] } as Schema["NewKey"] }).then(
      (made) => {
        setName("");
        setScopes(new Set(["read"]));
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
