/**
 * A text in blocks, each small enough to be laid out by itself. Offsets are characters (code points) as the API counts
 * them, which JavaScript does not: outside the basic plane one of them is two units of a string. Pure.
 */

export interface Block {
  /** Offset of the first character in the document. */
  start: number;
  /** Offset behind the last. */
  end: number;
  text: string;
}

export interface Stretch {
  start: number;
  end: number;
}

const AIM = 1_600;
const MOST = 6_000;
const PAIRS = /[\ud800-\udbff][\udc00-\udfff]/g;

/** Return the number of characters of a string. */
export const length = (text: string) => text.length - (text.match(PAIRS)?.length ?? 0);

/** Return the place in a string, in units, of the character with this number. */
export function unit(text: string, character: number): number {
  if (length(text) === text.length) return character;
  let at = 0;
  for (let i = 0; i < character && at < text.length; i++) at += text.codePointAt(at)! > 0xffff ? 2 : 1;
  return at;
}

/** Cut a text that begins at `start` into blocks, at line breaks where there are some, and always at `cuts`. */
export function blocksOf(text: string, start: number, cuts: readonly number[]): Block[] {
  const forced = new Set(cuts.filter((c) => c > start).map((c) => unit(text, c - start)));
  const stops = [...forced].sort((a, b) => a - b);
  const found: Block[] = [];
  let at = 0;
  let offset = start;
  while (at < text.length) {
    while (stops.length && stops[0]! <= at) stops.shift();
    const till = Math.min(cut(text, at), stops[0] ?? Infinity);
    const piece = text.slice(at, till);
    const size = length(piece);
    found.push({ start: offset, end: offset + size, text: piece });
    offset += size;
    at = till;
  }
  return found;
}

function cut(text: string, at: number): number {
  if (text.length - at <= AIM) return text.length;
  const line = text.indexOf("\n", at + AIM) + 1;
  if (line > 0 && line - at <= MOST) return line;
  if (text.length - at <= MOST) return text.length;
  const sentence = text.lastIndexOf(". ", at + MOST) + 2;
  const space = sentence > at + AIM ? sentence : text.lastIndexOf(" ", at + MOST) + 1;
  const till = space > at + AIM ? space : at + MOST;
  return /[\udc00-\udfff]/.test(text[till] ?? "") ? till - 1 : till;
}

export interface Heading {
  text: string;
  level: number;
  start: number;
}

/** Code or a table: its line breaks and spaces have a meaning. */
export interface Verbatim extends Stretch {
  kind: "code" | "table";
}

export interface Segment {
  text: string;
  marked: boolean;
  heading: boolean;
  verbatim: Verbatim["kind"] | "";
}

/** Return the text of a block in segments: what is marked, code and tables, and headings, where the text says the same. */
export function segments(block: Block, marked: Stretch | null, headings: readonly Heading[], verbatim: readonly Verbatim[] = []): Segment[] {
  const within = (offset: number) => unit(block.text, Math.min(block.end, Math.max(block.start, offset)) - block.start);
  const mark = marked ? { from: within(marked.start), till: within(marked.end) } : { from: 0, till: 0 };
  const titles = headings
    .map((h) => ({ from: within(h.start), till: within(h.start) + h.text.length, text: h.text }))
    .filter((t) => block.text.startsWith(t.text, t.from));
  const apart = verbatim
    .filter((v) => v.start < block.end && v.end > block.start)
    .map((v) => ({ from: within(v.start), till: within(v.end), kind: v.kind }));
  const points = [0, mark.from, mark.till, ...[...titles, ...apart].flatMap((t) => [t.from, t.till]), block.text.length];
  const cuts = [...new Set(points)].sort((a, b) => a - b);
  return cuts.slice(1).map((till, i) => {
    const from = cuts[i]!;
    const inside = (r: { from: number; till: number }) => r.from <= from && till <= r.till;
    return { text: block.text.slice(from, till), marked: mark.till > mark.from && inside(mark), heading: titles.some(inside), verbatim: apart.find(inside)?.kind ?? "" };
  });
}
