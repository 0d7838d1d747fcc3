/** Questions that the documents in front of the page can answer: what some of them say about a topic of theirs. */
import { get } from "../api/client";
import { texts } from "../texts";

const LOOKED_AT = 6;
const SHOWN = 3;
const MOST = 48; // characters of a title or a topic that fits into a question

export interface Stored {
  documents: number;
  passages: number;
  entities: number;
  examples: readonly string[];
}

/** Return how much is stored and what can be asked, a question of each of some documents. */
export async function stored(signal: AbortSignal): Promise<Stored> {
  const [{ counts }, { documents }] = await Promise.all([get("/overview", { signal }), get("/documents", { query: { limit: 100 }, signal })]);
  const fitting = documents.filter((d) => d.version && d.state !== "REMOVING" && d.title && d.title.length <= MOST);
  const questions = await Promise.all(spread(fitting, LOOKED_AT).map((d) => question(d.id, d.title, signal)));
  const { documents: all = 0, chunks: passages = 0, entities = 0 } = counts;
  return { documents: all, passages, entities, examples: spread([...new Set(questions)], SHOWN) };
}

async function question(id: string, title: string, signal: AbortSignal): Promise<string> {
  const { topics } = await get("/documents/{document_id}/topics", { path: { document_id: id }, query: { limit: 20 }, signal });
  const named = topics.map((t) => heading(t.title)).filter((t) => t.length >= 4 && t.length <= MOST && !title.includes(t) && !t.includes(title));
  return texts.ask.example(title, named[0] ?? "");
}

/** Return the heading in a topic's title: the last of its path, without its number and the words that tell it from others. */
function heading(topic: string): string {
  const [last = ""] = (topic.split(" > ").at(-1) ?? "").split(": ");
  return last.replace(/^[\d.]+\s+|[.:;,\s]+$/g, "");
}

/** Return at most `most` entries from all over a list. */
function spread<T>(list: readonly T[], most: number): T[] {
  const step = Math.max(1, list.length / most);
  return Array.from({ length: Math.min(most, list.length) }, (_, i) => list[Math.floor(i * step)]!);
}
