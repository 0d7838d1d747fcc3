/** Asks the API, with types made from its OpenAPI document: a route that changes fails the build of the page. */
import { signal } from "@preact/signals";
import { texts } from "../texts";
import { forgetKey, key, keyWanted } from "../session";
import type { components, paths } from "./schema";

export type Schema = components["schemas"];

type Method = "get" | "post" | "delete";
type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;
type With<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];
type Json<T> = T extends { content: { "application/json": infer J } } ? J : never;
type Replies<O> = O extends { responses: infer R } ? Json<R[keyof R & (200 | 201 | 202)]> : never;
type Params<O, K extends "path" | "query"> = O extends { parameters: infer A }
  ? K extends keyof A
    ? NonNullable<A[K]>
    : never
  : never;
type Body<O> = O extends { requestBody?: infer B } ? Json<NonNullable<B>> : never;

interface Asked<O> {
  path?: Params<O, "path">;
  query?: Params<O, "query">;
  body?: Body<O>;
  signal?: AbortSignal | undefined;
}

// the page stands at <API>/explorer/
export const ROOT = new URL("../", location.href.split(/[?#]/)[0]!);

/** Grows when this page changed what is stored: answers from before are asked for again. */
export const changes = signal(0);

/** Whether the server answered last; views ask again when it does. */
export const reachable = signal(true);

/** What the API refused, or that it was not there (status 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId = "",
  ) {
    super(message);
  }
}

export const get = <P extends With<"get">>(route: P, asked: Asked<Operation<P, "get">> = {}) =>
  json<Replies<Operation<P, "get">>>("GET", route, asked);

export const post = <P extends With<"post">>(route: P, asked: Asked<Operation<P, "post">> = {}) =>
  json<Replies<Operation<P, "post">>>("POST", route, asked);

export const remove = <P extends With<"delete">>(route: P, asked: Asked<Operation<P, "delete">> = {}) =>
  json<Replies<Operation<P, "delete">>>("DELETE", route, asked);

async function json<T>(method: string, route: string, asked: Asked<unknown>): Promise<T> {
  return (await (await send(method, route, asked)).json()) as T;
}

/** Send a request. Throw ApiError for what is refused; a body that is a form goes as it is. */
export async function send(
  method: string,
  route: string,
  asked: { path?: unknown; query?: unknown; body?: unknown; signal?: AbortSignal | undefined } = {},
): Promise<Response> {
  const headers: Record<string, string> = {};
  const sent = key.value;
  if (sent) headers["X-API-Key"] = sent;
  const form = asked.body instanceof FormData;
  if (asked.body !== undefined && !form) headers["Content-Type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(target(route, asked.path, asked.query), {
      method,
      headers,
      body: asked.body === undefined ? null : form ? (asked.body as FormData) : JSON.stringify(asked.body),
      signal: asked.signal ?? null,
      credentials: "omit",
    });
  } catch (error) {
    if (asked.signal?.aborted) throw error;
    reachable.value = false;
    throw new ApiError(0, "unreachable", texts.errors.unreachable);
  }
  reachable.value = true;
  if (!response.ok) throw await refused(response, sent);
  if (method === "DELETE") changes.value++;
  return response;
}

function target(route: string, path: unknown, query: unknown): URL {
  const filled = route.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String((path as Record<string, unknown>)[name])),
  );
  const url = new URL(filled.slice(1), ROOT);
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value != null && value !== "") url.searchParams.set(name, String(value));
  }
  return url;
}

async function refused(response: Response, sent: string): Promise<ApiError> {
  const told = (await response.json().catch(() => ({}))) as { error?: string; message?: string; request_id?: string };
  // a key that is no longer valid is not sent again
  if (response.status === 401 && (sent || !keyWanted.value) && sent === key.value) forgetKey(sent ? "refused" : "missing");
  return new ApiError(
    response.status,
    told.error ?? "error",
    told.message ?? texts.errors.status(response.status),
    told.request_id,
  );
}
