/** The text of an answer, cut into what is shown: paragraphs with citations, and quoted code. Pure. */

/** A stretch of text, or a citation with the word before it, so that no line begins with a label. */
export type Piece = { text: string } | { label: string; lead: string };
export type Block = { kind: "text"; pieces: Piece[] } | { kind: "code"; text: string };

const LABEL = /\[(S\d+)\]/g;
const FENCE = /^\s*(`{3,})/;

/** Return the blocks of an answer. Only `labels` that have a source are citations; the API writes those of documents `(S1)`. */
export function blocks(answer: string, labels: ReadonlySet<string>): Block[] {
  const found: Block[] = [];
  let code: { fence: string; lines: string[] } | null = null;
  for (const line of answer.split("\n")) {
    const fence = FENCE.exec(line)?.[1];
    if (code) {
      if (fence && fence.length >= code.fence.length) {
        found.push({ kind: "code", text: code.lines.join("\n") });
        code = null;
      } else code.lines.push(line);
    } else if (fence) code = { fence, lines: [] };
    else if (line.trim()) found.push({ kind: "text", pieces: cited(line, labels) });
  }
  if (code) found.push({ kind: "code", text: code.lines.join("\n") });
  return found;
}

function cited(line: string, labels: ReadonlySet<string>): Piece[] {
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
