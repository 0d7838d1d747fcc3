/** Server-sent events of a POST, which EventSource cannot make. */
import { ApiError, send } from "./client";
import { texts } from "../texts";

export interface ServerEvent {
  name: string;
  data: unknown;
}

/** Yield the events of a stream. Throw ApiError when it is refused, or ends without its last event. */
export async function* events(route: string, body: unknown, last: string, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const response = await send("POST", route, { body, signal });
  let over = false;
  for await (const event of frames(response.body!, signal)) {
    if (event.name === "error") {
      const told = event.data as { error: string; message: string };
      throw new ApiError(response.status, told.error, told.message);
    }
    over ||= event.name === last;
    yield event;
  }
  if (!over) throw new ApiError(response.status, "broken_off", texts.errors.brokenOff);
}

async function* frames(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  while (true) {
    let piece: ReadableStreamReadResult<Uint8Array>;
    try {
      piece = await reader.read();
    } catch (error) {
      if (signal.aborted) throw error;
      throw new ApiError(0, "broken_off", texts.errors.brokenOff);
    }
    if (piece.done) return;
    const parts = (rest + decoder.decode(piece.value, { stream: true })).split(/\r?\n\r?\n/);
    rest = parts.pop()!;
    for (const part of parts) {
      const event = framed(part);
      if (event) yield event;
    }
  }
}

function framed(text: string): ServerEvent | null {
  let name = "message";
  const data: string[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}
