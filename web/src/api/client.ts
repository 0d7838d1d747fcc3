/** The client of the API as this page uses it: with the key of the session, and signals for what changes. */
import { signal } from "@preact/signals";
import { ApiError, Transport, type Schema } from "../../../clients/typescript/src/transport";
import { texts } from "../texts";
import { forgetKey, key, keyWanted } from "../session";

export { ApiError, type Schema };

// the page stands at <API>/explorer/
export const ROOT = new URL("../", location.href.split(/[?#]/)[0]!);

/** Grows when this page changed what is stored: answers from before are asked for again. */
export const changes = signal(0);

/** Whether the server answered last; views ask again when it does. */
export const reachable = signal(true);

/** Notes whether the server answers, and forgets a key that it refuses. */
class PageTransport extends Transport {
  override async send(...[method, route, asked]: Parameters<Transport["send"]>): Promise<Response> {
    const sent = key.value;
    let response: Response;
    try {
      response = await super.send(method, route, asked);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      reachable.value = error.status !== 0;
      if (error.status === 0) throw new ApiError(0, error.code, texts.errors.unreachable);
      if (error.status === 401 && (sent || !keyWanted.value) && sent === key.value) forgetKey(sent ? "refused" : "missing");
      throw error;
    }
    reachable.value = true;
    if (method === "DELETE") changes.value++;
    return response;
  }
}

const api = new PageTransport({ url: ROOT, apiKey: () => key.value });

export const get: Transport["get"] = (route, asked) => api.get(route, asked);
export const post: Transport["post"] = (route, asked) => api.post(route, asked);
export const remove: Transport["remove"] = (route, asked) => api.remove(route, asked);
export const send: Transport["send"] = (...asked) => api.send(...asked);

/** Yield the events of a stream. Throw ApiError when it is refused, or ends without its last event. */
export async function* events(...asked: Parameters<Transport["events"]>) {
  try {
    yield* api.events(...asked);
  } catch (error) {
    if (error instanceof ApiError && error.code === "broken_off") {
      throw new ApiError(error.status, error.code, texts.errors.brokenOff);
    }
    throw error;
  }
}
