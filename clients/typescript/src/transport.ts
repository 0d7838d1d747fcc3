/** Requests with types made from the API's OpenAPI document: a route or field that is gone fails the build. */
import type { components, paths } from "./schema.js";

export type Schema = components["schemas"];

export type Method = "get" | "post" | "delete";
export type Operation<P extends keyof paths, M extends Method> = NonNullable<paths[P][M]>;
export type With<M extends Method> = {
  [P in keyof paths]: paths[P] extends Record<M, { responses: unknown }> ? P : never;
}[keyof paths];
type Json<T> = T extends { content: { "application/json": infer J } } ? J : never;
export type Replies<O> = O extends { responses: infer R } ? Json<R[keyof R & (200 | 201 | 202)]> : never;
type Params<O, K extends "path" | "query"> = O extends { parameters: infer A }
  ? K extends keyof A
    ? NonNullable<A[K]>
    : never
  : never;
type Body<O> = O extends { requestBody?: infer B } ? Json<NonNullable<B>> : never;

export interface Asked<O> {
  path?: Params<O, "path">;
  query?: Params<O, "query">;
  body?: Body<O>;
  signal?: AbortSignal | undefined;
}

/** What the API refused, or that it was not reached or asked (status 0). `hint` says what to do where there is more to say. */
export class ApiError extends Error {
  override readonly name = "ApiError";

  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly requestId = "",
    readonly hint = "",
  ) {
    super(message);
  }
}

export interface ServerEvent {
  name: string;
  data: unknown;
}

export interface Options {
  /** The address of the API, also below a path. */
  url: string | URL;
  /** The key, or a function that gives it for each request. */
  apiKey?: string | (() => string | null | undefined) | undefined;
  /** Tries in all of what fails because the server is busy, restarting or limiting requests. */
  attempts?: number;
  fetch?: typeof fetch;
}

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 30_000;

export class Transport {
  readonly root: URL;
  readonly #options: Options; // a key that is printed with its client gets into logs

  constructor(options: Options) {
    this.#options = options;
    const root = new URL(options.url);
    if (!root.pathname.endsWith("/")) root.pathname += "/";
    this.root = root;
  }

  get<P extends With<"get">>(route: P, asked: Asked<Operation<P, "get">> = {}) {
    return this.json<Replies<Operation<P, "get">>>("GET", route, asked);
  }

  post<P extends With<"post">>(route: P, asked: Asked<Operation<P, "post">> = {}) {
    return this.json<Replies<Operation<P, "post">>>("POST", route, asked);
  }

  remove<P extends With<"delete">>(route: P, asked: Asked<Operation<P, "delete">> = {}) {
    return this.json<Replies<Operation<P, "delete">>>("DELETE", route, asked);
  }

  private async json<T>(method: string, route: string, asked: Asked<unknown>): Promise<T> {
    return parsed(await (await this.send(method, route, asked)).text()) as T;
  }

  /** Send a request, again where that is safe and may help. A body that is a form goes as it is. */
  async send(
    method: string,
    route: string,
    asked: { path?: unknown; query?: unknown; body?: unknown; signal?: AbortSignal | undefined } = {},
  ): Promise<Response> {
    const { apiKey, attempts = 1 } = this.#options;
    const key = typeof apiKey === "function" ? apiKey() : apiKey;
    const form = asked.body instanceof FormData;
    const headers: Record<string, string> = {};
    if (key) headers["X-API-Key"] = key;
    if (asked.body !== undefined && !form) headers["Content-Type"] = "application/json";
    const request: RequestInit = {
      method,
      headers,
      body: asked.body === undefined ? null : form ? (asked.body as FormData) : JSON.stringify(asked.body),
      signal: asked.signal ?? null,
      credentials: "omit",
      redirect: "manual", // who is told to go elsewhere takes the key along
    };
    const target = this.target(route, asked.path, asked.query);
    for (let tried = 1; ; tried++) {
      let response: Response | null = null;
      try {
        response = await (this.#options.fetch ?? fetch)(target, request);
      } catch (error) {
        if (asked.signal?.aborted) throw error;
      }
      if (response?.ok) return response;
      if (response && (response.type === "opaqueredirect" || [301, 302, 303, 307, 308].includes(response.status))) {
        throw new ApiError(response.status, "redirected", `${this.root.href} leads elsewhere: give that address as url`);
      }
      if (tried >= attempts || !mayTryAgain(response?.status ?? 0, method, route)) {
        throw response ? await refused(response) : new ApiError(0, "unreachable", `${this.root.href} is not reached`);
      }
      await pause(response?.headers.get("Retry-After"), tried, asked.signal);
    }
  }

  /** Yield the events of a stream. Throw ApiError when it is refused, reports an error, or ends without its `last` event. */
  async *events(route: string, body: unknown, last: string, signal?: AbortSignal): AsyncGenerator<ServerEvent> {
    const response = await this.send("POST", route, { body, signal });
    let over = false;
    for await (const event of frames(response.body!, signal)) {
      if (event.name === "error") {
        const told = event.data as { error: string; message: string };
        throw new ApiError(response.status, told.error, told.message);
      }
      over ||= event.name === last;
      yield event;
    }
    if (!over) throw new ApiError(response.status, "broken_off", "the connection closed before the stream ended");
  }

  /** Put a file where the server said, without the key of the server. */
  protected async put(url: string, file: Blob, headers: Record<string, string>): Promise<void> {
    const response = await (this.#options.fetch ?? fetch)(url, { method: "PUT", headers, body: file, credentials: "omit" });
    if (!response.ok) throw await refused(response);
  }

  private target(route: string, path: unknown, query: unknown): URL {
    const filled = route.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = String((path as Record<string, unknown>)[name]);
      // an address takes these for steps, and they would lead to another route
      if (["", ".", ".."].includes(value)) throw new ApiError(0, "invalid_input", `${name} must be the id or name of one, got "${value}"`);
      return encodeURIComponent(value);
    });
    const url = new URL(filled.slice(1), this.root);
    for (const [name, value] of Object.entries(query ?? {})) {
      if (value != null && value !== "") url.searchParams.set(name, String(value));
    }
    return url;
  }
}

/**
 * Whether a request may be sent again: it was refused, or doing it twice changes nothing. Of one that got no response
 * (status 0) it is not known whether it was carried out.
 */
function mayTryAgain(status: number, method: string, route: string): boolean {
  const once = method === "POST" && ["/curation/decisions", "/keys", "/ingest", "/ingest/stream", "/unstructured/upload_document/", "/api/v1/memory/recall"].includes(route);
  return status === 429 || ([0, 502, 503, 504].includes(status) && !once);
}

async function pause(told: string | null | undefined, tried: number, signal: AbortSignal | undefined): Promise<void> {
  const seconds = told && /^\d+$/.test(told) ? Number(told) * 1000 : Math.random() * FIRST_PAUSE * 2 ** (tried - 1);
  await new Promise((resolve) => setTimeout(resolve, Math.min(seconds, LONGEST_PAUSE)));
  signal?.throwIfAborted();
}

async function refused(response: Response): Promise<ApiError> {
  const told = (await response.json().catch(() => ({}))) as Partial<Schema["ErrorReply"]>;
  const message = told.message ?? `the server answered ${response.status}`;
  return new ApiError(response.status, told.error ?? "error", message, told.request_id ?? "", told.hint ?? "");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(200, "unexpected", `the server sent what is not valid JSON: ${text.slice(0, 200)}`);
  }
}

async function* frames(body: ReadableStream<Uint8Array>, signal?: AbortSignal): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  try {
    while (true) {
      let piece: ReadableStreamReadResult<Uint8Array>;
      try {
        piece = await reader.read();
      } catch (error) {
        if (signal?.aborted) throw error;
        throw new ApiError(0, "broken_off", "the connection closed before the stream ended");
      }
      if (piece.done) return;
      const parts = (rest + decoder.decode(piece.value, { stream: true })).split(/\r?\n\r?\n/);
      rest = parts.pop()!;
      for (const part of parts) {
        const event = framed(part);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined); // who leaves early ends the request
  }
}

function framed(text: string): ServerEvent | null {
  let name = "message";
  const data: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { name, data: parsed(data.join("\n")) } : null;
}
