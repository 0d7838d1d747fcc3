/** Addresses: `#/document/source:ab?at=10-20`. What follows the # never reaches a server or its logs. */
import { signal } from "@preact/signals";

export interface Address {
  view: string;
  id: string;
  query: URLSearchParams;
}

export function parse(hash: string): Address {
  const [path = "", query = ""] = hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
  const [view = "", ...rest] = path.split("/");
  return { view: view || "ask", id: decoded(rest.join("/")), query: new URLSearchParams(query) };
}

// an address that somebody cut short is still an address
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

type Values = Record<string, string | number | readonly string[] | null | undefined>;

/** Return the address of a view; empty values are left out, lists are repeated. */
export function to(view: string, id = "", values: Values = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) for (const each of value as readonly string[]) query.append(name, each);
    else if (value != null && value !== "") query.set(name, String(value));
  }
  const path = id ? `${view}/${encodeURIComponent(id).replaceAll("%3A", ":")}` : view;
  const text = query.toString();
  return `#/${path}${text ? `?${text}` : ""}`;
}

export const address = signal(parse(location.hash));

/** The address of the view before this one: the way back. Empty at the beginning. */
export const cameFrom = signal("");
let shown = location.hash;

function show(hash: string): void {
  const next = parse(hash);
  if (next.view !== address.value.view) cameFrom.value = shown;
  shown = hash;
  address.value = next;
}

addEventListener("hashchange", () => show(location.hash));

/** Go to an address; with `replace` the one before is not kept for the way back. */
export function go(where: string, { replace = false } = {}): void {
  if (where === location.hash) return;
  if (!replace) {
    location.hash = where;
    return;
  }
  history.replaceState(null, "", where);
  show(where);
}
