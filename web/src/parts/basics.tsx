/** Small parts that every view uses. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { ApiError } from "../api/client";
import { texts } from "../texts";

export function Notice({ kind = "info", title, children }: { kind?: "info" | "warn" | "error"; title?: string; children?: ComponentChildren }) {
  return (
    <div class={`notice ${kind}`} role={kind === "error" ? "alert" : "note"}>
      {title && <strong>{title}</strong>}
      {children && <div>{children}</div>}
    </div>
  );
}

export function Failure({ error, retry }: { error: ApiError; retry?: () => void }) {
  return (
    <Notice kind="error" title={texts.errors.title(error.code)}>
      <p>{error.message}</p>
      {error.requestId && <p class="faint small">{texts.errors.request(error.requestId)}</p>}
      {retry && (
        <button type="button" class="quiet" onClick={retry}>
          {texts.common.retry}
        </button>
      )}
    </Notice>
  );
}

/** A view that was asked for something that is not there, or whose address is none. */
export const absent = (error: ApiError) => error.status === 404 || error.code === "invalid_input";

export function Loading({ what = texts.common.loading }: { what?: string }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" />
      {what}
    </p>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Facts({ rows }: { rows: readonly (readonly [string, ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

const NUMBER = new Intl.NumberFormat("en");
export const number = (n: number) => NUMBER.format(n);

export function when(iso: string): string {
  return new Date(iso).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** Return a uri as people would write it: with blanks, not %20. */
export function readable(uri: string): string {
  try {
    return decodeURIComponent(uri);
  } catch {
    return uri;
  }
}

/** Return the last part of a uri as people would name it. */
export const fileOf = (uri: string): string => readable(uri.split("/").pop() ?? uri);

const FLAG = /((?<![\p{L}\d-])--?[\p{L}\d][\p{L}\d-]*)/u;

/** Return text in which no line ends within a flag such as `--global`. */
export function flags(text: string): ComponentChildren {
  if (!text.includes("-")) return text;
  return text.split(FLAG).map((part, i) =>
    i % 2 ? (
      <span key={i} class="flag">
        {part}
      </span>
    ) : (
      part
    ),
  );
}

const LONG = 200; // characters

/** Return the beginning of a text that is long. */
export const shortened = (text: string) => (text.length > LONG ? `${Array.from(text).slice(0, LONG).join("").trimEnd()}…` : text);

/** A text, or a link, of which only the beginning is shown until one asks for all of it. */
export function Folded({ text, href }: { text: string; href?: string }) {
  const [whole, setWhole] = useState(false);
  const shown = whole ? text : shortened(text);
  return (
    <>
      {href ? <a href={href}>{shown}</a> : <span>{shown}</span>}
      {text.length > LONG && (
        <button type="button" class="link small" aria-expanded={whole} onClick={() => setWhole(!whole)}>
          {whole ? texts.common.less : texts.common.whole}
        </button>
      )}
    </>
  );
}

/** Messages of the API begin small. */
export const sentence = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
