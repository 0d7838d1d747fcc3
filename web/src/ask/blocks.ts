/** The text of an answer, cut into what is shown: paragraphs with citations, and quoted code. Pure. */

import { withLines } from "./places";

/** A piece of text, or a citation with the word before it, so that no line begins with a label. */
export type Piece = { text: string } | { label: string; lead: string };
/** Code may have the line before it as its caption: where that only says where it comes from. */
export type Block = { kind: "text"; pieces: Piece[] } | { kind: "code"; text: string; caption: Piece[] };

const LABEL = /\[(S\d+)\]/g;
const FENCE = /^\s*(`{3,})/;

/** Return the blocks of an answer. Only labels with a title in `titles` are citations; the API writes those of documents
 * `(S1)`. What is in `quoted` gets its lines back. */
export function blocks(answer: string, titles: ReadonlyMap<string, string>, quoted: ReadonlyMap<string, string> = new Map()): Block[] {
  const found: Block[] = [];
  const add = (text: string) => found.push({ kind: "code", text, caption: caption(found, titles) });
  let code: { fence: string; lines: string[] } | null = null;
  for (const line of answer.split("\n")) {
    const fence = FENCE.exec(line)?.[1];
    if (code) {
      if (fence && fence.length >= code.fence.length) {
        add(code.lines.join("\n"));
        code = null;
      } else code.lines.push(line);
    } else if (fence) code = { fence, lines: [] };
    else if (line.trim()) found.push({ kind: "text", pieces: cited(withLines(line, quoted), titles) });
  }
  if (code) add(code.lines.join("\n"));
  return found;
}

/** Take the last block away where it is a title and its label alone, and return it. */
function caption(found: Block[], titles: ReadonlyMap<string, string>): Piece[] {
  const last = found.at(-1);
  if (last?.kind !== "text") return [];
  const label = last.pieces.find((p) => "label" in p);
  const words = last.pieces.map((p) => ("text" in p ? p.text : p.lead)).join("");
  if (!label || words.trim() !== `${titles.get(label.label)}:`) return [];
  found.pop();
  return last.pieces;
}

function cited(line: string, labels: ReadonlyMap<string, string>): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of line.matchAll(LABEL)) {
    if (!labels.has(match[1]!)) continue;
    const [, text = "", lead = ""] = /^(.*?)(\S*\s*)$/s.exec(line.slice(at, match.index)) ?? [];
    if (text) pieces.push({ text });
    pieces.push({ label: match[1]!, lead });
    at = match.index + match[0].length;
  }
  if (at < line.length) pieces.push({ text: line.slice(at) });
  return pieces;
}
