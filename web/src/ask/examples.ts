/** Questions that the documents in front of the page can answer: about what one of them has a heading for, and no other. */
import { get } from "../api/client";
import { texts } from "../texts";

const LOOKED_AT = 12;
const SHOWN = 3;
const LEAST = 6; // characters of a heading that says something
const MOST = 48; // of a heading or a title that fits into a question
const SAID = 2; // statements under it, at least

export interface Stored {
  documents: number;
  passages: number;
  entities: number;
  examples: readonly string[];
}

/** Return how much is stored and what can be asked, a question of each of some documents. */
export async function stored(signal: AbortSignal): Promise<Stored> {
  const [{ counts }, { documents }] = await Promise.all([get("/overview", { signal }), get("/documents", { query: { limit: 100 }, signal })]);
  const read = documents.filter((d) => d.version && d.state !== "REMOVING" && d.title && d.title.length <= MOST);
  const looked = spread(read, LOOKED_AT);
  const named = await Promise.all(looked.map((d) => headings(d.id, d.title, signal)));
  // "Synopsis" stands in every document: a question about it has no one answer
  const times = Map.groupBy(named.flatMap((all) => [...new Set(all.map(folded))]), (heading) => heading);
  const own = looked.map((d, i) => ({ title: d.title, headings: named[i]!.filter((heading) => times.get(folded(heading))!.length === 1) }));
  // those with most to say
  const best = own.filter((d) => d.headings.length).sort((a, b) => b.headings.length - a.headings.length);
  const examples = best.slice(0, SHOWN).map((d) => texts.ask.example(d.title, d.headings[0]!));
  const { documents: all = 0, chunks: passages = 0, entities = 0 } = counts;
  return { documents: all, passages, entities, examples };
}

async function headings(id: string, title: string, signal: AbortSignal): Promise<string[]> {
  const { topics } = await get("/documents/{document_id}/topics", { path: { document_id: id }, query: { limit: 40 }, signal });
  const fitting = (heading: string) => heading.length >= LEAST && heading.length <= MOST && / /.test(heading) && !POINTING.test(heading) && !within(heading, title);
  return [...topics].filter((t) => t.statements >= SAID).map((t) => last(t.title)).filter(fitting);
}

// "What is this?" asks nothing away from its place
const POINTING = /\b(this|that|these|those|it|above|below|here)\b/i;

/** Whether a title has all words of a heading: a question about both would say nothing. */
function within(heading: string, title: string): boolean {
  const words = wordsOf(title);
  return wordsOf(heading).every((word) => words.includes(word));
}

const wordsOf = (text: string): string[] => folded(text).match(/[\p{L}\d]+/gu) ?? [];
const folded = (heading: string) => heading.toLowerCase();

/** Return the heading in a topic's title: the last of its path, without its number and the words that tell it from others. */
function last(topic: string): string {
  const [heading = ""] = (topic.split(" > ").at(-1) ?? "").split(": ");
  return heading.replace(/^[\d.]+\s+|[.:;,\s]+$/g, "");
}

/** Return at most `most` entries from all over a list. */
function spread<T>(list: readonly T[], most: number): T[] {
  const step = Math.max(1, list.length / most);
  return Array.from({ length: Math.min(most, list.length) }, (_, i) => list[Math.floor(i * step)]!);
}
