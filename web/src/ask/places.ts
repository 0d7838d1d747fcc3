/** Where sources stand and how they read there: the section, the page, and the lines that an answer has run together. */
import { useEffect, useState } from "preact/hooks";
import { changes, get } from "../api/client";
import { key } from "../session";
import type { Source } from "./answer";

export interface Place {
  /** Headings above it, outermost first. */
  section: readonly string[];
  page: number | null;
  /** Its words with their line breaks. */
  text: string;
}

export type Places = ReadonlyMap<string, Place>;

const NONE: Places = new Map();
const MOST = 20_000; // characters of a quote that are read again
const KEPT = 300;
const known = new Map<string, Promise<Place | null>>();
key.subscribe(() => known.clear());
changes.subscribe(() => known.clear());

/** Return the places of sources by their labels, none until all are known. */
export function usePlaces(sources: readonly Source[]): Places {
  const [places, setPlaces] = useState(NONE);
  useEffect(() => {
    let here = true;
    void placesOf(sources).then((found) => here && setPlaces(found));
    return () => {
      here = false;
    };
  }, [sources]);
  return places;
}

/** Return the places of sources by their labels, once all are known. */
export async function placesOf(sources: readonly Source[]): Promise<Places> {
  const asked = sources.filter((s) => s.document_id && s.end - s.start <= MOST);
  const found = await Promise.all(asked.map(async (s) => [s.label, await placeOf(s)] as const));
  return new Map(found.flatMap(([label, place]) => (place ? [[label, place]] : [])));
}

function placeOf(s: Source): Promise<Place | null> {
  const at = `${s.document_id} ${s.start} ${s.end}`;
  let place = known.get(at);
  if (!place) {
    place = read(s).catch(() => null);
    known.set(at, place);
    if (known.size > KEPT) known.delete(known.keys().next().value!);
  }
  return place;
}

async function read(s: Source): Promise<Place | null> {
  const reply = await get("/documents/{document_id}/text", { path: { document_id: s.document_id }, query: { start: s.start, limit: s.end - s.start } });
  // a document that has changed since says something else there
  if (flat(reply.text) !== flat(s.text)) return null;
  return { section: reply.section ?? [], page: reply.pages[0]?.number ?? null, text: reply.text.replace(/\n\s*\n(?=\s*([-*•]|\d+[.)]) )/g, "\n").trim() };
}

/** Text as an answer quotes it: on one line. */
export const flat = (text: string) => text.replace(/\s+/g, " ").trim();

/** Return the quotes whose lines an answer has run together, each with its lines. */
export function quotes(places: Places): ReadonlyMap<string, string> {
  return new Map([...places.values()].filter((p) => p.text.includes("\n")).map((p) => [flat(p.text), p.text]));
}

/** Return a line of an answer with the lines of what it quotes. */
export function withLines(line: string, of: ReadonlyMap<string, string>): string {
  let text = line;
  for (const [one, lines] of of) text = text.replace(one, () => lines);
  return text;
}
